#pragma once
// What each call does to a hold in each state: the table of the contract as data. No server header.
#include <cstdint>
#include <string_view>

namespace reservation {

enum class State : std::uint8_t { held, confirmed, cancelled, expired, pending_review };
inline constexpr int kStates = 5;

const char *name_of(State state);
bool parse_state(std::string_view name, State *state);

inline bool occupies(State state)
{
    return state == State::held || state == State::pending_review || state == State::confirmed;
}

enum class Command : std::uint8_t {
    confirm,
    try_confirm,
    cancel,
    extend,
    begin_payment,
    fail_payment,
    resolve_confirmed,
    resolve_cancelled,
};
inline constexpr int kCommands = 8;

// A hold as a decision sees it. Times in microseconds, on one scale.
struct Facts {
    State state;
    std::int64_t deadline;
    bool in_flight;                   // has a payment reference
    bool cancellable_when_confirmed;  // the kind's policy: rooms yes, stock no
};

enum class Situation : std::uint8_t {
    live,
    live_in_flight,
    late,
    late_in_flight,
    overdue,
    overdue_in_flight,
    confirmed_cancellable,
    confirmed_final,
    pending_review,
    cancelled,
    expired,
};
inline constexpr int kSituations = 11;

Situation situation(const Facts &hold, std::int64_t now, std::int64_t grace);

// The deadline itself is expired.
inline bool is_live(std::int64_t deadline, std::int64_t now) { return now < deadline; }
// deadline + grace <= now, written so that a deadline at the end of time cannot overflow.
inline bool is_overdue(std::int64_t deadline, std::int64_t now, std::int64_t grace) { return deadline <= now - grace; }

enum class Verdict : std::uint8_t {
    stands,  // the outcome is there already: answer, write nothing
    confirms,
    cancels,   // gives the capacity back
    releases,  // to expired; gives the capacity back
    sends_to_review,
    extends,
    marks_payment,
    same_reference_stands,  // else RV007
    same_reference_clears,  // else RV007
    clears_nothing,         // no payment in flight: answer the version
    resolves_confirmed,
    resolves_cancelled,     // gives the capacity back
    refuse_expired,         // RV001 by state
    refuse_past_deadline,   // RV001 by the clock, judged after the version
    refuse_to_be_reviewed,  // the same, with the hint that a review follows
    refuse_cancelled,       // RV002
    refuse_confirmed,       // RV003
    refuse_pending_review,  // RV004
    refuse_in_flight,       // RV007
    refuse_illegal,         // RV009
};

Verdict verdict(Command command, Situation situation);

// Row transitions that the guard allows to any writer; what they depend on besides the two states is its business.
bool transition_exists(State from, State to, bool cancellable_when_confirmed);

}  // namespace reservation
