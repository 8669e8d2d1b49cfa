#include "core/time_to_live.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string_view>

using namespace reservation;

namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kHour = 3600 * kSecond;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int32_t kMaxDays = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kMinDays = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TtlProblem problem_of(std::int32_t months, std::int32_t days, std::int64_t microseconds)
{
    return ttl_from_interval(months, days, microseconds).problem;
}

void accepts(std::int32_t days, std::int64_t microseconds, std::int64_t expected)
{
    const Ttl ttl = ttl_from_interval(0, days, microseconds);
    CHECK(ttl.problem == TtlProblem::none);
    CHECK(ttl.microseconds == expected);
}

}  // namespace

TEST_CASE("a day of a time to live is 24 hours")
{
    accepts(0, 1, 1);
    accepts(0, 90 * kSecond, 90 * kSecond);
    accepts(1, 0, kDay);
    accepts(2, 3 * kHour, 51 * kHour);
    accepts(0, kMax, kMax);
}

TEST_CASE("months have no fixed length, whatever stands beside them")
{
    CHECK(problem_of(1, 0, 0) == TtlProblem::months);
    CHECK(problem_of(-1, 0, 0) == TtlProblem::months);
    CHECK(problem_of(12, 1, kHour) == TtlProblem::months);
    CHECK(problem_of(1, -1, kHour) == TtlProblem::months);
}

TEST_CASE("a time to live is greater than zero")
{
    CHECK(problem_of(0, 0, 0) == TtlProblem::not_positive);
    CHECK(problem_of(0, 0, -1) == TtlProblem::not_positive);
    CHECK(problem_of(0, -1, 0) == TtlProblem::not_positive);
    CHECK(problem_of(0, -1, -1) == TtlProblem::not_positive);
    CHECK(problem_of(0, kMinDays, kMin) == TtlProblem::not_positive);
}

TEST_CASE("mixed signs are refused also when the sum would be positive")
{
    CHECK(problem_of(0, 1, -1) == TtlProblem::mixed_signs);
    CHECK(problem_of(0, -1, 25 * kHour) == TtlProblem::mixed_signs);
}

TEST_CASE("both infinities are told from large months")
{
    CHECK(problem_of(kMaxDays, kMaxDays, kMax) == TtlProblem::infinite);
    CHECK(problem_of(kMinDays, kMinDays, kMin) == TtlProblem::infinite);
    CHECK(problem_of(kMaxDays, kMaxDays, kMax - 1) == TtlProblem::months);
}

TEST_CASE("days and time that do not fit in microseconds overflow")
{
    CHECK(problem_of(0, kMaxDays, 0) == TtlProblem::overflow);
    CHECK(problem_of(0, 1, kMax) == TtlProblem::overflow);
    accepts(106751991, 0, 106751991 * kDay);  // the most days that fit
    CHECK(problem_of(0, 106751992, 0) == TtlProblem::overflow);
}

TEST_CASE("every problem has a sentence of its own")
{
    using enum TtlProblem;
    const TtlProblem problems[] = {months, mixed_signs, infinite, not_positive, overflow};
    for (const TtlProblem a : problems) {
        const std::string_view sentence = describe(a);
        REQUIRE(!sentence.empty());
        CHECK(sentence.back() == '.');
        for (const TtlProblem b : problems)
            CHECK((a == b) == (sentence == describe(b)));
    }
}

TEST_CASE("an extended deadline is now and the time to live")
{
    CHECK(extended_deadline(1000, 500, 600, 0, 10'000) == 1100);
}

TEST_CASE("an extended deadline is never earlier than it was")
{
    CHECK(extended_deadline(1000, 500, 400, 0, 10'000) == 1000);
    CHECK(extended_deadline(1000, 500, 500, 0, 10'000) == 1000);
    // Not even where the greatest lifetime was lowered meanwhile.
    CHECK(extended_deadline(1000, 500, 5000, 0, 700) == 1000);
}

TEST_CASE("an extended deadline stops at the greatest lifetime")
{
    CHECK(extended_deadline(1000, 500, 5000, 0, 2000) == 2000);
    CHECK(extended_deadline(1000, 500, 5000, 300, 2000) == 2300);
    CHECK(extended_deadline(1000, 500, 1500, 0, 2000) == 2000);
}

TEST_CASE("an extended deadline does not overflow")
{
    CHECK(extended_deadline(1000, 500, kMax, 0, 2000) == 2000);
    CHECK(extended_deadline(kMax - 10, 500, kMax, kMax - 5, 2000) == kMax);
    // Times before the epoch, which is the year 2000.
    CHECK(extended_deadline(-1000, -1500, 600, -2000, 5000) == -900);
}
