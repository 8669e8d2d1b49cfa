#include "record/event.hpp"

#include "pg/settings.hpp"

#include <array>

namespace reservation {

namespace {

// clang-format off
constinit Statement insert_event{
    SPI_OK_INSERT,
    {INT8OID, TEXTOID, INT8OID, TEXTOID, INT4OID, TEXTOID, TEXTOID, INT4OID, TIMESTAMPTZOID, TEXTOID, INT8OID, TEXTOID},
    "INSERT INTO {schema}.hold_event (hold_id, kind, resource_id, outcome, version_seen, state_before, state_after,"
    " units, at, who, run_id, note) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"};

constinit Statement delete_events{
    SPI_OK_SELECT, {INT8ARRAYOID, TEXTOID},
    "WITH gone AS (DELETE FROM {schema}.hold_event WHERE hold_id OPERATOR(pg_catalog.=) ANY ($1)"
    " AND kind OPERATOR(pg_catalog.=) $2 RETURNING run_id) SELECT DISTINCT run_id FROM gone WHERE run_id IS NOT NULL"};
// clang-format on

constexpr std::array kOutcomeNames{"acquired", "extended", "payment_begun",  "payment_failed", "confirmed", "cancelled",
                                   "released", "skipped",  "pending_review", "resolved",       "failed",    "adjusted"};

const char *name_of_outcome(Outcome outcome) { return kOutcomeNames[static_cast<std::size_t>(outcome)]; }

Value units_or_none(int32 units) { return units == 0 ? absent() : int4(units); }

}  // namespace

bool is_logged(Outcome outcome)
{
    switch (outcome) {
    case Outcome::resolved:
    case Outcome::adjusted: return true;
    case Outcome::released:
    case Outcome::skipped:
    case Outcome::pending_review:
    case Outcome::failed: return settings.logs(LogEvents::cleanup);
    default: return settings.logs(LogEvents::all);
    }
}

void log_change(const Call &call, Outcome outcome, const Hold &seen, std::optional<State> after, TimestampTz at,
                std::optional<int64> run_id, const text *note)
{
    if (!is_logged(outcome))
        return;
    insert_event.run(call, {int8(seen.hold_id), string(seen.kind->name), int8(seen.resource_id),
                            string(name_of_outcome(outcome)), int4(seen.version), string(name_of(seen.state)),
                            after ? string(name_of(*after)) : absent(), units_or_none(seen.units), instant(at),
                            string(calling_role()), run_id ? int8(*run_id) : absent(), string(note)});
}

void log_acquired(const Call &call, const Claim &claim, int64 hold_id, TimestampTz at)
{
    if (!is_logged(Outcome::acquired))
        return;
    insert_event.run(call,
                     {int8(hold_id), string(claim.kind->name), int8(claim.resource_id),
                      string(name_of_outcome(Outcome::acquired)), absent(), absent(), string(name_of(State::held)),
                      units_or_none(claim.quantity), instant(at), string(calling_role()), absent(), absent()});
}

void log_adjusted(const Call &call, const Kind &kind, int64 resource_id, int32 units, TimestampTz at, const text *note)
{
    insert_event.run(call, {absent(), string(kind.name), int8(resource_id), string(name_of_outcome(Outcome::adjusted)),
                            absent(), absent(), absent(), int4(units), instant(at), string(calling_role()), absent(),
                            string(note)});
}

std::span<const int64> forget_events(const Call &call, const Kind &kind, Datum hold_ids)
{
    const Rows rows = delete_events.run(call, {datum(hold_ids), string(kind.name)});
    auto *runs = static_cast<int64 *>(palloc(sizeof(int64) * (rows.processed() + 1)));
    for (uint64 i = 0; i < rows.processed(); ++i)
        runs[i] = rows.int8(i, 1);
    return {runs, rows.processed()};
}

const char *calling_role()
{
    const char *name = GetUserNameFromId(GetOuterUserId(), true);
    return name != nullptr ? name : "unknown";
}

}  // namespace reservation
