#pragma once
// Everything that is decided about a hold that exists: confirm, cancel, extend, payment, review.
#include "core/lifecycle_table.hpp"
#include "kind/kind.hpp"

#include <optional>

namespace reservation {

struct ChangeRequest {
    Command command;
    std::span<const int64> hold_ids;  // duplicates allowed
    bool array;                       // whether errors name a position
    std::optional<int32> version{};   // must be the row's
    const text *holder = nullptr;     // must be the row's, else there is no such hold; nullptr: anybody's
    int64 ttl = 0;                    // extend: microseconds
    const text *reference = nullptr;  // the payment commands
    const text *note = nullptr;       // resolve
};

// A hold as the caller's decision left it.
struct Changed {
    bool found;
    State state;
    TimestampTz expires_at;
    int32 version;
};

// One decision: locks all resources in the global order, reads the clock, decides every hold by the lifecycle table,
// and writes. Fills one result for each element. Raises P0002 and RV001 to RV009; try_confirm raises none of them.
void change(const Call &call, const ChangeRequest &request, Changed *results);

}  // namespace reservation
