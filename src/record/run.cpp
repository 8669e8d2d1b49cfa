#include "record/run.hpp"

#include "record/event.hpp"

namespace reservation {

namespace {

constinit Statement insert_run{
    SPI_OK_INSERT,
    {INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID, INT4OID, INT4OID, INT4OID, INT4OID, INT4OID, BOOLOID, TEXTOID,
     TEXTOID},
    "INSERT INTO {schema}.hold_run (run_id, started_at, finished_at, examined, released, skipped, pending_review,"
    " failed, busy, halted, reason, who) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"};
constinit Statement last_run{
    SPI_OK_SELECT, {TEXTOID},
    "SELECT finished_at FROM {schema}.hold_run WHERE reason IS NULL OR NOT pg_catalog.starts_with(reason, $1)"
    " ORDER BY run_id DESC LIMIT 1"};

}  // namespace

void record_run(const Call &call, int64 run_id, TimestampTz started_at, TimestampTz finished_at,
                const RunCounts &counts)
{
    insert_run.run(call, {int8(run_id), instant(started_at), instant(finished_at), int4(counts.examined),
                          int4(counts.released), int4(counts.skipped), int4(counts.pending_review),
                          int4(counts.failed), int4(counts.busy), boolean(counts.halted), string(counts.reason),
                          string(calling_role())});
}

std::optional<TimestampTz> end_of_last_run(const Call &call)
{
    const Rows rows = last_run.look(call, {string(kTimeSourceGaveNothing)});
    return rows.empty() ? std::nullopt : std::optional(rows.instant(0, 1));
}

}  // namespace reservation
