-- Time over changes of the clocks: a day of ttl is 24 hours, the hour that comes twice in autumn is two hours, and what
-- a session's time zone is decides nothing. The time source is a setting here, so that each moment can be chosen.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql
SELECT plan(35);

CREATE SCHEMA clock;
CREATE FUNCTION clock.now() RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$SELECT current_setting('clock.now')::timestamptz$$;
SET clock.now = '2027-01-01 00:00+00';
SET reservation.time_source = 'clock.now';
SET reservation.max_lifetime = '400d';

INSERT INTO room VALUES (1, 'Blue room');
INSERT INTO inventory VALUES (1, 1000);

CREATE FUNCTION deadline(id bigint) RETURNS text
LANGUAGE sql AS $$SELECT (hold_get(id)).expires_at::text$$;
CREATE FUNCTION elapsed(id bigint) RETURNS interval
LANGUAGE sql AS $$SELECT (hold_get(id)).expires_at - clock.now()$$;

-- The change to summer time: in Berlin, 2027-03-28 has 23 hours ----------------------------------------------------
SET timezone = 'Europe/Berlin';
SET clock.now = '2027-03-27 12:00 Europe/Berlin';
SELECT is('2027-03-27 12:00'::timestamptz + interval '1 day', '2027-03-28 12:00', 'a day of SQL is 23 hours here');
SELECT hold_acquire(stock_claim(1, 1), '1 day') AS spring \gset
SELECT is(deadline(:spring), '2027-03-28 13:00:00+02', 'a day of ttl is 24');
SELECT is(elapsed(hold_acquire(stock_claim(1, 1), ttl)), hours, format('%s is %s', ttl, hours))
FROM (VALUES (interval '2 days', interval '48:00'), ('1 week', '168:00'), ('1 day 01:00', '25:00'),
             ('23:00', '23:00')) AS v (ttl, hours);
SELECT is(elapsed((hold_acquire_all(ARRAY[stock_claim(1, 1)], '1 day'))[1]), '24:00', 'of hold_acquire_all too');
SET reservation.default_ttl = '1d';
SELECT is(elapsed(hold_acquire(stock_claim(1, 1))), '24:00', 'and of reservation.default_ttl');
RESET reservation.default_ttl;

SET clock.now = '2027-03-28 01:30 Europe/Berlin';
SELECT is(hold_extend(:spring, '1 day')::text, '2027-03-29 02:30:00+02', 'extended by a day: 24 hours from now');
SET clock.now = '2027-03-29 02:29:59.999999 Europe/Berlin';
SELECT is(hold_confirm(:spring), 'confirmed', 'confirmed in the last microsecond of it');

-- The next year once more. The longest life is elapsed time too.
SET clock.now = '2028-03-25 12:00 Europe/Berlin';
SET reservation.max_lifetime = '1d';
SELECT hold_acquire(stock_claim(1, 1), '1 day') AS spring \gset
SELECT is(deadline(:spring), '2028-03-26 13:00:00+02', 'a day is not longer than max_lifetime');
SELECT is(sqlstate_of($$SELECT hold_acquire(stock_claim(1, 1), '1 day 00:00:00.000001')$$), '22023',
          'a microsecond more is');
SET reservation.max_lifetime = '400d';
SET clock.now = '2028-03-26 12:59:59.999999 Europe/Berlin';
SELECT is(hold_extend(:spring, '00:00:00.000001')::text, '2028-03-26 13:00:00+02', 'live until then');
SET clock.now = '2028-03-26 13:00 Europe/Berlin';
SELECT is(sqlstate_of(format('SELECT hold_confirm(%s)', :spring)), 'RV001', 'too late after 24 hours');

-- The hour that comes twice: in Berlin, 2028-10-29 02:00 to 03:00, first +02, then +01 ----------------------------
SET clock.now = '2028-10-29 01:45 Europe/Berlin';
SELECT hold_acquire(stock_claim(1, 1), '1 hour') AS first_time \gset
SELECT hold_acquire(stock_claim(1, 1), '2 hours') AS second_time \gset
SELECT is(deadline(:first_time), '2028-10-29 02:45:00+02', 'an hour later it is a quarter to three');
SELECT is(deadline(:second_time), '2028-10-29 02:45:00+01', 'and another hour later once more');
SET clock.now = '2028-10-29 02:15+01';  -- on the wall clock this is before both deadlines
SELECT is(sqlstate_of(format('SELECT hold_confirm(%s)', :first_time)), 'RV001', 'the first deadline has passed');
SELECT is(hold_extend(:second_time, '1 day')::text, '2028-10-30 02:15:00+01', 'the second has not; a day is 24 hours');
SELECT is(stock_availability(1), 1000 - (SELECT sum(quantity) FROM stock_hold
          WHERE state = 'confirmed' OR (state = 'held' AND expires_at > clock.now()))::integer,
          'availability judges by the instant');

SELECT is(sqlstate_of(format('SELECT hold_acquire(room_claim(1, %L))', period)), expected, what)
FROM (VALUES
    ('[2028-10-29 02:00+02, 2028-10-29 03:00+02)', '00000', 'a room for the hour when it comes first'),
    ('[2028-10-29 02:00+01, 2028-10-29 03:00+01)', '00000', 'and for the hour when it comes again'),
    ('[2028-10-29 02:30+02, 2028-10-29 02:30+01)', '23P01', 'from half past two to half past two: taken'),
    ('[2028-10-29 02:00+02, 2028-10-29 02:00+02)', '22023', 'from two to two the same time: empty'),
    ('[2028-10-29 01:00+02, 2028-10-29 02:00+02)', '00000', 'the hour before'),
    ('[2028-10-29 03:00+01, 2028-10-29 04:00+01)', '00000', 'the hour after')) AS v (period, expected, what);
SELECT is(ARRAY(SELECT room_availability(1, '[2028-10-29 00:00+02, 2028-10-30 00:00+01)')),
          '{"[2028-10-29 00:00+02, 2028-10-29 01:00+02)", "[2028-10-29 04:00+01, 2028-10-30 00:00+01)"}',
          'the gaps of a day of 25 hours');
SELECT is((SELECT sum(upper(gap) - lower(gap)) FROM
           room_availability(1, '[2028-10-29 00:00+02, 2028-10-30 00:00+01)') AS gap), '21:00', '21 hours are left');

-- A booking of the local day of a change covers it all, however long it is.
SELECT is((SELECT upper(h.during) - lower(h.during) FROM hold_get(hold_acquire(room_claim(1, day))) AS h), hours,
          format('%s has %s', day, hours))
FROM (VALUES (tstzrange('2030-03-31 Europe/Berlin', '2030-04-01 Europe/Berlin'), interval '23:00'),
             (tstzrange('2030-10-27 Europe/Berlin', '2030-10-28 Europe/Berlin'), '25:00')) AS v (day, hours);

-- One session after another in its own time zone --------------------------------------------------------------------
SET clock.now = '2029-06-01 00:00+00';
SET timezone = 'Pacific/Auckland';
SELECT hold_acquire(room_claim(1, '[2029-07-01 10:00, 2029-07-01 11:00)'), '1 day', NULL, 'key') AS auckland \gset
SELECT is(deadline(:auckland), '2029-06-02 12:00:00+12', 'the deadline, as Auckland reads it');
SET timezone = 'America/New_York';
SELECT is(deadline(:auckland), '2029-06-01 20:00:00-04', 'the same, as New York reads it');
SELECT is(hold_acquire(room_claim(1, '[2029-06-30 18:00, 2029-06-30 19:00)'), '24 hours', NULL, 'key'), :auckland,
          'the same request in the words of New York: the same hold');
SELECT is(sqlstate_of($$SELECT hold_acquire(room_claim(1, '[2029-06-30 18:00, 2029-06-30 19:00)'))$$), '23P01',
          'the same hour is taken');
SELECT is(sqlstate_of($$SELECT hold_acquire(room_claim(1, '[2029-07-01 10:00, 2029-07-01 11:00)'))$$), '00000',
          'the same words mean another hour');
SELECT is(hold_extend(:auckland, '2 days')::text, '2029-06-02 20:00:00-04', 'extended from New York');

SELECT finish();
