// The launcher: starts a reaper in every database that is named, as soon as there is one.
#include "pg/boundary.hpp"
#include "pg/process.hpp"
#include "pg/settings.hpp"
#include "worker/worker.hpp"

#include <algorithm>

namespace reservation {

namespace {

constexpr int kRestartSeconds = 5;
constexpr int64 kShortestPause = 1'000;
constexpr int64 kLongestPause = 10'000;

// Why a database has no reaper. Each is told once, when it begins.
enum class Trouble : uint8 { none, no_database, no_slot };

struct Served {
    const char *name;
    BackgroundWorkerHandle *reaper;  // nullptr while there is none
    int64 next_try;                  // on the steady clock
    Trouble trouble;
};

struct {
    Served *first;
    int count;
} served;

// How soon a reaper that ended is started again, and a database that was missing is looked for.
int64 pause() { return std::clamp<int64>(settings.reaper_interval_ms, kShortestPause, kLongestPause); }

void say_once(Served &database, Trouble trouble)
{
    if (trouble == database.trouble)
        return;
    database.trouble = trouble;
    if (trouble == Trouble::no_database)
        ereport(LOG, (errmsg("reservation: there is no database \"%s\" to clean up, or none that can be connected to",
                             database.name),
                      errhint("It will be served when there is one; reservation.reaper_databases names it.")));
    if (trouble == Trouble::no_slot)
        ereport(LOG, (errmsg("reservation: no background worker could be registered for database \"%s\"",
                             database.name),
                      errhint("Consider increasing max_worker_processes.")));
}

// The database of a name, if sessions may connect to it. A process without a database has no index of this catalog.
Oid find_database(const char *name)
{
    StartTransactionCommand();
    Oid oid = InvalidOid;
    Relation databases = table_open(DatabaseRelationId, AccessShareLock);
    TableScanDesc scan = table_beginscan_catalog(databases, 0, nullptr);
    while (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection)) {
        const auto *database = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple));
        if (strcmp(NameStr(database->datname), name) == 0 && database->datallowconn)
            oid = database->oid;
    }
    table_endscan(scan);
    table_close(databases, AccessShareLock);
    CommitTransactionCommand();
    return oid;
}

void start(Served &database)
{
    const Oid oid = find_database(database.name);
    if (!OidIsValid(oid)) {
        say_once(database, Trouble::no_database);
        return;
    }
    if (is_claimed(oid))
        return;
    BackgroundWorker worker = reaper_for(oid, database.name);
    worker.bgw_notify_pid = MyProcPid;
    const bool registered = RegisterDynamicBackgroundWorker(&worker, &database.reaper);
    say_once(database, registered ? Trouble::none : Trouble::no_slot);
    if (!registered)
        database.reaper = nullptr;
}

// Looks after one database; gives the milliseconds until it wants to be looked after again.
int64 attend(Served &database)
{
    pid_t pid;
    if (database.reaper != nullptr && GetBackgroundWorkerPid(database.reaper, &pid) == BGWH_STOPPED) {
        pfree(database.reaper);
        database.reaper = nullptr;
        database.next_try = steady_clock_ms() + pause();
    }
    if (database.reaper == nullptr && steady_clock_ms() >= database.next_try) {
        start(database);
        database.next_try = steady_clock_ms() + pause();
    }
    return database.reaper != nullptr ? kLongestPause : std::max<int64>(database.next_try - steady_clock_ms(), 0);
}

extern "C" {
static void stop_reapers(int, Datum)
{
    for (int i = 0; i < served.count; ++i)
        if (served.first[i].reaper != nullptr)
            TerminateBackgroundWorker(served.first[i].reaper);
}
}

void read_names()
{
    const MemoryContext before = MemoryContextSwitchTo(TopMemoryContext);
    List *names = NIL;
    (void)split_names(settings.reaper_databases, &names);
    served.first = static_cast<Served *>(palloc0(sizeof(Served) * static_cast<Size>(list_length(names) + 1)));
    ListCell *cell;
    foreach (cell, names)
        served.first[served.count++].name = static_cast<const char *>(lfirst(cell));
    MemoryContextSwitchTo(before);
}

void report()
{
    int running = 0;
    for (int i = 0; i < served.count; ++i)
        running += served.first[i].reaper != nullptr ? 1 : 0;
    char text[64];
    (void)pg_snprintf(text, sizeof text, "%d of %d databases have a reaper", running, served.count);
    pgstat_report_activity(STATE_IDLE, text);
}

[[noreturn]] void launch()
{
    accept_signals();
    BackgroundWorkerInitializeConnection(nullptr, nullptr, 0);
    read_names();
    before_shmem_exit(stop_reapers, Datum{0});
    const uint32 wait_event = named_wait_event("ReservationLauncher");
    for (;;) {
        int64 pause = kLongestPause;
        for (int i = 0; i < served.count; ++i)
            pause = std::min(pause, attend(served.first[i]));
        report();
        (void)nap(pause, wait_event);
        (void)reload_if_asked();
    }
}

}  // namespace

void register_launcher()
{
    List *names = NIL;
    if (!process_shared_preload_libraries_in_progress || IsBinaryUpgrade ||
        !split_names(settings.reaper_databases, &names) || names == NIL)
        return;
    BackgroundWorker worker{};
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker.bgw_restart_time = kRestartSeconds;
    strlcpy(worker.bgw_library_name, "reservation", sizeof worker.bgw_library_name);
    strlcpy(worker.bgw_function_name, "reservation_launcher_main", sizeof worker.bgw_function_name);
    strlcpy(worker.bgw_name, "reservation launcher", sizeof worker.bgw_name);
    strlcpy(worker.bgw_type, "reservation launcher", sizeof worker.bgw_type);
    RegisterBackgroundWorker(&worker);
}

extern "C" {
PGDLLEXPORT void reservation_launcher_main(Datum);
PGDLLEXPORT void reservation_launcher_main(Datum)
{
    boundary([] { launch(); });
}
}

}  // namespace reservation
