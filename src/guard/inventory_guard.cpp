// The guard of inventory: the counter never leaves 0 to capacity, and the capacity only changes together with it.
#include "guard/row.hpp"
#include "pg/boundary.hpp"
#include "pg/report.hpp"
#include "pg/statement.hpp"

namespace reservation {

namespace {

// clang-format off
constinit Statement occupied_units{
    SPI_OK_SELECT, {INT8OID},
    "SELECT COALESCE(pg_catalog.sum(quantity), 0)::pg_catalog.int8 FROM {schema}.stock_hold"
    " WHERE item_id OPERATOR(pg_catalog.=) $1"
    " AND state OPERATOR(pg_catalog.=) ANY ('{held,pending_review,confirmed}'::pg_catalog.text[])"};
// clang-format on

// The units of the item's holds, whatever the writer of inventory may read: as the owner of the table, like the
// foreign keys of the server.
int64 units_held(FunctionCallInfo fcinfo, const TriggerData *data, int64 item_id)
{
    Oid user;
    int context;
    GetUserIdAndSecContext(&user, &context);
    SetUserIdAndSecContext(data->tg_relation->rd_rel->relowner,
                           context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
    const int64 units = with_spi([&] { return occupied_units.look(call_of(fcinfo), {int8(item_id)}).int8(0, 1); });
    SetUserIdAndSecContext(user, context);
    return units;
}

}  // namespace

// inventory_guard() as a BEFORE INSERT OR UPDATE row trigger
RESERVATION_FUNCTION(inventory_guard)
{
    const TriggerData *data = trigger_data(fcinfo, Guards::inserts_and_updates);
    TupleDesc desc = RelationGetDescr(data->tg_relation);
    const int item_column = column_of(desc, "item_id", INT8OID);
    const int available_column = column_of(desc, "available", INT4OID);
    const int capacity_column = column_of(desc, "capacity", INT4OID);
    const bool update = TRIGGER_FIRED_BY_UPDATE(data->tg_event);

    Row row(update ? data->tg_newtuple : data->tg_trigtuple, desc);
    if (row.is_null(available_column) || row.is_null(item_column))
        return PointerGetDatum(row.tuple());  // NOT NULL says it better
    if (row.is_null(capacity_column))
        row.set(capacity_column, row.value(available_column));

    const int64 item_id = DatumGetInt64(row.value(item_column));
    const int64 available = DatumGetInt32(row.value(available_column));
    const int64 capacity = DatumGetInt32(row.value(capacity_column));
    if (available < 0 || available > capacity)
        raise_check(data, available < 0 ? "inventory_available_check" : "inventory_capacity_check",
                    psprintf("Item %lld would leave 0 <= available <= capacity.", static_cast<long long>(item_id)));
    if (!update)
        return PointerGetDatum(row.tuple());

    const Row old(data->tg_trigtuple, desc);
    const int64 capacity_moved = capacity - DatumGetInt32(old.value(capacity_column));
    const int64 available_moved = available - DatumGetInt32(old.value(available_column));
    if (capacity_moved != 0 && capacity_moved != available_moved &&
        capacity != available + units_held(fcinfo, data, item_id))
        ereport(ERROR,
                (errcode(kIllegalTransition), errmsg("illegal capacity of item %lld", static_cast<long long>(item_id)),
                 errdetail("Capacity must stay the available units and those of the holds that occupy it."),
                 errhint("Change it with inventory_adjust.")));
    return PointerGetDatum(row.tuple());
}

}  // namespace reservation
