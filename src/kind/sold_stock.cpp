#include "kind/sold_stock.hpp"

#include "kind/hold_rows.hpp"

namespace reservation {

namespace {

// clang-format off
constinit Statement oldest{RESERVATION_OLD("stock_hold", "item_id", "quantity", "confirmed", "changed_at")};
constinit Statement lock_free{
    SPI_OK_SELECT, {INT8ARRAYOID},
    "SELECT item_id FROM {schema}.inventory WHERE item_id OPERATOR(pg_catalog.=) ANY ($1)"
    " ORDER BY item_id FOR NO KEY UPDATE SKIP LOCKED"};
constinit Statement remove_holds{
    RESERVATION_REMOVE("stock_hold", "item_id", "h.hold_id, h.item_id, h.quantity") ","
    " units AS (SELECT item_id, pg_catalog.sum(quantity) AS units FROM gone GROUP BY item_id)"
    " SELECT pg_catalog.count(*), pg_catalog.array_agg(hold_id),"
    " (SELECT pg_catalog.array_agg(item_id ORDER BY item_id) FROM units),"
    " (SELECT pg_catalog.array_agg(units ORDER BY item_id) FROM units), (SELECT pg_catalog.count(*) FROM units) FROM gone"};
// First as if the units came back, then out of both columns at once: neither makes the guard of inventory add up what
// is left of an item's holds, of which there may be many.
constinit Statement give_back{
    SPI_OK_UPDATE, {INT8ARRAYOID, INT8ARRAYOID},
    "UPDATE {schema}.inventory AS i SET available = (i.available OPERATOR(pg_catalog.+) u.units)::pg_catalog.int4"
    " FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS u (item_id, units)"
    " WHERE i.item_id OPERATOR(pg_catalog.=) u.item_id"};
constinit Statement write_off{
    SPI_OK_UPDATE, {INT8ARRAYOID, INT8ARRAYOID},
    "UPDATE {schema}.inventory AS i SET available = (i.available OPERATOR(pg_catalog.-) u.units)::pg_catalog.int4,"
    " capacity = (i.capacity OPERATOR(pg_catalog.-) u.units)::pg_catalog.int4"
    " FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS u (item_id, units)"
    " WHERE i.item_id OPERATOR(pg_catalog.=) u.item_id"};
// clang-format on

}  // namespace

constinit const Sold kSoldStock{
    .oldest = &oldest,
    .lock_free = &lock_free,
    .remove = &remove_holds,
    .give_back = &give_back,
    .write_off = &write_off,
};

}  // namespace reservation
