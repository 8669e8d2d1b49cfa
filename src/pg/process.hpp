#pragma once
// What a background process needs of the server beside SQL.
#include "pg/postgres.hpp"

namespace reservation {

// Milliseconds of a clock that nobody sets.
int64 steady_clock_ms();

// The start of a process: reacts to reload and termination.
void accept_signals();

// Reads the configuration again if that was asked for. True if it was.
bool reload_if_asked();

// Sleeps at most so long; false if something woke it up early. Ends the process if that is asked of it.
bool nap(int64 ms, uint32 wait_event);

// Whether some session waits for, or has, a lock on a database that suffers no connection: it is being dropped,
// renamed, moved or copied.
bool is_claimed(Oid database);

// Lets the owner of the database end this process, which is what DROP DATABASE … WITH (FORCE) of that owner wants: a
// process that runs as a superuser would be in its way.
void be_terminated_by_owner();

// The names of a comma-separated list, each once, as a List of char *. False if the list cannot be read.
bool split_names(const char *list, List **names);

}  // namespace reservation
