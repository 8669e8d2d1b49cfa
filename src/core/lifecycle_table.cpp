#include "core/lifecycle_table.hpp"

#include <array>

namespace reservation {

namespace {

constexpr std::array<const char *, kStates> kStateNames{"held", "confirmed", "cancelled", "expired", "pending_review"};

using enum Verdict;

// Rows are situations, columns commands, both in the order of their enumerations.
constexpr Verdict kTable[kSituations][kCommands] = {
    // live
    {confirms, confirms, cancels, extends, marks_payment, clears_nothing, refuse_illegal, refuse_illegal},
    // live, in flight
    {confirms, confirms, refuse_in_flight, extends, same_reference_stands, same_reference_clears, refuse_illegal,
     refuse_illegal},
    // late
    {refuse_past_deadline, stands, cancels, refuse_past_deadline, refuse_past_deadline, clears_nothing, refuse_illegal,
     refuse_illegal},
    // late, in flight
    {refuse_to_be_reviewed, stands, refuse_in_flight, refuse_past_deadline, refuse_past_deadline, same_reference_clears,
     refuse_illegal, refuse_illegal},
    // overdue
    {refuse_past_deadline, releases, cancels, refuse_past_deadline, refuse_past_deadline, clears_nothing,
     refuse_illegal, refuse_illegal},
    // overdue, in flight
    {refuse_to_be_reviewed, sends_to_review, refuse_in_flight, refuse_past_deadline, refuse_past_deadline,
     same_reference_clears, refuse_illegal, refuse_illegal},
    // confirmed, and the kind lets it be cancelled
    {stands, stands, cancels, refuse_confirmed, refuse_confirmed, refuse_confirmed, stands, refuse_confirmed},
    // confirmed for good
    {stands, stands, refuse_confirmed, refuse_confirmed, refuse_confirmed, refuse_confirmed, stands, refuse_confirmed},
    // pending review
    {refuse_pending_review, stands, refuse_pending_review, refuse_pending_review, refuse_pending_review,
     refuse_pending_review, resolves_confirmed, resolves_cancelled},
    // cancelled
    {refuse_cancelled, stands, stands, refuse_cancelled, refuse_cancelled, refuse_cancelled, refuse_cancelled, stands},
    // expired
    {refuse_expired, stands, stands, refuse_expired, refuse_expired, refuse_expired, refuse_expired, refuse_expired},
};

}  // namespace

const char *name_of(State state) { return kStateNames[static_cast<std::size_t>(state)]; }

bool parse_state(std::string_view name, State *state)
{
    for (int i = 0; i < kStates; ++i)
        if (name == kStateNames[static_cast<std::size_t>(i)]) {
            *state = static_cast<State>(i);
            return true;
        }
    return false;
}

Situation situation(const Facts &hold, std::int64_t now, std::int64_t grace)
{
    switch (hold.state) {
    case State::confirmed:
        return hold.cancellable_when_confirmed ? Situation::confirmed_cancellable : Situation::confirmed_final;
    case State::cancelled: return Situation::cancelled;
    case State::expired: return Situation::expired;
    case State::pending_review: return Situation::pending_review;
    case State::held: break;
    }
    if (is_live(hold.deadline, now))
        return hold.in_flight ? Situation::live_in_flight : Situation::live;
    if (is_overdue(hold.deadline, now, grace))
        return hold.in_flight ? Situation::overdue_in_flight : Situation::overdue;
    return hold.in_flight ? Situation::late_in_flight : Situation::late;
}

Verdict verdict(Command command, Situation situation)
{
    return kTable[static_cast<int>(situation)][static_cast<int>(command)];
}

bool transition_exists(State from, State to, bool cancellable_when_confirmed)
{
    switch (from) {
    case State::held: return to != State::held;
    case State::confirmed: return to == State::cancelled && cancellable_when_confirmed;
    case State::pending_review: return to == State::confirmed || to == State::cancelled;
    case State::cancelled:
    case State::expired: break;
    }
    return false;
}

}  // namespace reservation
