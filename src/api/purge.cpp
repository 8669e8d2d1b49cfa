// hold_purge.
#include "lifecycle/purge.hpp"

#include "api/arguments.hpp"
#include "pg/clock.hpp"

namespace reservation {

namespace {

constexpr int32 kDefaultMaxRows = 10'000;

// The time before which a hold must have been changed last. Months and years count as in the calendar.
TimestampTz unchanged_since(const Interval *older_than)
{
    const TimestampTz now = read_clock();
    const TimestampTz since = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_mi_interval, TimestampTzGetDatum(now),
                                                                      IntervalPGetDatum(older_than)));
    if (TIMESTAMP_NOT_FINITE(since))
        raise_invalid_argument("older_than", "It must be finite.");
    if (since > now)
        raise_invalid_argument("older_than", "It must not be negative.");
    return since;
}

}  // namespace

// hold_purge(older_than interval, max_rows integer, sold boolean) returns bigint: the number of holds
RESERVATION_FUNCTION(hold_purge)
{
    require(fcinfo, 0, "older_than");
    const PurgeRequest request{
        .unchanged_since = unchanged_since(PG_GETARG_INTERVAL_P(0)),
        .max_holds = optional_int4(fcinfo, 1).value_or(kDefaultMaxRows),
        .sold = given(fcinfo, 2) && PG_GETARG_BOOL(2),
    };
    if (request.max_holds < 1)
        raise_invalid_argument("max_rows", "It must be at least 1.");
    PG_RETURN_INT64(with_spi([&] { return purge(call_of(fcinfo), request); }));
}

}  // namespace reservation
