-- Ids of holds: one sequence for both kinds, from 2^32, below 2^53, with the number of the node in front.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql

INSERT INTO room VALUES (1, 'a');
INSERT INTO inventory VALUES (1, 100);

SELECT plan(25);

SELECT is(hold_acquire(room_claim(1, '[2030-01-01, 2030-01-02)')), 4294967296, 'the first id is 2^32');
SELECT is(hold_acquire(stock_claim(1, 1)), 4294967297, 'a hold of the other kind has the next one');
SELECT is(hold_acquire_all(ARRAY[stock_claim(1, 1), room_claim(1, '[2030-01-02, 2030-01-03)'), stock_claim(1, 1)]),
          ARRAY[4294967299, 4294967298, 4294967300], 'rooms come first, whatever order they are asked in');

-- The same function is the default of both columns.
INSERT INTO slot_hold (room_id, during, state, expires_at)
VALUES (1, '[2030-02-01, 2030-02-02)', 'cancelled', now()), (1, '[2030-02-01, 2030-02-02)', 'cancelled', now());
INSERT INTO stock_hold (item_id, quantity, state, expires_at) VALUES (1, 1, 'cancelled', now());
SELECT is(ARRAY(SELECT hold_id FROM hold WHERE state = 'cancelled' ORDER BY hold_id),
          ARRAY[4294967301, 4294967302, 4294967303], 'raw rows without an id get the next ones');
SELECT is((SELECT count(DISTINCT pg_get_expr(d.adbin, d.adrelid)) FROM pg_attrdef AS d
           JOIN pg_attribute AS a ON (a.attrelid, a.attnum) = (d.adrelid, d.adnum)
           WHERE a.attname = 'hold_id' AND d.adrelid IN ('slot_hold'::regclass, 'stock_hold'::regclass)),
          1::bigint, 'by one expression');

-- Ids below 2^32 are free for imports.
INSERT INTO slot_hold VALUES (4294967295, 1, '[2030-03-01, 2030-03-02)', 'held', now() + interval '10 min'),
                             (1, 1, '[2030-03-02, 2030-03-03)', 'held', now() + interval '10 min');
SELECT is(hold_confirm(4294967295), 'confirmed', 'the greatest id of an import');
SELECT is(hold_confirm(1), 'confirmed', 'the smallest');
SELECT is(hold_acquire(stock_claim(1, 1)), 4294967304, 'imports do not move the sequence');

-- A refusal may use up ids, but never gives one twice.
SELECT is(hold_try_acquire(room_claim(1, '[2030-01-01, 2030-01-02)')), NULL, 'a refusal');
SELECT is(sqlstate_of($$SELECT hold_acquire(room_claim(1, '[2030-01-01, 2030-01-02)'))$$), '23P01', 'another one');
SELECT ok(hold_acquire(stock_claim(1, 1)) > 4294967304, 'the next one is greater');

-- The node's number stands above 42 bits, so ids of nodes never meet. It can be set in the configuration only.
SELECT is(sqlstate_of('SET reservation.node_id = 1'), '55P02', 'a session does not choose the node');
SELECT is(sqlstate_of('ALTER SYSTEM SET reservation.node_id = 1024'), '25001', 'nor a transaction');
SELECT is(current_setting('reservation.node_id'), '0', 'node 0 by default');

-- Statements that wait until the session has read the configuration again.
CREATE FUNCTION waits_for(node integer) RETURNS SETOF text
LANGUAGE sql AS $body$
    SELECT format('SELECT pg_sleep(0.1) WHERE current_setting(''reservation.node_id'') <> ''%s''', node)
    FROM generate_series(1, 100)
$body$;
SELECT last_value AS before FROM hold_id_seq \gset
ALTER SYSTEM SET reservation.node_id = 1;
SELECT pg_reload_conf() \g /dev/null
SELECT waits_for(1) \gexec
SELECT is(hold_acquire(stock_claim(1, 1)), 4398046511104 + :before + 1, 'node 1 goes on with the sequence above 2^42');
ALTER SYSTEM SET reservation.node_id = 1023;
SELECT pg_reload_conf() \g /dev/null
SELECT waits_for(1023) \gexec
SELECT is(hold_acquire(stock_claim(1, 1)), 1023 * 4398046511104 + :before + 2, 'node 1023 is the last');
INSERT INTO stock_hold (item_id, quantity, state, expires_at) VALUES (1, 1, 'expired', now());
SELECT is((SELECT max(hold_id) FROM hold), 1023 * 4398046511104 + :before + 3, 'the default of the column agrees');

-- At the end of the sequence nothing starts again and nothing spills into the next node.
SELECT setval('hold_id_seq', 4398046511102) \g /dev/null
SELECT is(hold_acquire(stock_claim(1, 1)), 1024 * 4398046511104 - 1, 'the last id of all');
SELECT ok((SELECT max(hold_id) FROM hold) < 9007199254740992, 'is below 2^53');
SELECT is(sqlstate_of('SELECT hold_acquire(stock_claim(1, 1))'), '2200H', 'after it there is none');
ALTER SYSTEM RESET reservation.node_id;
SELECT pg_reload_conf() \g /dev/null
SELECT waits_for(0) \gexec
SELECT is(sqlstate_of('SELECT hold_acquire(stock_claim(1, 1))'), '2200H', 'for no node');

SELECT is((SELECT (min_value, max_value, cycle, increment_by, cache_size)::text FROM pg_sequences
           WHERE schemaname = 'public' AND sequencename = 'hold_id_seq'), '(4294967296,4398046511103,f,1,1)', 'the sequence has 42 bits');
SELECT is((SELECT count(*) FROM (SELECT hold_id FROM hold GROUP BY hold_id HAVING count(*) > 1) AS twice), 0::bigint,
          'no id was given twice');

-- Every function takes the largest ids.
SELECT is(hold_cancel(1024 * 4398046511104 - 1), 'cancelled', 'the last id is cancelled');
SELECT is((hold_get(1023 * 4398046511104 + :before + 2)).state, 'held', 'one of node 1023 is found');

SELECT finish();
