#include "lifecycle/acquire.hpp"

#include "kind/hold_id.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/release.hpp"
#include "pg/clock.hpp"
#include "pg/settings.hpp"
#include "pg/subtransaction.hpp"
#include "record/event.hpp"
#include "record/request.hpp"

#include <algorithm>
#include <tuple>

namespace reservation {

namespace {

// One demand a resource, in the global order.
std::span<Demand> demands_of(std::span<Claim> claims)
{
    auto **sorted = static_cast<Claim **>(palloc(sizeof(Claim *) * (claims.size() + 1)));
    for (std::size_t i = 0; i < claims.size(); ++i)
        sorted[i] = &claims[i];
    std::sort(sorted, sorted + claims.size(), [](const Claim *a, const Claim *b) {
        return std::tuple(a->kind->id, a->resource_id, a->position) <
               std::tuple(b->kind->id, b->resource_id, b->position);
    });
    auto *demands = static_cast<Demand *>(palloc(sizeof(Demand) * (claims.size() + 1)));
    std::size_t count = 0;
    for (std::size_t first = 0, next; first < claims.size(); first = next) {
        int64 units = 0;
        for (next = first; next < claims.size() && sorted[next]->kind == sorted[first]->kind &&
                           sorted[next]->resource_id == sorted[first]->resource_id;
             ++next)
            units += sorted[next]->quantity;
        demands[count++] = {
            sorted[first]->kind, sorted[first]->resource_id, units, {sorted + first, next - first}, false};
    }
    return {demands, count};
}

// Clears the way for a claim and writes it, or says why not.
bool insert_after_release(const Call &call, const AcquireRequest &request, Demand &demand, const Claim &claim,
                          int64 hold_id, TimestampTz expires_at, TimestampTz now, Shortage &shortage)
{
    const Kind &kind = *demand.kind;
    std::span<Hold> overdue;
    if (!kind.reclaimable(call, demand, claim, now, request.holder, &overdue, &shortage))
        return false;
    int64 units = 0;
    for (const Hold &hold : overdue)
        if (release(call, hold, now))
            units += hold.units;
        else if (snapshot_is_old())  // it cannot be seen to be written; a refusal would be wrong
            raise_serialization_failure();
    kind.give_back(call, demand.resource_id, units);
    (void)kind.take(call, demand);
    shortage.claim = &claim;
    return kind.insert(call, demand, claim, hold_id, expires_at, now, request.holder);
}

// Locks everything in the global order, reads the clock, then writes. False if capacity is missing.
bool decide(const Call &call, const AcquireRequest &request, int64 *hold_ids)
{
    const std::span<Demand> demands = demands_of(request.claims);
    for (Demand &demand : demands)
        if (!demand.kind->take(call, demand))
            raise_no_such_resource(call, *demand.kind, demand.resource_id, {demand.claims.front()->position});

    const TimestampTz now = read_clock();
    const TimestampTz expires_at = now + request.ttl;
    for (Demand &demand : demands)
        for (Claim *claim : demand.claims) {
            int64 &hold_id = hold_ids[claim->position == 0 ? 0 : claim->position - 1];
            if (request.key == nullptr)
                hold_id = next_hold_id(call);
            Shortage shortage{};
            if (!demand.kind->insert(call, demand, *claim, hold_id, expires_at, now, request.holder) &&
                !insert_after_release(call, request, demand, *claim, hold_id, expires_at, now, shortage)) {
                if (request.optional)
                    return false;
                demand.kind->refuse(call, demand, shortage);
            }
            log_acquired(call, *claim, hold_id, now);
        }
    return true;
}

// How often in a row a record that was in the way may be gone before it is read: purged in between.
constexpr int kMostTries = 10;

// A known key is answered before anything else is looked at. A new one is recorded, with the ids that the holds will
// have, before a resource is locked: its row is what other callers of the key wait for.
bool acquire_once(const Call &call, const AcquireRequest &request, int64 *hold_ids)
{
    const KeyedRequest keyed{request.key, request.claims_as_made, request.ttl_as_made, request.holder};
    if (request.key != nullptr && find_request(call, keyed, hold_ids))
        return true;
    refuse_when_closed();
    if (request.ttl > settings.max_lifetime())
        raise_invalid_argument("ttl", "It is longer than reservation.max_lifetime allows.");
    // A key lives as long as one of its holds, so that one over no claims is not recorded.
    if (request.key != nullptr && !request.claims.empty()) {
        for (std::size_t i = 0; i < request.claims.size(); ++i)
            hold_ids[i] = next_hold_id(call);
        for (int tries = 0; !record_request(call, keyed, {hold_ids, request.claims.size()}, read_clock());) {
            if (find_request(call, keyed, hold_ids))
                return true;
            if (++tries == kMostTries)
                elog(ERROR, "the write of an idempotency key was suppressed");
        }
    }
    return decide(call, request, hold_ids);
}

}  // namespace

bool acquire(const Call &call, const AcquireRequest &request, int64 *hold_ids)
{
    // A single claim that is refused has written nothing but releases that stand on their own.
    if (request.optional && (request.claims.size() > 1 || request.key != nullptr))
        return all_or_nothing([&] { return acquire_once(call, request, hold_ids); });
    return acquire_once(call, request, hold_ids);
}

}  // namespace reservation
