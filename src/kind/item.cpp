// Items of inventory: a pool of interchangeable units. A counter decides; its guarded update is the lock.
#include "kind/hold_rows.hpp"
#include "kind/sold_stock.hpp"

#include "pg/queue_lock.hpp"
#include "pg/report.hpp"
#include "pg/settings.hpp"

namespace reservation {

namespace {

// clang-format off
constinit Statement find{RESERVATION_FIND("stock_hold", "item_id", "quantity")};
constinit Statement reread{RESERVATION_REREAD("stock_hold", "item_id", "quantity", "")};
constinit Statement reread_if_free{RESERVATION_REREAD("stock_hold", "item_id", "quantity", " SKIP LOCKED")};
constinit Statement write{RESERVATION_WRITE("stock_hold", "item_id")};
constinit Statement overdue{RESERVATION_OVERDUE("stock_hold", "item_id", "quantity")};
constinit Statement next_deadline{RESERVATION_NEXT_DEADLINE("stock_hold")};
constinit Statement status{RESERVATION_STATUS("stock_hold")};
constinit Statement old_expired{RESERVATION_OLD("stock_hold", "item_id", "quantity", "expired", "changed_at")};
constinit Statement old_cancelled{RESERVATION_OLD("stock_hold", "item_id", "quantity", "cancelled", "changed_at")};
constinit Statement remove_over{RESERVATION_REMOVE_OVER("stock_hold", "item_id")};

constinit Statement decrement{
    SPI_OK_UPDATE, {INT8OID, INT8OID},
    "UPDATE {schema}.inventory SET available = (available OPERATOR(pg_catalog.-) $2)::pg_catalog.int4"
    " WHERE item_id OPERATOR(pg_catalog.=) $1 AND available OPERATOR(pg_catalog.>=) $2"};
constinit Statement increment{
    SPI_OK_UPDATE, {INT8OID, INT8OID},
    "UPDATE {schema}.inventory SET available = (available OPERATOR(pg_catalog.+) $2)::pg_catalog.int4"
    " WHERE item_id OPERATOR(pg_catalog.=) $1"};
constinit Statement lock_row{
    SPI_OK_SELECT, {INT8OID},
    "SELECT available FROM {schema}.inventory WHERE item_id OPERATOR(pg_catalog.=) $1 FOR NO KEY UPDATE"};
constinit Statement lock_row_if_free{
    SPI_OK_SELECT, {INT8OID},
    "SELECT available FROM {schema}.inventory WHERE item_id OPERATOR(pg_catalog.=) $1 FOR NO KEY UPDATE SKIP LOCKED"};
constinit Statement read_available{
    SPI_OK_SELECT, {INT8OID},
    "SELECT available FROM {schema}.inventory WHERE item_id OPERATOR(pg_catalog.=) $1"};
constinit Statement insert_hold{
    SPI_OK_INSERT, {INT8OID, INT8OID, INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID},
    "INSERT INTO {schema}.stock_hold (hold_id, item_id, quantity, state, expires_at, created_at, changed_at, holder)"
    " VALUES ($1, $2, $3, 'held', $4, $5, $5, $6)"};
// Every hold has at least one unit, so the oldest n have at least n. The state is a parameter so that the plan cannot
// be one through the deadlines of all items, which a small table would suggest.
constinit Statement oldest_overdue{
    SPI_OK_SELECT, {INT8OID, TIMESTAMPTZOID, INT8OID, TEXTOID},
    "SELECT " RESERVATION_HOLD_COLUMNS("item_id", "quantity") " FROM {schema}.stock_hold"
    " WHERE item_id OPERATOR(pg_catalog.=) $1 AND state OPERATOR(pg_catalog.=) $4"
    " AND payment_reference IS NULL AND expires_at OPERATOR(pg_catalog.<=) $2"
    " ORDER BY expires_at, hold_id LIMIT $3"};
// clang-format on

// The hold and the counter agree only if both are written. A user's trigger can suppress a write without an error.
void must_be_written(const Rows &rows, int64 item_id)
{
    if (rows.processed() != 1)
        elog(ERROR, "a write for item %lld was suppressed", static_cast<long long>(item_id));
}

// A transaction that has locked the row by other means must not stand in the queue behind somebody who waits for that
// row; so whoever finds the queue occupied tries the row first.
void queue_up(const Call &call, int64 item_id)
{
    const auto id = static_cast<uint64>(item_id);
    if (!join_queue(Queue::item, id) && !lock_row_if_free.run(call, {int8(item_id)}).any())
        wait_in_queue(Queue::item, id);
}

Lock lock(const Call &call, int64 item_id, Patience patience)
{
    if (patience == Patience::queue)
        queue_up(call, item_id);
    if ((patience == Patience::none ? lock_row_if_free : lock_row).run(call, {int8(item_id)}).any())
        return Lock::taken;
    if (!read_available.look(call, {int8(item_id)}).any())
        return Lock::missing;
    if (patience != Patience::none)  // committed after this transaction's snapshot
        raise_serialization_failure();
    return Lock::busy;
}

bool take(const Call &call, Demand &demand)
{
    queue_up(call, demand.resource_id);
    demand.taken = decrement.run(call, {int8(demand.resource_id), int8(demand.units)}).processed() == 1;
    return demand.taken || lock(call, demand.resource_id, Patience::wait) == Lock::taken;
}

bool insert(const Call &call, const Demand &demand, const Claim &claim, int64 hold_id, TimestampTz expires_at,
            TimestampTz now, const text *holder)
{
    if (!demand.taken)
        return false;
    must_be_written(insert_hold.run(call, {int8(hold_id), int8(demand.resource_id), int4(claim.quantity),
                                           instant(expires_at), instant(now), string(holder)}),
                    demand.resource_id);
    return true;
}

void give_back(const Call &call, int64 item_id, int64 units)
{
    if (units > 0)
        must_be_written(increment.run(call, {int8(item_id), int8(units)}), item_id);
}

// The claim that the units at hand do not reach.
const Claim *first_short(const Demand &demand, int64 available)
{
    for (const Claim *claim : demand.claims) {
        available -= claim->quantity;
        if (available < 0)
            return claim;
    }
    return demand.claims.front();
}

bool reclaimable(const Call &call, const Demand &demand, const Claim &, TimestampTz now, const text *,
                 std::span<Hold> *holds, Shortage *shortage)
{
    const int64 available = read_available.look(call, {int8(demand.resource_id)}).int4(0, 1);
    const int64 missing = demand.units - available;
    *holds = {};
    if (missing <= 0)
        return true;
    const std::span<Hold> oldest =
        holds_from(kItem, oldest_overdue.look(call, {int8(demand.resource_id), instant(now - settings.expiry_grace()),
                                                     int8(missing), string(name_of(State::held))}));
    int64 found = 0;
    std::size_t needed = 0;
    while (needed < oldest.size() && found < missing)
        found += oldest[needed++].units;
    if (found >= missing) {
        *holds = oldest.first(needed);
        return true;
    }
    shortage->available = available + found;
    shortage->claim = first_short(demand, shortage->available);
    return false;
}

void refuse(const Call &call, const Demand &demand, const Shortage &shortage)
{
    ereport(ERROR,
            (errcode(ERRCODE_CHECK_VIOLATION),
             errmsg("item %lld has too few units available%s", static_cast<long long>(demand.resource_id),
                    at_position({shortage.claim->position})),
             errdetail("%lld can be had, %lld were asked for.", static_cast<long long>(shortage.available),
                       static_cast<long long>(demand.units)),
             error_fields(call.schema, "inventory", "inventory_available_check")));
}

}  // namespace

constinit const Kind kItem{
    .id = KindId::item,
    .name = "item",
    .resource_table = "inventory",
    .resource_column = "item_id",
    .hold_table = "stock_hold",
    .has_periods = false,
    .cancellable_when_confirmed = false,
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
    .old_past = nullptr,
    .remove = &remove_over,
    .sold = &kSoldStock,
};

}  // namespace reservation
