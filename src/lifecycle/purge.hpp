#pragma once
// Purge: the history of holds that are over is removed.
#include "kind/kind.hpp"

namespace reservation {

struct PurgeRequest {
    TimestampTz unchanged_since;  // only what has not been changed after it
    int64 max_holds;
    bool sold;  // confirmed stock too
};

// Deletes expired and cancelled holds, confirmed holds whose period is over, and sold stock if that is asked for, the
// oldest first; with their events, requests and empty runs. Passes over rows that others have locked. One purge runs
// at a time: the next waits for it, or finds nothing if its transaction has something locked. Gives the number of
// holds.
int64 purge(const Call &call, const PurgeRequest &request);

}  // namespace reservation
