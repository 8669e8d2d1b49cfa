-- Calls at the edges of what they take: each once gave a wrong answer, a wrong word or a slow one.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
\i test/pgtap/include/attempt.sql
SELECT plan(20);

INSERT INTO room VALUES (1, 'a');
INSERT INTO inventory VALUES (1, 10000), (2, 10000);

-- A time that leads out of the calendar is an argument that cannot be.
SELECT is((o.sqlstate, o.message ~ 'older_than'), ('22023'::text, true), format('purge of what is older than %s', t))
FROM unnest(ARRAY['6001 years', '7000 years', '-7000 years', '2147483647 days', '178000000 years']) AS t,
     LATERAL attempt(format('SELECT hold_purge(%L)', t)) AS o;
SELECT is(hold_purge('5999 years'), 0::bigint, 'a purge within the calendar');

-- The same claims are the same whatever number the first one has.
CREATE FUNCTION numbered(bounds text) RETURNS hold_claim[]
LANGUAGE sql AS $body$
    SELECT (bounds || '=' || ARRAY[stock_claim(1, 1), room_claim(1, '[2030-01-01, 2030-01-02)')]::text)::hold_claim[]
$body$;
SELECT hold_acquire_all(numbered('[1:2]'), '1 hour', NULL, 'pair') AS pair \gset
SELECT is(hold_acquire_all(numbered(b), '1 hour', NULL, 'pair'), :'pair'::bigint[], 'the same claims as ' || b)
FROM unnest(ARRAY['[0:1]', '[5:6]', '[-7:-6]']) AS b;
SELECT is(hold_acquire_all(('[0:0]=' || ARRAY[stock_claim(1, 1)]::text)::hold_claim[], '1 hour', NULL, 'one'),
          ARRAY[hold_acquire(stock_claim(1, 1), '1 hour', NULL, 'one')], 'one claim, with and without an array');

-- A key over nothing has no hold that it could live as long as.
SELECT is(hold_acquire_all('{}', NULL, NULL, 'nothing'), '{}', 'a key over no claims');
SELECT is(hold_acquire_all('{}', NULL, NULL, 'nothing'), '{}', 'and again');
SELECT is_empty($$SELECT FROM hold_request WHERE idempotency_key = 'nothing'$$, 'leaves no record');

-- A hold of the same call is not told: it goes with the refusal. One that cannot be extended is not to be.
CREATE FUNCTION advice(claims text) RETURNS text
LANGUAGE sql AS $body$
    SELECT concat_ws(' ', o.sqlstate, CASE WHEN o.detail ~ 'same holder' THEN 'own' END, nullif(o.hint, ''))
    FROM attempt(format('SELECT hold_acquire_all(ARRAY[%s], NULL, %L)', claims, 'ann')) AS o
$body$;
SELECT is(advice($$room_claim(1, '[2031-01-01, 2031-01-02)'), room_claim(1, '[2031-01-01, 2031-01-02)')$$), '23P01',
          'two claims of one call');
SELECT hold_acquire(room_claim(1, '[2031-01-01, 2031-01-02)'), '1 hour', 'ann') AS live \gset
SELECT is(advice($$room_claim(1, '[2031-01-01, 2031-01-02)')$$), '23P01 own To keep it longer, extend it with hold_extend.',
          'a live one of the same holder');
SET reservation.expiry_grace = '1h';
SELECT hold_acquire(room_claim(1, '[2031-02-01, 2031-02-02)'), '1 millisecond', 'ann') AS late \gset
SELECT pg_sleep(0.01) \g /dev/null
SELECT is(advice($$room_claim(1, '[2031-02-01, 2031-02-02)')$$), '23P01 own Its deadline has passed.', 'a late one');
RESET reservation.expiry_grace;
SELECT hold_confirm(:live) \g /dev/null
SELECT is(advice($$room_claim(1, '[2031-01-01, 2031-01-02)')$$), '23P01 own It is confirmed already.', 'a confirmed one');

-- Thousands of holds of one item write its counter once.
CREATE TABLE writes (item_id bigint);
CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    INSERT INTO public.writes VALUES (NEW.item_id);
    RETURN NEW;
END
$body$;
SELECT hold_acquire_all(array_agg(stock_claim(1 + n % 2, 1)), '1 hour') AS many FROM generate_series(1, 2000) AS n \gset
CREATE TRIGGER count_write AFTER UPDATE ON inventory FOR EACH ROW EXECUTE FUNCTION count_write();
SELECT is((SELECT count(*) FROM unnest(hold_cancel_all(:'many')) AS c WHERE c = 'cancelled'), 2000::bigint, 'all are cancelled');
SELECT set_eq('SELECT item_id, count(*) FROM writes GROUP BY 1', 'VALUES (1::bigint, 1::bigint), (2, 1)', 'by one write an item');
SELECT is_empty('SELECT * FROM wrong_counters()', 'counters agree');
SELECT finish();
