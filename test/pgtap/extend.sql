-- Where an extended deadline goes: now and the time to live, never back, never past the greatest lifetime.
\set ON_ERROR_STOP 1
SET reservation.log_events = 'all';
\i test/pgtap/include/attempt.sql

INSERT INTO inventory (item_id, available, capacity) VALUES (1, 100, 1000);

-- Extends a live hold that was made some time ago and is to end in some time. Answers how far the new deadline is from
-- now ("in 00:20:00"), from the creation ("created + 24:00:00"), or that nothing was written ("= 00:10:00").
CREATE FUNCTION extended(age interval, remaining interval, ttl interval) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    began timestamptz := clock_timestamp();
    hold stock_hold;
    rows_before text;
    deadline timestamptz;
    ended timestamptz;
BEGIN
    INSERT INTO stock_hold (item_id, quantity, state, expires_at, created_at, changed_at)
    VALUES (1, 1, 'held', began + remaining, began - age, began - age) RETURNING * INTO hold;
    rows_before := all_rows();
    began := clock_timestamp();
    deadline := hold_extend(hold.hold_id, ttl);
    ended := clock_timestamp();
    IF deadline <> (SELECT expires_at FROM stock_hold WHERE hold_id = hold.hold_id) THEN
        RETURN 'answered another deadline than it wrote';
    END IF;
    RETURN CASE
        WHEN all_rows() = rows_before AND deadline = hold.expires_at THEN '= ' || remaining
        WHEN all_rows() = rows_before THEN format('answered %s and wrote nothing', deadline)
        WHEN (SELECT version FROM stock_hold WHERE hold_id = hold.hold_id) <> 2 THEN 'another version'
        WHEN deadline = hold.created_at + interval '24 h' THEN 'created + 24 h'
        WHEN deadline = hold.created_at + interval '1 h' THEN 'created + 1 h'
        WHEN deadline = hold.created_at + interval '1 min' THEN 'created + 1 min'
        WHEN deadline BETWEEN began + ttl AND ended + ttl THEN 'now + ' || ttl
        WHEN ttl IS NULL AND deadline BETWEEN began + interval '10 min' AND ended + interval '10 min'
            THEN 'now + default'
        ELSE format('%s', deadline - began) END;
END
$body$;

SELECT plan(39);

SELECT is(extended(age, remaining, ttl), expected, format('%s old, %s left, by %s', age, remaining, ttl))
FROM (VALUES
    -- forward
    (interval '0', interval '10 min', interval '20 min', 'now + 00:20:00'),
    ('1 h', '1 s', '20 min', 'now + 00:20:00'),
    ('0', '10 min', '10 min 1 s', 'now + 00:10:01'),
    ('0', '5 min', NULL, 'now + default'),
    -- never back
    ('0', '10 min', '5 min', '= 00:10:00'),
    ('0', '10 min', '1 us', '= 00:10:00'),
    ('0', '20 min', NULL, '= 00:20:00'),
    -- to the greatest lifetime, which is a day
    ('0', '10 min', '23:59:59', 'now + 23:59:59'),
    ('1 min', '10 min', '24 h', 'created + 24 h'),
    ('23 h', '10 min', '2 h', 'created + 24 h'),
    ('23 h', '10 min', '50 min', 'now + 00:50:00'),
    ('0', '10 min', '1000 days', 'created + 24 h'),
    ('0', '10 min', '106751991 days', 'created + 24 h'),
    -- there or beyond: an import may have any deadline
    ('23 h', '1 h', '2 h', '= 01:00:00'),
    ('30 h', '10 min', '20 min', '= 00:10:00'),
    ('10 days', '3 days', '4 days', '= 3 days'),
    ('0', '100 years', '1 h', '= 100 years')
) AS v (age, remaining, ttl, expected);

-- The greatest lifetime is the one of now.
SET reservation.max_lifetime = '1h';
SELECT is(extended('0', '10 min', '2 h'), 'created + 1 h', 'a lower one');
SELECT is(extended('50 min', '5 min', '20 min'), 'created + 1 h', 'holds for holds that are there');
SELECT is(extended('0', '2 h', '3 h'), '= 02:00:00', 'but takes no time from them');
SELECT is(sqlstate_of('SELECT hold_acquire(stock_claim(1, 1), ''1 h'')'), '00000', 'acquire goes as far');
SELECT is(sqlstate_of('SELECT hold_acquire(stock_claim(1, 1), ''1 h 1 us'')'), '22023', 'and not further');
SET reservation.max_lifetime = '1min';
SELECT is(sqlstate_of('SELECT hold_acquire(stock_claim(1, 1))'), '22023', 'a default that is longer is refused, too');
SELECT is(extended('0', '30 s', NULL), 'created + 1 min', 'and cut off by extend');
RESET reservation.max_lifetime;

-- Again and again: each call moves the deadline a little, until the end.
SELECT hold_acquire(stock_claim(1, 1), '1 s') AS id \gset
SELECT is(sqlstate_of(format('SELECT hold_extend(%s, ''%s min'')', :id, 10 * n)), '00000',
          format('extended %s times', n))
FROM generate_series(1, 5) AS n;
SELECT is((hold_get(:id)).version, 6, 'each counted');
SELECT is((SELECT count(*) FROM hold_event WHERE hold_id = :id AND outcome = 'extended'), 5::bigint, 'each logged');
SELECT is(hold_extend(:id, '2 days'), (hold_get(:id)).created_at + interval '24 h', 'to the end');
SELECT is(hold_extend(:id, '2 days'), (hold_get(:id)).created_at + interval '24 h', 'and once more');
SELECT is((hold_get(:id)).version, 7, 'which was written once');

-- It gives nothing back and takes nothing.
SELECT is((SELECT (available, capacity)::text FROM inventory WHERE item_id = 1), '(98,1000)', 'no unit was moved');

-- A hold whose deadline never comes can be confirmed and cancelled, and stays what it is.
INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at) VALUES (1, 1, 1, 'held', 'infinity'),
                                                                              (2, 1, 1, 'held', '-infinity');
SELECT is(hold_extend(1, '1 h'), 'infinity', 'a deadline that never comes');
SELECT is(hold_confirm(1), 'confirmed', 'is before it');
SELECT is((SELECT state FROM hold_get(2)) IN ('held', 'expired'), true, 'one that was never to come');
SELECT is(hold_try_confirm(2), 'expired', 'is behind it');

SELECT finish();
