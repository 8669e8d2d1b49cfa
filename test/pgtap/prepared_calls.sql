-- Every function as drivers call it: prepared, by position, with untyped parameters, with and without its optional
-- arguments.
\set ON_ERROR_STOP 1
SET reservation.log_events = 'all';
\i test/pgtap/include/attempt.sql

SELECT plan(73);

INSERT INTO room VALUES (2001, 'a'), (2002, 'b'), (2003, 'c');
INSERT INTO inventory VALUES (2001, 100), (2002, 100);

-- Every function that an application may call, with each number of arguments that it takes.
CREATE TABLE forms AS
    SELECT p.proname::text AS name, n AS arguments, p.proargtypes::regtype[] AS types, p.prokind,
           format('by_position_%s_%s', p.proname, n) AS statement,
           (SELECT string_agg('$' || i, ', ' ORDER BY i) FROM generate_series(1, n) AS i) AS parameters,
           (SELECT string_agg('NULL', ', ') FROM generate_series(1, n)) AS nulls
    FROM pg_extension AS e
    JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
    JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
    CROSS JOIN LATERAL generate_series((p.pronargs - p.pronargdefaults)::integer, p.pronargs) AS n
    WHERE e.extname = 'reservation' AND p.prokind = 'f'
      AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype);

-- The types that the server finds for the parameters are the declared ones, so none of the calls is ambiguous.
CREATE FUNCTION parameter_types(form forms) RETURNS regtype[]
LANGUAGE plpgsql AS $body$
BEGIN
    EXECUTE format('PREPARE %I AS SELECT %I(%s)', form.statement, form.name, form.parameters);
    RETURN (SELECT s.parameter_types FROM pg_prepared_statements AS s WHERE s.name = form.statement);
END
$body$;
SELECT is(
    ARRAY(SELECT format('%s/%s', name, arguments) FROM forms AS f
          WHERE parameter_types(f) IS DISTINCT FROM f.types[0 : f.arguments - 1] ORDER BY name, arguments),
    '{}', 'every function is found by position, and its parameters have their types');

-- A NULL in every place never reaches further than the check of the arguments. Two are fine without any argument.
SELECT is(
    ARRAY(SELECT format('%s/%s: %s', name, arguments, a.sqlstate)
          FROM forms, attempt(format('EXECUTE %I%s', statement, '(' || nulls || ')')) AS a
          WHERE name NOT IN ('room_claim', 'stock_claim') AND a.sqlstate NOT IN ('00000', '22004')
          ORDER BY name, arguments),
    '{}', 'with NULLs every function executes or names the argument that must not be NULL');
SELECT is((SELECT count(*) FROM slot_hold) + (SELECT count(*) FROM stock_hold), 0::bigint, 'none of them made a hold');

-- With values, each sent as text or NULL, in the order of a booking.
CREATE TABLE executed (statement text);
CREATE FUNCTION answer(form text, VARIADIC parameters text[]) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    o outcome;
BEGIN
    INSERT INTO executed VALUES ('by_position_' || form);
    SELECT a.* INTO o
    FROM attempt(format('EXECUTE by_position_%s%s', form,
                        (SELECT '(' || string_agg(quote_nullable(p), ', ' ORDER BY i) || ')'
                         FROM unnest(parameters) WITH ORDINALITY AS u (p, i)))) AS a;
    RETURN CASE WHEN o.sqlstate = '00000' THEN o.answer ELSE o.sqlstate || ' ' || o.message END;
END
$body$;
CREATE FUNCTION claim_of(room bigint, day integer) RETURNS text
LANGUAGE sql AS $body$
    SELECT room_claim(room, tstzrange(d, d + interval '24 hours'))::text
    FROM (SELECT timestamptz '2030-01-01 00:00+00' + day * interval '24 hours') AS t (d)
$body$;
CREATE FUNCTION id_of(room bigint, day integer) RETURNS text
LANGUAGE sql AS $body$
    SELECT hold_id::text FROM slot_hold
    WHERE room_id = room AND during @> (timestamptz '2030-01-01 12:00+00' + day * interval '24 hours')
      AND state NOT IN ('cancelled', 'expired')
$body$;
CREATE FUNCTION version_of(id text) RETURNS text
LANGUAGE sql AS 'SELECT version::text FROM hold WHERE hold_id = id::bigint';

SELECT is(answer('room_claim_2', '2001', '[2030-01-01, 2030-01-02)')::hold_claim,
          room_claim(2001, '[2030-01-01, 2030-01-02)'), 'room_claim');
SELECT is(answer('stock_claim_2', '2001', '3')::hold_claim, stock_claim(2001, 3), 'stock_claim');

SELECT is(answer('hold_acquire_1', claim_of(2001, 1)), id_of(2001, 1), 'hold_acquire(claim)');
SELECT is(answer('hold_acquire_2', claim_of(2001, 2), '5 min'), id_of(2001, 2), 'hold_acquire(claim, ttl)');
SELECT is(answer('hold_acquire_3', claim_of(2001, 3), NULL, 'ann'), id_of(2001, 3),
          'hold_acquire(claim, ttl, holder)');
SELECT is(answer('hold_acquire_4', claim_of(2001, 4), '5 min', 'ann', 'key 1'), id_of(2001, 4),
          'hold_acquire(claim, ttl, holder, idempotency_key)');
SELECT is(answer('hold_try_acquire_1', claim_of(2001, 5)), id_of(2001, 5), 'hold_try_acquire(claim)');
SELECT is(answer('hold_try_acquire_2', claim_of(2001, 5), '5 min'), NULL, 'hold_try_acquire(claim, ttl)');
SELECT is(answer('hold_try_acquire_3', claim_of(2001, 6), '5 min', 'ann'), id_of(2001, 6),
          'hold_try_acquire(claim, ttl, holder)');
SELECT is(answer('hold_try_acquire_4', claim_of(2001, 7), NULL, NULL, 'key 2'), id_of(2001, 7),
          'hold_try_acquire(claim, ttl, holder, idempotency_key)');

-- Arrays of claims as text, as a driver without a type for hold_claim sends them.
CREATE FUNCTION claims_of(day integer) RETURNS text
LANGUAGE sql AS 'SELECT ARRAY[claim_of(2002, day)::hold_claim, claim_of(2003, day)::hold_claim]::text';
CREATE FUNCTION ids_of(day integer) RETURNS text
LANGUAGE sql AS 'SELECT ARRAY[id_of(2002, day), id_of(2003, day)]::text';

SELECT is(answer('hold_acquire_all_1', claims_of(1)), ids_of(1), 'hold_acquire_all(claims)');
SELECT is(answer('hold_acquire_all_2', claims_of(2), '5 min'), ids_of(2), 'hold_acquire_all(claims, ttl)');
SELECT is(answer('hold_acquire_all_3', claims_of(3), '5 min', 'ann'), ids_of(3),
          'hold_acquire_all(claims, ttl, holder)');
SELECT is(answer('hold_acquire_all_4', claims_of(4), '5 min', 'ann', 'key 3'), ids_of(4),
          'hold_acquire_all(claims, ttl, holder, idempotency_key)');
SELECT is(answer('hold_try_acquire_all_1', claims_of(4)), NULL, 'hold_try_acquire_all(claims)');
SELECT is(answer('hold_try_acquire_all_2', claims_of(5), '5 min'), ids_of(5), 'hold_try_acquire_all(claims, ttl)');
SELECT is(answer('hold_try_acquire_all_3', claims_of(6), '5 min', 'ann'), ids_of(6),
          'hold_try_acquire_all(claims, ttl, holder)');
SELECT is(answer('hold_try_acquire_all_4', claims_of(7), '5 min', 'ann', 'key 4'), ids_of(7),
          'hold_try_acquire_all(claims, ttl, holder, idempotency_key)');

CREATE FUNCTION is_soon(deadline text, ttl interval) RETURNS boolean
LANGUAGE sql AS $body$
    SELECT deadline::timestamptz BETWEEN clock_timestamp() + ttl - interval '10 s' AND clock_timestamp() + ttl
$body$;
CREATE FUNCTION are_soon(deadlines text, ttl interval) RETURNS boolean
LANGUAGE sql AS $body$
    SELECT count(*) = 2 AND bool_and(is_soon(d::text, ttl)) FROM unnest(deadlines::timestamptz[]) AS d
$body$;

SELECT is((answer('hold_get_1', id_of(2001, 1))::hold).state, 'held', 'hold_get(hold_id)');
SELECT is((answer('hold_get_2', id_of(2001, 3), 'ann')::hold).holder, 'ann', 'hold_get(hold_id, holder)');

SELECT ok(is_soon(answer('hold_extend_1', id_of(2001, 1)), '10 min'), 'hold_extend(hold_id)');
SELECT ok(is_soon(answer('hold_extend_2', id_of(2001, 2), '1h'), '1h'), 'hold_extend(hold_id, ttl)');
SELECT ok(is_soon(answer('hold_extend_3', id_of(2001, 2), '2h', '2'), '2h'), 'hold_extend(hold_id, ttl, version)');
SELECT ok(is_soon(answer('hold_extend_4', id_of(2001, 3), '1h', '1', 'ann'), '1h'),
          'hold_extend(hold_id, ttl, version, holder)');

SELECT is(answer('hold_begin_payment_2', id_of(2001, 1), 'pay-1'), version_of(id_of(2001, 1)),
          'hold_begin_payment(hold_id, reference)');
SELECT is(answer('hold_begin_payment_3', id_of(2001, 2), 'pay-2', '3'), '4',
          'hold_begin_payment(hold_id, reference, version)');
SELECT is(answer('hold_begin_payment_4', id_of(2001, 3), 'pay-3', '2', 'ann'), '3',
          'hold_begin_payment(hold_id, reference, version, holder)');
SELECT is(answer('hold_fail_payment_2', id_of(2001, 1), 'pay-1'), version_of(id_of(2001, 1)),
          'hold_fail_payment(hold_id, reference)');
SELECT is(answer('hold_fail_payment_3', id_of(2001, 3), 'pay-3', 'ann'), '4',
          'hold_fail_payment(hold_id, reference, holder)');

SELECT is(answer('hold_confirm_1', id_of(2001, 1)), 'confirmed', 'hold_confirm(hold_id)');
SELECT is(answer('hold_confirm_2', id_of(2001, 2), '4'), 'confirmed', 'hold_confirm(hold_id, version)');
SELECT is(answer('hold_confirm_3', id_of(2001, 3), '4', 'ann'), 'confirmed', 'hold_confirm(hold_id, version, holder)');
SELECT is(answer('hold_try_confirm_1', id_of(2001, 4)), 'confirmed', 'hold_try_confirm(hold_id)');
SELECT is(answer('hold_try_confirm_2', id_of(2001, 5), '1'), 'confirmed', 'hold_try_confirm(hold_id, version)');
SELECT is(answer('hold_try_confirm_3', id_of(2001, 6), '1', 'ann'), 'confirmed',
          'hold_try_confirm(hold_id, version, holder)');
SELECT is(answer('hold_cancel_1', id_of(2001, 1)), 'cancelled', 'hold_cancel(hold_id)');
SELECT is(answer('hold_cancel_2', id_of(2001, 5), '2'), 'cancelled', 'hold_cancel(hold_id, version)');
SELECT is(answer('hold_cancel_3', id_of(2001, 6), '2', 'ann'), 'cancelled', 'hold_cancel(hold_id, version, holder)');

SELECT ok(are_soon(answer('hold_extend_all_1', ids_of(1)), '10 min'), 'hold_extend_all(hold_ids)');
SELECT ok(are_soon(answer('hold_extend_all_2', ids_of(1), '1h'), '1h'), 'hold_extend_all(hold_ids, ttl)');
SELECT ok(are_soon(answer('hold_extend_all_3', ids_of(3), '1h', 'ann'), '1h'),
          'hold_extend_all(hold_ids, ttl, holder)');
SELECT is(answer('hold_confirm_all_1', ids_of(1)), '{confirmed,confirmed}', 'hold_confirm_all(hold_ids)');
SELECT is(answer('hold_confirm_all_2', ids_of(3), 'ann'), '{confirmed,confirmed}',
          'hold_confirm_all(hold_ids, holder)');
SELECT is(answer('hold_cancel_all_1', ids_of(1)), '{cancelled,cancelled}', 'hold_cancel_all(hold_ids)');
SELECT is(answer('hold_cancel_all_2', ids_of(6), 'ann'), '{cancelled,cancelled}', 'hold_cancel_all(hold_ids, holder)');

INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at)
SELECT n, 2001, tstzrange(d, d + interval '1 day'), 'pending_review', d
FROM (VALUES (21, timestamptz '2031-01-01'), (22, '2031-02-01'), (23, '2031-03-01')) AS v (n, d);
SELECT is(answer('hold_resolve_2', '21', 'confirmed'), 'confirmed', 'hold_resolve(hold_id, outcome)');
SELECT is(answer('hold_resolve_3', '22', 'cancelled', 'refunded'), 'cancelled', 'hold_resolve(hold_id, outcome, note)');
SELECT is(answer('hold_resolve_4', '23', 'cancelled', NULL, '1'), 'cancelled',
          'hold_resolve(hold_id, outcome, note, version)');

SELECT is(answer('inventory_adjust_2', '2001', '5'), '105', 'inventory_adjust(item_id, delta)');
SELECT is(answer('inventory_adjust_3', '2001', '-5', 'broken'), '100', 'inventory_adjust(item_id, delta, note)');

SELECT is(answer('room_availability_2', '2001', '[2040-01-01 00:00+00, 2040-01-02 00:00+00)')::tstzrange,
          '[2040-01-01 00:00+00, 2040-01-02 00:00+00)', 'room_availability(room_id, during)');
SELECT is(answer('available_rooms_1', '[2040-01-01, 2040-01-02)'), '2001', 'available_rooms(during)');
SELECT is(answer('stock_availability_1', '2001'), '100', 'stock_availability(item_id)');
SELECT is(answer('reservation_audit_0', VARIADIC '{}'), NULL, 'reservation_audit()');

SELECT is(answer('hold_reap_' || n, VARIADIC (ARRAY['10', '0.9', '0.9', '5'])[:n]), '(0,0,0,0,0,0,f,)',
          format('hold_reap with %s arguments', n))
FROM generate_series(0, 4) AS n;
SELECT is(answer('hold_purge_' || n, VARIADIC (ARRAY['100 years', '10', 'true'])[:n]), '0',
          format('hold_purge with %s arguments', n))
FROM generate_series(1, 3) AS n;
SELECT is(left(answer('reservation_status_0', VARIADIC '{}'), 6), '(room,', 'reservation_status()');
SELECT ok(answer('hold_next_id_0', VARIADIC '{}')::bigint > (SELECT max(hold_id) FROM hold), 'hold_next_id');

-- Claims built from parameters in the call itself, and a plan that has become a generic one.
PREPARE acquire_stock AS SELECT hold_acquire(stock_claim($1, $2), $3, $4);
PREPARE acquire_both AS SELECT hold_acquire_all(ARRAY[room_claim($1, $2), stock_claim($3, $4)], $5);
SELECT is(
    ARRAY(SELECT sqlstate_of(format('EXECUTE acquire_stock(2002, 2, NULL, ''holder %s'')', n))
          FROM generate_series(1, 8) AS n),
    array_fill('00000'::text, ARRAY[8]), 'a claim of parameters, eight times');
SELECT is((SELECT available FROM inventory WHERE item_id = 2002), 84, 'each of the eight took its units');
SELECT ok((SELECT generic_plans > 0 FROM pg_prepared_statements WHERE name = 'acquire_stock'),
          'by a generic plan at last');
SELECT is(sqlstate_of('EXECUTE acquire_both(2001, ''[2032-01-01, 2032-01-02)'', 2002, 84, ''1h'')'), '00000',
          'an array of claims of parameters');
SELECT is((SELECT available FROM inventory WHERE item_id = 2002), 0, 'it took the item''s last units');

SELECT is(ARRAY(SELECT statement FROM forms EXCEPT SELECT statement FROM executed ORDER BY 1), '{}',
          'no form was left out');
SELECT finish();
