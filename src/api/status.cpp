// reservation_status.
#include "kind/kind.hpp"
#include "pg/boundary.hpp"
#include "pg/clock.hpp"
#include "pg/settings.hpp"
#include "record/run.hpp"

namespace reservation {

namespace {

// The columns of the result, in order.
enum : int {
    kKindName,
    kLive,
    kLate,
    kOverdue,
    kInFlight,
    kUnderReview,
    kOldestOverdue,
    kOldestReview,
    kLastRunId,
    kLastRunAt,
    kLastRunHalted,
    kLastRunReason,
    kColumns,
};

// How long ago something was, or NULL.
Value age(TimestampTz now, const Rows &rows, int column)
{
    if (rows.is_null(0, column) || TIMESTAMP_NOT_FINITE(rows.instant(0, column)))
        return absent();
    return datum(DirectFunctionCall2(timestamp_mi, TimestampTzGetDatum(now),
                                     TimestampTzGetDatum(rows.instant(0, column))));
}

void report(const ReturnSetInfo *result, const Call &call, const Kind &kind, TimestampTz now,
            const std::optional<LastRun> &run)
{
    const TimestampTz due = now - settings.expiry_grace();
    const Rows rows = kind.status->run(call, {instant(now), instant(due)});
    Value row[kColumns];
    row[kKindName] = string(kind.name);
    for (const int column : {kLive, kLate, kOverdue, kInFlight, kUnderReview})
        row[column] = int8(rows.int8(0, column));
    row[kOldestOverdue] = age(due, rows, 6);
    row[kOldestReview] = age(now, rows, 7);
    row[kLastRunId] = run ? int8(run->run_id) : absent();
    row[kLastRunAt] = run ? instant(run->finished_at) : absent();
    row[kLastRunHalted] = run ? boolean(run->halted) : absent();
    row[kLastRunReason] = run ? string(run->reason) : absent();

    Datum values[kColumns];
    bool nulls[kColumns];
    for (int i = 0; i < kColumns; ++i) {
        values[i] = row[i].datum;
        nulls[i] = row[i].null;
    }
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

}  // namespace

// reservation_status() returns a row for each kind
RESERVATION_FUNCTION(status)
{
    InitMaterializedSRF(fcinfo, 0);
    const auto *result = reinterpret_cast<const ReturnSetInfo *>(fcinfo->resultinfo);
    with_spi([&] {
        const Call call = call_of(fcinfo);
        const TimestampTz now = read_clock();
        const std::optional<LastRun> run = last_run(call);
        for (const Kind *kind : kinds())
            report(result, call, *kind, now, run);
    });
    return Datum{0};
}

}  // namespace reservation
