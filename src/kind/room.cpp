// Rooms: one holder per instant. The exclusion constraint decides; the row of the room is the lock.
#include "kind/hold_rows.hpp"

#include "pg/report.hpp"
#include "pg/settings.hpp"

namespace reservation {

namespace {

// clang-format off
constinit Statement find{RESERVATION_FIND("slot_hold", "room_id", "NULL::pg_catalog.int4")};
constinit Statement reread{RESERVATION_REREAD("slot_hold", "room_id", "NULL::pg_catalog.int4", "")};
constinit Statement reread_if_free{RESERVATION_REREAD("slot_hold", "room_id", "NULL::pg_catalog.int4", " SKIP LOCKED")};
constinit Statement write{RESERVATION_WRITE("slot_hold", "room_id")};
constinit Statement overdue{RESERVATION_OVERDUE("slot_hold", "room_id", "NULL::pg_catalog.int4")};
constinit Statement next_deadline{RESERVATION_NEXT_DEADLINE("slot_hold")};
constinit Statement status{RESERVATION_STATUS("slot_hold")};

// As in the index slot_hold_closed.
#define SINCE                                                                                          \
    "(CASE WHEN state OPERATOR(pg_catalog.=) 'confirmed' THEN pg_catalog.upper(during) ELSE changed_at END)"
constinit Statement old_expired{RESERVATION_OLD("slot_hold", "room_id", "NULL::pg_catalog.int4", "expired", SINCE)};
constinit Statement old_cancelled{RESERVATION_OLD("slot_hold", "room_id", "NULL::pg_catalog.int4", "cancelled", SINCE)};
constinit Statement old_past{RESERVATION_OLD("slot_hold", "room_id", "NULL::pg_catalog.int4", "confirmed", SINCE)};
constinit Statement remove_over{RESERVATION_REMOVE_OVER("slot_hold", "room_id")};

constinit Statement lock_row{
    SPI_OK_SELECT, {INT8OID},
    "SELECT 1 FROM {schema}.room WHERE room_id OPERATOR(pg_catalog.=) $1 FOR NO KEY UPDATE"};
constinit Statement lock_row_if_free{
    SPI_OK_SELECT, {INT8OID},
    "SELECT 1 FROM {schema}.room WHERE room_id OPERATOR(pg_catalog.=) $1 FOR NO KEY UPDATE SKIP LOCKED"};
constinit Statement exists{
    SPI_OK_SELECT, {INT8OID},
    "SELECT 1 FROM {schema}.room WHERE room_id OPERATOR(pg_catalog.=) $1"};
constinit Statement insert_hold{
    SPI_OK_INSERT, {INT8OID, INT8OID, TSTZRANGEOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID},
    "INSERT INTO {schema}.slot_hold (hold_id, room_id, during, state, expires_at, created_at, changed_at, holder)"
    " VALUES ($1, $2, $3, 'held', $4, $5, $5, $6)"
    " ON CONFLICT ON CONSTRAINT slot_hold_no_overlap DO NOTHING"};
constinit Statement in_the_way{
    SPI_OK_SELECT, {INT8OID, TSTZRANGEOID},
    "SELECT " RESERVATION_HOLD_COLUMNS("room_id", "NULL::pg_catalog.int4") " FROM {schema}.slot_hold"
    " WHERE room_id OPERATOR(pg_catalog.=) $1 AND during OPERATOR(pg_catalog.&&) $2"
    " AND state OPERATOR(pg_catalog.=) ANY ('{held,pending_review,confirmed}'::pg_catalog.text[])"};
// clang-format on

Lock lock(const Call &call, int64 room_id, Patience patience)
{
    if ((patience == Patience::none ? lock_row_if_free : lock_row).run(call, {int8(room_id)}).any())
        return Lock::taken;
    if (!exists.look(call, {int8(room_id)}).any())
        return Lock::missing;
    if (patience != Patience::none)  // committed after this transaction's snapshot
        raise_serialization_failure();
    return Lock::busy;
}

bool take(const Call &call, Demand &demand)
{
    demand.taken = true;  // the insert takes the period
    return lock(call, demand.resource_id, Patience::queue) == Lock::taken;
}

bool insert(const Call &call, const Demand &demand, const Claim &claim, int64 hold_id, TimestampTz expires_at,
            TimestampTz now, const text *holder)
{
    return insert_hold
               .run(call, {int8(hold_id), int8(demand.resource_id), datum(claim.during), instant(expires_at),
                           instant(now), string(holder)})
               .processed() == 1;
}

bool same_holder(const text *a, const text *b) { return a != nullptr && b != nullptr && bytes(a) == bytes(b); }

bool reclaimable(const Call &call, const Demand &demand, const Claim &claim, TimestampTz now, const text *holder,
                 std::span<Hold> *holds, Shortage *shortage)
{
    *holds = holds_from(kRoom, in_the_way.look(call, {int8(demand.resource_id), datum(claim.during)}));
    // Where one must stay, releasing the others would not help.
    for (const Hold &hold : *holds) {
        if (situation(hold.facts(), now, settings.expiry_grace()) == Situation::overdue)
            continue;
        shortage->claim = &claim;
        const bool of_this_call = hold.created_at == now;  // two claims of it overlap; its holds go with it
        if (same_holder(hold.holder, holder) && !of_this_call) {
            shortage->own_hold = hold.hold_id;
            shortage->own_state = hold.state;
            shortage->own_live = is_live(hold.expires_at, now);
        }
    }
    return shortage->claim == nullptr;
}

void refuse(const Call &call, const Demand &demand, const Shortage &shortage)
{
    const auto own = static_cast<long long>(shortage.own_hold);
    ereport(ERROR, (errcode(ERRCODE_EXCLUSION_VIOLATION),
                    errmsg("room %lld is not free in the requested period%s",
                           static_cast<long long>(demand.resource_id), at_position({shortage.claim->position})),
                    own == 0 ? 0 : errdetail("Hold %lld of the same holder is in the way.", own),
                    own == 0                            ? 0
                    : shortage.own_state != State::held ? errhint("It is %s already.", name_of(shortage.own_state))
                    : shortage.own_live                 ? errhint("To keep it longer, extend it with hold_extend.")
                                                        : errhint("Its deadline has passed."),
                    error_fields(call.schema, "slot_hold", "slot_hold_no_overlap")));
}

void give_back(const Call &, int64, int64) {}  // a state that does not occupy leaves the constraint by itself

}  // namespace

constinit const Kind kRoom{
    .id = KindId::room,
    .name = "room",
    .resource_table = "room",
    .resource_column = "room_id",
    .hold_table = "slot_hold",
    .has_periods = true,
    .cancellable_when_confirmed = true,
    .take = take,
    .lock = lock,
    .insert = insert,
    .reclaimable = reclaimable,
    .refuse = refuse,
    .give_back = give_back,
    .find = &find,
    .reread = &reread,
    .reread_if_free = &reread_if_free,
    .write = &write,
    .overdue = &overdue,
    .next_deadline = &next_deadline,
    .status = &status,
    .old_expired = &old_expired,
    .old_cancelled = &old_cancelled,
    .old_past = &old_past,
    .remove = &remove_over,
    .sold = nullptr,
};

}  // namespace reservation
