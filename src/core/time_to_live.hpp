#pragma once
// Time to live: elapsed microseconds, and the deadline that follows from them. No server header.
#include <cstdint>

namespace reservation {

enum class TtlProblem : std::uint8_t { none, months, mixed_signs, infinite, not_positive, overflow };

struct Ttl {
    TtlProblem problem;
    std::int64_t microseconds;  // only when there is no problem
};

// From the fields of an SQL interval. A day is 24 hours in every time zone.
Ttl ttl_from_interval(std::int32_t months, std::int32_t days, std::int64_t microseconds);

const char *describe(TtlProblem problem);  // a sentence for the user

// now + ttl, but not later than created_at + max_lifetime and never earlier than the deadline was.
std::int64_t extended_deadline(std::int64_t deadline, std::int64_t now, std::int64_t ttl, std::int64_t created_at,
                               std::int64_t max_lifetime);

}  // namespace reservation
