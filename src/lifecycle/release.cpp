#include "lifecycle/release.hpp"

#include "kind/hold_rows.hpp"
#include "record/event.hpp"

namespace reservation {

namespace {

bool end_hold(const Call &call, const Hold &seen, State state, Outcome outcome, TimestampTz now,
              std::optional<int64> run_id)
{
    if (!write_hold(call, seen, state, seen.expires_at, seen.payment_reference, now))
        return false;
    log_change(call, outcome, seen, state, now, run_id);
    return true;
}

}  // namespace

bool release(const Call &call, const Hold &seen, TimestampTz now, std::optional<int64> run_id)
{
    return end_hold(call, seen, State::expired, Outcome::released, now, run_id);
}

bool send_to_review(const Call &call, const Hold &seen, TimestampTz now, std::optional<int64> run_id)
{
    return end_hold(call, seen, State::pending_review, Outcome::pending_review, now, run_id);
}

}  // namespace reservation
