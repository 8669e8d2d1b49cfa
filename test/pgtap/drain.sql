-- reservation.accept_holds = off: no new holds and no extensions, and everything accepted is honoured or released.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql
SELECT plan(52);

INSERT INTO room VALUES (1, 'Blue room');
INSERT INTO inventory VALUES (1, 100);
CREATE FUNCTION hours(lower integer, upper integer) RETURNS tstzrange
LANGUAGE sql AS $body$
    SELECT tstzrange(d + lower * interval '1 hour', d + upper * interval '1 hour')
    FROM (SELECT timestamptz '2100-01-01 00:00+00') AS t (d)
$body$;

-- Accepted before: two holds of each kind for each of the calls below, and some with a payment in flight.
CREATE TABLE accepted (name text PRIMARY KEY, ids bigint[]);
INSERT INTO accepted
SELECT name, hold_acquire_all(ARRAY[room_claim(1, hours(2 * n::integer, 2 * n::integer + 1)), stock_claim(1, 2)],
                              '1 hour', 'ann')
FROM unnest(ARRAY['confirm', 'try_confirm', 'cancel', 'confirm_all', 'cancel_all', 'begin', 'fail', 'pay', 'kept'])
    WITH ORDINALITY AS v (name, n);
SELECT count(hold_begin_payment(id, 'pay')) AS in_flight
FROM accepted, unnest(ids) AS id WHERE name IN ('fail', 'pay') \gset
CREATE FUNCTION room_of(text) RETURNS bigint LANGUAGE sql AS 'SELECT ids[1] FROM accepted WHERE name = $1';
CREATE FUNCTION item_of(text) RETURNS bigint LANGUAGE sql AS 'SELECT ids[2] FROM accepted WHERE name = $1';
CREATE FUNCTION both_of(text) RETURNS bigint[] LANGUAGE sql AS 'SELECT ids FROM accepted WHERE name = $1';
SELECT hold_acquire(room_claim(1, hours(100, 101)), NULL, 'bob', 'known') AS known \gset
SELECT hold_acquire_all(ARRAY[stock_claim(1, 1), room_claim(1, hours(102, 103))], '1 hour', NULL, 'known all')
    AS known_all \gset

SET reservation.accept_holds = off;

-- No new holds, no extensions. The contract's order of checks: argument, known key, RV008, no such row.
CREATE TABLE before AS SELECT all_rows();
SELECT is((o.sqlstate, o.message)::text, (expected, CASE expected WHEN 'RV008' THEN
          'new holds are not accepted at present' ELSE o.message END)::text, statement)
FROM (VALUES
    ('hold_acquire(room_claim(1, hours(200, 201)))', 'RV008'),
    ('hold_acquire(stock_claim(1, 1))', 'RV008'),
    ('hold_try_acquire(room_claim(1, hours(200, 201)))', 'RV008'),
    ('hold_try_acquire(stock_claim(1, 1))', 'RV008'),
    ('hold_try_acquire(stock_claim(1, 1000))', 'RV008'),
    ('hold_acquire_all(ARRAY[stock_claim(1, 1)])', 'RV008'),
    ('hold_try_acquire_all(ARRAY[stock_claim(1, 1), room_claim(1, hours(200, 201))])', 'RV008'),
    ('hold_acquire(stock_claim(1, 1), NULL, NULL, ''new key'')', 'RV008'),
    ('hold_acquire(room_claim(77, hours(200, 201)))', 'RV008'),
    ('hold_extend(room_of(''kept''))', 'RV008'),
    ('hold_extend(item_of(''kept''), ''2 hours'', 77)', 'RV008'),
    ('hold_extend(77)', 'RV008'),
    ('hold_extend_all(both_of(''kept''))', 'RV008'),
    ('hold_acquire(NULL)', '22004'),
    ('hold_acquire(stock_claim(1, 0))', '22023'),
    ('hold_acquire(stock_claim(1, 1), ''-1 hour'')', '22023'),
    ('hold_acquire(stock_claim(1, 1), NULL, NULL, ''known'')', 'RV006'),
    ('hold_extend(NULL)', '22004'),
    ('hold_extend(room_of(''kept''), ''1 month'')', '22023')) AS v (statement, expected),
    attempt('SELECT ' || statement) AS o;
SELECT ok(well_worded(o) AND o.detail <> '' AND o.hint <> '', 'RV008 explains itself')
FROM attempt('SELECT hold_acquire(stock_claim(1, 1))') AS o;
SELECT is(all_rows(), (SELECT all_rows FROM before), 'nothing was written');

-- A retry of what was accepted is answered.
SELECT is(hold_acquire(room_claim(1, hours(100, 101)), NULL, 'bob', 'known'), :known, 'a known key');
SELECT is(hold_try_acquire(room_claim(1, hours(100, 101)), NULL, 'bob', 'known'), :known, 'of a try too');
SELECT is(hold_acquire_all(ARRAY[stock_claim(1, 1), room_claim(1, hours(102, 103))], '1 hour', NULL, 'known all'),
          :'known_all', 'and of several claims');

-- What was accepted is honoured.
SELECT is((hold_get(room_of('kept'))).state, 'held', 'hold_get');
SELECT is(hold_confirm(room_of('confirm'), 1, 'ann'), 'confirmed', 'hold_confirm of a room');
SELECT is(hold_confirm(item_of('confirm')), 'confirmed', 'hold_confirm of an item');
SELECT is(hold_try_confirm(room_of('try_confirm')), 'confirmed', 'hold_try_confirm of a room');
SELECT is(hold_try_confirm(item_of('try_confirm')), 'confirmed', 'hold_try_confirm of an item');
SELECT is(hold_confirm_all(both_of('confirm_all')), '{confirmed,confirmed}', 'hold_confirm_all');
SELECT is(hold_cancel(room_of('cancel')), 'cancelled', 'hold_cancel of a room');
SELECT is(hold_cancel(item_of('cancel')), 'cancelled', 'hold_cancel of an item');
SELECT is(hold_cancel_all(both_of('cancel_all')), '{cancelled,cancelled}', 'hold_cancel_all');
SELECT is(hold_cancel(room_of('confirm')), 'cancelled', 'a confirmed room is cancelled');
SELECT is(hold_begin_payment(room_of('begin'), 'pay'), 2, 'hold_begin_payment of a room');
SELECT is(hold_begin_payment(item_of('begin'), 'pay'), 2, 'hold_begin_payment of an item');
SELECT is(hold_fail_payment(room_of('fail'), 'pay'), 3, 'hold_fail_payment of a room');
SELECT is(hold_fail_payment(item_of('fail'), 'pay'), 3, 'hold_fail_payment of an item');
SELECT is(hold_confirm_all(both_of('pay')), '{confirmed,confirmed}', 'the payment succeeded');
SELECT lives_ok('SELECT inventory_adjust(1, 5)', 'inventory_adjust');

-- Overdue holds are released, reviews are ended: as raw rows, since nothing can be acquired.
-- reaper: off
INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, payment_reference)
VALUES (1, 1, hours(300, 301), 'held', now() - interval '1 s', NULL),
       (2, 1, hours(301, 302), 'held', now() - interval '1 s', 'pay'),
       (3, 1, hours(302, 303), 'held', now() - interval '1 s', NULL);
SELECT is(sqlstate_of('SELECT hold_confirm(3)'), 'RV001', 'an overdue hold is not confirmed');
SELECT is(hold_try_confirm(3), 'expired', 'hold_try_confirm releases it');
SELECT is((SELECT (released, pending_review) FROM hold_reap()), ROW(1, 1), 'a cleanup run');
-- reaper: on
SELECT is(ARRAY(SELECT state FROM slot_hold WHERE hold_id IN (1, 2, 3) ORDER BY hold_id),
          '{expired,pending_review,expired}', 'released, and put under review');
SELECT is(hold_resolve(2, 'cancelled'), 'cancelled', 'hold_resolve');

-- Reading goes on, and tells what capacity there is, not whether holds are accepted.
SELECT is(ARRAY(SELECT available_rooms(hours(300, 303))), '{1}', 'available_rooms');
SELECT ok(stock_availability(1) > 0, 'stock_availability');
SELECT is_empty('SELECT * FROM reservation_audit()', 'reservation_audit');

-- Who may close and open it.
CREATE ROLE drain_app;
SET ROLE drain_app;
SELECT is(sqlstate_of('SET reservation.accept_holds = on'), '42501', 'an ordinary role cannot open it again');
SELECT is(sqlstate_of('RESET reservation.accept_holds'), '42501', 'nor reset it');
RESET ROLE;
DROP ROLE drain_app;
SET reservation.accept_holds = on;
SELECT isnt(hold_acquire(room_claim(1, hours(300, 303))), NULL, 'open again: a hold');
SELECT isnt(hold_extend(room_of('kept'), '2 hours'), NULL, 'and an extension');

SELECT finish();
