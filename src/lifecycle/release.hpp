#pragma once
// Release: an overdue hold expires and its units go back. There is no other way, for a customer or for cleanup.
#include "kind/kind.hpp"

#include <optional>

namespace reservation {

// Lets a hold expire if it still is what was seen, and logs it. The caller gives its units back. False if another
// writer was there first.
bool release(const Call &call, const Hold &seen, TimestampTz now, std::optional<int64> run_id = {});

// The same for an overdue hold whose payment is in flight: it goes to a person, and keeps its capacity.
bool send_to_review(const Call &call, const Hold &seen, TimestampTz now, std::optional<int64> run_id = {});

}  // namespace reservation
