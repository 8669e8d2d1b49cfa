#pragma once
// The statements that every kind has on its hold table: one shape, instantiated per kind with literal names, so that
// each text stays a constant. Every one that locks or writes a hold names its resource beside its id, and compares
// times with parameters only: a volatile function in a WHERE cannot use an index.
#include "kind/kind.hpp"

// clang-format off
#define RESERVATION_HOLD_COLUMNS(resource, units)                                                              \
    "hold_id, " resource ", state, version, expires_at, created_at, changed_at, holder, payment_reference, " units

#define RESERVATION_ONE_HOLD(resource) \
    " WHERE hold_id OPERATOR(pg_catalog.=) $1 AND " resource " OPERATOR(pg_catalog.=) $2"

// A hold by its id alone: an unlocked read, to learn the resource. Parameter: id.
#define RESERVATION_FIND(table, resource, units)                                                        \
    SPI_OK_SELECT, {INT8OID},                                                                          \
     "SELECT " RESERVATION_HOLD_COLUMNS(resource, units) " FROM {schema}." table                        \
     " WHERE hold_id OPERATOR(pg_catalog.=) $1"

// The hold as it is now, locked against every writer. Parameters: id, resource.
#define RESERVATION_REREAD(table, resource, units, wait)                                                \
    SPI_OK_SELECT, {INT8OID, INT8OID},                                                                 \
     "SELECT " RESERVATION_HOLD_COLUMNS(resource, units) " FROM {schema}." table                        \
     RESERVATION_ONE_HOLD(resource) " FOR NO KEY UPDATE" wait

// Compare-and-set: the only statement that changes a hold. Parameters: id, resource, state and version that were
// seen; state, deadline, payment reference and time of the decision to write. The state is compared in a form that no
// index serves: on a small table the planner would as soon go through all holds of an item as take the one by its id.
#define RESERVATION_WRITE(table, resource)                                                              \
    SPI_OK_UPDATE, {INT8OID, INT8OID, TEXTOID, INT4OID, TEXTOID, TIMESTAMPTZOID, TEXTOID, TIMESTAMPTZOID}, \
     "UPDATE {schema}." table " SET state = $5, expires_at = $6, payment_reference = $7, changed_at = $8" \
     RESERVATION_ONE_HOLD(resource)                                                                     \
     " AND (state OPERATOR(pg_catalog.=) $3) IS TRUE AND version OPERATOR(pg_catalog.=) $4"

// The oldest holds whose deadline is not after $1 and that stand behind ($2, $3) in the order of deadlines.
#define RESERVATION_OVERDUE(table, resource, units)                                                     \
    SPI_OK_SELECT, {TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID, INT8OID},                                 \
     "SELECT " RESERVATION_HOLD_COLUMNS(resource, units) " FROM {schema}." table                        \
     " WHERE state OPERATOR(pg_catalog.=) 'held' AND expires_at OPERATOR(pg_catalog.<=) $1"             \
     " AND ROW(expires_at, hold_id) OPERATOR(pg_catalog.>) ROW($2, $3)"                                 \
     " ORDER BY expires_at, hold_id LIMIT $4"

// The next deadline after a time.
#define RESERVATION_NEXT_DEADLINE(table)                                                                \
    SPI_OK_SELECT, {TIMESTAMPTZOID},                                                                   \
     "SELECT expires_at FROM {schema}." table " WHERE state OPERATOR(pg_catalog.=) 'held'"              \
     " AND expires_at OPERATOR(pg_catalog.>) $1 ORDER BY expires_at LIMIT 1"

// How many holds are live, late, overdue, in flight and under review; the deadline of the oldest overdue one, and since
// when the oldest is under review. Parameters: now, now less the grace. Confirmed holds are not looked at.
#define RESERVATION_STATUS(table)                                                                       \
    SPI_OK_SELECT, {TIMESTAMPTZOID, TIMESTAMPTZOID},                                                   \
     "SELECT h.live, h.late, h.overdue, h.in_flight, r.under_review, h.oldest_overdue, r.oldest_review" \
     " FROM (SELECT pg_catalog.count(*) FILTER (WHERE expires_at OPERATOR(pg_catalog.>) $1) AS live,"  \
     " pg_catalog.count(*) FILTER (WHERE expires_at OPERATOR(pg_catalog.<=) $1"                         \
     " AND expires_at OPERATOR(pg_catalog.>) $2) AS late,"                                              \
     " pg_catalog.count(*) FILTER (WHERE expires_at OPERATOR(pg_catalog.<=) $2) AS overdue,"            \
     " pg_catalog.count(payment_reference) AS in_flight,"                                               \
     " pg_catalog.min(expires_at) FILTER (WHERE expires_at OPERATOR(pg_catalog.<=) $2) AS oldest_overdue" \
     " FROM {schema}." table " WHERE state OPERATOR(pg_catalog.=) 'held') AS h"                         \
     " CROSS JOIN (SELECT pg_catalog.count(*) AS under_review, pg_catalog.min(changed_at) AS oldest_review" \
     " FROM {schema}." table " WHERE state OPERATOR(pg_catalog.=) 'pending_review') AS r"

// The first $5 holds of a state behind ($3, $4) in the order of the time since when they are what they are, if that is
// not after $2 and nothing of them has been changed after $1; that time is the last column. An unlocked read.
#define RESERVATION_OLD(table, resource, units, state, since)                                           \
    SPI_OK_SELECT, {TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID, INT8OID},                 \
     "SELECT " RESERVATION_HOLD_COLUMNS(resource, units) ", " since " FROM {schema}." table             \
     " WHERE state OPERATOR(pg_catalog.=) '" state "' AND " since " OPERATOR(pg_catalog.<=) $2"         \
     " AND ROW(" since ", hold_id) OPERATOR(pg_catalog.>) ROW($3, $4)"                                  \
     " AND changed_at OPERATOR(pg_catalog.<=) $1 ORDER BY " since ", hold_id LIMIT $5"

// Deletes those of the holds $1 of the resources $2 that still are in state $3, unchanged since $4, and free. The
// conditions beside the id are in a form that no index serves, as in RESERVATION_WRITE. The rest of the statement says
// what is told of the rows gone.
#define RESERVATION_REMOVE(table, resource, columns)                                                    \
    SPI_OK_SELECT, {INT8ARRAYOID, INT8ARRAYOID, TEXTOID, TIMESTAMPTZOID},                              \
     "WITH old AS MATERIALIZED (SELECT h.hold_id, h." resource                                          \
     " FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS c (hold_id, resource_id)"      \
     " JOIN {schema}." table " AS h ON h.hold_id OPERATOR(pg_catalog.=) c.hold_id"                      \
     " AND (h." resource " OPERATOR(pg_catalog.=) c.resource_id) IS TRUE"                               \
     " WHERE (h.state OPERATOR(pg_catalog.=) $3) IS TRUE AND (h.changed_at OPERATOR(pg_catalog.<=) $4) IS TRUE" \
     " FOR UPDATE OF h SKIP LOCKED),"                                                                   \
     " gone AS (DELETE FROM {schema}." table " AS h USING old AS o"                                     \
     " WHERE h.hold_id OPERATOR(pg_catalog.=) o.hold_id AND (h." resource " OPERATOR(pg_catalog.=) o." resource ") IS TRUE" \
     " RETURNING " columns ")"
#define RESERVATION_REMOVE_OVER(table, resource)                                                        \
    RESERVATION_REMOVE(table, resource, "h.hold_id")                                                    \
     " SELECT pg_catalog.count(*), pg_catalog.array_agg(hold_id) FROM gone"
// clang-format on

namespace reservation {

// A row in the shape of RESERVATION_HOLD_COLUMNS. Its texts live as long as the rows.
Hold hold_from(const Kind &kind, const Rows &rows, uint64 row);

// Writes new values into a hold if it still is what was seen. False if another writer was there first.
bool write_hold(const Call &call, const Hold &seen, State state, TimestampTz expires_at, const text *payment_reference,
                TimestampTz now);

// The first row, with texts of its own; the rows are freed, so that a call over thousands of holds keeps none.
Hold take_hold(const Kind &kind, const Rows &rows);

// All rows, palloc'd.
std::span<Hold> holds_from(const Kind &kind, const Rows &rows);

}  // namespace reservation
