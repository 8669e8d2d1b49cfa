#pragma once
// Periods: tstzrange values that are nonempty, [), with finite bounds.
#include "pg/postgres.hpp"

namespace reservation {

// A sentence about what makes the range no period, or nullptr.
const char *problem_of_period(Datum range);

// The upper bound of a period.
TimestampTz end_of_period(Datum range);

}  // namespace reservation
