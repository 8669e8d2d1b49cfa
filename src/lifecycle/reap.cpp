#include "lifecycle/reap.hpp"

#include "kind/hold_rows.hpp"
#include "lifecycle/cleanup_lock.hpp"
#include "lifecycle/release.hpp"
#include "pg/clock.hpp"
#include "pg/report.hpp"
#include "pg/settings.hpp"
#include "pg/subtransaction.hpp"
#include "record/event.hpp"

#include <algorithm>
#include <tuple>

namespace reservation {

namespace {

constexpr int64 kSecond = 1'000'000;
constexpr int32 kMostPerBatch = 10'000;  // a run may be asked for more holds than fit into memory

// One overdue hold as the scan saw it, and what is to become of it.
struct Candidate {
    Hold seen;
    bool first_resource;  // of the oldest hold of all: decided first
    bool releases;        // else it goes to review
};

// Where a scan goes on, in the order of deadlines.
struct Place {
    TimestampTz expires_at = DT_NOBEGIN;
    int64 hold_id = PG_INT64_MIN;
};

class Run {
public:
    Run(const Call &call, const ReapLimits &limits) : call_(call), limits_(limits), memory_(CurrentMemoryContext)
    {
        HASHCTL control{};
        control.keysize = sizeof(ResourceKey);
        control.entrysize = sizeof(ResourceKey);
        control.hcxt = memory_;
        busy_ = hash_create("resources passed over by cleanup", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }

    RunCounts go()
    {
        if (const auto end = end_of_last_run(call_))
            remember(*end, "the end of the last run");
        if (const auto now = clock())
            clean(*now);
        if (counts_.examined > 0 || counts_.busy > 0 || counts_.halted)
            finish();
        return counts_;
    }

private:
    struct ResourceKey {
        int64 kind;
        int64 id;
    };

    // Batch after batch, each in memory of its own.
    void clean(TimestampTz started_at)
    {
        Place place;
        for (bool first = true; !counts_.halted; first = false)
            if (!with_spi([&] { return clean_batch(place, started_at, first); }))
                return;
    }

    // The oldest holds behind a place, which moves behind them. False if there is nothing left to do.
    bool clean_batch(Place &place, TimestampTz started_at, bool first)
    {
        const int32 left = limits_.max_holds - (counts_.examined - counts_.failed);
        if (left <= 0)
            return false;
        const std::span<Candidate> batch = scan(place, started_at, std::min(left, kMostPerBatch));
        if (batch.empty())
            return false;
        place = {batch.back().seen.expires_at, batch.back().seen.hold_id};
        for (const Candidate &candidate : batch)  // compared with the next reading: the last one may be long ago
            remember(candidate.seen.changed_at, "the last change of a hold");
        in_lock_order(batch);
        decide(batch, first);
        return true;
    }

    // The oldest overdue holds behind a place in the order of deadlines, without locks.
    std::span<Candidate> scan(const Place &place, TimestampTz started_at, int32 limit)
    {
        auto *batch = static_cast<Candidate *>(palloc(sizeof(Candidate) * kKinds * static_cast<Size>(limit)));
        std::size_t count = 0;
        for (const Kind *kind : kinds()) {
            const Rows rows = kind->overdue->run(call_, {instant(started_at - settings.expiry_grace()),
                                                         instant(place.expires_at), int8(place.hold_id), int8(limit)});
            for (uint64 i = 0; i < rows.processed(); ++i)
                batch[count++] = {hold_from(*kind, rows, i), false, false};
        }
        std::sort(batch, batch + count, [](const Candidate &a, const Candidate &b) {
            return std::tuple(a.seen.expires_at, a.seen.hold_id) < std::tuple(b.seen.expires_at, b.seen.hold_id);
        });
        return {batch, std::min(count, static_cast<std::size_t>(limit))};
    }

    // The resource of the oldest hold first, the others in the global order, the holds of one oldest first.
    static void in_lock_order(std::span<Candidate> batch)
    {
        const Hold oldest = batch.front().seen;
        for (Candidate &candidate : batch)
            candidate.first_resource = same_resource(candidate.seen, oldest);
        std::stable_sort(batch.begin(), batch.end(), [](const Candidate &a, const Candidate &b) {
            return std::tuple(!a.first_resource, a.seen.kind->id, a.seen.resource_id) <
                   std::tuple(!b.first_resource, b.seen.kind->id, b.seen.resource_id);
        });
    }

    // Locks, reads the clock, decides all, writes. The first resource of a run is waited for, since no lock is held
    // then.
    void decide(std::span<Candidate> batch, bool may_wait)
    {
        auto *locked = static_cast<Candidate *>(palloc(sizeof(Candidate) * batch.size()));
        std::size_t count = 0;
        for (std::size_t i = 0, next; i < batch.size(); i = next, may_wait = false) {
            const Hold &hold = batch[i].seen;
            for (next = i; next < batch.size() && same_resource(batch[next].seen, hold);)
                ++next;
            if (lock_for_cleanup(call_, *hold.kind, hold.resource_id, may_wait))
                count = static_cast<std::size_t>(std::copy(&batch[i], &batch[i] + (next - i), locked + count) - locked);
            else
                pass_over(hold);
        }
        const std::optional<TimestampTz> now = clock();
        std::size_t writes = 0;
        for (std::size_t i = 0; now && i < count && !counts_.halted; ++i)
            if (judge(locked[i], *now))
                locked[writes++] = locked[i];
        if (now)
            write({locked, writes}, *now);
    }

    // Whether the hold, read again under its lock, is to be written: exactly what the scan saw, and still overdue.
    bool judge(Candidate &candidate, TimestampTz now)
    {
        const Hold &seen = candidate.seen;
        const Rows rows = seen.kind->reread_if_free->run(call_, {int8(seen.hold_id), int8(seen.resource_id)});
        if (rows.empty()) {
            rows.free();
            if (!seen.kind->find->run(call_, {int8(seen.hold_id)}).any())
                skip(seen, {}, now);
            else
                pass_over(seen);  // another session has the row
            return false;
        }
        const Hold hold = take_hold(*seen.kind, rows);
        remember(hold.changed_at, "the last change of a hold");
        if (halts_behind(now))
            return false;
        if (hold.version == seen.version && hold.state != seen.state) {
            halt(psprintf("hold %lld is %s without a new version: a writer goes around the triggers",
                          static_cast<long long>(hold.hold_id), name_of(hold.state)));
            return false;
        }
        const Situation is = situation(hold.facts(), now, settings.expiry_grace());
        if (hold.version != seen.version || (is != Situation::overdue && is != Situation::overdue_in_flight)) {
            skip(seen, hold.state, now);
            return false;
        }
        candidate.releases = is == Situation::overdue;
        ++counts_.examined;
        reviews_ += candidate.releases ? 0 : 1;
        check_shares();
        return true;
    }

    void skip(const Hold &seen, std::optional<State> found, TimestampTz now)
    {
        log_change(call_, Outcome::skipped, seen, found, now, run_id());
        ++counts_.examined;
        ++counts_.skipped;
        // Another run got there first: nothing unusual.
        if (!(found && (*found == State::expired || *found == State::pending_review)))
            ++surprises_;
        check_shares();
    }

    void check_shares()
    {
        if (counts_.examined < limits_.min_sample)
            return;
        if (surprises_ > limits_.max_skipped_share * counts_.examined)
            halt(psprintf("%d of %d holds had changed", surprises_, counts_.examined));
        else if (reviews_ > limits_.max_review_share * counts_.examined)
            halt(psprintf("%d of %d holds had a payment in flight", reviews_, counts_.examined));
    }

    // Writes all of them in one subtransaction. If that raises, halves are tried, down to the holds that fail alone.
    void write(std::span<Candidate> holds, TimestampTz now)
    {
        if (holds.empty())
            return;
        RunCounts done{};
        ErrorData *error = attempt([&] { done = write_together(holds, now); });
        if (error == nullptr) {
            counts_.released += done.released;
            counts_.pending_review += done.pending_review;
        } else if (error->sqlerrcode == kTimeSourceFailed) {  // in a guard: of these holds nothing is known
            counts_.examined -= static_cast<int32>(holds.size());
            halt_without_time(error);
        } else if (holds.size() > 1) {
            write(holds.first(holds.size() / 2), now);
            write(holds.subspan(holds.size() / 2), now);
        } else {
            ++counts_.failed;
            const char *note = psprintf("%s: %s", unpack_sql_state(error->sqlerrcode), error->message);
            log_change(call_, Outcome::failed, holds.front().seen, {}, now, run_id(), cstring_to_text(note));
        }
    }

    RunCounts write_together(std::span<Candidate> holds, TimestampTz now)
    {
        RunCounts done{};
        int64 units = 0;
        for (std::size_t i = 0; i < holds.size(); ++i) {
            const Hold &hold = holds[i].seen;
            const bool releases = holds[i].releases;
            if (!(releases ? release(call_, hold, now, run_id()) : send_to_review(call_, hold, now, run_id())))
                elog(ERROR, "the write of hold %lld was suppressed", static_cast<long long>(hold.hold_id));
            ++(releases ? done.released : done.pending_review);
            units += releases ? hold.units : 0;
            if (i + 1 == holds.size() || !same_resource(holds[i + 1].seen, hold)) {
                hold.kind->give_back(call_, hold.resource_id, units);
                units = 0;
            }
        }
        return done;
    }

    void pass_over(const Hold &hold)
    {
        const ResourceKey key{static_cast<int64>(hold.kind->id), hold.resource_id};
        bool known;
        (void)hash_search(busy_, &key, HASH_ENTER, &known);
        counts_.busy += known ? 0 : 1;
    }

    // The time, or nothing and a halt.
    std::optional<TimestampTz> clock()
    {
        TimestampTz now = 0;
        if (const ErrorData *error = attempt([&] { now = read_clock(); }); error != nullptr) {
            halt_without_time(error);
            return {};
        }
        if (!first_reading_)
            first_reading_ = now;
        last_reading_ = now;
        if (halts_behind(now))
            return {};
        remember(now, "an earlier reading");
        return now;
    }

    // Keeps the latest time that the time source must have reached by now.
    void remember(TimestampTz time, const char *what)
    {
        if (time > known_) {
            known_ = time;
            known_from_ = what;
        }
    }

    bool halts_behind(TimestampTz now)
    {
        if (known_ <= now + settings.expiry_grace() + kSecond)
            return false;
        halt(psprintf("the time source is behind %s", known_from_));
        return true;
    }

    void halt_without_time(const ErrorData *error)
    {
        halt(psprintf("%s: %s", kTimeSourceGaveNothing, error->detail != nullptr ? error->detail : error->message));
    }

    void halt(const char *reason)
    {
        counts_.halted = true;
        counts_.reason = MemoryContextStrdup(memory_, reason);
    }

    int64 run_id()
    {
        if (run_id_ == 0)
            run_id_ = next_value(call_, "hold_run_id_seq");
        return run_id_;
    }

    void finish()
    {
        if (!counts_.halted)
            (void)clock();
        const TimestampTz started_at = first_reading_.value_or(GetCurrentTimestamp());
        record_run(call_, run_id(), started_at, std::max(started_at, last_reading_), counts_);
        if (counts_.halted)
            ereport(WARNING, (errmsg("cleanup run %lld halted: %s", static_cast<long long>(run_id()), counts_.reason)));
    }

    const Call &call_;
    const ReapLimits &limits_;
    MemoryContext memory_;  // of the whole run
    RunCounts counts_{};
    std::optional<TimestampTz> first_reading_;
    TimestampTz last_reading_ = DT_NOBEGIN;
    TimestampTz known_ = DT_NOBEGIN;
    const char *known_from_ = nullptr;
    int64 run_id_ = 0;
    int32 surprises_ = 0;
    int32 reviews_ = 0;
    HTAB *busy_;
};

}  // namespace

RunCounts reap(const Call &call, const ReapLimits &limits) { return Run(call, limits).go(); }

}  // namespace reservation
