#pragma once
// Acquire: one decision over any mix of claims.
#include "kind/kind.hpp"

#include <optional>

namespace reservation {

struct AcquireRequest {
    std::span<Claim> claims;
    int64 ttl;           // microseconds, checked
    const text *holder;  // may be nullptr
    bool optional;       // the try forms: say false when capacity is missing
    // For an idempotent request: the key, and the rest as the caller wrote it.
    const text *key;
    Datum claims_as_made;  // hold_claim[]
    std::optional<Interval> ttl_as_made;
};

// Writes one hold a claim, with one deadline, and their ids in the order of the claims. Raises 23503 for an unknown
// resource, 23P01 or 23514 when capacity is missing (or says false, with nothing written), RV006, RV008, 22023 for a
// time to live above the maximum.
bool acquire(const Call &call, const AcquireRequest &request, int64 *hold_ids);

}  // namespace reservation
