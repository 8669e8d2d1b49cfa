-- A key and a request give the same holds again, whatever has become of them; a key with another request is refused.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql

INSERT INTO room VALUES (1, 'a'), (2, 'b');
INSERT INTO inventory VALUES (1, 10), (2, 0);

CREATE FUNCTION nothing_written(statement text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    rows_before text := all_rows();
    o outcome := attempt(statement);
BEGIN
    RETURN CASE WHEN all_rows() <> rows_before THEN 'something was written' WHEN o.sqlstate = '00000' THEN o.answer
                ELSE o.sqlstate END;
END
$body$;

SELECT plan(78);

-- The same again: no second hold, no units taken, nothing written.
SELECT hold_acquire(stock_claim(1, 2), '10 min', 'ann', 'key 1') AS id \gset
SELECT is(nothing_written($$SELECT hold_acquire(stock_claim(1, 2), '10 min', 'ann', 'key 1')$$), :'id',
          'an item again');
SELECT hold_acquire(room_claim(1, '[2030-01-01, 2030-01-02)'), idempotency_key => 'key 2') AS room_hold \gset
SELECT is(nothing_written($$SELECT hold_acquire(room_claim(1, '[2030-01-01, 2030-01-02)'), NULL, NULL, 'key 2')$$),
          :'room_hold', 'a room again, which is not free any more');
SELECT hold_acquire_all(ARRAY[stock_claim(1, 1), room_claim(2, '[2030-01-01, 2030-01-02)')],
                        '1 h', NULL, 'key 3') AS ids \gset
SELECT is(nothing_written($$SELECT hold_acquire_all(ARRAY[stock_claim(1, 1), room_claim(2, '[2030-01-01, 2030-01-02)')],
                                                    '1 h', NULL, 'key 3')$$), :'ids', 'several again, in their order');
SELECT is((SELECT (available, capacity)::text FROM inventory WHERE item_id = 1), '(7,10)', 'units were taken once');
SELECT is(ARRAY(SELECT format('%s %s %s', idempotency_key, hold_ids, holder) FROM hold_request ORDER BY 1),
          ARRAY[format('key 1 {%s} ann', :id), format('key 2 {%s} ', :room_hold), format('key 3 %s ', :'ids')],
          'what is recorded');

-- Whatever state the holds are in by then.
SELECT is(hold_confirm(:id), 'confirmed', 'confirmed meanwhile');
SELECT is(nothing_written($$SELECT hold_acquire(stock_claim(1, 2), '10 min', 'ann', 'key 1')$$), :'id', 'again');
SELECT is(hold_cancel(:room_hold), 'cancelled', 'cancelled meanwhile, and the room taken by somebody else');
SELECT hold_acquire(room_claim(1, '[2030-01-01, 2030-01-02)'), NULL, 'bob') AS others \gset
SELECT is(nothing_written($$SELECT hold_acquire(room_claim(1, '[2030-01-01, 2030-01-02)'), NULL, NULL, 'key 2')$$),
          :'room_hold', 'again');
-- reaper: off
SET reservation.default_ttl = '1ms';
SELECT hold_acquire(stock_claim(1, 3), NULL, NULL, 'key 4') AS lapsed \gset
RESET reservation.default_ttl;
SELECT pg_sleep(0.01) \g /dev/null
SELECT is(nothing_written($$SELECT hold_acquire(stock_claim(1, 3), NULL, NULL, 'key 4')$$), :'lapsed',
          'overdue meanwhile');
SELECT is(hold_try_confirm(:lapsed), 'expired', 'released');
-- reaper: on
SELECT is(nothing_written($$SELECT hold_acquire(stock_claim(1, 3), NULL, NULL, 'key 4')$$), :'lapsed', 'again');

-- The four functions are one: only the request counts.
CREATE TABLE same (number serial, first text, again text);
INSERT INTO same (first, again) VALUES
    ('hold_acquire(stock_claim(1, 1), NULL, NULL, %L)', 'hold_try_acquire(stock_claim(1, 1), NULL, NULL, %L)'),
    ('hold_try_acquire(stock_claim(1, 1), NULL, NULL, %L)', 'hold_acquire(stock_claim(1, 1), NULL, NULL, %L)'),
    ('hold_acquire(stock_claim(1, 1), NULL, NULL, %L)', 'hold_acquire_all(ARRAY[stock_claim(1, 1)], NULL, NULL, %L)'),
    ('hold_acquire_all(ARRAY[stock_claim(1, 1)], NULL, NULL, %L)', 'hold_acquire(stock_claim(1, 1), NULL, NULL, %L)'),
    ('hold_try_acquire_all(ARRAY[stock_claim(1, 1)], NULL, NULL, %L)',
     'hold_acquire_all(ARRAY[stock_claim(1, 1)], NULL, NULL, %L)'),
    ('hold_acquire_all(''{}'', NULL, NULL, %L)', 'hold_try_acquire_all(''{}'', NULL, NULL, %L)'),
    -- a time to live by what it amounts to
    ('hold_acquire(stock_claim(1, 1), ''1 h'', NULL, %L)', 'hold_acquire(stock_claim(1, 1), ''60 min'', NULL, %L)'),
    ('hold_acquire(stock_claim(1, 1), ''24 h'', NULL, %L)', 'hold_acquire(stock_claim(1, 1), ''1 day'', NULL, %L)'),
    -- a claim by what it says
    ('hold_acquire(room_claim(1, ''[2031-01-01 00:00+00, 2031-01-02 00:00+00)''), NULL, NULL, %L)',
     'hold_acquire(room_claim(1, ''[2031-01-01 01:00+01, 2031-01-02 01:00+01)''), NULL, NULL, %L)'),
    ('hold_acquire(stock_claim(1, 1), NULL, NULL, %L)',
     'hold_acquire((''item'', 1, NULL, 1)::hold_claim, NULL, NULL, %L)');
CREATE FUNCTION again(same) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    key text := 'same ' || $1.number;
    first text := (attempt('SELECT ' || format($1.first, key))).answer;
    answer text := nothing_written('SELECT ' || format($1.again, key));
BEGIN
    PERFORM hold_cancel(hold_id) FROM stock_hold WHERE holder IS NULL AND state = 'held';
    RETURN CASE
        WHEN trim(answer, '{}') <> trim(first, '{}') THEN format('%s, then %s', first, answer)
        WHEN (answer ~ '^{') <> ($1.again ~ '_all') THEN format('a wrong type: %s', answer)
        ELSE 'the same' END;
END
$body$;
SELECT is(again(s), 'the same', format('%s, then %s', s.first, s.again)) FROM same AS s ORDER BY number;

-- Another request with a known key: the field that differs is named.
SELECT hold_acquire_all(ARRAY[stock_claim(1, 1), stock_claim(1, 2)], '10 min', 'ann', 'key 5') AS several \gset
SELECT hold_acquire(stock_claim(1, 1), NULL, NULL, 'key 6') AS plain \gset
CREATE TABLE different (number serial, call text, field text);
INSERT INTO different (call, field) VALUES
    ('hold_acquire(stock_claim(1, 3), ''10 min'', ''ann'', ''key 1'')', 'claim'),
    ('hold_acquire(stock_claim(2, 2), ''10 min'', ''ann'', ''key 1'')', 'claim'),
    ('hold_acquire(room_claim(1, ''[2030-01-01, 2030-01-02)''), ''10 min'', ''ann'', ''key 1'')', 'claim'),
    ('hold_acquire(room_claim(1, ''[2030-01-01, 2030-01-03)''), NULL, NULL, ''key 2'')', 'claim'),
    ('hold_acquire(room_claim(2, ''[2030-01-01, 2030-01-02)''), NULL, NULL, ''key 2'')', 'claim'),
    -- it is not even looked at
    ('hold_acquire(stock_claim(99, 2), ''10 min'', ''ann'', ''key 1'')', 'claim'),
    ('hold_acquire(stock_claim(2, 2147483647), NULL, NULL, ''key 2'')', 'claim'),
    ('hold_acquire(stock_claim(1, 2), ''11 min'', ''ann'', ''key 1'')', 'ttl'),
    ('hold_acquire(stock_claim(1, 2), NULL, ''ann'', ''key 1'')', 'ttl'),
    -- left out is not the same as what the default happens to be
    ('hold_acquire(stock_claim(1, 1), ''10 min'', NULL, ''key 6'')', 'ttl'),
    ('hold_acquire(stock_claim(1, 2), ''10 min'', ''bob'', ''key 1'')', 'holder'),
    ('hold_acquire(stock_claim(1, 2), ''10 min'', ''Ann'', ''key 1'')', 'holder'),
    ('hold_acquire(stock_claim(1, 2), ''10 min'', NULL, ''key 1'')', 'holder'),
    ('hold_acquire(stock_claim(1, 1), NULL, '''', ''key 6'')', 'holder'),
    -- another order, another number
    ('hold_acquire_all(ARRAY[stock_claim(1, 2), stock_claim(1, 1)], ''10 min'', ''ann'', ''key 5'')', 'claim'),
    ('hold_acquire_all(ARRAY[stock_claim(1, 1)], ''10 min'', ''ann'', ''key 5'')', 'claim'),
    ('hold_acquire_all(ARRAY[stock_claim(1, 3)], ''10 min'', ''ann'', ''key 5'')', 'claim'),
    ('hold_acquire_all(ARRAY[stock_claim(1, 1), stock_claim(1, 2), stock_claim(1, 1)], ''10 min'', ''ann'', ''key 5'')',
     'claim'),
    ('hold_acquire_all(''{}'', ''10 min'', ''ann'', ''key 5'')', 'claim'),
    ('hold_try_acquire(stock_claim(1, 3), ''10 min'', ''ann'', ''key 1'')', 'claim'),
    ('hold_try_acquire_all(ARRAY[stock_claim(1, 2)], ''10 min'', ''bob'', ''key 1'')', 'holder');
CREATE FUNCTION mismatch(call text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    rows_before text := all_rows();
    o outcome := attempt('SELECT ' || call);
BEGIN
    RETURN CASE
        WHEN o.sqlstate <> 'RV006' OR NOT well_worded(o) OR all_rows() <> rows_before THEN format('%s', o)
        WHEN concat_ws(' ', o.message, o.detail, o.hint) ~ '\mann\M|key [0-9]' THEN format('tells too much: %s', o)
        ELSE (SELECT string_agg(field, ' ' ORDER BY field) FROM unnest('{claim,holder,ttl}'::text[]) AS field
              WHERE concat_ws(' ', o.message, o.detail) ~ ('\m' || field || 's?\M')) END;
END
$body$;
SELECT is(mismatch(call), field, call) FROM different ORDER BY number;

-- An argument is checked before the key; a known key is answered before a drain.
SELECT is(sqlstate_of(call), sqlstate, call) FROM (VALUES
    ('SELECT hold_acquire(stock_claim(1, 0), ''10 min'', ''ann'', ''key 1'')', '22023'),
    ('SELECT hold_acquire(NULL, ''10 min'', ''ann'', ''key 1'')', '22004'),
    ('SELECT hold_acquire(stock_claim(1, 2), ''1 month'', ''ann'', ''key 1'')', '22023'),
    ('SELECT hold_acquire_all(ARRAY[stock_claim(1, 1), NULL], NULL, NULL, ''key 5'')', '22004')) AS v (call, sqlstate);
SET reservation.accept_holds = off;
SELECT is(nothing_written($$SELECT hold_acquire(stock_claim(1, 2), '10 min', 'ann', 'key 1')$$), :'id',
          'a known key is answered in a drain');
SELECT is(nothing_written($$SELECT hold_acquire(stock_claim(1, 3), '10 min', 'ann', 'key 1')$$), 'RV006',
          'and so is a mismatch');
SELECT is(nothing_written($$SELECT hold_acquire(stock_claim(1, 2), '10 min', 'ann', 'key 1a')$$), 'RV008',
          'an unknown key is not');
RESET reservation.accept_holds;

-- A refusal leaves no record: the same key may try again, with another request even.
SELECT is(nothing_written('SELECT hold_acquire(stock_claim(2, 1), NULL, NULL, ''key 7'')'), '23514', 'sold out');
SELECT is(nothing_written('SELECT hold_try_acquire(stock_claim(2, 1), NULL, NULL, ''key 7'')'), NULL, 'still sold out');
SELECT is(nothing_written($$SELECT hold_try_acquire_all(ARRAY[stock_claim(1, 1), stock_claim(2, 1)],
                                                        NULL, NULL, 'key 7')$$), NULL, 'one of two is');
SELECT is(nothing_written('SELECT hold_acquire(stock_claim(3, 1), NULL, NULL, ''key 7'')'), '23503', 'no such item');
SELECT is(inventory_adjust(2, 1), 1, 'a delivery');
SELECT hold_acquire(stock_claim(2, 1), NULL, NULL, 'key 7') AS last_unit \gset
SELECT is((hold_get(:last_unit)).resource_id, 2::bigint, 'and the key has a hold');
SELECT is(nothing_written('SELECT hold_acquire(stock_claim(2, 1), NULL, NULL, ''key 7'')'), :'last_unit',
          'the last unit again');

-- Keys of every length, told apart to the byte.
SELECT is(nothing_written(format('SELECT hold_acquire(stock_claim(1, 1), NULL, NULL, %L)', key)), sqlstate,
          format('a key of %s bytes', octet_length(key)))
FROM (VALUES ('', '22023'), (repeat('k', 256), '22023'), (repeat('ä', 128), '22023')) AS v (key, sqlstate);
CREATE TABLE keys (number serial, key text);
INSERT INTO keys (key) VALUES ('k'), (' '), ('K'), ('k '), (repeat('k', 255)), (repeat('k', 254)),
    (repeat('ä', 127) || 'k'), ('''; DROP TABLE hold_request; --'), (E'\n'), (E'\\'), ('NULL');
INSERT INTO inventory VALUES (4, 100);
SELECT ok(hold_acquire(stock_claim(4, 1), NULL, NULL, key) > 0,
          format('a key of %s bytes: %s', octet_length(key), quote_literal(left(key, 9))))
FROM keys ORDER BY number;
SELECT is((SELECT available FROM inventory WHERE item_id = 4), 89, 'each got a hold of its own');
SELECT is((SELECT count(DISTINCT hold_acquire(stock_claim(4, 1), NULL, NULL, key)) FROM keys), 11::bigint,
          'and gets it again');
SELECT is((SELECT available FROM inventory WHERE item_id = 4), 89, 'and no other');

-- A record that somebody wrote by hand, with more holds than claims, is not answered from.
UPDATE hold_request SET hold_ids = ARRAY(SELECT generate_series(1, 5000)) WHERE idempotency_key = 'key 7';
SELECT is(sqlstate_of('SELECT hold_acquire(stock_claim(2, 1), NULL, NULL, ''key 7'')'), 'XX001', 'too many holds');
UPDATE hold_request SET hold_ids = '{NULL}' WHERE idempotency_key = 'key 7';
SELECT is(sqlstate_of('SELECT hold_acquire(stock_claim(2, 1), NULL, NULL, ''key 7'')'), 'XX001', 'a hold that is none');

-- Without a key there is no record.
SELECT count(*) AS requests FROM hold_request \gset
SELECT isnt(hold_acquire(stock_claim(4, 1), NULL, 'ann'), hold_acquire(stock_claim(4, 1), NULL, 'ann'),
            'without a key every call gets a hold of its own');
SELECT is((SELECT count(*) FROM hold_request), :requests::bigint, 'and nothing is recorded');

SELECT finish();
