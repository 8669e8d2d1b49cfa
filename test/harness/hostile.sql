-- Makes a database hostile to the extension alone: its functions, the guards included, see the schema of
-- test/environment/hostile.sql first, instead of under the search path of their own that protects them. What they
-- reach by an unqualified name raises; whoever calls them, tests and pgTAP, sees nothing of it, so that nothing has to
-- be left out. Two keep what they have: hold_reap_all, since a procedure that commits cannot have such a setting, and
-- reservation_audit, since how the server prints a constraint depends on the search path. test_hostile.py calls both.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
DO $$
DECLARE
    f regprocedure;
    made int := 0;
BEGIN
    FOR f IN
        SELECT p.oid
        FROM pg_extension AS e
        JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
        JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
        WHERE e.extname = 'reservation' AND p.prokind = 'f' AND p.proname <> 'reservation_audit'
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = hostile, pg_temp, pg_catalog, public', f);
        made := made + 1;
    END LOOP;
    ASSERT made >= 29, 'too few functions';
END
$$;

-- Casts are in no schema: those between types that are not hostile would be found by the tests' own SQL too.
DO $$
DECLARE
    c record;
BEGIN
    FOR c IN
        SELECT castsource::regtype AS source, casttarget::regtype AS target
        FROM pg_cast JOIN pg_proc AS p ON p.oid = castfunc
        WHERE p.pronamespace = 'hostile'::regnamespace
          AND NOT EXISTS (SELECT FROM pg_type AS t
                          WHERE t.oid IN (castsource, casttarget) AND t.typnamespace = 'hostile'::regnamespace)
    LOOP
        EXECUTE format('DROP CAST (%s AS %s)', c.source, c.target);
    END LOOP;
END
$$;
