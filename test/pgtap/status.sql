-- reservation_status: a row for each kind, by the time source, and nothing of what is confirmed.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
\i test/pgtap/include/attempt.sql
SELECT plan(16);

CREATE FUNCTION counts() RETURNS TABLE (line text) LANGUAGE sql AS $body$
    SELECT format('%s: %s %s %s %s %s', kind, live, late, overdue, in_flight, under_review) FROM reservation_status()
$body$;

SELECT results_eq('SELECT * FROM counts()', ARRAY['room: 0 0 0 0 0', 'item: 0 0 0 0 0'], 'two rows, of nothing');
SELECT is((SELECT count(*) FROM reservation_status() AS s
           WHERE (s.oldest_overdue, s.oldest_review, s.last_run_id, s.last_run_at, s.last_run_halted, s.last_run_reason)
                 IS NOT DISTINCT FROM (NULL::interval, NULL::interval, NULL::bigint, NULL::timestamptz, NULL::boolean, NULL::text)),
          2::bigint, 'no age, no run');

-- A time source that stands still, and a grace of an hour.
-- reaper: off
CREATE SCHEMA clock;
CREATE TABLE clock.hand (time timestamptz);
INSERT INTO clock.hand VALUES ('2047-01-01 12:00+00');
CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT time FROM clock.hand';
LOAD 'reservation';
SET reservation.time_source = 'clock.now';
SET reservation.expiry_grace = '1h';

INSERT INTO room SELECT n, 'room' FROM generate_series(1, 20) AS n;
INSERT INTO inventory (item_id, available, capacity) VALUES (1, 0, 12);
CREATE TABLE made AS
SELECT row_number() OVER () AS id, *
FROM (VALUES ('held', interval '1 minute', NULL), ('held', '1 minute', 'pay'), ('held', '0', NULL), ('held', '-59 minutes', 'pay'),
             ('held', '-1 hour', NULL), ('held', '-3 hours', NULL), ('held', '-2 hours', 'pay'), ('pending_review', '-4 hours', 'pay'),
             ('confirmed', '-5 hours', NULL), ('confirmed', '-5 hours', 'pay'), ('expired', '-5 hours', NULL),
             ('cancelled', '-5 hours', NULL)) AS v (state, deadline, reference);
INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, payment_reference, created_at, changed_at)
SELECT id, id, '[2047-02-01, 2047-02-02)', state, time + deadline, reference, time - interval '1 day', time + least(deadline, '0')
FROM made, clock.hand;
INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, payment_reference, created_at, changed_at)
SELECT 100 + id, 1, CASE WHEN state IN ('expired', 'cancelled') THEN 2 ELSE 1 END, state, time + deadline, reference,
       time - interval '1 day', time + least(deadline, '0')
FROM made, clock.hand WHERE state <> 'pending_review' AND deadline <> '-2 hours';
UPDATE inventory SET available = available + 4;

SELECT results_eq('SELECT * FROM counts()', ARRAY['room: 2 2 3 3 1', 'item: 2 2 2 2 0'],
                  'live, late from the deadline on, overdue from the end of the grace on, in flight whichever of them');
SELECT results_eq('SELECT kind, oldest_overdue, oldest_review FROM reservation_status()',
                  $$VALUES ('room', interval '2 hours', interval '4 hours'), ('item', '2 hours', NULL)$$,
                  'how long the oldest could have been released, and how long the oldest review waits');
SELECT is((SELECT (live + late + overdue)::integer FROM reservation_status() WHERE kind = 'room'),
          (SELECT count(*)::integer FROM slot_hold WHERE state = 'held'), 'every hold that is held is counted once');

UPDATE clock.hand SET time = time + interval '1 minute';
SELECT results_eq('SELECT * FROM counts()', ARRAY['room: 0 3 4 3 1', 'item: 0 3 3 2 0'], 'the time source tells the time');
UPDATE clock.hand SET time = time - interval '1 minute';

SELECT is((SELECT (examined, halted)::text FROM hold_reap(max_review_share => 1)), '(5,f)', 'a run');
SELECT results_eq('SELECT * FROM counts()', ARRAY['room: 2 2 0 2 2', 'item: 2 2 0 2 0'], 'nothing is overdue after it');
SELECT results_eq('SELECT oldest_overdue, last_run_id, last_run_at, last_run_halted, last_run_reason FROM reservation_status()',
                  $$SELECT NULL::interval, max(run_id), time, false, NULL::text FROM hold_run, clock.hand, generate_series(1, 2) GROUP BY time, generate_series$$,
                  'the run, in both rows');
UPDATE clock.hand SET time = NULL;
SELECT is((SELECT halted FROM hold_reap()), true, 'a run that halts');
UPDATE clock.hand SET time = '2047-01-01 12:00+00';
SELECT results_eq('SELECT DISTINCT last_run_halted, last_run_reason FROM reservation_status()',
                  $$VALUES (true, 'the time source failed: function clock.now() returned null')$$, 'and why');
-- reaper: on

UPDATE clock.hand SET time = NULL;
SELECT is(sqlstate_of('SELECT reservation_status()'), 'RV010', 'without a time there is no status');
RESET reservation.time_source;

-- It may be called anywhere a set may, and writes nothing.
SELECT is((SELECT count(*) FROM (SELECT (reservation_status()).kind) AS s), 2::bigint, 'in a select list');
SELECT is((SELECT s.live FROM reservation_status() AS s WHERE s.kind = 'item'), 4::bigint, 'the clock of the server is behind 2047');
BEGIN READ ONLY;
SELECT is((SELECT count(*) FROM reservation_status()), 2::bigint, 'in a read-only transaction');
COMMIT;
INSERT INTO slot_hold (room_id, during, state, expires_at) VALUES (15, '[2050-01-01, 2050-01-02)', 'held', 'infinity');
SELECT is((SELECT live FROM reservation_status() WHERE kind = 'room'), 5::bigint, 'a deadline that never comes is live');

SELECT finish();
