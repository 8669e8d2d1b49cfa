-- reservation.time_source and reservation.expiry_grace: every decision, of a customer and of cleanup, is by that time and
-- with that grace; where there is no time there is no decision.
\set ON_ERROR_STOP 1
SET client_min_messages = error;
\i test/pgtap/include/attempt.sql
SELECT plan(77);

CREATE SCHEMA clock;
CREATE TABLE clock.hand (time timestamptz);
INSERT INTO clock.hand VALUES ('2047-01-01 12:00+00');
CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT time FROM clock.hand';
CREATE PROCEDURE clock.set(t time) LANGUAGE sql AS $$UPDATE clock.hand SET time = timestamptz '2047-01-01 00:00+00' + t::interval$$;
INSERT INTO room SELECT n, 'room' FROM generate_series(1, 9) AS n;
INSERT INTO inventory (item_id, available) VALUES (1, 3), (2, 1000);
LOAD 'reservation';
-- reaper: off

-- What the setting may be.
SELECT is(ARRAY(SELECT sqlstate_of(format('SET reservation.time_source = %L', name))
                FROM unnest(ARRAY['now', 'clock.now()', 'a.b.c', '.now', 'clock.', '"Clock"."Now"', 'clock.now', '']) AS name),
          '{22023,22023,22023,22023,22023,00000,00000,00000}', 'a schema-qualified name without parentheses, or nothing');
CREATE ROLE tenant;
SET ROLE tenant;
SELECT is(sqlstate_of('SET reservation.time_source = ''clock.now'''), '42501', 'not for everybody');
SELECT is(sqlstate_of('SET reservation.expiry_grace = 0'), '42501', 'nor is the grace');
RESET ROLE;

-- One time for all: half an hour of life, and ten minutes of grace.
SET reservation.time_source = 'clock.now';
SET reservation.expiry_grace = '10min';
SELECT hold_acquire(room_claim(1, '[2048-01-01, 2048-01-02)'), '30 min') AS room \gset
SELECT hold_acquire(stock_claim(1, 3), '30 min') AS stock \gset
SELECT hold_begin_payment(hold_acquire(room_claim(2, '[2048-01-01, 2048-01-02)'), '30 min'), 'pay') \g /dev/null
SELECT results_eq('SELECT DISTINCT created_at, changed_at, expires_at - created_at FROM hold',
                  $$VALUES (timestamptz '2047-01-01 12:00+00', timestamptz '2047-01-01 12:00+00', interval '30 min')$$,
                  'made by the time source, paid for by it');

-- To the microsecond, at each of the two borders.
CREATE FUNCTION chances() RETURNS text LANGUAGE sql AS $body$
    SELECT concat_ws(', ',
        'room ' || (SELECT count(*) FROM room_availability(1, '[2048-01-01, 2048-01-02)')),
        'rooms ' || (SELECT count(*) FROM available_rooms('[2048-01-01, 2048-01-02)')),
        'stock ' || stock_availability(1))
$body$;
CREATE TABLE moments (moment time, name text, chances text, confirm text, extend text, pay text, try_acquire boolean, reaped integer);
INSERT INTO moments VALUES
    ('12:29:59.999999', 'live', 'room 0, rooms 7, stock 0', '00000', '00000', '00000', false, 0),
    ('12:30:00', 'late', 'room 0, rooms 7, stock 0', 'RV001', 'RV001', 'RV001', false, 0),
    ('12:39:59.999999', 'late, still', 'room 0, rooms 7, stock 0', 'RV001', 'RV001', 'RV001', false, 0),
    ('12:40:00', 'overdue', 'room 1, rooms 8, stock 3', 'RV001', 'RV001', 'RV001', true, 3);

-- What a statement would do, undone.
CREATE FUNCTION would(statement text) RETURNS outcome LANGUAGE plpgsql AS $body$
DECLARE
    o outcome;
BEGIN
    BEGIN
        o := attempt(statement);
        RAISE EXCEPTION 'undo' USING ERRCODE = 'UNDO0';
    EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
    END;
    RETURN o;
END
$body$;
CREATE FUNCTION check_moment(m moments, room bigint, stock bigint) RETURNS SETOF text LANGUAGE plpgsql AS $body$
BEGIN
    CALL clock.set(m.moment);
    RETURN NEXT is(chances(), m.chances, m.name || ': what is available');
    RETURN NEXT is((would(format('SELECT hold_confirm(%s)', room))).sqlstate, m.confirm, m.name || ': confirm a room');
    RETURN NEXT is((would(format('SELECT hold_confirm(%s)', stock))).sqlstate, m.confirm, m.name || ': confirm stock');
    RETURN NEXT is((would(format('SELECT hold_extend(%s, ''1 hour'')', room))).sqlstate, m.extend, m.name || ': extend');
    RETURN NEXT is((would(format('SELECT hold_begin_payment(%s, ''call'')', stock))).sqlstate, m.pay, m.name || ': pay');
    RETURN NEXT is((would(format('SELECT hold_cancel(%s)', stock))).answer, 'cancelled', m.name || ': cancel');
    RETURN NEXT is((would('SELECT hold_try_acquire(room_claim(1, ''[2048-01-01, 2048-01-02)''))')).answer IS NOT NULL,
                   m.try_acquire, m.name || ': acquire the room');
    RETURN NEXT is((would('SELECT hold_try_acquire(stock_claim(1, 1))')).answer IS NOT NULL, m.try_acquire,
                   m.name || ': acquire the stock');
    RETURN NEXT is((would('SELECT hold_try_acquire(room_claim(2, ''[2048-01-01, 2048-01-02)''))')).answer, NULL,
                   m.name || ': nobody gets what may be paid for');
    RETURN NEXT is((would('SELECT examined FROM hold_reap(max_review_share => 1)')).answer, m.reaped::text, m.name || ': cleanup');
    RETURN NEXT is((would(format($$UPDATE stock_hold SET state = 'expired' WHERE hold_id = %s$$, stock))).sqlstate,
                   CASE m.reaped WHEN 0 THEN 'RV009' ELSE '00000' END, m.name || ': raw SQL');
END
$body$;
SELECT check_moment(m, :room, :stock) FROM moments AS m ORDER BY moment;
SELECT is((SELECT (released, pending_review)::text FROM hold_reap(max_review_share => 1)), '(2,1)', 'the run itself');
SELECT results_eq('SELECT DISTINCT at, started_at, finished_at FROM hold_event JOIN hold_run USING (run_id)',
                  'SELECT time, time, time FROM clock.hand', 'in the log too it is the time source''s');

SELECT is((SELECT (examined, halted)::text FROM hold_reap()), '(0,f)', 'a second run changes nothing');
CALL clock.set('12:29:58');
SELECT is((SELECT (examined, halted, reason)::text FROM hold_reap()), '(0,t,"the time source is behind the end of the last run")',
          'a time source that was set back is told once');
SELECT is((SELECT (examined, halted)::text FROM hold_reap()), '(0,f)', 'and accepted');
SELECT is((SELECT state FROM hold_get(:room)), 'expired', 'what has expired stays so');

-- Every way not to tell a time.
CREATE FUNCTION clock.raises() RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no signal''; END';
CREATE FUNCTION clock.null() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::pg_catalog.timestamptz';
CREATE FUNCTION clock.infinite() RETURNS timestamptz LANGUAGE sql AS $$SELECT pg_catalog.timestamptz 'infinity'$$;
CREATE FUNCTION clock.text() RETURNS text LANGUAGE sql AS 'SELECT now()::text';
CREATE FUNCTION clock.zoned(zone text) RETURNS timestamptz LANGUAGE sql AS 'SELECT now()';
CREATE FUNCTION clock.several() RETURNS SETOF timestamptz LANGUAGE sql AS 'SELECT now()';
SELECT hold_acquire(stock_claim(2, 1), '10 hours') AS live \gset
CREATE TABLE calls (call text);
INSERT INTO calls VALUES
    ('hold_acquire(stock_claim(2, 1))'), ('hold_try_acquire(room_claim(3, ''[2048-01-01, 2048-01-02)''))'),
    ('hold_acquire_all(ARRAY[stock_claim(2, 1)])'), ('hold_try_acquire_all(ARRAY[stock_claim(2, 1)])'),
    ('hold_confirm(' || :live || ')'), ('hold_try_confirm(' || :live || ')'), ('hold_cancel(' || :live || ')'),
    ('hold_extend(' || :live || ')'), ('hold_confirm_all(ARRAY[' || :live || '])'), ('hold_begin_payment(' || :live || ', ''pay'')'),
    ('hold_fail_payment(' || :live || ', ''pay'')'), ('inventory_adjust(2, 1)'), ('stock_availability(2)'),
    ('available_rooms(''[2048-01-01, 2048-01-02)'')'), ('room_availability(1, ''[2048-01-01, 2048-01-02)'')'),
    ('reservation_status()'), ('hold_purge(''1 day'')');
CREATE FUNCTION what_happens(source text) RETURNS SETOF text LANGUAGE plpgsql AS $body$
DECLARE
    rows text := all_rows();
BEGIN
    PERFORM set_config('reservation.time_source', source, true);
    RETURN NEXT is(ARRAY(SELECT call || ': ' || sqlstate_of('SELECT ' || call) FROM calls
                         WHERE sqlstate_of('SELECT ' || call) <> 'RV010'), '{}', source || ': no call decides');
    RETURN NEXT is(all_rows(), rows, source || ': and none has changed anything');
    RETURN NEXT is((SELECT (examined, halted, left(reason, 22))::text FROM hold_reap()), '(0,t,"the time source failed")',
                   source || ': a run halts');
END
$body$;
SELECT what_happens('clock.' || name) FROM unnest(ARRAY['raises', 'null', 'infinite', 'text', 'zoned', 'several', 'missing']) AS name;
SET reservation.time_source = 'clock.raises';
SELECT is((attempt('SELECT hold_confirm(' || :live || ')'))::text,
          '(,RV010,"the time source ""clock.raises"" failed","no signal","","","","")', 'the reason is in the detail');
RESET reservation.time_source;

-- Without one, it is the server's clock.
SELECT is(hold_extend(hold_acquire(stock_claim(2, 1)), '1 hour') BETWEEN clock_timestamp() + interval '59 min' AND clock_timestamp() + interval '1 h',
          true, 'the server''s clock');
-- reaper: on

SELECT finish();
DROP ROLE tenant;
