-- The functions as they are promised: names, arguments, defaults, results, volatility, safety, privileges.
\set ON_ERROR_STOP 1

CREATE VIEW functions AS
    SELECT p.*
    FROM pg_extension AS e
    JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
    JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
    WHERE e.extname = 'reservation';

-- What an application, an operator or a reviewer calls.
CREATE TABLE promised (name text, arguments text, result text, kind text DEFAULT 'ordinary');
INSERT INTO promised (name, arguments, result, kind) VALUES
    ('room_claim', 'room_id bigint, during tstzrange', 'hold_claim', 'constructor'),
    ('stock_claim', 'item_id bigint, quantity integer', 'hold_claim', 'constructor');
INSERT INTO promised (name, arguments, result)
SELECT v.name, regexp_replace(v.arguments, '(\w+)[?]', '\1 DEFAULT NULL::\1', 'g'), v.result
FROM (VALUES
    ('hold_acquire', 'claim hold_claim, ttl interval?, holder text?, idempotency_key text?', 'bigint'),
    ('hold_try_acquire', 'claim hold_claim, ttl interval?, holder text?, idempotency_key text?', 'bigint'),
    ('hold_acquire_all', 'claims hold_claim[], ttl interval?, holder text?, idempotency_key text?', 'bigint[]'),
    ('hold_try_acquire_all', 'claims hold_claim[], ttl interval?, holder text?, idempotency_key text?', 'bigint[]'),
    ('hold_get', 'hold_id bigint, holder text?', 'hold'),
    ('hold_confirm', 'hold_id bigint, version integer?, holder text?', 'text'),
    ('hold_try_confirm', 'hold_id bigint, version integer?, holder text?', 'text'),
    ('hold_cancel', 'hold_id bigint, version integer?, holder text?', 'text'),
    ('hold_extend', 'hold_id bigint, ttl interval?, version integer?, holder text?', 'timestamp with time zone'),
    ('hold_confirm_all', 'hold_ids bigint[], holder text?', 'text[]'),
    ('hold_cancel_all', 'hold_ids bigint[], holder text?', 'text[]'),
    ('hold_extend_all', 'hold_ids bigint[], ttl interval?, holder text?', 'timestamp with time zone[]'),
    ('hold_begin_payment', 'hold_id bigint, reference text, version integer?, holder text?', 'integer'),
    ('hold_fail_payment', 'hold_id bigint, reference text, holder text?', 'integer'),
    ('hold_resolve', 'hold_id bigint, outcome text, note text?, version integer?', 'text'),
    ('inventory_adjust', 'item_id bigint, delta integer, note text?', 'integer'),
    ('hold_reap', 'max_holds integer DEFAULT 1000, max_skipped_share double precision DEFAULT 0.5, '
     'max_review_share double precision DEFAULT 0.5, min_sample integer DEFAULT 20, OUT examined integer, '
     'OUT released integer, OUT skipped integer, OUT pending_review integer, OUT failed integer, OUT busy integer, '
     'OUT halted boolean, OUT reason text', 'record'),
    ('hold_purge', 'older_than interval, max_rows integer DEFAULT 10000, sold boolean DEFAULT false', 'bigint')
) AS v (name, arguments, result);
INSERT INTO promised (name, arguments, result, kind) VALUES
    ('room_availability', 'room_id bigint, during tstzrange', 'SETOF tstzrange', 'availability'),
    ('available_rooms', 'during tstzrange', 'SETOF bigint', 'availability'),
    ('stock_availability', 'item_id bigint', 'integer', 'availability'),
    ('hold_reap_all', 'IN batch integer DEFAULT 1000', NULL, 'procedure'),
    ('reservation_status', 'OUT kind text, OUT live bigint, OUT late bigint, OUT overdue bigint, OUT in_flight bigint, '
     'OUT under_review bigint, OUT oldest_overdue interval, OUT oldest_review interval, OUT last_run_id bigint, '
     'OUT last_run_at timestamp with time zone, OUT last_run_halted boolean, OUT last_run_reason text', 'SETOF record',
     'ordinary'),
    ('reservation_audit', 'OUT object text, OUT problem text, OUT detail text', 'SETOF record', 'ordinary'),
    -- What only the extension itself calls: triggers, and the default of a column.
    ('hold_guard', '', 'trigger', 'internal'),
    ('hold_truncate_guard', '', 'trigger', 'internal'),
    ('inventory_guard', '', 'trigger', 'internal'),
    ('reservation_load', '', 'event_trigger', 'internal'),
    ('hold_next_id', '', 'bigint', 'internal');

SELECT plan(12);

SELECT is(ARRAY(SELECT proname FROM functions WHERE proname NOT IN (SELECT name FROM promised)), '{}',
          'no function but the promised ones');
SELECT is(ARRAY(SELECT name FROM promised WHERE name NOT IN (SELECT proname FROM functions)), '{}',
          'and all of those');
SELECT is(ARRAY(SELECT proname FROM functions GROUP BY proname HAVING count(*) > 1), '{}', 'no two share a name');
SELECT is(
    ARRAY(SELECT format('%s(%s) returns %s', proname, pg_get_function_arguments(oid), pg_get_function_result(oid))
          FROM functions AS f JOIN promised AS p ON p.name = f.proname
          WHERE (pg_get_function_arguments(f.oid), pg_get_function_result(f.oid))
                IS DISTINCT FROM (p.arguments, p.result)), '{}',
    'arguments with names, types and defaults, and results');
SELECT is(ARRAY(SELECT proname FROM functions WHERE proisstrict), '{}',
          'none is strict: a NULL is answered by the function, with the name of the argument');
SELECT is(ARRAY(SELECT f.proname FROM functions AS f JOIN promised AS p ON p.name = f.proname
                WHERE f.prokind <> CASE p.kind WHEN 'procedure' THEN 'p'::"char" ELSE 'f' END), '{}', 'kinds');
SELECT is(
    ARRAY(SELECT format('%s %s %s', f.proname, f.provolatile, f.proparallel)
          FROM functions AS f JOIN promised AS p ON p.name = f.proname
          WHERE (f.provolatile, f.proparallel) <> CASE p.kind
              WHEN 'constructor' THEN ('i'::"char", 's'::"char")
              WHEN 'availability' THEN ('s'::"char", 'u'::"char")
              ELSE ('v'::"char", 'u'::"char") END), '{}', 'volatility and parallel safety');
SELECT is(
    ARRAY(SELECT f.proname FROM functions AS f JOIN promised AS p ON p.name = f.proname
          WHERE p.kind IN ('ordinary', 'availability')
            AND NOT (f.prosecdef AND f.proconfig = '{"search_path=pg_catalog, pg_temp"}')), '{}',
    'SECURITY DEFINER with a search path of their own');
SELECT is(
    ARRAY(SELECT f.proname FROM functions AS f JOIN promised AS p ON p.name = f.proname
          WHERE p.kind IN ('constructor', 'procedure', 'internal') AND (f.prosecdef OR f.proconfig IS NOT NULL)), '{}',
    'neither for the constructors and the procedure');
SELECT is(
    ARRAY(SELECT f.proname FROM functions AS f JOIN promised AS p ON p.name = f.proname
          JOIN pg_language AS l ON l.oid = f.prolang
          WHERE p.kind <> 'constructor' AND l.lanname <> 'c'), '{}', 'written in C++');
SELECT is(
    ARRAY(SELECT f.proname FROM functions AS f, aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) AS a
          WHERE a.grantee = 0 ORDER BY f.proname), '{room_claim,stock_claim}',
    'the constructors alone are open to PUBLIC');
SELECT is(ARRAY(SELECT f.proname FROM functions AS f, aclexplode(f.proacl) AS a WHERE a.grantee NOT IN (0, f.proowner)),
          '{}', 'and nothing is granted to anybody else');
SELECT finish();
