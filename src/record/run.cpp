#include "record/run.hpp"

#include "record/event.hpp"

namespace reservation {

namespace {

// clang-format off
constinit Statement insert_run{
    SPI_OK_INSERT,
    {INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID, INT4OID, INT4OID, INT4OID, INT4OID, INT4OID, BOOLOID, TEXTOID,
     TEXTOID},
    "INSERT INTO {schema}.hold_run (run_id, started_at, finished_at, examined, released, skipped, pending_review,"
    " failed, busy, halted, reason, who) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"};
constinit Statement end_of_last{
    SPI_OK_SELECT, {TEXTOID},
    "SELECT finished_at FROM {schema}.hold_run WHERE reason IS NULL OR NOT pg_catalog.starts_with(reason, $1)"
    " ORDER BY run_id DESC LIMIT 1"};
constinit Statement read_last{
    SPI_OK_SELECT, {},
    "SELECT run_id, finished_at, halted, reason FROM {schema}.hold_run ORDER BY run_id DESC LIMIT 1"};
// OFFSET 0 keeps the search for an event a search by index for each run: as a join the planner would, while the tables
// are small, go through all events for each.
constinit Statement delete_runs{
    SPI_OK_DELETE, {INT8ARRAYOID, TIMESTAMPTZOID},
    "DELETE FROM {schema}.hold_run AS r WHERE r.run_id OPERATOR(pg_catalog.=) ANY ($1)"
    " AND r.finished_at OPERATOR(pg_catalog.<=) $2"
    " AND NOT EXISTS (SELECT FROM {schema}.hold_event AS e WHERE e.run_id OPERATOR(pg_catalog.=) r.run_id OFFSET 0)"};
constinit Statement empty_runs{
    SPI_OK_SELECT, {TIMESTAMPTZOID, INT8OID},
    "SELECT r.run_id FROM {schema}.hold_run AS r WHERE r.finished_at OPERATOR(pg_catalog.<=) $1"
    " AND NOT EXISTS (SELECT FROM {schema}.hold_event AS e WHERE e.run_id OPERATOR(pg_catalog.=) r.run_id OFFSET 0)"
    " ORDER BY r.run_id LIMIT $2"};
// With every argument, so that the call means our function whatever else is in the schema.
constinit Statement one_run{
    SPI_OK_SELECT, {INT4OID},
    "SELECT examined, released, skipped, pending_review, failed, busy, halted"
    " FROM {schema}.hold_reap($1, NULL::pg_catalog.float8, NULL::pg_catalog.float8, NULL::pg_catalog.int4)"};
// clang-format on

}  // namespace

RunCounts call_reap(const Call &call, int32 max_holds)
{
    const Rows rows = one_run.run(call, {int4(max_holds)});
    const RunCounts counts{
        .examined = rows.int4(0, 1),
        .released = rows.int4(0, 2),
        .skipped = rows.int4(0, 3),
        .pending_review = rows.int4(0, 4),
        .failed = rows.int4(0, 5),
        .busy = rows.int4(0, 6),
        .halted = rows.boolean(0, 7),
        .reason = nullptr,
    };
    rows.free();
    return counts;
}

void record_run(const Call &call, int64 run_id, TimestampTz started_at, TimestampTz finished_at,
                const RunCounts &counts)
{
    insert_run.run(call, {int8(run_id), instant(started_at), instant(finished_at), int4(counts.examined),
                          int4(counts.released), int4(counts.skipped), int4(counts.pending_review), int4(counts.failed),
                          int4(counts.busy), boolean(counts.halted), string(counts.reason), string(calling_role())});
}

std::optional<TimestampTz> end_of_last_run(const Call &call)
{
    const Rows rows = end_of_last.look(call, {string(kTimeSourceGaveNothing)});
    return rows.empty() ? std::nullopt : std::optional(rows.instant(0, 1));
}

std::optional<LastRun> last_run(const Call &call)
{
    const Rows rows = read_last.run(call, {});
    if (rows.empty())
        return {};
    return LastRun{rows.int8(0, 1), rows.instant(0, 2), rows.boolean(0, 3), rows.string(0, 4)};
}

void forget_runs(const Call &call, std::span<const int64> run_ids, TimestampTz ended_by)
{
    if (!run_ids.empty())
        delete_runs.run(call, {datum(int8_array(run_ids)), instant(ended_by)});
}

void forget_any_runs(const Call &call, TimestampTz ended_by, int64 most)
{
    const Rows rows = empty_runs.run(call, {instant(ended_by), int8(most)});
    auto *runs = static_cast<int64 *>(palloc(sizeof(int64) * (rows.processed() + 1)));
    for (uint64 i = 0; i < rows.processed(); ++i)
        runs[i] = rows.int8(i, 1);
    forget_runs(call, {runs, rows.processed()}, ended_by);
}

}  // namespace reservation
