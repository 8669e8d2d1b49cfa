#pragma once
// hold_event: what was decided, by whom, on which version.
#include "kind/kind.hpp"

#include <optional>

namespace reservation {

enum class Outcome : std::uint8_t {
    acquired,
    extended,
    payment_begun,
    payment_failed,
    confirmed,
    cancelled,
    released,
    skipped,
    pending_review,
    resolved,
    failed,
    adjusted,
};

// Whether reservation.log_events asks for this outcome.
bool is_logged(Outcome outcome);

// What became of a hold. The row's version and state are those that were seen; after is what was written, or nothing.
void log_change(const Call &call, Outcome outcome, const Hold &seen, std::optional<State> after, TimestampTz at,
                std::optional<int64> run_id = {}, const text *note = nullptr);

void log_acquired(const Call &call, const Claim &claim, int64 hold_id, TimestampTz at);

// An adjustment of the capacity of an item by units, which may be negative.
void log_adjusted(const Call &call, const Kind &kind, int64 resource_id, int32 units, TimestampTz at, const text *note);

// Removes the events of holds that are gone; ids is a bigint[]. Gives the runs that they belonged to.
std::span<const int64> forget_events(const Call &call, const Kind &kind, Datum hold_ids);

// The role that called, whatever owner our functions run as; palloc'd.
const char *calling_role();

}  // namespace reservation
