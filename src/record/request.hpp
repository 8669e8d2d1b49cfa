#pragma once
// hold_request: the idempotency record. The same key with the same request is answered from it.
#include "kind/kind.hpp"

#include <optional>

namespace reservation {

// A request as it was made. ttl is absent when the caller left it out.
struct KeyedRequest {
    const text *key;
    Datum claims;  // hold_claim[]
    std::optional<Interval> ttl;
    const text *holder;
};

// Waits for every earlier call with the key. Then, if the key is known: the ids that it got, as a bigint[] of count
// elements; RV006 naming the field if the request was another.
std::optional<std::span<const int64>> known_request(const Call &call, const KeyedRequest &request);

void record_request(const Call &call, const KeyedRequest &request, std::span<const int64> hold_ids, TimestampTz now);

}  // namespace reservation
