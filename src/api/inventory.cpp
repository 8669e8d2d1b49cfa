// inventory_adjust, and the ids of holds.
#include "lifecycle/refusal.hpp"

#include "api/arguments.hpp"
#include "kind/hold_id.hpp"
#include "pg/clock.hpp"
#include "pg/settings.hpp"
#include "record/event.hpp"

namespace reservation {

namespace {

// clang-format off
constinit Statement adjust{
    SPI_OK_UPDATE_RETURNING, {INT8OID, INT8OID},
    "UPDATE {schema}.inventory SET available = (available OPERATOR(pg_catalog.+) $2)::pg_catalog.int4,"
    " capacity = (capacity OPERATOR(pg_catalog.+) $2)::pg_catalog.int4"
    " WHERE item_id OPERATOR(pg_catalog.=) $1 RETURNING available"};
constinit Statement read_item{
    SPI_OK_SELECT, {INT8OID},
    "SELECT available, capacity FROM {schema}.inventory WHERE item_id OPERATOR(pg_catalog.=) $1"};
// clang-format on

}  // namespace

// hold_next_id() returns bigint: the node's number above 42 bits of the sequence. No SQL, so no search path to guard.
RESERVATION_FUNCTION(hold_next_id) { return Int64GetDatum(next_hold_id(call_of(fcinfo))); }

// inventory_adjust(item_id bigint, delta integer, note text) returns integer: the units available afterwards
RESERVATION_FUNCTION(inventory_adjust)
{
    const int64 item_id = required_int8(fcinfo, 0, "item_id");
    require(fcinfo, 1, "delta");
    const int32 delta = PG_GETARG_INT32(1);
    const text *note = optional_text(fcinfo, 2);
    const int32 available = with_spi([&] {
        const Call call = call_of(fcinfo);
        if (kItem.lock(call, item_id, Patience::queue) == Lock::missing)
            raise_no_such_resource(call, kItem, item_id);
        const Rows before = read_item.look(call, {int8(item_id)});
        if (int64{before.int4(0, 2)} + delta > PG_INT32_MAX)
            raise_invalid_argument("delta", "The capacity would be out of range.");
        if (int64{before.int4(0, 1)} + delta < 0)
            ereport(ERROR, (errcode(ERRCODE_CHECK_VIOLATION),
                            errmsg("item %lld has too few units available", static_cast<long long>(item_id)),
                            errdetail("%d are available, %lld were to be written off.", before.int4(0, 1),
                                      -static_cast<long long>(delta)),
                            error_fields(call.schema, "inventory", "inventory_available_check")));
        const int32 after = adjust.run(call, {int8(item_id), int8(delta)}).int4(0, 1);
        log_adjusted(call, kItem, item_id, delta, read_clock(), note);
        return after;
    });
    PG_RETURN_INT32(available);
}

}  // namespace reservation
