-- Times to live are elapsed time: what is accepted, what is refused, where a deadline stops.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql

INSERT INTO inventory VALUES (1, 100000);

SELECT plan(110);

-- The deadline of a new hold lies exactly the time to live after its creation.
CREATE FUNCTION lives(ttl interval) RETURNS interval
LANGUAGE sql AS $body$
    SELECT make_interval(secs => extract(epoch FROM expires_at) - extract(epoch FROM created_at))
    FROM hold_get(hold_acquire(stock_claim(1, 1), ttl))
$body$;
SELECT is(lives(NULL), interval '10 min', 'ten minutes by default');
SELECT is(lives(ttl::interval), expected::interval, format('%s lives %s', ttl, expected))
FROM (VALUES ('1 us', '00:00:00.000001'), ('1 s', '00:00:01'), ('90 min', '01:30'),
             ('23:59:59.999999', '23:59:59.999999'), ('24 h', '24:00'), ('1 day', '24:00'),
             ('0.5 day', '12:00')) AS v (ttl, expected);
SET reservation.default_ttl = '90s';
SELECT is(lives(NULL), interval '90 s', 'the default is a setting of anybody');
SELECT is(lives('1 min'), interval '1 min', 'which a given time to live does not need');
RESET reservation.default_ttl;

-- A day is 24 hours in every zone, with and without a change of the clock ahead. What the zone makes of a deadline is
-- only how it is shown. max_lifetime is wide enough for the change to lie in between.
SET reservation.max_lifetime = '400d';
CREATE FUNCTION lives_in(zone text, ttl interval) RETURNS interval
LANGUAGE plpgsql AS $body$
DECLARE
    id bigint;
BEGIN
    PERFORM set_config('timezone', zone, true);
    id := hold_acquire(stock_claim(1, 1), '1 min');
    -- a new deadline is told from the time of the decision, which is in the row
    PERFORM hold_extend(id, ttl);
    RETURN (SELECT make_interval(secs => extract(epoch FROM expires_at) - extract(epoch FROM changed_at))
            FROM hold_get(id));
END
$body$;
SELECT is(lives_in(zone, ttl), make_interval(secs => extract(epoch FROM ttl)), format('%s of %s', ttl, zone))
FROM (VALUES ('UTC'), ('Europe/Berlin'), ('America/New_York'), ('Australia/Lord_Howe'), ('Pacific/Apia')) AS z (zone),
     -- every number of days up to one that leads over both changes of a year
     (VALUES (interval '1 day'), ('2 days'), ('7 days 3 hours'), ('100 days'), ('183 days'), ('365 days')) AS t (ttl);
SELECT is(lives('365 days'), interval '8760 h', 'and so of acquire');
RESET reservation.max_lifetime;

-- What is no time to live, for each function that takes one.
CREATE TABLE bad (ttl text);
INSERT INTO bad VALUES
    ('0'), ('-1 us'), ('-1 s'), ('-1 day'), ('-1 day -1 h'),
    ('1 month'), ('-1 month'), ('1 year'), ('1 month -30 days'), ('1 month 1 s'), ('11 months -1 year'),
    ('1 day -1 h'), ('-1 day 25 h'), ('-1 day 1 us'), ('1 day -24 h'),
    ('2147483647 days'), ('106751991 days 24 h'), ('2562047788 h'),
    ('24:00:00.000001'), ('1 day 1 us'), ('1000 days');
-- An interval can be infinite since 17, and lay beyond what it can be before.
INSERT INTO bad SELECT v.ttl FROM (VALUES ('infinity'), ('-infinity')) AS v (ttl)
WHERE current_setting('server_version_num')::integer >= 170000;
INSERT INTO bad SELECT v.ttl FROM (VALUES ('178000000 years'), ('-178000000 years')) AS v (ttl)
WHERE current_setting('server_version_num')::integer < 170000;
CREATE FUNCTION refused(statement text, ttl text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    id bigint := hold_acquire(stock_claim(1, 1));
    rows_before text := all_rows();
    o outcome := attempt(format(statement, ttl, id));
BEGIN
    RETURN CASE
        WHEN all_rows() <> rows_before THEN 'something was written'
        WHEN o.sqlstate <> '22023' THEN format('%s', o)
        WHEN o.message !~ '\mttl\M' OR NOT well_worded(o) THEN format('badly worded: %s', o)
        ELSE 'refused' END;
END
$body$;
SELECT is(refused('SELECT hold_acquire(stock_claim(1, 1), %L)', ttl), 'refused', format('acquire for %s', ttl))
FROM bad;
SELECT is(refused('SELECT hold_try_acquire_all(ARRAY[stock_claim(1, 1), stock_claim(1, 1)], %L)', ttl), 'refused',
          format('try_acquire_all for %s', ttl)) FROM bad;
-- What is merely long, extend cuts off at the greatest lifetime.
SELECT is(refused('SELECT hold_extend(%2$s, %1$L)', ttl), 'refused', format('extend by %s', ttl))
FROM bad WHERE ttl NOT IN ('24:00:00.000001', '1 day 1 us', '1000 days', '2562047788 h');

-- The settings.
SELECT is(sqlstate_of(format('SET reservation.%s = %L', name, value)), '22023', format('%s = %s', name, value))
FROM (VALUES ('default_ttl', '-1s'), ('default_ttl', 'soon'), ('max_lifetime', '-1s'), ('expiry_grace', '-1s'))
     AS v (name, value);

SELECT finish();
