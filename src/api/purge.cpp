// hold_purge.
#include "lifecycle/purge.hpp"

#include "api/arguments.hpp"
#include "pg/clock.hpp"

#include <cmath>

namespace reservation {

namespace {

constexpr int32 kDefaultMaxRows = 10'000;
constexpr double kMostYears = 6000;

// The time before which a hold must have been changed last. Months and years count as in the calendar.
TimestampTz unchanged_since(const Interval *older_than)
{
    // A longer time, an infinite one too, would lead out of the calendar.
    const double years = older_than->month / 12.0 + older_than->day / 365.25 +
                         static_cast<double>(older_than->time) / (365.25 * USECS_PER_DAY);
    if (std::abs(years) > kMostYears)
        raise_invalid_argument("older_than", "It must be less than 6000 years.");
    const TimestampTz now = read_clock();
    const TimestampTz since = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_mi_interval, TimestampTzGetDatum(now),
                                                                      IntervalPGetDatum(older_than)));
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
