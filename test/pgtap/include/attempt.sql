-- Shared by the pgTAP files: run one statement, say what it answered or how it failed, and what it wrote.

CREATE TYPE outcome AS (
    answer text,
    sqlstate text,
    message text,
    detail text,
    hint text,
    schema_name text,
    table_name text,
    constraint_name text
);

CREATE FUNCTION attempt(statement text) RETURNS outcome
LANGUAGE plpgsql AS $body$
DECLARE
    o outcome;
BEGIN
    IF statement ~* '^\s*(SELECT|EXECUTE|WITH)\M|\mRETURNING\M' THEN
        EXECUTE statement INTO o.answer;
    ELSE
        EXECUTE statement;
    END IF;
    o.sqlstate := '00000';
    RETURN o;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS
        o.sqlstate = RETURNED_SQLSTATE,
        o.message = MESSAGE_TEXT,
        o.detail = PG_EXCEPTION_DETAIL,
        o.hint = PG_EXCEPTION_HINT,
        o.schema_name = SCHEMA_NAME,
        o.table_name = TABLE_NAME,
        o.constraint_name = CONSTRAINT_NAME;
    RETURN o;
END
$body$;

CREATE FUNCTION sqlstate_of(statement text) RETURNS text
LANGUAGE sql AS $body$
    SELECT sqlstate FROM attempt(statement)
$body$;

-- Every row of every table with its place: two equal texts mean that nothing was written in between, not even the
-- same values once more.
CREATE FUNCTION all_rows() RETURNS text
LANGUAGE sql AS $body$
    SELECT concat_ws(E'\n',
        (SELECT string_agg(t.ctid || t::text, E'\n' ORDER BY t.ctid) FROM room AS t),
        (SELECT string_agg(t.ctid || t::text, E'\n' ORDER BY t.ctid) FROM slot_hold AS t),
        (SELECT string_agg(t.ctid || t::text, E'\n' ORDER BY t.ctid) FROM inventory AS t),
        (SELECT string_agg(t.ctid || t::text, E'\n' ORDER BY t.ctid) FROM stock_hold AS t),
        (SELECT string_agg(t.ctid || t::text, E'\n' ORDER BY t.ctid) FROM hold_request AS t),
        (SELECT string_agg(t.ctid || t::text, E'\n' ORDER BY t.ctid) FROM hold_event AS t),
        (SELECT string_agg(t.ctid || t::text, E'\n' ORDER BY t.ctid) FROM hold_run AS t))
$body$;

-- No row when every counter agrees with its holds.
CREATE FUNCTION wrong_counters() RETURNS TABLE (item_id bigint, available integer, capacity integer, held bigint)
LANGUAGE sql AS $body$
    SELECT i.item_id, i.available, i.capacity, u.units
    FROM inventory AS i
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(s.quantity), 0) AS units FROM stock_hold AS s
        WHERE s.item_id = i.item_id AND s.state IN ('held', 'pending_review', 'confirmed')
    ) AS u
    WHERE i.capacity <> i.available + u.units
$body$;

-- Messages begin in lower case and end without a full stop; details and hints are sentences, which may begin with the
-- name of a setting.
CREATE FUNCTION well_worded(o outcome) RETURNS boolean
LANGUAGE sql AS $body$
    SELECT o.message ~ '^[a-z"].*[^.]$'
       AND coalesce(o.detail, '') ~ '^(([A-Z0-9]|reservation[.]).*[.])?$'
       AND coalesce(o.hint, '') ~ '^([A-Z].*[.])?$'
$body$;
