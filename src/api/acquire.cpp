// hold_acquire, hold_try_acquire, hold_acquire_all, hold_try_acquire_all.
#include "lifecycle/acquire.hpp"

#include "api/arguments.hpp"

namespace reservation {

namespace {

constexpr std::size_t kLongestKey = 255;

// The arguments behind the claims are the same for all four: ttl, holder, idempotency_key.
AcquireRequest request_from(FunctionCallInfo fcinfo, std::span<Claim> claims, bool optional)
{
    AcquireRequest request{
        .claims = claims,
        .ttl = ttl_argument(fcinfo, 1),
        .holder = optional_text(fcinfo, 2),
        .optional = optional,
        .key = optional_text(fcinfo, 3),
        .claims_as_made = Datum{0},
        .ttl_as_made = given(fcinfo, 1) ? std::optional(*PG_GETARG_INTERVAL_P(1)) : std::nullopt,
    };
    if (request.key != nullptr && (bytes(request.key).empty() || bytes(request.key).size() > kLongestKey))
        raise_invalid_argument("idempotency_key", "It must have 1 to 255 bytes.");
    return request;
}

bool acquire_one(FunctionCallInfo fcinfo, bool optional, int64 *hold_id)
{
    Claim claim = claim_argument(fcinfo, 0);
    AcquireRequest request = request_from(fcinfo, {&claim, 1}, optional);
    if (request.key != nullptr) {
        Datum composite = PG_GETARG_DATUM(0);
        const Oid type = HeapTupleHeaderGetTypeId(DatumGetHeapTupleHeader(composite));
        request.claims_as_made = PointerGetDatum(construct_array(&composite, 1, type, -1, false, TYPALIGN_DOUBLE));
    }
    return with_spi([&] { return acquire(call_of(fcinfo), request, hold_id); });
}

Datum acquire_all(FunctionCallInfo fcinfo, bool optional)
{
    const std::span<Claim> claims = claims_argument(fcinfo, 0);
    AcquireRequest request = request_from(fcinfo, claims, optional);
    ArrayType *as_made = PG_GETARG_ARRAYTYPE_P_COPY(0);
    if (ARR_NDIM(as_made) == 1)
        ARR_LBOUND(as_made)[0] = 1;  // the same claims, whatever the first one's number
    request.claims_as_made = PointerGetDatum(as_made);
    auto *hold_ids = static_cast<int64 *>(palloc(sizeof(int64) * (claims.size() + 1)));
    if (!with_spi([&] { return acquire(call_of(fcinfo), request, hold_ids); }))
        PG_RETURN_NULL();
    return int8_array({hold_ids, claims.size()});
}

}  // namespace

// hold_acquire(claim hold_claim, ttl interval, holder text, idempotency_key text) returns bigint
RESERVATION_FUNCTION(hold_acquire)
{
    int64 hold_id = 0;
    (void)acquire_one(fcinfo, false, &hold_id);
    PG_RETURN_INT64(hold_id);
}

// hold_try_acquire(…the same) returns bigint: NULL when capacity is missing
RESERVATION_FUNCTION(hold_try_acquire)
{
    int64 hold_id = 0;
    if (!acquire_one(fcinfo, true, &hold_id))
        PG_RETURN_NULL();
    PG_RETURN_INT64(hold_id);
}

// hold_acquire_all(claims hold_claim[], ttl interval, holder text, idempotency_key text) returns bigint[]
RESERVATION_FUNCTION(hold_acquire_all) { return acquire_all(fcinfo, false); }

// hold_try_acquire_all(…the same) returns bigint[]: NULL when capacity is missing anywhere
RESERVATION_FUNCTION(hold_try_acquire_all) { return acquire_all(fcinfo, true); }

}  // namespace reservation
