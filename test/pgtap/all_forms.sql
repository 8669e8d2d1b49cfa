-- The _all forms: one decision over many resources, results in the caller's order, all or nothing, and the element
-- that fails by its position.
\set ON_ERROR_STOP 1
SET reservation.log_events = 'all';
\i test/pgtap/include/attempt.sql

INSERT INTO room SELECT n, 'room ' || n FROM generate_series(1, 5) AS n;
INSERT INTO inventory SELECT n, 10 FROM generate_series(1, 5) AS n;

-- A room on a day of 2030, for short.
CREATE FUNCTION day_of(room bigint, day integer, days integer DEFAULT 1) RETURNS hold_claim
LANGUAGE sql AS $body$
    SELECT room_claim(room, tstzrange(d + day * interval '24 h', d + (day + days) * interval '24 h'))
    FROM (VALUES (timestamptz '2030-01-01 00:00+00')) AS t (d)
$body$;
CREATE FUNCTION available(item bigint) RETURNS integer
LANGUAGE sql AS 'SELECT available FROM inventory WHERE item_id = item';

-- SQLSTATE and position of a call that must fail, and whether it left anything.
CREATE FUNCTION refused(statement text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    rows_before text := all_rows();
    o outcome := attempt(statement);
BEGIN
    RETURN concat_ws(' ', o.sqlstate, (regexp_match(o.message, 'position (\d+)$'))[1],
                     CASE WHEN NOT well_worded(o) THEN format('badly worded: %s', o) END,
                     CASE WHEN all_rows() <> rows_before THEN 'something was written' END);
END
$body$;

SELECT plan(62);

-- Acquire: any mix, in any order.
SELECT hold_acquire_all(ARRAY[stock_claim(3, 2), day_of(2, 1), stock_claim(1, 1), day_of(1, 1), stock_claim(3, 5),
                              day_of(2, 2)], '30 min', 'ann') AS ids \gset
SELECT is(
    ARRAY(SELECT format('%s %s %s', h.kind, h.resource_id, coalesce(h.quantity::text, to_char(lower(h.during), 'DD')))
          FROM unnest(:'ids'::bigint[]) WITH ORDINALITY AS u (id, place) JOIN hold AS h ON h.hold_id = u.id
          ORDER BY place),
    ARRAY(SELECT unnest('{item 3 2,room 2 02,item 1 1,room 1 02,item 3 5,room 2 03}'::text[])),
    'one id for each claim, in the order of the claims');
SELECT is(array_lower(:'ids'::bigint[], 1), 1, 'an ordinary array');
SELECT is((SELECT (count(*), count(DISTINCT expires_at), count(DISTINCT created_at))::text FROM hold), '(6,1,1)',
          'one decision, one deadline');
SELECT is((SELECT DISTINCT expires_at - created_at FROM hold), interval '30 min', 'as far away as was asked');
SELECT is((SELECT count(*) FROM hold WHERE holder = 'ann' AND state = 'held' AND version = 1), 6::bigint, 'all alike');
SELECT is(available(3), 3, 'the units of an item that is named twice are summed');
SELECT is((SELECT count(*) FROM hold_event WHERE outcome = 'acquired'), 6::bigint, 'each is logged');
SELECT is(hold_acquire_all('{}'), '{}', 'nothing asked, nothing held');
SELECT is(hold_try_acquire_all('{}'), '{}', 'also by a try');
SELECT is((SELECT count(*) FROM hold), 6::bigint, 'nothing it is');
SELECT is(cardinality(hold_try_acquire_all(ARRAY[stock_claim(3, 3), day_of(3, 1)])), 2, 'a try that succeeds');
SELECT is(cardinality(hold_acquire_all(ARRAY[day_of(4, 1), day_of(4, 2), day_of(4, 0)])), 3,
          'adjacent periods of one room');

-- Or nothing at all: room 1 and 2 are taken on day 1, item 3 is sold out.
CREATE TABLE refusals (number serial, claims text, sqlstate text, position text, why text);
INSERT INTO refusals (claims, sqlstate, position, why) VALUES
    ('day_of(2, 1), day_of(3, 5), stock_claim(1, 1)', '23P01', '1', 'the first is taken'),
    ('stock_claim(1, 1), day_of(3, 5), day_of(1, 1)', '23P01', '3', 'the last is taken'),
    ('day_of(3, 5), stock_claim(3, 1), stock_claim(1, 1)', '23514', '2', 'the second is sold out'),
    ('stock_claim(2, 6), day_of(3, 5), stock_claim(2, 5)', '23514', '3', 'together they are more than there is'),
    ('day_of(3, 5), day_of(3, 5)', '23P01', '2', 'the same period twice'),
    ('day_of(3, 6), day_of(3, 8), day_of(3, 5, 3)', '23P01', '3', 'two periods of one room that overlap'),
    ('day_of(3, 5), stock_claim(9, 1)', '23503', '2', 'no such item'),
    ('stock_claim(1, 1), day_of(9, 5), stock_claim(1, 1)', '23503', '2', 'no such room');
SELECT is(refused(format('SELECT hold_acquire_all(ARRAY[%s])', claims)), concat(sqlstate, ' ', position),
          format('hold_acquire_all: %s: %s', why, claims)) FROM refusals ORDER BY number;
SELECT is(refused(format('SELECT hold_try_acquire_all(ARRAY[%s])', claims)),
          CASE sqlstate WHEN '23503' THEN concat(sqlstate, ' ', position) ELSE '00000' END,
          format('hold_try_acquire_all: %s: %s', why, claims)) FROM refusals ORDER BY number;
SELECT is((attempt(format('SELECT hold_try_acquire_all(ARRAY[%s])', claims))).answer, NULL,
          format('hold_try_acquire_all: %s: NULL', why))
FROM refusals WHERE sqlstate <> '23503' ORDER BY number;
SELECT is((SELECT count(*) FROM wrong_counters()), 0::bigint, 'no unit is lost');

-- What is overdue is released where that helps, and only if the whole request succeeds.
-- reaper: off
INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at)
VALUES (51, 5, '[2030-01-02 00:00+00, 2030-01-03 00:00+00)', 'held', clock_timestamp() - interval '1 min');
INSERT INTO inventory (item_id, available, capacity) VALUES (6, 0, 4);
INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at)
VALUES (61, 6, 2, 'held', clock_timestamp() - interval '2 min'),
       (62, 6, 2, 'held', clock_timestamp() - interval '1 min');
SELECT is(refused('SELECT hold_acquire_all(ARRAY[day_of(5, 1), stock_claim(6, 1), stock_claim(3, 1)])'), '23514 3',
          'a request that fails releases nothing');
SELECT is(refused('SELECT hold_try_acquire_all(ARRAY[day_of(5, 1), stock_claim(6, 1), stock_claim(3, 1)])'), '00000',
          'nor does a try');
SELECT is(cardinality(hold_acquire_all(ARRAY[day_of(5, 1), stock_claim(6, 1)])), 2, 'one that succeeds');
SELECT is((SELECT string_agg(format('%s %s', hold_id, state), ', ' ORDER BY hold_id) FROM hold WHERE hold_id < 100),
          '51 expired, 61 expired, 62 held', 'releases what it needs, the oldest first');
SELECT is(available(6), 1, 'and what is left over is free');
-- reaper: on

-- Confirm, extend, cancel: one element for each element, duplicates included.
SELECT hold_acquire_all(ARRAY[day_of(1, 10), stock_claim(5, 1), day_of(2, 10), stock_claim(5, 2)],
                        '10 min', 'bob') AS ids \gset
SELECT (:'ids'::bigint[])[1] AS a, (:'ids'::bigint[])[2] AS b, (:'ids'::bigint[])[3] AS c, (:'ids'::bigint[])[4] AS d
\gset
SELECT hold_extend(:b, '1 h') AS later \gset
SELECT hold_extend_all(ARRAY[:c, :a, :b, :c]::bigint[], '30 min') AS deadlines \gset
SELECT is(:'deadlines'::timestamptz[],
          ARRAY(SELECT expires_at FROM unnest(ARRAY[:c, :a, :b, :c]::bigint[]) WITH ORDINALITY AS u (id, place)
                JOIN hold ON hold_id = id ORDER BY place), 'extend_all answers the deadlines, in order');
SELECT is((:'deadlines'::timestamptz[])[3], :'later'::timestamptz, 'a later deadline stays');
SELECT is((:'deadlines'::timestamptz[])[1], (:'deadlines'::timestamptz[])[2], 'the others have one');
SELECT is(ARRAY(SELECT version FROM unnest(ARRAY[:a, :b, :c, :d]::bigint[]) WITH ORDINALITY AS u (id, place)
                JOIN hold ON hold_id = id ORDER BY place), '{2,2,2,1}',
          'each is written once, and the one that stays not at all');
SELECT is(hold_confirm_all(ARRAY[:d, :a, :d]::bigint[]), '{confirmed,confirmed,confirmed}', 'confirm_all');
SELECT is(ARRAY(SELECT version FROM hold WHERE hold_id IN (:a, :d) ORDER BY hold_id), '{3,2}', 'writes each once');
SELECT is(refused(format('SELECT hold_confirm_all(ARRAY[%s, %s]::bigint[])', :a, :d)), '00000', 'and then nothing');
SELECT is(hold_confirm_all('{}'), '{}', 'confirm_all of nothing');
SELECT is(hold_cancel_all('{}'), '{}', 'cancel_all of nothing');
SELECT is(hold_extend_all('{}'), '{}', 'extend_all of nothing');

-- All or nothing here too: a is a confirmed room, d confirmed stock, b and c are held.
SELECT is(refused(format(statement, :a, :b, :c, :d)), expected,
          format('%s: %s', why, format(statement, 'a', 'b', 'c', 'd')))
FROM (VALUES
    ('SELECT hold_extend_all(ARRAY[%2$s, %3$s, %1$s]::bigint[], ''2 h'')', 'RV003 3', 'a confirmed hold'),
    ('SELECT hold_cancel_all(ARRAY[%4$s, %2$s]::bigint[])', 'RV003 1', 'sold stock'),
    ('SELECT hold_confirm_all(ARRAY[%2$s, %3$s, 99, %1$s]::bigint[])', 'P0002 3', 'no such hold'),
    ('SELECT hold_confirm_all(ARRAY[%2$s, %3$s]::bigint[], ''ann'')', 'P0002 1', 'another''s hold')
) AS v (statement, expected, why);
SELECT is(hold_cancel_all(ARRAY[:b, :a, :b, :c]::bigint[], 'bob'), '{cancelled,cancelled,cancelled,cancelled}',
          'cancel_all of both kinds');
SELECT is(available(5), 8, 'gives back once what is named twice');
SELECT is(refused(format('SELECT hold_confirm_all(ARRAY[%s, %s]::bigint[])', :d, :c)), 'RV002 2', 'a cancelled hold');

-- Many at once.
INSERT INTO inventory SELECT n, 200 FROM generate_series(101, 150) AS n;
SELECT hold_acquire_all(ARRAY(SELECT stock_claim(150 - n % 50, 1 + n % 3) FROM generate_series(1, 4000) AS n)) AS ids
\gset
SELECT is((SELECT sum(capacity - available) FROM inventory WHERE item_id > 100),
          (SELECT sum(1 + n % 3) FROM generate_series(1, 4000) AS n), 'thousands of claims, every unit counted');
SELECT is((SELECT count(*) FROM unnest(:'ids'::bigint[]) WITH ORDINALITY AS u (id, n) JOIN stock_hold ON hold_id = id
           WHERE item_id = 150 - n % 50 AND quantity = 1 + n % 3), 4000::bigint, 'every id in its place');
SELECT is((SELECT count(*) FROM unnest(hold_cancel_all(:'ids')) AS s WHERE s = 'cancelled'), 4000::bigint,
          'cancelled together');
SELECT is((SELECT count(*) FROM inventory WHERE item_id > 100 AND available <> 200), 0::bigint, 'every unit is back');
SELECT is((SELECT count(*) FROM wrong_counters()), 0::bigint, 'and no counter is wrong');

SELECT finish();
