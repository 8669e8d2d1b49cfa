#include "kind/sold_stock.hpp"

#include "kind/hold_rows.hpp"

namespace reservation {

namespace {

// clang-format off
constinit Statement oldest{
    SPI_OK_SELECT, {TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID, INT8OID},
    "SELECT " RESERVATION_HOLD_COLUMNS("item_id", "quantity") " FROM {schema}.stock_hold"
    " WHERE state OPERATOR(pg_catalog.=) 'confirmed' AND changed_at OPERATOR(pg_catalog.<=) $1"
    " AND ROW(changed_at, hold_id) OPERATOR(pg_catalog.>) ROW($2, $3) ORDER BY changed_at, hold_id LIMIT $4"};
constinit Statement lock_free{
    SPI_OK_SELECT, {INT8ARRAYOID},
    "SELECT item_id FROM {schema}.inventory WHERE item_id OPERATOR(pg_catalog.=) ANY ($1)"
    " ORDER BY item_id FOR NO KEY UPDATE SKIP LOCKED"};
// The conditions beside the id are in a form that no index serves, as in every statement that writes a hold.
constinit Statement remove_holds{
    SPI_OK_SELECT, {INT8ARRAYOID, INT8ARRAYOID, TIMESTAMPTZOID},
    "WITH old AS MATERIALIZED (SELECT h.hold_id, h.item_id"
    " FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS c (hold_id, item_id) JOIN {schema}.stock_hold AS h"
    " ON h.hold_id OPERATOR(pg_catalog.=) c.hold_id AND (h.item_id OPERATOR(pg_catalog.=) c.item_id) IS TRUE"
    " WHERE (h.state OPERATOR(pg_catalog.=) 'confirmed') IS TRUE AND (h.changed_at OPERATOR(pg_catalog.<=) $3) IS TRUE"
    " FOR UPDATE OF h SKIP LOCKED),"
    " gone AS (DELETE FROM {schema}.stock_hold AS h USING old AS o"
    " WHERE h.hold_id OPERATOR(pg_catalog.=) o.hold_id AND (h.item_id OPERATOR(pg_catalog.=) o.item_id) IS TRUE"
    " RETURNING h.hold_id, h.item_id, h.quantity),"
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
