#pragma once
// Ids of holds of every kind.
#include "pg/settings.hpp"
#include "pg/statement.hpp"

namespace reservation {

// The node's number above 42 bits of the one sequence.
inline int64 next_hold_id(const Call &call) { return settings.first_hold_id() + next_value(call, "hold_id_seq"); }

}  // namespace reservation
