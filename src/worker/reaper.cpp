// A reaper: runs the cleanup of one database when the next hold is due, and at least once an interval.
//
// An error ends the process; the launcher starts another. It leaves by itself when somebody wants the database alone.
#include "kind/kind.hpp"
#include "pg/boundary.hpp"
#include "pg/clock.hpp"
#include "pg/process.hpp"
#include "pg/settings.hpp"
#include "record/run.hpp"
#include "worker/worker.hpp"

#include <algorithm>

namespace reservation {

namespace {

constexpr int32 kBatch = 1000;
constexpr int64 kShortestPause = 100;  // however many deadlines there are
constexpr int64 kLongestNap = 1'000;   // between two looks whether the database is wanted

// clang-format off
constinit Statement find_home{
    SPI_OK_SELECT, {},
    "SELECT n.nspname::pg_catalog.text FROM pg_catalog.pg_extension AS e"
    " JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
    " WHERE e.extname OPERATOR(pg_catalog.=) 'reservation'"};
// clang-format on

// What a look at the holds led to.
struct Outlook {
    int64 pause;      // milliseconds until the next look
    const char *why;  // in pg_stat_activity, behind the time of the next look
};

int64 interval() { return settings.reaper_interval_ms; }

// When the next hold is due by the time source, or nothing before the end of the interval. A deadline that passed while
// the run went on counts: the run may have read the clock before it.
Outlook outlook_by_deadlines(const Call &call, int64 run_ms)
{
    const TimestampTz passed = read_clock() - settings.expiry_grace();  // what had its deadline by then is due
    Outlook outlook{interval(), "no hold is due before"};
    for (const Kind *kind : kinds()) {
        const Rows rows = kind->next_deadline->run(call, {instant(passed - run_ms * 1000)});
        if (rows.empty() || rows.instant(0, 1) >= passed + outlook.pause * 1000)
            continue;
        const int64 due = (rows.instant(0, 1) - passed) / 1000 + 1;
        outlook = {std::max(due, std::min(kShortestPause, interval())), "a hold is due then"};
    }
    return outlook;
}

// One cleanup run, in the schema in which the extension is now.
Outlook clean_up()
{
    const Rows home = find_home.run({"pg_catalog", "pg_catalog"}, {});
    if (home.empty())
        return {interval(), "the extension is not created in this database"};
    if (XactReadOnly)
        return {interval(), "transactions of this database are read-only"};
    const char *schema = text_to_cstring(home.string(0, 1));
    const Call call{schema, quote_identifier(schema)};
    const int64 began = steady_clock_ms();
    const RunCounts counts = call_reap(call, kBatch);
    if (counts.halted)
        return {interval(), "the last run halted, see hold_run"};
    if (counts.examined - counts.failed >= kBatch)
        return {0, ""};
    return outlook_by_deadlines(call, steady_clock_ms() - began + 2);  // both are cut to milliseconds
}

// A transaction of its own.
Outlook turn()
{
    pgstat_report_activity(STATE_RUNNING, "cleaning up overdue holds");
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    PushActiveSnapshot(GetTransactionSnapshot());
    const Outlook outlook = with_spi(clean_up);
    PopActiveSnapshot();
    CommitTransactionCommand();
    pgstat_report_stat(true);
    return outlook;
}

void leave_if_claimed()
{
    if (is_claimed(MyDatabaseId))
        proc_exit(0);
}

void rest(const Outlook &outlook)
{
    static uint32 wait_event = 0;
    if (wait_event == 0)
        wait_event = named_wait_event("ReservationReaper");
    char text[128];
    (void)pg_snprintf(text, sizeof text, "next look at %s: %s",
                      timestamptz_to_str(GetCurrentTimestamp() + outlook.pause * 1000), outlook.why);
    pgstat_report_activity(STATE_IDLE, text);
    const int64 end = steady_clock_ms() + outlook.pause;
    for (int64 left; (left = end - steady_clock_ms()) > 0;) {
        (void)nap(std::min(left, kLongestNap), wait_event);
        leave_if_claimed();
        if (reload_if_asked())
            return;
    }
}

void set_always(const char *name, const char *value) { SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE); }

[[noreturn]] void reap_for_ever(Oid database)
{
    accept_signals();
    BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
    set_always("search_path", "pg_catalog, pg_temp");
    set_always("default_transaction_isolation", "read committed");
    be_terminated_by_owner();
    for (;;) {
        leave_if_claimed();
        if (const Outlook outlook = turn(); outlook.pause > 0)
            rest(outlook);
        CHECK_FOR_INTERRUPTS();
    }
}

}  // namespace

BackgroundWorker reaper_for(Oid database, const char *name)
{
    BackgroundWorker worker{};
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker.bgw_restart_time = BGW_NEVER_RESTART;
    worker.bgw_main_arg = ObjectIdGetDatum(database);
    strlcpy(worker.bgw_library_name, "reservation", sizeof worker.bgw_library_name);
    strlcpy(worker.bgw_function_name, "reservation_reaper_main", sizeof worker.bgw_function_name);
    (void)pg_snprintf(worker.bgw_name, sizeof worker.bgw_name, "reservation reaper for database %s", name);
    strlcpy(worker.bgw_type, "reservation reaper", sizeof worker.bgw_type);
    return worker;
}

extern "C" {
PGDLLEXPORT void reservation_reaper_main(Datum);
PGDLLEXPORT void reservation_reaper_main(Datum database)
{
    boundary([database] { reap_for_ever(DatumGetObjectId(database)); });
}
}

}  // namespace reservation
