#include "api/arguments.hpp"

#include "pg/period.hpp"
#include "pg/settings.hpp"

namespace reservation {

namespace {

// The attributes of hold_claim, in order.
enum : int { kKind, kResource, kDuring, kQuantity, kClaimAttributes };

Claim decode_claim(Datum composite, const char *argument, Position position)
{
    HeapTupleHeader header = DatumGetHeapTupleHeader(composite);
    TupleDesc desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header), HeapTupleHeaderGetTypMod(header));
    if (desc->natts != kClaimAttributes)
        elog(ERROR, "hold_claim has %d attributes", desc->natts);
    HeapTupleData tuple{};
    tuple.t_len = HeapTupleHeaderGetDatumLength(header);
    ItemPointerSetInvalid(&tuple.t_self);
    tuple.t_data = header;
    Datum values[kClaimAttributes];
    bool nulls[kClaimAttributes];
    heap_deform_tuple(&tuple, desc, values, nulls);
    ReleaseTupleDesc(desc);

    const auto name = [&](const char *attribute) { return psprintf("%s.%s", argument, attribute); };
    if (nulls[kKind])
        raise_null_argument(name("kind"), position);
    const text *kind_name = DatumGetTextPP(values[kKind]);
    const Kind *kind = kind_named(bytes(kind_name));
    if (kind == nullptr)
        raise_invalid_argument(name("kind"), "It is neither room nor item.", position);
    if (nulls[kResource])
        raise_null_argument(name("resource_id"), position);

    Claim claim{kind, DatumGetInt64(values[kResource]), Datum{0}, 0, position.element};
    if (kind->has_periods) {
        if (nulls[kDuring])
            raise_null_argument(name("during"), position);
        if (!nulls[kQuantity])
            raise_invalid_argument(name("quantity"), "A claim of this kind has a period and no quantity.", position);
        claim.during = PointerGetDatum(PG_DETOAST_DATUM(values[kDuring]));
        check_period(claim.during, name("during"), position);
    } else {
        if (nulls[kQuantity])
            raise_null_argument(name("quantity"), position);
        if (!nulls[kDuring])
            raise_invalid_argument(name("during"), "A claim of this kind has a quantity and no period.", position);
        claim.quantity = DatumGetInt32(values[kQuantity]);
        if (claim.quantity <= 0)
            raise_invalid_argument(name("quantity"), "It must be greater than zero.", position);
    }
    return claim;
}

}  // namespace

void check_period(Datum during, const char *argument, Position position)
{
    if (const char *problem = problem_of_period(during); problem != nullptr)
        raise_invalid_argument(argument, problem, position);
}

int64 ttl_argument(FunctionCallInfo fcinfo, int n)
{
    if (PG_ARGISNULL(n))
        return settings.default_ttl();
    const Interval *interval = PG_GETARG_INTERVAL_P(n);
    const Ttl ttl = ttl_from_interval(interval->month, interval->day, interval->time);
    if (ttl.problem != TtlProblem::none)
        raise_invalid_argument("ttl", describe(ttl.problem));
    return ttl.microseconds;
}

std::span<const int64> ids_argument(FunctionCallInfo fcinfo, int n, const char *name)
{
    require(fcinfo, n, name);
    Datum *elements;
    bool *nulls;
    int count;
    deconstruct_array(PG_GETARG_ARRAYTYPE_P(n), INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &elements,
                      &nulls, &count);
    auto *ids = static_cast<int64 *>(palloc(sizeof(int64) * (static_cast<std::size_t>(count) + 1)));
    for (int i = 0; i < count; ++i) {
        if (nulls[i])
            raise_null_argument(name, {i + 1});
        ids[i] = DatumGetInt64(elements[i]);
    }
    return {ids, static_cast<std::size_t>(count)};
}

Claim claim_argument(FunctionCallInfo fcinfo, int n)
{
    require(fcinfo, n, "claim");
    return decode_claim(PG_GETARG_DATUM(n), "claim", {0});
}

std::span<Claim> claims_argument(FunctionCallInfo fcinfo, int n)
{
    require(fcinfo, n, "claims");
    ArrayType *array = PG_GETARG_ARRAYTYPE_P(n);
    Datum *elements;
    bool *nulls;
    int count;
    deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_DOUBLE, &elements, &nulls, &count);
    auto *claims = static_cast<Claim *>(palloc(sizeof(Claim) * (static_cast<std::size_t>(count) + 1)));
    for (int i = 0; i < count; ++i) {
        if (nulls[i])
            raise_null_argument("claim", {i + 1});
        claims[i] = decode_claim(elements[i], "claim", {i + 1});
    }
    return {claims, static_cast<std::size_t>(count)};
}

}  // namespace reservation
