#include "record/request.hpp"

#include "pg/report.hpp"

#include <algorithm>

namespace reservation {

namespace {

// clang-format off
constinit Statement select_request{
    SPI_OK_SELECT, {TEXTOID, kHoldClaimArray, INTERVALOID, TEXTOID},
    "SELECT hold_ids, claims OPERATOR(pg_catalog.=) $2,"
    " COALESCE(ttl OPERATOR(pg_catalog.=) $3, ttl IS NULL AND $3 IS NULL),"
    " COALESCE(holder OPERATOR(pg_catalog.=) $4, holder IS NULL AND $4 IS NULL), pg_catalog.cardinality(claims)"
    " FROM {schema}.hold_request WHERE idempotency_key OPERATOR(pg_catalog.=) $1"};
constinit Statement insert_request{
    SPI_OK_INSERT, {TEXTOID, kHoldClaimArray, INTERVALOID, TEXTOID, INT8ARRAYOID, TIMESTAMPTZOID},
    "INSERT INTO {schema}.hold_request (idempotency_key, claims, ttl, holder, hold_ids, created_at)"
    " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (idempotency_key) DO NOTHING"};

// A key lives until the last of its holds is gone. The index of requests for several holds is a costly one, so requests
// for one do not stand in it. OFFSET 0 keeps the search for holds one by index, as in the statements about runs.
constinit Statement dead_keys{
    SPI_OK_SELECT, {INT8ARRAYOID},
    "SELECT pg_catalog.array_agg(DISTINCT r.idempotency_key), pg_catalog.count(DISTINCT r.idempotency_key)"
    " FROM pg_catalog.unnest($1) AS gone (hold_id) CROSS JOIN LATERAL ("
    "SELECT idempotency_key, hold_ids FROM {schema}.hold_request WHERE hold_ids[1] OPERATOR(pg_catalog.=) gone.hold_id"
    " AND pg_catalog.cardinality(hold_ids) OPERATOR(pg_catalog.=) 1"
    " UNION ALL SELECT idempotency_key, hold_ids FROM {schema}.hold_request"
    " WHERE hold_ids OPERATOR(pg_catalog.@>) ARRAY[gone.hold_id]"
    " AND pg_catalog.cardinality(hold_ids) OPERATOR(pg_catalog.>) 1) AS r"
    " WHERE NOT EXISTS (SELECT FROM {schema}.slot_hold AS h WHERE h.hold_id OPERATOR(pg_catalog.=) ANY (r.hold_ids) OFFSET 0)"
    " AND NOT EXISTS (SELECT FROM {schema}.stock_hold AS h WHERE h.hold_id OPERATOR(pg_catalog.=) ANY (r.hold_ids) OFFSET 0)"};
constinit Statement delete_keys{
    SPI_OK_DELETE, {TEXTARRAYOID},
    "DELETE FROM {schema}.hold_request WHERE idempotency_key OPERATOR(pg_catalog.=) ANY ($1)"};
// clang-format on

Value ttl_of(const KeyedRequest &request) { return request.ttl ? datum(IntervalPGetDatum(&*request.ttl)) : absent(); }

}  // namespace

bool find_request(const Call &call, const KeyedRequest &request, int64 *hold_ids)
{
    const Rows rows = select_request.look(call, {string(request.key), datum(request.claims), ttl_of(request),
                                                 string(request.holder)});
    if (rows.empty())
        return false;
    static constexpr const char *kFields[] = {"claims", "ttl", "holder"};
    for (int i = 0; i < 3; ++i)
        if (!rows.boolean(0, i + 2))
            ereport(ERROR, (errcode(kIdempotencyMismatch),
                            errmsg("the idempotency key was used for a request with other %s", kFields[i]),
                            errhint("Repeat the request as it was made, or use a new key.")));
    bool null;
    ArrayType *ids = DatumGetArrayTypeP(rows.value(0, 1, &null));
    // Nothing guards the table, and there is no room for more ids than the request has claims.
    if (ARR_HASNULL(ids) || ArrayGetNItems(ARR_NDIM(ids), ARR_DIMS(ids)) != rows.int4(0, 5))
        ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                        errmsg("the record of the idempotency key does not have one hold a claim")));
    std::copy_n(reinterpret_cast<const int64 *>(ARR_DATA_PTR(ids)), rows.int4(0, 5), hold_ids);
    return true;
}

bool record_request(const Call &call, const KeyedRequest &request, std::span<const int64> hold_ids, TimestampTz now)
{
    return insert_request
               .run(call, {string(request.key), datum(request.claims), ttl_of(request), string(request.holder),
                           datum(int8_array(hold_ids)), instant(now)})
               .processed() == 1;
}

void forget_requests(const Call &call, Datum hold_ids)
{
    const Rows rows = dead_keys.look(call, {datum(hold_ids)});
    bool none;
    const Datum keys = rows.value(0, 1, &none);
    if (!none && delete_keys.run(call, {datum(keys)}).processed() != static_cast<uint64>(rows.int8(0, 2)))
        raise_serialization_failure();
}

}  // namespace reservation
