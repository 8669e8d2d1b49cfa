#pragma once
// Every difference between the supported server versions, one shim each. No version test stands anywhere else.

extern "C" {
#if PG_VERSION_NUM >= 160000
#include "varatt.h"  // 16 moved the varlena macros out of postgres.h
#endif
}

namespace reservation {

// What pg_stat_activity says of a process of ours that sleeps.
inline uint32 named_wait_event([[maybe_unused]] const char *name)
{
#if PG_VERSION_NUM >= 170000  // 17 lets extensions name their wait events
    return WaitEventExtensionNew(name);
#else
    return PG_WAIT_EXTENSION;
#endif
}

inline TableScanDesc begin_scan(Relation relation, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000  // 19 lets the caller add flags
    return table_beginscan(relation, snapshot, 0, nullptr, 0);
#else
    return table_beginscan(relation, snapshot, 0, nullptr);
#endif
}

}  // namespace reservation
