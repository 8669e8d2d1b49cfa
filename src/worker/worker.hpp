#pragma once
// The optional background workers: a launcher, and for each database that reservation.reaper_databases names a reaper,
// which runs the cleanup there. Correctness never depends on them.
//
// The launcher is connected to no database: it waits for databases that do not exist yet, starts reapers again that
// ended, and takes them along when it ends itself. On a standby neither runs; they start with its promotion.
#include "pg/postgres.hpp"

namespace reservation {

// Registers the launcher, if the library is being preloaded and a database is named. Called by _PG_init.
void register_launcher();

// How a reaper is started for a database.
BackgroundWorker reaper_for(Oid database, const char *name);

}  // namespace reservation
