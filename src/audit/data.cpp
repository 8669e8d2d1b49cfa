// What may be wrong with rows although no single row shows it, and with single rows that came in around the guards.
#include "audit/check.hpp"

// clang-format off
#define RESERVATION_OCCUPYING(table) \
    table ".state OPERATOR(pg_catalog.=) ANY ('{held,pending_review,confirmed}'::pg_catalog.text[])"
// clang-format on

namespace reservation {

namespace {

// clang-format off
constinit Statement checks[] = {
    RESERVATION_CHECK(
        "SELECT pg_catalog.format('item %s', i.item_id), 'counter does not agree with holds',"
        " pg_catalog.format('Available %s, occupied by holds %s, capacity %s.', i.available, COALESCE(h.units, 0),"
        " i.capacity)"
        " FROM {schema}.inventory AS i LEFT JOIN (SELECT s.item_id, pg_catalog.sum(s.quantity) AS units"
        " FROM {schema}.stock_hold AS s WHERE " RESERVATION_OCCUPYING("s") " GROUP BY s.item_id) AS h"
        " ON h.item_id OPERATOR(pg_catalog.=) i.item_id"
        " WHERE i.available OPERATOR(pg_catalog.<) 0"
        " OR i.available OPERATOR(pg_catalog.+) COALESCE(h.units, 0) OPERATOR(pg_catalog.<>) i.capacity"),

    // A hold overlaps if an earlier one ends after its beginning. Only such a hold is joined with the others of its
    // room, to name them.
    RESERVATION_CHECK(
        "SELECT pg_catalog.format('room %s', b.room_id), 'holds overlap',"
        " pg_catalog.format('Hold %s for %s and hold %s for %s.', a.hold_id, a.during, b.hold_id, b.during)"
        " FROM (SELECT h.room_id, h.hold_id, h.during, pg_catalog.max(pg_catalog.upper(h.during)) OVER ("
        "PARTITION BY h.room_id ORDER BY pg_catalog.lower(h.during), h.hold_id"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS busy_until"
        " FROM {schema}.slot_hold AS h WHERE " RESERVATION_OCCUPYING("h") ") AS b"
        " JOIN {schema}.slot_hold AS a ON a.room_id OPERATOR(pg_catalog.=) b.room_id"
        " AND a.during OPERATOR(pg_catalog.&&) b.during AND " RESERVATION_OCCUPYING("a")
        " AND ROW(pg_catalog.lower(a.during), a.hold_id) OPERATOR(pg_catalog.<)"
        " ROW(pg_catalog.lower(b.during), b.hold_id)"
        " WHERE b.busy_until OPERATOR(pg_catalog.>) pg_catalog.lower(b.during)"),

    RESERVATION_CHECK(
        "SELECT pg_catalog.format('hold %s', r.hold_id), 'id is in both hold tables',"
        " pg_catalog.format('A hold of room %s and a hold of item %s.', r.room_id, s.item_id)"
        " FROM {schema}.slot_hold AS r JOIN {schema}.stock_hold AS s ON s.hold_id OPERATOR(pg_catalog.=) r.hold_id"),

    // Ids of other nodes, and those below the sequence, which imports use, say nothing about it.
    RESERVATION_CHECK(
        "SELECT 'sequence hold_id_seq', 'stands behind the ids of holds',"
        " pg_catalog.format('The next id is %s, hold %s exists.', n.id, m.id)"
        " FROM (SELECT $1 OPERATOR(pg_catalog.+) last_value OPERATOR(pg_catalog.+) is_called::pg_catalog.int4 AS id"
        " FROM {schema}.hold_id_seq) AS n,"
        " (SELECT pg_catalog.max(h.hold_id) AS id FROM {schema}.hold AS h"
        " WHERE h.hold_id OPERATOR(pg_catalog.>=) $1"
        " AND h.hold_id OPERATOR(pg_catalog.<) ($1 OPERATOR(pg_catalog.+) 4398046511104)) AS m"
        " WHERE m.id OPERATOR(pg_catalog.>=) n.id"),
    RESERVATION_CHECK(
        "SELECT 'sequence hold_event_id_seq', 'stands behind the ids of events',"
        " pg_catalog.format('The next id is %s, event %s exists.', n.id, m.id)"
        " FROM (SELECT last_value OPERATOR(pg_catalog.+) is_called::pg_catalog.int4 AS id"
        " FROM {schema}.hold_event_id_seq) AS n,"
        " (SELECT pg_catalog.max(event_id) AS id FROM {schema}.hold_event) AS m"
        " WHERE m.id OPERATOR(pg_catalog.>=) n.id"),
    RESERVATION_CHECK(
        "SELECT 'sequence hold_run_id_seq', 'stands behind the ids of cleanup runs',"
        " pg_catalog.format('The next id is %s, run %s exists.', n.id, m.id)"
        " FROM (SELECT last_value OPERATOR(pg_catalog.+) is_called::pg_catalog.int4 AS id"
        " FROM {schema}.hold_run_id_seq) AS n,"
        " (SELECT pg_catalog.max(run_id) AS id FROM {schema}.hold_run) AS m"
        " WHERE m.id OPERATOR(pg_catalog.>=) n.id"),

    RESERVATION_CHECK(
        "SELECT pg_catalog.format('hold %s', h.hold_id), 'under review for more than a day',"
        " pg_catalog.format('Of %s %s, since %s.', h.kind, h.resource_id, h.changed_at)"
        " FROM {schema}.hold AS h WHERE h.state OPERATOR(pg_catalog.=) 'pending_review'"
        " AND h.changed_at OPERATOR(pg_catalog.<) ($2 OPERATOR(pg_catalog.-) '24:00:00'::pg_catalog.interval)"),

    RESERVATION_CHECK(
        "SELECT pg_catalog.format('hold %s', h.hold_id), 'row that the guard would refuse',"
        " pg_catalog.format('Of %s %s, state %s, %s.', h.kind, h.resource_id, h.state,"
        " COALESCE('quantity ' OPERATOR(pg_catalog.||) h.quantity::pg_catalog.text,"
        " 'period ' OPERATOR(pg_catalog.||) h.during::pg_catalog.text))"
        " FROM {schema}.hold AS h"
        " WHERE h.state OPERATOR(pg_catalog.<>) ALL"
        " ('{held,confirmed,cancelled,expired,pending_review}'::pg_catalog.text[])"
        " OR h.quantity OPERATOR(pg_catalog.<=) 0 OR pg_catalog.isempty(h.during)"
        " OR NOT pg_catalog.lower_inc(h.during) OR pg_catalog.upper_inc(h.during)"
        " OR NOT pg_catalog.isfinite(pg_catalog.lower(h.during))"
        " OR NOT pg_catalog.isfinite(pg_catalog.upper(h.during))"
        " OR pg_catalog.lower_inf(h.during) OR pg_catalog.upper_inf(h.during)"),
};
// clang-format on

}  // namespace

std::span<Statement> data_checks() { return checks; }

}  // namespace reservation
