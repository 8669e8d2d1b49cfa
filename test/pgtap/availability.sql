-- room_availability, available_rooms, stock_availability: arguments and answers. That they agree with acquire in every
-- situation is tested with made-up holds in test/sessions/test_availability.py.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql

SELECT plan(29);

INSERT INTO room SELECT n, 'room ' || n FROM generate_series(1, 3) AS n;
INSERT INTO inventory VALUES (1, 5), (2, 2147483647), (3, 0);

CREATE FUNCTION hours(lower integer, upper integer) RETURNS tstzrange
LANGUAGE sql AS $body$
    SELECT tstzrange(d + lower * interval '1 hour', d + upper * interval '1 hour')
    FROM (SELECT timestamptz '2100-01-01 00:00+00') AS t (d)
$body$;
CREATE FUNCTION gaps(room_id bigint, during tstzrange) RETURNS tstzrange[]
LANGUAGE sql AS 'SELECT ARRAY(SELECT room_availability(room_id, during))';
CREATE FUNCTION free_rooms(during tstzrange) RETURNS bigint[]
LANGUAGE sql AS 'SELECT ARRAY(SELECT available_rooms(during))';

-- Answers
SELECT is(gaps(1, hours(0, 24)), ARRAY[hours(0, 24)], 'a room without holds is free for all of it');
SELECT lives_ok($$SELECT hold_acquire_all(ARRAY[room_claim(1, hours(2, 4)), room_claim(1, hours(4, 5)),
                room_claim(1, hours(8, 12))])$$, 'three holds of room 1');
SELECT is(gaps(1, hours(0, 24)), ARRAY[hours(0, 2), hours(5, 8), hours(12, 24)], 'gaps before, between and behind');
SELECT is(gaps(1, hours(3, 9)), ARRAY[hours(5, 8)], 'a period that begins and ends within holds');
SELECT is(gaps(1, hours(6, 7)), ARRAY[hours(6, 7)], 'a period within a gap');
SELECT is(gaps(1, hours(8, 12)), '{}', 'a period that is taken');
SELECT is(gaps(1, hours(9, 10)), '{}', 'a part of it');
SELECT is(gaps(1, hours(12, 13)), ARRAY[hours(12, 13)], 'a period that begins where a hold ends');
SELECT is(ARRAY(SELECT gap FROM room_availability(1, hours(0, 24)) AS gap WHERE upper(gap) - lower(gap) >= '3 hours'),
          ARRAY[hours(5, 8), hours(12, 24)], 'in FROM, with a condition on the gap');
SELECT is(free_rooms(hours(4, 9)), '{2,3}', 'rooms without a hold in it');
SELECT is(free_rooms(hours(5, 8)), '{1,2,3}', 'the gap of room 1');
SELECT is(stock_availability(1), 5, 'all units of an item');
SELECT is(stock_availability(2), 2147483647, 'as many as there can be');
SELECT is(stock_availability(3), 0, 'none');
SELECT lives_ok('SELECT hold_confirm(hold_acquire(stock_claim(1, 2)))', 'two units are sold');
SELECT is(stock_availability(1), 3, 'the rest');

-- They see what their transaction did, and run where nothing can be written.
BEGIN;
SELECT lives_ok('SELECT hold_acquire_all(ARRAY[room_claim(2, hours(0, 1)), stock_claim(1, 1)])', 'not committed yet');
SELECT is(ROW(free_rooms(hours(0, 1)), stock_availability(1)), ROW('{1,3}'::bigint[], 2), 'seen by its transaction');
ROLLBACK;
BEGIN READ ONLY;
SELECT is(ROW(gaps(3, hours(0, 1)), free_rooms(hours(0, 1)), stock_availability(1)),
          ROW(ARRAY[hours(0, 1)], '{1,2,3}'::bigint[], 3), 'in a read-only transaction');
COMMIT;

-- Errors
SELECT is((o.sqlstate, o.message, o.table_name)::text, expected::text, format('SELECT %s', call))
FROM (VALUES
    ('room_availability(NULL, hours(0, 1))', ('22004', 'room_id must not be null', '')),
    ('room_availability(1, NULL)', ('22004', 'during must not be null', '')),
    ('available_rooms(NULL)', ('22004', 'during must not be null', '')),
    ('stock_availability(NULL)', ('22004', 'item_id must not be null', '')),
    ('room_availability(1, ''empty'')', ('22023', 'invalid during', '')),
    ('room_availability(1, ''[2100-01-01, 2100-01-02]'')', ('22023', 'invalid during', '')),
    ('available_rooms(''[2100-01-01,)'')', ('22023', 'invalid during', '')),
    ('available_rooms(''[-infinity, 2100-01-01)'')', ('22023', 'invalid during', '')),
    ('room_availability(4, hours(0, 1))', ('23503', 'room 4 does not exist', 'room')),
    ('stock_availability(4)', ('23503', 'item 4 does not exist', 'inventory'))
) AS v (call, expected), attempt('SELECT ' || call) AS o;

SELECT finish();
