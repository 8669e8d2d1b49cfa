#pragma once
// hold_run: one row for every cleanup run that found something or halted.
#include "pg/statement.hpp"

#include <optional>

namespace reservation {

struct RunCounts {
    int32 examined, released, skipped, pending_review, failed;
    int32 busy;  // resources that were passed over
    bool halted;
    const char *reason;  // of the halt
};

void record_run(const Call &call, int64 run_id, TimestampTz started_at, TimestampTz finished_at,
                const RunCounts &counts);

// How the reason of a halt begins when the time source failed. Such a run may have had no time but the server's.
inline constexpr const char *kTimeSourceGaveNothing = "the time source failed";

// When the last run ended that had a time source.
std::optional<TimestampTz> end_of_last_run(const Call &call);

}  // namespace reservation
