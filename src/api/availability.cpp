// room_availability, available_rooms, stock_availability: what acquire would get now. They read under the caller's
// snapshot, write nothing and run on a standby.
#include "lifecycle/refusal.hpp"

#include "api/arguments.hpp"
#include "api/result_set.hpp"
#include "pg/clock.hpp"
#include "pg/settings.hpp"

// clang-format off
// The rule of acquire: every occupying hold is in the way but one that is overdue with no payment in flight.
// past is the parameter with the latest deadline of an overdue hold.
#define RESERVATION_RECLAIMABLE(held, past)                                                                     \
    "state OPERATOR(pg_catalog.=) " held " AND payment_reference IS NULL AND expires_at OPERATOR(pg_catalog.<=) " past
#define RESERVATION_IN_THE_WAY(past)                                                                            \
    "state OPERATOR(pg_catalog.=) ANY ('{held,pending_review,confirmed}'::pg_catalog.text[])"                   \
    " AND NOT (" RESERVATION_RECLAIMABLE("'held'", past) ")"
// clang-format on

namespace reservation {

namespace {

// clang-format off
// One row for each gap; one with NULL if there is none; none if there is no such room.
constinit Statement gaps_of_room{
    SPI_OK_SELECT, {INT8OID, TSTZRANGEOID, TIMESTAMPTZOID},
    "SELECT gap FROM {schema}.room AS r LEFT JOIN LATERAL pg_catalog.unnest("
    "pg_catalog.tstzmultirange($2) OPERATOR(pg_catalog.-) COALESCE("
    "(SELECT pg_catalog.range_agg(h.during) FROM {schema}.slot_hold AS h"
    " WHERE h.room_id OPERATOR(pg_catalog.=) $1 AND h.during OPERATOR(pg_catalog.&&) $2"
    " AND " RESERVATION_IN_THE_WAY("$3") "), '{}'::pg_catalog.tstzmultirange)) AS gap ON true"
    " WHERE r.room_id OPERATOR(pg_catalog.=) $1"};

// LIMIT keeps the inner query one that is asked for each room, through the exclusion index, whatever the planner
// thinks of the number of holds.
constinit Statement rooms_without_holds{
    SPI_OK_SELECT, {TSTZRANGEOID, TIMESTAMPTZOID},
    "SELECT r.room_id FROM {schema}.room AS r LEFT JOIN LATERAL (SELECT true AS taken FROM {schema}.slot_hold AS h"
    " WHERE h.room_id OPERATOR(pg_catalog.=) r.room_id AND h.during OPERATOR(pg_catalog.&&) $1"
    " AND " RESERVATION_IN_THE_WAY("$2") " LIMIT 1) AS h ON true WHERE h.taken IS NULL ORDER BY r.room_id"};

// The state is a parameter so that the plan cannot be one through the deadlines of all items.
constinit Statement units_of_item{
    SPI_OK_SELECT, {INT8OID, TIMESTAMPTZOID, TEXTOID},
    "SELECT (i.available OPERATOR(pg_catalog.+) COALESCE((SELECT pg_catalog.sum(h.quantity)"
    " FROM {schema}.stock_hold AS h WHERE h.item_id OPERATOR(pg_catalog.=) $1"
    " AND " RESERVATION_RECLAIMABLE("$3", "$2") "), 0))::pg_catalog.int4"
    " FROM {schema}.inventory AS i WHERE i.item_id OPERATOR(pg_catalog.=) $1"};
// clang-format on

Value latest_overdue_deadline() { return instant(read_clock() - settings.expiry_grace()); }

Datum period_argument(FunctionCallInfo fcinfo, int n)
{
    require(fcinfo, n, "during");
    const Datum during = PointerGetDatum(PG_DETOAST_DATUM(PG_GETARG_DATUM(n)));
    check_period(during, "during");
    return during;
}

}  // namespace

// room_availability(room_id bigint, during tstzrange) returns setof tstzrange: the gaps, in order
RESERVATION_FUNCTION(room_availability)
{
    const int64 room_id = required_int8(fcinfo, 0, "room_id");
    const Datum during = period_argument(fcinfo, 1);
    const ResultSet result(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
    with_spi([&] {
        const Call call = call_of(fcinfo);
        const Rows gaps = gaps_of_room.read(call, {int8(room_id), datum(during), latest_overdue_deadline()});
        if (gaps.empty())
            raise_no_such_resource(call, kRoom, room_id);
        for (uint64 i = 0; i < gaps.processed(); ++i) {
            bool none;
            const Datum gap = gaps.value(i, 1, &none);
            if (!none)
                result.put({datum(gap)});
        }
    });
    return Datum{0};
}

// available_rooms(during tstzrange) returns setof bigint: the rooms that are free for all of it, by id
RESERVATION_FUNCTION(available_rooms)
{
    const Datum during = period_argument(fcinfo, 0);
    const ResultSet result(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
    with_spi([&] {
        rooms_without_holds.stream(call_of(fcinfo), {datum(during), latest_overdue_deadline()},
                                   [&](const Rows &rows, uint64 i) { result.put({int8(rows.int8(i, 1))}); });
    });
    return Datum{0};
}

// stock_availability(item_id bigint) returns integer: the units that can be had
RESERVATION_FUNCTION(stock_availability)
{
    const int64 item_id = required_int8(fcinfo, 0, "item_id");
    PG_RETURN_INT32(with_spi([&] {
        const Call call = call_of(fcinfo);
        const Rows units =
            units_of_item.read(call, {int8(item_id), latest_overdue_deadline(), string(name_of(State::held))});
        if (units.empty())
            raise_no_such_resource(call, kItem, item_id);
        return units.int4(0, 1);
    }));
}

}  // namespace reservation
