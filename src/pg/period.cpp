#include "pg/period.hpp"

namespace reservation {

namespace {

struct Bounds {
    RangeBound lower;
    RangeBound upper;
    bool empty;
};

Bounds bounds_of(Datum datum)
{
    RangeType *range = DatumGetRangeTypeP(datum);
    TypeCacheEntry *type = lookup_type_cache(RangeTypeGetOid(range), TYPECACHE_RANGE_INFO);
    Bounds bounds;
    range_deserialize(type, range, &bounds.lower, &bounds.upper, &bounds.empty);
    return bounds;
}

}  // namespace

const char *problem_of_period(Datum range)
{
    const Bounds bounds = bounds_of(range);
    if (bounds.empty)
        return "The period is empty.";
    if (bounds.lower.infinite || bounds.upper.infinite || TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(bounds.lower.val)) ||
        TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(bounds.upper.val)))
        return "The period must have two finite bounds.";
    if (!bounds.lower.inclusive || bounds.upper.inclusive)
        return "The period must include its lower bound and exclude its upper one: [).";
    return nullptr;
}

TimestampTz end_of_period(Datum range) { return DatumGetTimestampTz(bounds_of(range).upper.val); }

}  // namespace reservation
