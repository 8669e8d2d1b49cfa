// hold_reap.
#include "lifecycle/reap.hpp"

#include "api/arguments.hpp"

#include <cmath>

namespace reservation {

namespace {

int32 count_argument(FunctionCallInfo fcinfo, int n, const char *name, int32 initial, int32 least)
{
    if (PG_ARGISNULL(n))
        return initial;
    if (PG_GETARG_INT32(n) < least)
        raise_invalid_argument(name, psprintf("It must be at least %d.", least));
    return PG_GETARG_INT32(n);
}

double share_argument(FunctionCallInfo fcinfo, int n, const char *name, double initial)
{
    if (PG_ARGISNULL(n))
        return initial;
    const double share = PG_GETARG_FLOAT8(n);
    if (std::isnan(share) || share < 0 || share > 1)
        raise_invalid_argument(name, "It must be between 0 and 1.");
    return share;
}

}  // namespace

// hold_reap(max_holds integer, max_skipped_share float8, max_review_share float8, min_sample integer)
RESERVATION_FUNCTION(hold_reap)
{
    const ReapLimits limits{
        .max_holds = count_argument(fcinfo, 0, "max_holds", 1000, 1),
        .max_skipped_share = share_argument(fcinfo, 1, "max_skipped_share", 0.5),
        .max_review_share = share_argument(fcinfo, 2, "max_review_share", 0.5),
        .min_sample = count_argument(fcinfo, 3, "min_sample", 20, 0),
    };
    TupleDesc desc;
    if (get_call_result_type(fcinfo, nullptr, &desc) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "hold_reap must return a row");
    const MemoryContext caller = CurrentMemoryContext;
    const RunCounts counts = with_spi([&] {
        RunCounts result = reap(call_of(fcinfo), limits);
        if (result.reason != nullptr)
            result.reason = MemoryContextStrdup(caller, result.reason);
        return result;
    });
    const Datum values[] = {
        Int32GetDatum(counts.examined), Int32GetDatum(counts.released),
        Int32GetDatum(counts.skipped),  Int32GetDatum(counts.pending_review),
        Int32GetDatum(counts.failed),   Int32GetDatum(counts.busy),
        BoolGetDatum(counts.halted),    counts.reason == nullptr ? Datum{0} : CStringGetTextDatum(counts.reason)};
    const bool nulls[] = {false, false, false, false, false, false, false, counts.reason == nullptr};
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), const_cast<Datum *>(values),
                                             const_cast<bool *>(nulls)));
}

}  // namespace reservation
