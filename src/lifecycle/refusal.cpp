#include "lifecycle/refusal.hpp"

#include "pg/settings.hpp"

namespace reservation {

namespace {

struct Words {
    int sqlstate;
    const char *message;  // %lld is the hold, %s the position
    const char *hint;
};

Words words_of(Verdict verdict, const Hold &hold)
{
    switch (verdict) {
    case Verdict::refuse_expired:
    case Verdict::refuse_past_deadline:
        return {kHoldExpired, "hold %lld has expired%s",
                hold.payment_reference == nullptr
                    ? "Acquire again."
                    : "Its payment is in flight: neither repeat it nor acquire again before its outcome is known."};
    case Verdict::refuse_to_be_reviewed:
        return {kHoldExpired, "hold %lld has expired%s",
                "Its payment is in flight: cleanup will put it under review, and its capacity stays held until then."};
    case Verdict::refuse_cancelled: return {kHoldCancelled, "hold %lld is cancelled%s", nullptr};
    case Verdict::refuse_confirmed: return {kHoldConfirmed, "hold %lld is confirmed%s", nullptr};
    case Verdict::refuse_pending_review:
        return {kHoldPendingReview, "hold %lld is under review%s", "A person ends the review with hold_resolve."};
    case Verdict::refuse_in_flight:
        return {kPaymentInFlight, "a payment of hold %lld is in flight%s",
                "When the call is known to have failed, clear it with hold_fail_payment."};
    default: return {kIllegalTransition, "hold %lld is not under review%s", nullptr};
    }
}

}  // namespace

void raise_refusal(Verdict verdict, const Hold &hold, TimestampTz now, Position position)
{
    const Words words = words_of(verdict, hold);
    const bool past_deadline = words.sqlstate == kHoldExpired && hold.state == State::held;
    ereport(ERROR,
            (errcode(words.sqlstate),
             errmsg(words.message, static_cast<long long>(hold.hold_id), at_position(position)),
             past_deadline ? errdetail("Its deadline was %s, the decision was made at %s.",
                                       pstrdup(print(hold.expires_at)), pstrdup(print(now)))
                           : 0,
             words.hint == nullptr ? 0 : errhint("%s", words.hint)));
    pg_unreachable();
}

void raise_no_such_resource(const Call &call, const Kind &kind, int64 resource_id, Position position)
{
    ereport(ERROR, (errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
                    errmsg("%s %lld does not exist%s", kind.name, static_cast<long long>(resource_id),
                           at_position(position)),
                    error_fields(call.schema, kind.resource_table, nullptr)));
    pg_unreachable();
}

void refuse_when_closed()
{
    if (!settings.accept_holds)
        ereport(ERROR, (errcode(kAcquisitionClosed), errmsg("new holds are not accepted at present"),
                        errdetail("reservation.accept_holds is off."),
                        errhint("Holds that were accepted can still be confirmed and cancelled.")));
}

void raise_version_mismatch(const Hold &hold, int32 given, Position position)
{
    ereport(ERROR, (errcode(kVersionMismatch),
                    errmsg("hold %lld has another version%s", static_cast<long long>(hold.hold_id),
                           at_position(position)),
                    errdetail("Version %d was given, the hold has version %d.", given, hold.version),
                    errhint("Read the hold again with hold_get and decide anew.")));
    pg_unreachable();
}

}  // namespace reservation
