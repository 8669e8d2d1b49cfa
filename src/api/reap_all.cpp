// hold_reap_all: cleanup runs, each committed, until nothing is overdue.
#include "api/arguments.hpp"
#include "record/run.hpp"

namespace reservation {

namespace {

constexpr int32 kDefaultBatch = 1000;

// What all batches did.
struct Totals {
    long long batches, released, pending_review, skipped, failed;

    void add(const RunCounts &counts)
    {
        ++batches;
        released += counts.released;
        pending_review += counts.pending_review;
        skipped += counts.skipped;
        failed += counts.failed;
    }
    const char *words() const
    {
        return psprintf("%lld released, %lld to review, %lld skipped, %lld failed", released, pending_review, skipped,
                        failed);
    }
};

void refuse_in_transaction(FunctionCallInfo fcinfo)
{
    const bool may_commit = fcinfo->context != nullptr && IsA(fcinfo->context, CallContext) &&
                            !reinterpret_cast<const CallContext *>(fcinfo->context)->atomic && !IsSubTransaction();
    if (!may_commit)
        ereport(ERROR, (errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
                        errmsg("hold_reap_all cannot run inside a transaction block"),
                        errdetail("It commits after every batch."),
                        errhint("Call it as a statement of its own; inside a transaction, call hold_reap.")));
}

// Runs until one is not full: that one has been through all that was overdue, and what it left is in use or failed.
void reap_all(FunctionCallInfo fcinfo, int32 batch)
{
    Totals totals{};
    for (;;) {
        const RunCounts counts = call_reap(call_of(fcinfo), batch);
        SPI_commit();
        totals.add(counts);
        if (!counts.halted && counts.examined - counts.failed >= batch) {
            ereport(NOTICE, (errmsg("batch %lld done: %s so far", totals.batches, totals.words())));
            continue;
        }
        ereport(NOTICE,
                (errmsg("cleanup %s: %s", counts.halted ? "halted" : "done", totals.words()),
                 counts.busy == 0 ? 0 : errdetail("%d resources in use were passed over.", counts.busy),
                 counts.halted ? errhint("The warning above and hold_run say why; the next call goes on.") : 0));
        return;
    }
}

}  // namespace

// hold_reap_all(batch integer), a procedure
RESERVATION_FUNCTION(hold_reap_all)
{
    const int32 batch = optional_int4(fcinfo, 0).value_or(kDefaultBatch);
    if (batch < 1)
        raise_invalid_argument("batch", "It must be at least 1.");
    refuse_in_transaction(fcinfo);
    with_spi([&] { reap_all(fcinfo, batch); }, SPI_OPT_NONATOMIC);
    PG_RETURN_NULL();
}

}  // namespace reservation
