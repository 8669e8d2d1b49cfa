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

// If the key is known: the ids that it got, one a claim. RV006 naming the field if its request was another.
bool find_request(const Call &call, const KeyedRequest &request, int64 *hold_ids);

// Writes the record, which makes other callers of the key wait until this transaction ends. False if another caller's
// stands: it waited for that one.
bool record_request(const Call &call, const KeyedRequest &request, std::span<const int64> hold_ids, TimestampTz now);

// Removes the requests for holds that are gone, a bigint[], unless some other hold of theirs is still there.
void forget_requests(const Call &call, Datum hold_ids);

}  // namespace reservation
