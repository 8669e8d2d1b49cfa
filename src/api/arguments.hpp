#pragma once
// Decoding of SQL arguments. Every refusal names the argument; nothing of the database is read here.
#include "core/time_to_live.hpp"
#include "kind/kind.hpp"
#include "pg/boundary.hpp"
#include "pg/report.hpp"

#include <optional>

namespace reservation {

inline bool given(FunctionCallInfo fcinfo, int n) { return !PG_ARGISNULL(n); }

inline void require(FunctionCallInfo fcinfo, int n, const char *name)
{
    if (PG_ARGISNULL(n))
        raise_null_argument(name);
}

inline int64 required_int8(FunctionCallInfo fcinfo, int n, const char *name)
{
    require(fcinfo, n, name);
    return PG_GETARG_INT64(n);
}

inline text *required_text(FunctionCallInfo fcinfo, int n, const char *name)
{
    require(fcinfo, n, name);
    return PG_GETARG_TEXT_PP(n);
}

inline text *optional_text(FunctionCallInfo fcinfo, int n) { return PG_ARGISNULL(n) ? nullptr : PG_GETARG_TEXT_PP(n); }

inline std::optional<int32> optional_int4(FunctionCallInfo fcinfo, int n)
{
    return PG_ARGISNULL(n) ? std::nullopt : std::optional(PG_GETARG_INT32(n));
}

// A time to live in microseconds; reservation.default_ttl when it is left out.
int64 ttl_argument(FunctionCallInfo fcinfo, int n);

// The elements of a bigint[], none of them NULL.
std::span<const int64> ids_argument(FunctionCallInfo fcinfo, int n, const char *name);

// A period that can be claimed: nonempty, [), with finite bounds.
void check_period(Datum during, const char *argument, Position position = {0});

// A hold_claim, or an array of them, checked. position counts from 1 in an array.
Claim claim_argument(FunctionCallInfo fcinfo, int n);
std::span<Claim> claims_argument(FunctionCallInfo fcinfo, int n);

}  // namespace reservation
