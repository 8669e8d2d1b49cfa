#pragma once
// How cleanup takes the lock of a resource. It waits only while its transaction has no row locked, so that it never
// takes part in a deadlock.
#include "kind/kind.hpp"

namespace reservation {

// Whether the transaction has neither locked nor written a row: it has no transaction id then. (Locks of tables and
// advisory locks do not show.)
bool has_locked_nothing();

// Takes the lock if it is free. Else, if it may wait and the transaction has nothing locked, waits for it at most
// reservation.reaper_lock_wait. False if the resource stays in use.
bool lock_for_cleanup(const Call &call, const Kind &kind, int64 resource_id, bool may_wait);

}  // namespace reservation
