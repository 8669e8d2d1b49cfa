#include "core/time_to_live.hpp"

#include <algorithm>
#include <limits>

namespace reservation {

namespace {

constexpr std::int64_t kMicrosecondsPerDay = 24LL * 3600 * 1'000'000;

// A sum that stops at the largest number instead of overflowing.
std::int64_t sum(std::int64_t a, std::int64_t b)
{
    std::int64_t result;
    return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

}  // namespace

Ttl ttl_from_interval(std::int32_t months, std::int32_t days, std::int64_t microseconds)
{
    using Days = std::numeric_limits<std::int32_t>;
    using Micros = std::numeric_limits<std::int64_t>;
    // Since 17 an infinite interval has every field at its end.
    if ((months == Days::max() && days == Days::max() && microseconds == Micros::max()) ||
        (months == Days::min() && days == Days::min() && microseconds == Micros::min()))
        return {TtlProblem::infinite, 0};
    if (months != 0)
        return {TtlProblem::months, 0};
    if ((days < 0 && microseconds > 0) || (days > 0 && microseconds < 0))
        return {TtlProblem::mixed_signs, 0};
    if (days < 0 || microseconds < 0 || (days == 0 && microseconds == 0))
        return {TtlProblem::not_positive, 0};
    std::int64_t total;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(days), kMicrosecondsPerDay, &total) ||
        __builtin_add_overflow(total, microseconds, &total))
        return {TtlProblem::overflow, 0};
    return {TtlProblem::none, total};
}

const char *describe(TtlProblem problem)
{
    switch (problem) {
    case TtlProblem::months: return "Months and years have no fixed length.";
    case TtlProblem::mixed_signs: return "Its days and its time have different signs.";
    case TtlProblem::infinite: return "It must be finite.";
    case TtlProblem::not_positive: return "It must be greater than zero.";
    case TtlProblem::overflow: return "It is out of range.";
    case TtlProblem::none: break;
    }
    return "";
}

std::int64_t extended_deadline(std::int64_t deadline, std::int64_t now, std::int64_t ttl, std::int64_t created_at,
                               std::int64_t max_lifetime)
{
    return std::max(deadline, std::min(sum(now, ttl), sum(created_at, max_lifetime)));
}

}  // namespace reservation
