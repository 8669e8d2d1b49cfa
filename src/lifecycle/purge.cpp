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
        wait_in_queue(Queue::purge, 0);
        now_ = read_clock();
        // Sold stock first: waiting for an item is only allowed while nothing is locked.
        for (const Kind *kind : kinds())
            if (request_.sold && kind->sold != nullptr)
                purge_sold(*kind);
        for (const Kind *kind : kinds())
            for (Statement *statement : {kind->purge_expired, kind->purge_cancelled, kind->purge_past})
                if (statement != nullptr)
                    purge_over(*kind, *statement);
        with_spi([&] { purge_runs(); });
        return purged_;
    }

private:
    int64 left() const { return std::min(request_.max_holds - purged_, kMostPerBatch); }

    void purge_over(const Kind &kind, Statement &statement)
    {
        TimestampTz from = DT_NOBEGIN;
        while (with_spi([&] { return purge_over_batch(kind, statement, from); })) {
        }
    }

    // The oldest from a time on, which moves with them: what this transaction deleted still stands in the index. True
    // if there may be more.
    bool purge_over_batch(const Kind &kind, Statement &statement, TimestampTz &from)
    {
        const int64 limit = left();
        if (limit == 0)
            return false;
        const Rows gone =
            statement.run(call_, {instant(request_.unchanged_since), int8(limit), instant(now_), instant(from)});
        forget(kind, gone);
        if (gone.int8(0, 1) < limit)
            return false;
        from = gone.instant(0, 3);
        return true;
    }

    struct Place {
        TimestampTz changed_at = DT_NOBEGIN;
        int64 hold_id = PG_INT64_MIN;
    };

    void purge_sold(const Kind &kind)
    {
        Place place;
        for (bool first = true; with_spi([&] { return purge_sold_batch(kind, place, first); }); first = false) {
        }
    }

    // The oldest behind a place, which moves behind them. Of the items, the first is waited for as in a cleanup run;
    // the others are taken only if they are free.
    bool purge_sold_batch(const Kind &kind, Place &place, bool first)
    {
        const int64 limit = left();
        if (limit == 0)
            return false;
        const std::span<Hold> holds =
            holds_from(kind,
                       kind.sold->oldest->run(call_, {instant(request_.unchanged_since), instant(place.changed_at),
                                                      int8(place.hold_id), int8(limit)}));
        if (holds.empty())
            return false;
        place = {holds.back().changed_at, holds.back().hold_id};
        (void)lock_for_cleanup(call_, kind, holds.front().resource_id, first);
        remove_sold(kind, of_free_resources(kind, holds));
        return static_cast<int64>(holds.size()) == limit;
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

    void remove_sold(const Kind &kind, std::span<const Hold> holds)
    {
        const Rows gone =
            kind.sold->remove->run(call_, {numbers_of(holds, &Hold::hold_id), numbers_of(holds, &Hold::resource_id),
                                           instant(request_.unchanged_since)});
        forget(kind, gone);
        bool none;
        const Value resources = datum(gone.value(0, 3, &none));
        const Value units = datum(gone.value(0, 4, &none));
        if (none)
            return;
        const auto count = static_cast<uint64>(gone.int8(0, 5));
        for (Statement *statement : {kind.sold->give_back, kind.sold->write_off})
            if (statement->run(call_, {resources, units}).processed() != count)
                elog(ERROR, "a write that lowers the capacity of sold stock was suppressed");
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
    TimestampTz now_ = 0;
    int64 purged_ = 0;
    HTAB *runs_;
};

}  // namespace

int64 purge(const Call &call, const PurgeRequest &request) { return Purge(call, request).go(); }

}  // namespace reservation
