#pragma once
// The one source of time for every decision about a deadline.
#include "pg/postgres.hpp"

namespace reservation {

// The time now: the server's clock, or what reservation.time_source says. Raises RV010 when that fails.
TimestampTz read_clock();

// What time a row was decided at, for a trigger. A function reads the clock once and writes it into changed_at;
// that reading is believed when it can be one that this statement made, else the clock is read again.
TimestampTz time_of_decision(TimestampTz claimed, TimestampTz previous);

}  // namespace reservation
