#pragma once
// hold_run: one row for every cleanup run that found something or halted.
#include "pg/statement.hpp"

#include <optional>
#include <span>

namespace reservation {

struct RunCounts {
    int32 examined, released, skipped, pending_review, failed;
    int32 busy;  // resources that were passed over
    bool halted;
    const char *reason;  // of the halt
};

// One run by way of the SQL function, with the rights of the function's owner; reason stays nullptr.
RunCounts call_reap(const Call &call, int32 max_holds);

void record_run(const Call &call, int64 run_id, TimestampTz started_at, TimestampTz finished_at,
                const RunCounts &counts);

// How the reason of a halt begins when the time source failed. Such a run may have had no time but the server's.
inline constexpr const char *kTimeSourceGaveNothing = "the time source failed";

// When the last run ended that had a time source.
std::optional<TimestampTz> end_of_last_run(const Call &call);

// The last run of all.
struct LastRun {
    int64 run_id;
    TimestampTz finished_at;
    bool halted;
    text *reason;  // nullptr if it did not halt
};
std::optional<LastRun> last_run(const Call &call);

// Removes those of the given runs that ended by a time and have no event left.
void forget_runs(const Call &call, std::span<const int64> run_ids, TimestampTz ended_by);
// Removes the oldest of all such runs, at most so many.
void forget_any_runs(const Call &call, TimestampTz ended_by, int64 most);

}  // namespace reservation
