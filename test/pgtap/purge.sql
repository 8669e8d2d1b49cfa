-- hold_purge: what leaves, what stays, in which order, and what leaves with it.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
\i test/pgtap/include/attempt.sql

SELECT plan(51);

-- Every state of both kinds, changed one and three days ago; rooms for a period that is over and one that is to come.
INSERT INTO room SELECT n, 'room ' || n FROM generate_series(1, 40) AS n;
INSERT INTO inventory (item_id, available, capacity) VALUES (1, 10, 10 + 2 * 3 * 4), (2, 5, 5);
CREATE TABLE made (hold_id bigint PRIMARY KEY, kind text, state text, age interval, past boolean);
INSERT INTO made
SELECT row_number() OVER (), kind, state, age, past
FROM unnest(ARRAY['room', 'item']) AS kind,
     unnest(ARRAY['held', 'confirmed', 'cancelled', 'expired', 'pending_review']) AS state,
     unnest(ARRAY['1 day', '3 days']::interval[]) AS age,
     unnest(ARRAY[true, false]) AS past;
CREATE PROCEDURE make_all() LANGUAGE sql AS $body$
    INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, created_at, changed_at)
    SELECT hold_id, hold_id, tstzrange(d, d + interval '1 hour'), state,
           CASE state WHEN 'held' THEN clock_timestamp() + interval '1 hour' ELSE clock_timestamp() - age END,
           clock_timestamp() - age - interval '1 hour', clock_timestamp() - age
    FROM made, LATERAL (SELECT CASE WHEN past THEN clock_timestamp() - interval '2 hours'
                                    ELSE clock_timestamp() + interval '2 hours' END AS d) AS d
    WHERE kind = 'room';
    INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, created_at, changed_at)
    SELECT hold_id, 1, 2, state,
           CASE state WHEN 'held' THEN clock_timestamp() + interval '1 hour' ELSE clock_timestamp() - age END,
           clock_timestamp() - age - interval '1 hour', clock_timestamp() - age
    FROM made WHERE kind = 'item';
$body$;
CALL make_all();
SELECT is((SELECT count(*) FROM hold), 40::bigint, 'forty holds');
SELECT is_empty('SELECT * FROM wrong_counters()', 'the counters are right to begin with');
CREATE FUNCTION gone() RETURNS bigint[] LANGUAGE sql AS
    'SELECT array_agg(hold_id ORDER BY hold_id) FROM made WHERE hold_id NOT IN (SELECT hold_id FROM hold)';
CREATE FUNCTION meant(condition text) RETURNS bigint[] LANGUAGE plpgsql AS $body$
DECLARE
    ids bigint[];
BEGIN
    EXECUTE format('SELECT array_agg(hold_id ORDER BY hold_id) FROM made WHERE %s', condition) INTO ids;
    RETURN ids;
END
$body$;

SELECT is(hold_purge('4 days'), 0::bigint, 'nothing is that old');
SELECT is(gone(), NULL, 'and nothing is gone');
SELECT is(hold_purge('2 days'), 9::bigint, 'what is over, and unchanged for two days');
SELECT is(gone(), meant($$age = '3 days' AND (state IN ('expired', 'cancelled') OR state = 'confirmed' AND kind = 'room' AND past)$$),
          'expired and cancelled holds of both kinds, confirmed rooms that are over');
SELECT is(hold_purge('2 days'), 0::bigint, 'once more, and there is nothing left');
SELECT is((SELECT capacity FROM inventory WHERE item_id = 1), 34, 'the capacity stays with the sold units');
SELECT is(hold_purge('2 days', 10000, true), 2::bigint, 'sold stock on demand');
SELECT is(gone(), meant($$age = '3 days' AND (state IN ('expired', 'cancelled') OR state = 'confirmed' AND (kind = 'item' OR past))$$),
          'that, and no more');
SELECT is((SELECT (available, capacity)::text FROM inventory WHERE item_id = 1), '(10,30)', 'the sold units left the capacity');
SELECT is_empty('SELECT * FROM wrong_counters()', 'capacity is available and occupying units, still');
SELECT is(hold_purge('12 hours'), 9::bigint, 'a shorter time takes more');
SELECT is(hold_purge('0', 10000, true), 2::bigint, 'and no time at all is every hold that is over');
SELECT is(gone(), meant($$state IN ('expired', 'cancelled') OR state = 'confirmed' AND (kind = 'item' OR past)$$),
          'what is held, under review or to come is never gone');
SELECT is((SELECT (available, capacity)::text FROM inventory WHERE item_id = 1), '(10,26)', 'four holds were sold');
SELECT is_empty('SELECT * FROM wrong_counters()', 'and the counters are right');
SELECT is((SELECT count(*) FROM hold_event), 0::bigint, 'a purge leaves no trace of its own');

-- Oldest first, no more than asked for.
DELETE FROM slot_hold WHERE state = 'expired';
INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, created_at, changed_at)
SELECT 100 + n, 2, 1, CASE n % 2 WHEN 0 THEN 'expired' ELSE 'cancelled' END, t, t, t
FROM generate_series(1, 20) AS n, LATERAL (SELECT clock_timestamp() - n * interval '1 day' AS t) AS t;
SELECT is(hold_purge('0', 4), 4::bigint, 'no more than asked for');
SELECT is(ARRAY(SELECT hold_id FROM stock_hold WHERE hold_id > 100 AND state = 'expired' ORDER BY 1),
          '{102,104,106,108,110,112}', 'the oldest of a state');
SELECT is(hold_purge('0', 1), 1::bigint, 'one');
SELECT is(hold_purge('0', NULL, NULL), 15::bigint, 'NULL is the default');
SELECT is((SELECT count(*) FROM stock_hold WHERE hold_id > 100), 0::bigint, 'all of them');

-- More than one batch in a call: 10,000 at a time.
INSERT INTO stock_hold (item_id, quantity, state, expires_at, created_at, changed_at)
SELECT 2, 1, 'expired', t, t, t FROM generate_series(1, 25001) AS n, LATERAL (SELECT now() - interval '1 day' AS t) AS t;
SELECT is(hold_purge('1 hour', 25000), 25000::bigint, 'in batches, all with one time');
SELECT is(hold_purge('1 hour'), 1::bigint, 'and the last');

-- Sold stock of several items at once, one of them sold more than once.
INSERT INTO inventory (item_id, available, capacity) VALUES (11, 0, 3), (12, 7, 10), (13, 1, 1);
INSERT INTO stock_hold (item_id, quantity, state, expires_at, created_at, changed_at)
SELECT v.item, v.quantity, 'confirmed', t, t, t
FROM (VALUES (11, 1), (11, 2), (12, 3)) AS v (item, quantity), LATERAL (SELECT now() - interval '1 day' AS t) AS t;
SELECT is(hold_purge('1 hour', 2, true), 2::bigint, 'two of three');
SELECT is_empty('SELECT * FROM wrong_counters()', 'right in between');
SELECT is(hold_purge('1 hour', 10, true), 1::bigint, 'and the third');
SELECT results_eq('SELECT item_id, available, capacity FROM inventory WHERE item_id > 10 ORDER BY 1',
                  'VALUES (11::bigint, 0, 0), (12, 7, 7), (13, 1, 1)', 'capacities are what is left');

-- With events, requests and runs.
SET reservation.log_events = 'all';
SELECT hold_cancel(hold_acquire(stock_claim(2, 1), NULL, NULL, 'alone')) \g /dev/null
SELECT hold_acquire_all(ARRAY[stock_claim(2, 1), room_claim(40, '[2040-01-01, 2040-01-02)')], NULL, NULL, 'both') AS both \gset
SELECT hold_acquire(stock_claim(2, 1), NULL, NULL, 'stays') AS stays \gset
SELECT hold_cancel((:'both'::bigint[])[1]) \g /dev/null
SELECT is(hold_purge('0'), 2::bigint, 'two were cancelled');
SELECT is(ARRAY(SELECT idempotency_key FROM hold_request ORDER BY 1), '{both,stays}', 'a key lives until the last of its holds is gone');
SELECT is(hold_acquire_all(ARRAY[stock_claim(2, 1), room_claim(40, '[2040-01-01, 2040-01-02)')], NULL, NULL, 'both')::text,
          :'both', 'and gives the same ids until then');
SELECT isnt(hold_acquire(stock_claim(2, 1), NULL, NULL, 'alone'), NULL, 'the other may be used anew');
SELECT is((SELECT count(*) FROM hold_event WHERE hold_id = (:'both'::bigint[])[1]), 0::bigint, 'the events went');
SELECT is((SELECT count(*) FROM hold_event WHERE hold_id = (:'both'::bigint[])[2]), 1::bigint, 'those of other holds did not');
SELECT hold_cancel((:'both'::bigint[])[2]) \g /dev/null
SELECT is(hold_purge('0'), 1::bigint, 'the room too');
SELECT is(ARRAY(SELECT idempotency_key FROM hold_request ORDER BY 1), '{alone,stays}', 'now the key is gone');

-- reaper: off
RESET reservation.log_events;
SELECT hold_acquire(stock_claim(2, 1), '1 millisecond') AS first \gset
SELECT pg_sleep(0.01) \g /dev/null
SELECT is((SELECT released FROM hold_reap()), 1, 'a run of its own');
SELECT hold_acquire(stock_claim(2, 1), '1 millisecond') AS second \gset
INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, payment_reference)
VALUES (1000, 2, 1, 'held', clock_timestamp(), 'pay-1');
UPDATE inventory SET available = available - 1 WHERE item_id = 2;
SELECT pg_sleep(0.01) \g /dev/null
SELECT is((SELECT (released, pending_review)::text FROM hold_reap(max_review_share => 1)), '(1,1)', 'a run for two');
SELECT is((SELECT count(*) FROM hold_run), 2::bigint, 'two runs');
SELECT is(hold_purge('0'), 2::bigint, 'their released holds');
SELECT is((SELECT count(*) FROM hold_run), 1::bigint, 'a run goes with its last event');
SELECT is((SELECT array_agg(hold_id) FROM hold_event WHERE run_id IS NOT NULL), '{1000}', 'the other still has one');
SELECT hold_resolve(1000, 'cancelled') \g /dev/null
SELECT is(hold_purge('0'), 1::bigint, 'the review is over');
SELECT is((SELECT count(*) FROM hold_run) + (SELECT count(*) FROM hold_event WHERE hold_id = 1000), 0::bigint, 'nothing is left of it');
INSERT INTO hold_run SELECT nextval('hold_run_id_seq'), t, t, 0, 0, 0, 0, 0, 1, false, NULL, 'ann'
FROM unnest(ARRAY[clock_timestamp() - interval '1 day', clock_timestamp()]) AS t;
SELECT is(hold_purge('1 hour'), 0::bigint, 'no hold');
SELECT is((SELECT count(*) FROM hold_run), 1::bigint, 'but a run that never had an event, if it is that old');
-- reaper: on

-- Arguments.
SELECT is(ARRAY(SELECT sqlstate_of(call) FROM unnest(ARRAY[
              'SELECT hold_purge(NULL)', 'SELECT hold_purge(''-1 second'')', 'SELECT hold_purge(''1 day'', 0)',
              'SELECT hold_purge(''1 day'', -5)', 'SELECT hold_purge(''1 mon'')', 'SELECT hold_purge(''1 year 2 days'')']) AS call),
          '{22004,22023,22023,22023,00000,00000}', 'NULL, negative, none; months and years are those of the calendar');
SELECT ok(well_worded(attempt('SELECT hold_purge(NULL)')) AND well_worded(attempt('SELECT hold_purge(''-1 s'')')), 'in words');

-- A foreign key of others keeps what it refers to; it is the server that says so.
CREATE TABLE orders (hold_id bigint REFERENCES stock_hold);
INSERT INTO orders SELECT hold_id FROM stock_hold WHERE hold_id = :stays;
SELECT hold_cancel(:stays) \g /dev/null
SELECT is(sqlstate_of('SELECT hold_purge(''0'')'), '23503', 'a foreign key without ON DELETE raises');
DROP TABLE orders;
SELECT is(hold_purge('0'), 1::bigint, 'without it the hold goes');

SELECT finish();
