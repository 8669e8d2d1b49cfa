-- A given holder must be the row's: to anybody else the hold does not exist, and what it is never shows.
\set ON_ERROR_STOP 1
SET reservation.log_events = 'all';
\i test/pgtap/include/attempt.sql

INSERT INTO room VALUES (1, 'a');
INSERT INTO inventory VALUES (1, 100);

-- A new hold of a holder; the call with %s for its id; what it answers.
CREATE SEQUENCE days;
CREATE FUNCTION called(kind text, owner text, call text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    day timestamptz := timestamptz '2030-01-01 00:00+00' + nextval('days') * interval '24 hours';
    id bigint := hold_acquire(
        CASE kind WHEN 'room' THEN room_claim(1, tstzrange(day, day + interval '24 hours')) ELSE stock_claim(1, 1) END,
        NULL, owner);
    rows_before text := all_rows();
    o outcome := attempt('SELECT ' || format(call, id));
BEGIN
    IF o.sqlstate <> '00000' THEN
        RETURN CASE
            WHEN concat_ws(' ', o.message, o.detail, o.hint) ~* 'ann|pay-1|secret' THEN format('tells too much: %s', o)
            WHEN NOT well_worded(o) THEN format('badly worded: %s', o)
            WHEN all_rows() <> rows_before THEN 'wrote and raised ' || o.sqlstate
            ELSE o.sqlstate END;
    END IF;
    RETURN CASE WHEN all_rows() = rows_before THEN '= ' ELSE '' END || coalesce(o.answer, 'NULL');
END
$body$;

-- Every call that takes a holder: with what the owner gets, and what everybody else gets.
CREATE TABLE calls (call text, owner_gets text, others_get text);
INSERT INTO calls VALUES
    ('(hold_get(%%s, %L)).state', '= held', '= NULL'),
    ('hold_confirm(%%s, NULL, %L)', 'confirmed', 'P0002'),
    ('hold_try_confirm(%%s, NULL, %L)', 'confirmed', '= NULL'),
    ('hold_cancel(%%s, NULL, %L)', 'cancelled', 'P0002'),
    ('hold_extend(%%s, ''1h'', NULL, %L) > clock_timestamp()', 'true', 'P0002'),
    ('hold_begin_payment(%%s, ''pay-1'', NULL, %L)', '2', 'P0002'),
    ('hold_fail_payment(%%s, ''pay-1'', %L)', '= 1', 'P0002'),
    ('hold_confirm_all(ARRAY[%%s]::bigint[], %L)', '{confirmed}', 'P0002'),
    ('hold_cancel_all(ARRAY[%%s]::bigint[], %L)', '{cancelled}', 'P0002'),
    ('hold_extend_all(ARRAY[%%s]::bigint[], ''1h'', %L) > ARRAY[clock_timestamp()]', 'true', 'P0002');

SELECT plan(125);

SELECT is(called(k.kind, o.owner, format(c.call, o.given)),
          CASE WHEN o.given IS NULL OR o.given = o.owner THEN c.owner_gets ELSE c.others_get END,
          format('%s''s %s: %s', coalesce(o.owner, 'nobody'), k.kind, format(format(c.call, o.given), '?')))
FROM calls AS c,
(VALUES ('room'), ('item')) AS k (kind),
(VALUES
    ('ann', 'ann'),
    ('ann', NULL),
    ('ann', 'bob'),
    (NULL, 'bob'),
    (NULL, NULL),
    -- as they are, to the byte
    ('ann', 'Ann')
) AS o (owner, given);

SELECT is(called('room', 'ann', 'hold_confirm(%s, NULL, ''ann '')'), 'P0002', 'a blank is a difference');
SELECT is(called('room', '', 'hold_confirm(%s, NULL, '''')'), 'confirmed', 'the empty text is a holder like any other');
SELECT is(called('room', 'ann', 'hold_confirm(%s, NULL, '''')'), 'P0002', 'and no hold of "ann"');
SELECT is(called('room', NULL, 'hold_confirm(%s, NULL, '''')'), 'P0002', 'nor one of nobody''s');
SELECT is(called('room', repeat('ä', 10000), format('hold_confirm(%%s, NULL, %L)', repeat('ä', 10000))), 'confirmed',
          'a long holder');

SELECT finish();
