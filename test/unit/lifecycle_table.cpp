#include "core/lifecycle_table.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace reservation;

namespace {

constexpr State kAllStates[] = {State::held, State::confirmed, State::cancelled, State::expired, State::pending_review};

Situation held(std::int64_t deadline, std::int64_t now, std::int64_t grace, bool in_flight)
{
    return situation(Facts{State::held, deadline, in_flight, true}, now, grace);
}

bool refuses(Verdict v) { return v >= Verdict::refuse_expired; }

bool writes(Verdict v)
{
    return v != Verdict::stands && v != Verdict::same_reference_stands && v != Verdict::clears_nothing && !refuses(v);
}

Verdict verdict_in(Situation in, Command command) { return verdict(command, in); }

}  // namespace

TEST_CASE("states have the names that the tables store")
{
    for (const State state : kAllStates) {
        State parsed = state == State::held ? State::expired : State::held;
        CHECK(parse_state(name_of(state), &parsed));
        CHECK(parsed == state);
    }
    CHECK(std::string(name_of(State::pending_review)) == "pending_review");
    State untouched = State::confirmed;
    for (const char *name : {"", "Held", "held ", "released", "pending"})
        CHECK_FALSE(parse_state(name, &untouched));
    CHECK(untouched == State::confirmed);
}

TEST_CASE("held, confirmed and what is under review occupy capacity")
{
    CHECK(occupies(State::held));
    CHECK(occupies(State::confirmed));
    CHECK(occupies(State::pending_review));
    CHECK_FALSE(occupies(State::cancelled));
    CHECK_FALSE(occupies(State::expired));
}

TEST_CASE("the deadline itself is expired")
{
    CHECK(held(100, 99, 0, false) == Situation::live);
    CHECK(held(100, 100, 0, false) == Situation::overdue);
    CHECK(held(100, 101, 0, false) == Situation::overdue);
}

TEST_CASE("between the deadline and the end of the grace a hold is late")
{
    CHECK(held(100, 99, 10, false) == Situation::live);
    CHECK(held(100, 100, 10, false) == Situation::late);
    CHECK(held(100, 109, 10, false) == Situation::late);
    CHECK(held(100, 110, 10, false) == Situation::overdue);
}

TEST_CASE("a payment in flight is told apart in each of them")
{
    CHECK(held(100, 99, 10, true) == Situation::live_in_flight);
    CHECK(held(100, 100, 10, true) == Situation::late_in_flight);
    CHECK(held(100, 110, 10, true) == Situation::overdue_in_flight);
}

TEST_CASE("deadlines at the ends of time do not overflow")
{
    constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
    CHECK(held(last, 0, 3600, false) == Situation::live);
    CHECK(held(first, 0, 3600, false) == Situation::overdue);
}

TEST_CASE("only a held hold looks at the clock")
{
    for (const std::int64_t now : {99, 100, 1000}) {
        const auto in = [now](State state, bool cancellable) {
            return situation(Facts{state, 100, true, cancellable}, now, 10);
        };
        CHECK(in(State::confirmed, true) == Situation::confirmed_cancellable);
        CHECK(in(State::confirmed, false) == Situation::confirmed_final);
        CHECK(in(State::pending_review, true) == Situation::pending_review);
        CHECK(in(State::cancelled, true) == Situation::cancelled);
        CHECK(in(State::expired, true) == Situation::expired);
    }
}

TEST_CASE("nothing leaves cancelled or expired")
{
    for (int c = 0; c < kCommands; ++c) {
        CAPTURE(c);
        CHECK_FALSE(writes(verdict_in(Situation::cancelled, static_cast<Command>(c))));
        CHECK_FALSE(writes(verdict_in(Situation::expired, static_cast<Command>(c))));
    }
}

TEST_CASE("the try form never refuses, and agrees with confirm about what is confirmed")
{
    for (int s = 0; s < kSituations; ++s) {
        CAPTURE(s);
        const auto in = static_cast<Situation>(s);
        const Verdict plain = verdict_in(in, Command::confirm);
        const Verdict tried = verdict_in(in, Command::try_confirm);
        CHECK_FALSE(refuses(tried));
        CHECK((plain == Verdict::confirms) == (tried == Verdict::confirms));
        CHECK((plain == Verdict::stands) <= (tried == Verdict::stands));
    }
}

TEST_CASE("only a live hold is confirmed, extended or paid")
{
    for (int s = 0; s < kSituations; ++s) {
        CAPTURE(s);
        const auto in = static_cast<Situation>(s);
        const bool live = in == Situation::live || in == Situation::live_in_flight;
        CHECK((verdict_in(in, Command::confirm) == Verdict::confirms) == live);
        CHECK((verdict_in(in, Command::extend) == Verdict::extends) == live);
        CHECK((verdict_in(in, Command::begin_payment) == Verdict::marks_payment) == (in == Situation::live));
    }
}

TEST_CASE("a hold with a payment in flight is not cancelled and not released")
{
    for (const Situation in : {Situation::live_in_flight, Situation::late_in_flight, Situation::overdue_in_flight}) {
        CHECK(verdict_in(in, Command::cancel) == Verdict::refuse_in_flight);
        CHECK(verdict_in(in, Command::fail_payment) == Verdict::same_reference_clears);
        CHECK(verdict_in(in, Command::try_confirm) != Verdict::releases);
    }
}

TEST_CASE("only a review is resolved")
{
    for (int s = 0; s < kSituations; ++s) {
        CAPTURE(s);
        const auto in = static_cast<Situation>(s);
        for (const Command command : {Command::resolve_confirmed, Command::resolve_cancelled})
            CHECK(writes(verdict_in(in, command)) == (in == Situation::pending_review));
    }
}

TEST_CASE("the transitions that any writer may make are the arrows of the diagram")
{
    for (const bool cancellable : {true, false})
        for (const State from : kAllStates)
            for (const State to : kAllStates) {
                CAPTURE(cancellable);
                CAPTURE(name_of(from));
                CAPTURE(name_of(to));
                const bool ends_review = to == State::confirmed || to == State::cancelled;
                const bool arrow = (from == State::held && to != State::held) ||
                                   (from == State::pending_review && ends_review) ||
                                   (from == State::confirmed && to == State::cancelled && cancellable);
                CHECK(transition_exists(from, to, cancellable) == arrow);
            }
}
