-- The settings: names, defaults, who may set them, and what they refuse.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql
SET client_min_messages = warning;
LOAD 'reservation';

SELECT plan(33);

SELECT results_eq(
    $$SELECT name, current_setting(name), context FROM pg_settings WHERE name LIKE 'reservation.%'
        AND name <> 'reservation.reaper_databases' ORDER BY name COLLATE "C"$$,
    $$VALUES ('reservation.accept_holds', 'on', 'superuser'),
             ('reservation.allow_drop', 'off', 'superuser'),
             ('reservation.default_ttl', '10min', 'user'),
             ('reservation.expiry_grace', '0', 'superuser'),
             ('reservation.log_events', 'cleanup', 'superuser'),
             ('reservation.max_lifetime', '1d', 'superuser'),
             ('reservation.node_id', '0', 'sighup'),
             ('reservation.reaper_interval', '5s', 'sighup'),
             ('reservation.reaper_lock_wait', '250ms', 'sighup'),
             ('reservation.time_source', '', 'superuser')$$, 'names, defaults, who may set them');
SELECT is(current_setting('reservation.reaper_databases'), '', 'no database has a reaper by default');
SELECT is(ARRAY(SELECT name FROM pg_settings WHERE name LIKE 'reservation.%' AND coalesce(short_desc, '') = ''), '{}',
          'each says what it is');

-- Names that do not exist are refused, so that no slip of the pen goes unnoticed.
SELECT isnt(sqlstate_of('SET reservation.expiry_grase = ''1s'''), '00000', 'a name that does not exist');

SELECT is(sqlstate_of(format('SET LOCAL reservation.%s = %L', name, value)), expected, format('%s = %s', name, value))
FROM (VALUES
    ('default_ttl', '90s', '00000'), ('default_ttl', '1d', '00000'), ('default_ttl', '250us', '00000'),
    ('default_ttl', '0', '22023'), ('default_ttl', '-1s', '22023'), ('default_ttl', 'soon', '22023'),
    ('max_lifetime', '30d', '00000'), ('max_lifetime', '0', '22023'), ('max_lifetime', '-1s', '22023'),
    ('expiry_grace', '30s', '00000'), ('expiry_grace', '0', '00000'), ('expiry_grace', '-1s', '22023'),
    ('accept_holds', 'off', '00000'), ('accept_holds', 'maybe', '22023'),
    ('log_events', 'all', '00000'), ('log_events', 'none', '00000'), ('log_events', 'cleanup', '00000'),
    ('log_events', 'some', '22023'),
    ('allow_drop', 'on', '00000'),
    ('node_id', '1', '55P02'), ('reaper_interval', '1s', '55P02'), ('reaper_lock_wait', '1s', '55P02')
) AS v (name, value, expected);

-- An ordinary role sets its own time to live and nothing else.
DROP ROLE IF EXISTS reservation_setter;
CREATE ROLE reservation_setter;
SET ROLE reservation_setter;
SELECT is(sqlstate_of('SET LOCAL reservation.default_ttl = ''1min'''), '00000', 'anybody sets default_ttl');
SELECT is(sqlstate_of(format('SET LOCAL reservation.%s = %L', name, value)), '42501',
          format('nobody else sets %s', name))
FROM (VALUES ('max_lifetime', '30d'), ('expiry_grace', '1s'), ('accept_holds', 'off'), ('log_events', 'none'),
             ('allow_drop', 'on'), ('time_source', '')) AS v (name, value);
RESET ROLE;
DROP ROLE reservation_setter;

SELECT finish();
