#pragma once
// Cleanup: one run over overdue holds, oldest first.
#include "kind/kind.hpp"
#include "record/run.hpp"

namespace reservation {

struct ReapLimits {
    int32 max_holds;           // failed ones do not use it up
    double max_skipped_share;  // of what was examined; above it the run halts,
    double max_review_share;   // likewise,
    int32 min_sample;          // once this many were examined
};

// Releases what is overdue, sends what is overdue with a payment in flight to review, passes over what others have
// locked. Waits only at its beginning, while it holds no lock, for the resource of the oldest overdue hold.
RunCounts reap(const Call &call, const ReapLimits &limits);

}  // namespace reservation
