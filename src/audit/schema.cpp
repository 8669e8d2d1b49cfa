// What guards the rows. Each check asks for what is needed, whatever it is called: an index that a person made again
// under another name is as good. Only names that our statements use must be as they are.
#include "audit/check.hpp"

// clang-format off
// A table of ours and one of its columns, by name.
#define RESERVATION_TABLE(alias, name)                                                                          \
    " JOIN pg_catalog.pg_class AS " alias " ON " alias ".relnamespace OPERATOR(pg_catalog.=) n.oid"             \
    " AND " alias ".relname OPERATOR(pg_catalog.=) " name
#define RESERVATION_COLUMN(alias, table, name)                                                                  \
    " JOIN pg_catalog.pg_attribute AS " alias " ON " alias ".attrelid OPERATOR(pg_catalog.=) " table ".oid"     \
    " AND " alias ".attname OPERATOR(pg_catalog.=) " name
#define RESERVATION_SCHEMA "JOIN pg_catalog.pg_namespace AS n ON n.nspname OPERATOR(pg_catalog.=) $3"
// Fires in an ordinary session, and for every row: no WHEN, no UPDATE OF.
#define RESERVATION_FIRES(trigger) \
    trigger ".tgenabled OPERATOR(pg_catalog.=) ANY ('{O,A}'::pg_catalog.\"char\"[])"
#define RESERVATION_UNCONDITIONAL(trigger) \
    trigger ".tgqual IS NULL AND pg_catalog.cardinality(" trigger ".tgattr) OPERATOR(pg_catalog.=) 0"
// A function of this library, not another that took its name.
#define RESERVATION_OURS(function)                                                                              \
    function ".pronamespace OPERATOR(pg_catalog.=) n.oid"                                                       \
    " AND " function ".prosrc OPERATOR(pg_catalog.=) ('reservation_' OPERATOR(pg_catalog.||) " function ".proname)" \
    " AND " function ".prolang OPERATOR(pg_catalog.=)"                                                          \
    " (SELECT l.oid FROM pg_catalog.pg_language AS l WHERE l.lanname OPERATOR(pg_catalog.=) 'c')"
// clang-format on

namespace reservation {

namespace {

// clang-format off
// Bits of pg_trigger.tgtype: 1 row, 2 before, 4 insert, 8 delete, 16 update, 32 truncate.
constinit Statement checks[] = {
    RESERVATION_CHECK(
        "SELECT pg_catalog.format('table %s', v.table_name), 'no unique key',"
        " pg_catalog.format('No valid unique index on %s alone.', v.column_name)"
        " FROM (VALUES ('room', 'room_id'), ('inventory', 'item_id'), ('slot_hold', 'hold_id'),"
        " ('stock_hold', 'hold_id'), ('hold_request', 'idempotency_key'), ('hold_event', 'event_id'),"
        " ('hold_run', 'run_id')) AS v (table_name, column_name) " RESERVATION_SCHEMA
        RESERVATION_TABLE("t", "v.table_name") RESERVATION_COLUMN("a", "t", "v.column_name")
        " WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_index AS i WHERE i.indrelid OPERATOR(pg_catalog.=) t.oid"
        " AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indisready AND i.indpred IS NULL"
        " AND i.indnkeyatts OPERATOR(pg_catalog.=) 1::pg_catalog.int2"
        " AND i.indkey[0] OPERATOR(pg_catalog.=) a.attnum)"),

    RESERVATION_CHECK(
        "SELECT pg_catalog.format('table %s', v.table_name), 'has a table that inherits from it',"
        " pg_catalog.format('Rows of %s count with it.', i.inhrelid::pg_catalog.regclass)"
        " FROM (VALUES ('room'), ('inventory'), ('slot_hold'), ('stock_hold')) AS v (table_name) " RESERVATION_SCHEMA
        RESERVATION_TABLE("t", "v.table_name")
        " JOIN pg_catalog.pg_inherits AS i ON i.inhparent OPERATOR(pg_catalog.=) t.oid"),

    // 18 has constraints of this kind that were never validated.
    RESERVATION_CHECK(
        "SELECT pg_catalog.format('column %s.%s', t.relname, a.attname), 'may be null', 'NOT NULL is missing.'"
        " FROM (VALUES ('room', '{room_id,name}'), ('inventory', '{item_id,available,capacity}'),"
        " ('slot_hold', '{hold_id,room_id,during,state,expires_at,version,created_at,changed_at}'),"
        " ('stock_hold', '{hold_id,item_id,quantity,state,expires_at,version,created_at,changed_at}'),"
        " ('hold_request', '{idempotency_key,claims,hold_ids,created_at}'),"
        " ('hold_event', '{event_id,kind,resource_id,outcome,at,who}'),"
        " ('hold_run', '{run_id,started_at,finished_at,examined,released,skipped,pending_review,failed,busy,halted,"
        "who}')) AS v (table_name, columns) " RESERVATION_SCHEMA
        RESERVATION_TABLE("t", "v.table_name")
        RESERVATION_COLUMN("a", "t", "ANY (v.columns::pg_catalog.name[])")
        " WHERE NOT a.attnotnull OR EXISTS (SELECT FROM pg_catalog.pg_constraint AS c"
        " WHERE c.conrelid OPERATOR(pg_catalog.=) t.oid AND c.contype OPERATOR(pg_catalog.=) 'n'"
        " AND c.conkey OPERATOR(pg_catalog.=) ARRAY[a.attnum] AND NOT c.convalidated)"),

    // conenforced is new in 18. A key is enforced by four triggers, which can be disabled.
    RESERVATION_CHECK(
        "SELECT pg_catalog.format('foreign key %s.%s', t.relname, a.attname), 'missing or disabled',"
        " pg_catalog.format('No valid foreign key to %s.', r.relname)"
        " FROM (VALUES ('slot_hold', 'room_id', 'room'), ('stock_hold', 'item_id', 'inventory'))"
        " AS v (table_name, column_name, resource_name) " RESERVATION_SCHEMA
        RESERVATION_TABLE("t", "v.table_name") RESERVATION_TABLE("r", "v.resource_name")
        RESERVATION_COLUMN("a", "t", "v.column_name") RESERVATION_COLUMN("b", "r", "v.column_name")
        " WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_constraint AS c WHERE c.contype OPERATOR(pg_catalog.=) 'f'"
        " AND c.conrelid OPERATOR(pg_catalog.=) t.oid AND c.confrelid OPERATOR(pg_catalog.=) r.oid"
        " AND c.conkey OPERATOR(pg_catalog.=) ARRAY[a.attnum] AND c.confkey OPERATOR(pg_catalog.=) ARRAY[b.attnum]"
        " AND c.convalidated AND COALESCE((pg_catalog.to_jsonb(c) OPERATOR(pg_catalog.->>) 'conenforced')"
        "::pg_catalog.bool, true)"
        " AND 4 OPERATOR(pg_catalog.=) (SELECT pg_catalog.count(*) FROM pg_catalog.pg_trigger AS g"
        " WHERE g.tgconstraint OPERATOR(pg_catalog.=) c.oid AND " RESERVATION_FIRES("g") "))"),

    // The name is in the ON CONFLICT of acquire. A session may have all identifiers quoted.
    RESERVATION_CHECK(
        "SELECT 'constraint slot_hold_no_overlap',"
        " CASE WHEN c.oid IS NULL THEN 'missing' ELSE 'not what it was' END,"
        " COALESCE(pg_catalog.pg_get_constraintdef(c.oid) OPERATOR(pg_catalog.||) '.',"
        " 'No exclusion constraint of that name on slot_hold.')"
        " FROM (VALUES ('slot_hold')) AS v (table_name) " RESERVATION_SCHEMA RESERVATION_TABLE("t", "v.table_name")
        " LEFT JOIN pg_catalog.pg_constraint AS c ON c.conrelid OPERATOR(pg_catalog.=) t.oid"
        " AND c.contype OPERATOR(pg_catalog.=) 'x' AND c.conname OPERATOR(pg_catalog.=) 'slot_hold_no_overlap'"
        " LEFT JOIN pg_catalog.pg_index AS i ON i.indexrelid OPERATOR(pg_catalog.=) c.conindid"
        " WHERE c.oid IS NULL OR NOT i.indisvalid OR NOT i.indisready"
        " OR pg_catalog.replace(pg_catalog.pg_get_constraintdef(c.oid), '\"', '') OPERATOR(pg_catalog.<>)"
        " 'EXCLUDE USING gist (room_id WITH =,"
        " during WITH &&) WHERE ((state = ANY (''{held,pending_review,confirmed}''::text[])))'"),

    RESERVATION_CHECK(
        "SELECT pg_catalog.format('trigger %s on %s', v.function_name, t.relname),"
        " CASE WHEN pg_catalog.bool_or(g.tgenabled OPERATOR(pg_catalog.=) 'D') THEN 'disabled'"
        " WHEN pg_catalog.count(g.oid) OPERATOR(pg_catalog.>) 0 THEN 'not what it was' ELSE 'missing' END,"
        " COALESCE(pg_catalog.string_agg(pg_catalog.pg_get_triggerdef(g.oid), '; ') OPERATOR(pg_catalog.||) '.',"
        " 'No trigger calls the function.')"
        " FROM (VALUES ('slot_hold', 'hold_guard', 31, 'room'), ('stock_hold', 'hold_guard', 31, 'item'),"
        " ('slot_hold', 'hold_truncate_guard', 34, 'room'), ('stock_hold', 'hold_truncate_guard', 34, 'item'),"
        " ('inventory', 'inventory_guard', 23, NULL)) AS v (table_name, function_name, type, kind) "
        RESERVATION_SCHEMA RESERVATION_TABLE("t", "v.table_name")
        " LEFT JOIN pg_catalog.pg_proc AS f ON f.proname OPERATOR(pg_catalog.=) v.function_name"
        " AND " RESERVATION_OURS("f")
        " LEFT JOIN pg_catalog.pg_trigger AS g ON g.tgrelid OPERATOR(pg_catalog.=) t.oid"
        " AND g.tgfoid OPERATOR(pg_catalog.=) f.oid"
        " GROUP BY t.relname, v.function_name HAVING NOT COALESCE(pg_catalog.bool_or("
        RESERVATION_FIRES("g") " AND " RESERVATION_UNCONDITIONAL("g")
        " AND g.tgtype::pg_catalog.int4 OPERATOR(pg_catalog.=) v.type"
        " AND g.tgargs OPERATOR(pg_catalog.=) COALESCE(pg_catalog.textsend(v.kind) OPERATOR(pg_catalog.||)"
        " pg_catalog.decode('00', 'hex'), '')), false)"),

    // BEFORE triggers fire by name, and what a guard has judged must be what is stored.
    RESERVATION_CHECK(
        "SELECT pg_catalog.format('trigger %s on %s', g.tgname, t.relname), 'fires after the guard',"
        " 'It can change rows that were judged already.'"
        " FROM (VALUES ('slot_hold', 'hold_guard'), ('stock_hold', 'hold_guard'), ('inventory', 'inventory_guard'))"
        " AS v (table_name, function_name) " RESERVATION_SCHEMA RESERVATION_TABLE("t", "v.table_name")
        " JOIN pg_catalog.pg_proc AS f ON f.proname OPERATOR(pg_catalog.=) v.function_name"
        " AND " RESERVATION_OURS("f")
        " JOIN pg_catalog.pg_trigger AS o ON o.tgrelid OPERATOR(pg_catalog.=) t.oid"
        " AND o.tgfoid OPERATOR(pg_catalog.=) f.oid AND " RESERVATION_FIRES("o")
        " JOIN pg_catalog.pg_trigger AS g ON g.tgrelid OPERATOR(pg_catalog.=) t.oid"
        " AND g.tgfoid OPERATOR(pg_catalog.<>) f.oid AND " RESERVATION_FIRES("g")
        " AND (g.tgtype::pg_catalog.int4 OPERATOR(pg_catalog.&) 3) OPERATOR(pg_catalog.=) 3"
        " AND g.tgname OPERATOR(pg_catalog.>) o.tgname"),

    // ALWAYS: also where session_replication_role = replica.
    RESERVATION_CHECK(
        "SELECT 'event trigger reservation_drop_guard', 'missing or not always enabled',"
        " 'The extension can be dropped by a session that has not loaded the library.'"
        " FROM (VALUES ('reservation_load')) AS v (function_name) " RESERVATION_SCHEMA
        " WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_event_trigger AS e"
        " JOIN pg_catalog.pg_proc AS f ON f.oid OPERATOR(pg_catalog.=) e.evtfoid"
        " AND f.proname OPERATOR(pg_catalog.=) v.function_name"
        " AND f.pronamespace OPERATOR(pg_catalog.=) n.oid"
        " WHERE e.evtevent OPERATOR(pg_catalog.=) 'ddl_command_start' AND e.evttags IS NULL"
        " AND e.evtenabled OPERATOR(pg_catalog.=) 'A')"),
};
// clang-format on

}  // namespace

std::span<Statement> schema_checks() { return checks; }

}  // namespace reservation
