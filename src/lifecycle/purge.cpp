#include "lifecycle/purge.hpp"

#include "kind/hold_rows.hpp"
#include "lifecycle/cleanup_lock.hpp"
#include "pg/clock.hpp"
#include "pg/queue_lock.hpp"
#include "record/event.hpp"
#include "record/request.hpp"
#include "record/run.hpp"

#include <algorithm>

namespace reservation {

namespace {

constexpr int64 kMostPerBatch = 10'000;
constexpr int kSince = 11;  // the column behind those of a hold

// A hold that is over takes part in no decision any more, so its row lock is all that removing it needs; a busy
// resource neither holds a purge up nor waits for one. Sold stock still counts: its item is locked first.
class Purge {
public:
    Purge(const Call &call, const PurgeRequest &request) : call_(call), request_(request)
    {
        HASHCTL control{};
        control.keysize = sizeof(int64);
        control.entrysize = sizeof(int64);
        control.hcxt = CurrentMemoryContext;
        runs_ = hash_create("runs of purged holds", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }

    int64 go()
    {
        // Two at a time could each take the other's part of a request for still there.
        if (!join_queue(Queue::purge, 0)) {
            if (!has_locked_nothing())
                return 0;
            wait_in_queue(Queue::purge, 0);
        }
        const TimestampTz unchanged = request_.unchanged_since;
        const TimestampTz now = read_clock();
        // Sold stock first: waiting for an item is only allowed while nothing is locked.
        for (const Kind *kind : kinds())
            if (request_.sold && kind->sold != nullptr)
                purge_all({*kind, *kind->sold->oldest, State::confirmed, unchanged}, &Purge::remove_sold);
        for (const Kind *kind : kinds()) {
            purge_all({*kind, *kind->old_expired, State::expired, unchanged}, &Purge::remove_over);
            purge_all({*kind, *kind->old_cancelled, State::cancelled, unchanged}, &Purge::remove_over);
            if (kind->old_past != nullptr)
                purge_all({*kind, *kind->old_past, State::confirmed, now}, &Purge::remove_over);
        }
        with_spi([&] { purge_runs(); });
        return purged_;
    }

private:
    // Holds in the order of the time since when they are what they are, and how far it came.
    struct Sweep {
        const Kind &kind;
        Statement &old;
        State state;
        TimestampTz until;
        TimestampTz since = DT_NOBEGIN;
        int64 hold_id = PG_INT64_MIN;
        bool first = true;
    };
    using Remove = void (Purge::*)(const Sweep &, std::span<Hold>);

    void purge_all(Sweep sweep, Remove remove)
    {
        while (with_spi([&] { return purge_batch(sweep, remove); })) {
        }
    }

    // The next holds, read without a lock and removed by id and resource. True if there may be more.
    bool purge_batch(Sweep &sweep, Remove remove)
    {
        const int64 limit = std::min(request_.max_holds - purged_, kMostPerBatch);
        if (limit == 0)
            return false;
        const Rows rows = sweep.old.run(call_, {instant(request_.unchanged_since), instant(sweep.until),
                                                instant(sweep.since), int8(sweep.hold_id), int8(limit)});
        const std::span<Hold> holds = holds_from(sweep.kind, rows);
        if (holds.empty())
            return false;
        sweep.since = rows.instant(rows.processed() - 1, kSince);
        sweep.hold_id = holds.back().hold_id;
        (this->*remove)(sweep, holds);
        sweep.first = false;
        return static_cast<int64>(holds.size()) == limit;
    }

    Rows remove(Statement &statement, State state, std::span<const Hold> holds)
    {
        Rows gone = statement.run(call_, {numbers_of(holds, &Hold::hold_id), numbers_of(holds, &Hold::resource_id),
                                          string(name_of(state)), instant(request_.unchanged_since)});
        forget(*holds.front().kind, gone);
        return gone;
    }

    void remove_over(const Sweep &sweep, std::span<Hold> holds)
    {
        (void)remove(*sweep.kind.remove, sweep.state, holds);
    }

    // Of the items, the first is waited for as in a cleanup run; the others are taken only if they are free.
    void remove_sold(const Sweep &sweep, std::span<Hold> holds)
    {
        const Sold &sold = *sweep.kind.sold;
        (void)lock_for_cleanup(call_, sweep.kind, holds.front().resource_id, sweep.first);
        const std::span<const Hold> free = of_free_resources(sweep.kind, holds);
        if (free.empty())
            return;
        const Rows gone = remove(*sold.remove, sweep.state, free);
        bool none;
        const Value resources = datum(gone.value(0, 3, &none));
        const Value units = datum(gone.value(0, 4, &none));
        if (none)
            return;
        const auto count = static_cast<uint64>(gone.int8(0, 5));
        for (Statement *statement : {sold.give_back, sold.write_off})
            if (statement->run(call_, {resources, units}).processed() != count)
                elog(ERROR, "a write that lowers the capacity of sold stock was suppressed");
    }

    std::span<const Hold> of_free_resources(const Kind &kind, std::span<Hold> holds)
    {
        const Rows locked = kind.sold->lock_free->run(call_, {numbers_of(holds, &Hold::resource_id)});
        auto *ids = static_cast<int64 *>(palloc(sizeof(int64) * (locked.processed() + 1)));
        for (uint64 i = 0; i < locked.processed(); ++i)
            ids[i] = locked.int8(i, 1);
        const auto end = std::remove_if(holds.begin(), holds.end(), [&](const Hold &hold) {
            return !std::binary_search(ids, ids + locked.processed(), hold.resource_id);
        });
        return holds.first(static_cast<std::size_t>(end - holds.begin()));
    }

    static Value numbers_of(std::span<const Hold> holds, int64 Hold::*number)
    {
        auto *numbers = static_cast<int64 *>(palloc(sizeof(int64) * (holds.size() + 1)));
        std::transform(holds.begin(), holds.end(), numbers, [&](const Hold &hold) { return hold.*number; });
        return datum(int8_array({numbers, holds.size()}));
    }

    // Counts what a statement deleted, and removes what belonged to it.
    void forget(const Kind &kind, const Rows &gone)
    {
        bool none;
        const Datum hold_ids = gone.value(0, 2, &none);
        if (none)
            return;
        purged_ += gone.int8(0, 1);
        for (const int64 run : forget_events(call_, kind, hold_ids)) {
            bool known;
            (void)hash_search(runs_, &run, HASH_ENTER, &known);
        }
        forget_requests(call_, hold_ids);
    }

    // Once, at the end: a run may have had a great many events. Runs that never had one are looked for only when
    // there was nothing else left to do.
    void purge_runs()
    {
        auto *runs = static_cast<int64 *>(palloc(sizeof(int64) * static_cast<Size>(hash_get_num_entries(runs_) + 1)));
        std::size_t count = 0;
        HASH_SEQ_STATUS all;
        hash_seq_init(&all, runs_);
        while (const void *run = hash_seq_search(&all))
            runs[count++] = *static_cast<const int64 *>(run);
        forget_runs(call_, {runs, count}, request_.unchanged_since);
        if (purged_ < request_.max_holds)
            forget_any_runs(call_, request_.unchanged_since, request_.max_holds);
    }

    const Call &call_;
    const PurgeRequest &request_;
    int64 purged_ = 0;
    HTAB *runs_;
};

}  // namespace

int64 purge(const Call &call, const PurgeRequest &request) { return Purge(call, request).go(); }

}  // namespace reservation
