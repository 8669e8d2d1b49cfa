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

// When the last recorded run ended, by the time source it had.
std::optional<TimestampTz> end_of_last_run(const Call &call);

}  // namespace reservation
