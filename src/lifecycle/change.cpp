#include "lifecycle/change.hpp"

#include "core/time_to_live.hpp"
#include "kind/hold_rows.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/release.hpp"
#include "pg/clock.hpp"
#include "pg/settings.hpp"
#include "record/event.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace reservation {

namespace {

// One distinct hold of the request.
struct Target {
    int64 hold_id;
    std::size_t first;  // its first place among the elements
    Hold seen;
    Changed result;
};

bool belongs_to(const Hold &hold, const text *holder)
{
    return holder == nullptr || (hold.holder != nullptr && bytes(hold.holder) == bytes(holder));
}

// The kinds, beginning with the one of the hold that was found last: most sessions deal with one kind, and looking into
// the table of another costs a sixth of a confirm. An id is of one kind, and the audit tells of one that is not.
const Kind *last_found = nullptr;

std::array<const Kind *, kKinds> likely_first()
{
    std::array<const Kind *, kKinds> order{};
    std::copy(kinds().begin(), kinds().end(), order.begin());
    if (const auto likely = std::find(order.begin(), order.end(), last_found); likely != order.end())
        std::swap(*order.begin(), *likely);
    return order;
}

// Reads a hold without a lock, to learn its resource and, mostly, all that the decision needs.
bool find(const Call &call, int64 hold_id, const text *holder, Hold *hold)
{
    for (const Kind *kind : likely_first())
        if (const Rows rows = kind->find->run(call, {int8(hold_id)}); rows.empty()) {
            rows.free();
        } else {
            *hold = take_hold(*kind, rows);
            last_found = kind;
            if (belongs_to(*hold, holder))
                return true;
        }
    if (snapshot_is_old())
        for (const Kind *kind : kinds())
            if (const Rows rows = kind->find->look(call, {int8(hold_id)});
                !rows.empty() && belongs_to(hold_from(*kind, rows, 0), holder))
                raise_serialization_failure();
    return false;
}

// The hold under its row lock. False if it is gone.
bool reread(const Call &call, const text *holder, Hold *hold)
{
    const Rows rows = hold->kind->reread->run(call, {int8(hold->hold_id), int8(hold->resource_id)});
    if (rows.empty())
        return false;
    *hold = take_hold(*hold->kind, rows);
    return belongs_to(*hold, holder);
}

// What one decision would do to one hold.
struct Plan {
    Verdict verdict;
    State state;
    TimestampTz expires_at;
    const text *payment_reference;
    Outcome outcome;
};

Plan plan_for(const ChangeRequest &request, const Hold &hold, TimestampTz now)
{
    const auto same_reference = [&] {
        return request.reference != nullptr && hold.payment_reference != nullptr &&
               bytes(request.reference) == bytes(hold.payment_reference);
    };
    Plan plan{verdict(request.command, situation(hold.facts(), now, settings.expiry_grace())), hold.state,
              hold.expires_at, hold.payment_reference, Outcome::skipped};
    switch (plan.verdict) {
    case Verdict::confirms: plan.state = State::confirmed, plan.outcome = Outcome::confirmed; break;
    case Verdict::cancels: plan.state = State::cancelled, plan.outcome = Outcome::cancelled; break;
    case Verdict::resolves_confirmed: plan.state = State::confirmed, plan.outcome = Outcome::resolved; break;
    case Verdict::resolves_cancelled: plan.state = State::cancelled, plan.outcome = Outcome::resolved; break;
    case Verdict::marks_payment:
        plan.payment_reference = request.reference, plan.outcome = Outcome::payment_begun;
        break;
    case Verdict::extends:
        plan.expires_at =
            extended_deadline(hold.expires_at, now, request.ttl, hold.created_at, settings.max_lifetime());
        plan.outcome = Outcome::extended;
        if (plan.expires_at == hold.expires_at)
            plan.verdict = Verdict::stands;
        break;
    case Verdict::same_reference_stands:
        plan.verdict = same_reference() ? Verdict::stands : Verdict::refuse_in_flight;
        break;
    case Verdict::same_reference_clears:
        plan.payment_reference = nullptr, plan.outcome = Outcome::payment_failed;
        if (!same_reference())
            plan.verdict = Verdict::refuse_in_flight;
        break;
    case Verdict::clears_nothing: plan.verdict = Verdict::stands; break;
    default: break;
    }
    return plan;
}

enum class Step : std::uint8_t { stands, refused, stale_version, writes };

// The order of checks: the outcome already stands, the state, the version, the deadline.
Step step_for(const ChangeRequest &request, const Plan &plan, const Hold &hold)
{
    const bool other_version = request.version && *request.version != hold.version;
    switch (plan.verdict) {
    case Verdict::stands: return Step::stands;
    case Verdict::refuse_past_deadline:
    case Verdict::refuse_to_be_reviewed: return other_version ? Step::stale_version : Step::refused;
    case Verdict::refuse_expired:
    case Verdict::refuse_cancelled:
    case Verdict::refuse_confirmed:
    case Verdict::refuse_pending_review:
    case Verdict::refuse_in_flight:
    case Verdict::refuse_illegal: return Step::refused;
    default: return other_version ? Step::stale_version : Step::writes;
    }
}

// Writes the plan if the hold still is what was seen.
bool carry_out(const Call &call, const ChangeRequest &request, const Plan &plan, const Hold &hold, TimestampTz now)
{
    bool written;
    if (plan.verdict == Verdict::releases)
        written = release(call, hold, now);
    else if (plan.verdict == Verdict::sends_to_review)
        written = send_to_review(call, hold, now);
    else if ((written = write_hold(call, hold, plan.state, plan.expires_at, plan.payment_reference, now)))
        log_change(call, plan.outcome, hold, plan.state, now, {}, request.note);
    return written;
}

State state_after(const Plan &plan)
{
    switch (plan.verdict) {
    case Verdict::releases: return State::expired;
    case Verdict::sends_to_review: return State::pending_review;
    default: return plan.state;
    }
}

// Decides one hold whose resource is locked. The unlocked reading is good enough to write by, since the write
// compares the version; whatever is answered without a write is read again under the lock first. Gives the units that
// the hold no longer occupies.
int64 decide(const Call &call, const ChangeRequest &request, Target &target, TimestampTz now)
{
    const Position position{request.array ? static_cast<int>(target.first) + 1 : 0};
    Hold &hold = target.seen;
    for (bool locked = false;; locked = true) {
        if (locked && !reread(call, request.holder, &hold)) {
            if (request.command == Command::try_confirm)
                return 0;
            raise_no_such_hold(target.hold_id, position);
        }
        const Plan plan = plan_for(request, hold, now);
        const Step step = step_for(request, plan, hold);
        if (step == Step::writes) {
            if (carry_out(call, request, plan, hold, now)) {
                const State after = state_after(plan);
                target.result = {true, after, plan.expires_at, hold.version + 1};
                return occupies(hold.state) && !occupies(after) ? hold.units : 0;
            }
            if (locked)
                elog(ERROR, "the write of hold %lld was suppressed", static_cast<long long>(hold.hold_id));
        } else if (locked) {
            // A stale version is an outcome that the caller of a try form reads from the state.
            if (step == Step::stale_version && request.command != Command::try_confirm)
                raise_version_mismatch(hold, *request.version, position);
            if (step == Step::refused)
                raise_refusal(plan.verdict, hold, now, position);
            target.result = {true, hold.state, hold.expires_at, hold.version};
            return 0;
        }
    }
}

// The distinct holds of the request, by id.
std::span<Target> targets_of(std::span<const int64> hold_ids)
{
    auto *targets = static_cast<Target *>(palloc0(sizeof(Target) * (hold_ids.size() + 1)));
    for (std::size_t i = 0; i < hold_ids.size(); ++i) {
        targets[i].hold_id = hold_ids[i];
        targets[i].first = i;
    }
    Target *end = targets + hold_ids.size();
    std::sort(targets, end, [](const Target &a, const Target &b) {
        return std::tuple(a.hold_id, a.first) < std::tuple(b.hold_id, b.first);
    });
    end = std::unique(targets, end, [](const Target &a, const Target &b) { return a.hold_id == b.hold_id; });
    return {targets, end};
}

void lock_resources(const Call &call, std::span<Target> targets)
{
    std::sort(targets.begin(), targets.end(), [](const Target &a, const Target &b) {
        return std::tuple(a.seen.kind->id, a.seen.resource_id, a.first) <
               std::tuple(b.seen.kind->id, b.seen.resource_id, b.first);
    });
    const Hold *previous = nullptr;
    for (const Target &target : targets) {
        const Hold &hold = target.seen;
        if (previous != nullptr && same_resource(*previous, hold))
            continue;
        (void)hold.kind->lock(call, hold.resource_id, Patience::queue);  // its foreign key says that it exists
        previous = &hold;
    }
}

// Decides holds whose resources are locked, those of one resource one after the other, and returns the units of each
// resource at once: a counter that is written for each of thousands of holds would have as many versions to go through.
void decide_all(const Call &call, const ChangeRequest &request, std::span<Target> targets, TimestampTz now)
{
    int64 units = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const Hold &hold = targets[i].seen;
        units += decide(call, request, targets[i], now);
        if (i + 1 == targets.size() || !same_resource(targets[i + 1].seen, hold)) {
            hold.kind->give_back(call, hold.resource_id, units);
            units = 0;
        }
    }
}

}  // namespace

void change(const Call &call, const ChangeRequest &request, Changed *results)
{
    if (request.command == Command::extend)
        refuse_when_closed();
    const std::span<Target> targets = targets_of(request.hold_ids);
    std::optional<Target> missing;
    std::size_t found = 0;
    for (Target &target : targets) {
        if (find(call, target.hold_id, request.holder, &target.seen))
            std::swap(targets[found++], target);
        else if (!missing || target.first < missing->first)
            missing = target;
    }
    if (missing && request.command != Command::try_confirm)
        raise_no_such_hold(missing->hold_id, {request.array ? static_cast<int>(missing->first) + 1 : 0});

    const std::span<Target> present = targets.first(found);
    lock_resources(call, present);
    const TimestampTz now = read_clock();
    decide_all(call, request, present, now);

    std::sort(targets.begin(), targets.end(), [](const Target &a, const Target &b) { return a.hold_id < b.hold_id; });
    for (std::size_t i = 0; i < request.hold_ids.size(); ++i)
        results[i] =
            std::lower_bound(targets.begin(), targets.end(), request.hold_ids[i], [](const Target &a, int64 id) {
                return a.hold_id < id;
            })->result;
}

}  // namespace reservation
