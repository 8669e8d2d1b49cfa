-- What may be inserted by hand: any valid row, in any state, with any version and past deadlines. What is left out is
-- filled in, what is given is kept; what is declared holds for everyone.
\set ON_ERROR_STOP 1
SET reservation.expiry_grace = '1h';
\i test/pgtap/include/attempt.sql

INSERT INTO room VALUES (1, 'a'), (2, 'b');
INSERT INTO inventory VALUES (1, 5), (2, 5);

SELECT plan(115);

-- What is given is kept.
CREATE FUNCTION kept(id bigint, state text, deadline timestamptz, version integer, at timestamptz) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    day timestamptz := timestamptz '2000-01-01' + id * interval '1 day';
    slot slot_hold := ROW(id, 1, tstzrange(day, day + interval '1 day'), state, deadline, version, 'ann', 'pay-1',
                          at - interval '1 s', at);
    stock stock_hold := ROW(id, 1, 3, state, deadline, version, 'ann', 'pay-1', at - interval '1 s', at);
BEGIN
    INSERT INTO slot_hold SELECT (slot).*;
    INSERT INTO stock_hold SELECT (stock).*;
    RETURN concat_ws(', ',
        CASE WHEN slot IS DISTINCT FROM (SELECT s FROM slot_hold AS s WHERE hold_id = id) THEN 'another slot' END,
        CASE WHEN stock IS DISTINCT FROM (SELECT s FROM stock_hold AS s WHERE hold_id = id) THEN 'another stock' END);
END
$body$;
SELECT is(kept(row_number() OVER (), s.state, d.deadline, v.version, d.at), '',
          format('%s, deadline %s, version %s: kept', s.state, d.deadline, v.version))
FROM unnest('{held,confirmed,cancelled,expired,pending_review}'::text[]) AS s (state),
     (VALUES (timestamptz '1999-12-31', timestamptz '1999-12-30'), ('2100-01-01', '2099-01-01'),
             ('infinity', clock_timestamp())) AS d (deadline, at),
     (VALUES (1), (0), (-5), (2147483647)) AS v (version);

-- What is left out is filled in, alike by name and by position.
CREATE TABLE began AS SELECT clock_timestamp() AS at;
INSERT INTO slot_hold (room_id, during, state, expires_at)
VALUES (2, '[2030-01-01, 2030-01-02)', 'held', clock_timestamp() + interval '10 min');
INSERT INTO slot_hold VALUES (101, 2, '[2030-02-01, 2030-02-02)', 'confirmed', '2000-01-01');
INSERT INTO stock_hold (item_id, quantity, state, expires_at)
VALUES (2, 1, 'held', clock_timestamp() + interval '10 min');
INSERT INTO stock_hold VALUES (102, 2, 1, 'expired', '2000-01-01');
COPY slot_hold (hold_id, room_id, during, state, expires_at) FROM stdin;
103	2	["2030-03-01 00:00:00+00","2030-03-02 00:00:00+00")	held	2100-01-01 00:00:00+00
\.
SELECT is((SELECT count(*) FROM hold WHERE resource_id = 2), 5::bigint, 'five rows');
SELECT results_eq(
    $$SELECT (hold_id >= 4294967296 OR hold_id IN (101, 102, 103)), version, holder, payment_reference,
             created_at BETWEEN at AND clock_timestamp(), changed_at = created_at
      FROM hold, began WHERE resource_id = 2$$,
    $$SELECT true, 1, NULL::text, NULL::text, true, true FROM generate_series(1, 5)$$,
    'an id, version 1, no holder, no payment, and the time');
INSERT INTO slot_hold (room_id, during, state, expires_at, created_at)
VALUES (2, '[2031-01-01, 2031-01-02)', 'cancelled', '2020-01-01', '2019-01-01');
INSERT INTO slot_hold (room_id, during, state, expires_at, changed_at)
VALUES (2, '[2031-01-01, 2031-01-02)', 'cancelled', '2020-01-01', '2018-01-01');
SELECT is((SELECT count(*) FROM slot_hold WHERE room_id = 2 AND created_at = '2019-01-01' AND changed_at >= created_at),
          1::bigint, 'a time of creation alone');
SELECT is((SELECT count(*) FROM slot_hold WHERE room_id = 2 AND changed_at = '2018-01-01' AND created_at <= changed_at),
          1::bigint, 'a time of change alone');

-- Inventory: the capacity is filled in, or kept.
INSERT INTO inventory VALUES (10, 7);
INSERT INTO inventory (item_id, available) VALUES (11, 0);
INSERT INTO inventory VALUES (12, 7, 9);
SELECT results_eq('SELECT * FROM inventory WHERE item_id >= 10 ORDER BY item_id',
                  'VALUES (10::bigint, 7, 7), (11, 0, 0), (12, 7, 9)', 'the capacity of an item');

-- What no row may be. Each statement alone, and nothing is written.
CREATE TABLE bad_rows (number serial, statement text, sqlstate text, named text);
INSERT INTO bad_rows (statement, sqlstate, named)
SELECT format('INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at) VALUES (%s)', v), s, n
FROM (VALUES
    ('NULL, 1, ''[2040-01-01, 2040-01-02)'', ''held'', ''infinity''', '23502', 'hold_id'),
    ('999, NULL, ''[2040-01-01, 2040-01-02)'', ''held'', ''infinity''', '23502', 'room_id'),
    ('999, 1, NULL, ''held'', ''infinity''', '23502', 'during'),
    ('999, 1, ''[2040-01-01, 2040-01-02)'', NULL, ''infinity''', '23502', 'state'),
    ('999, 1, ''[2040-01-01, 2040-01-02)'', ''held'', NULL', '23502', 'expires_at'),
    ('999, 1, ''empty'', ''held'', ''infinity''', '23514', 'slot_hold_period'),
    ('999, 1, ''(,)'', ''held'', ''infinity''', '23514', 'slot_hold_period'),
    ('999, 1, ''[2040-01-01,)'', ''held'', ''infinity''', '23514', 'slot_hold_period'),
    ('999, 1, ''(,2040-01-01)'', ''held'', ''infinity''', '23514', 'slot_hold_period'),
    ('999, 1, ''[2040-01-01,infinity)'', ''held'', ''infinity''', '23514', 'slot_hold_period'),
    ('999, 1, ''[-infinity,2040-01-01)'', ''held'', ''infinity''', '23514', 'slot_hold_period'),
    ('999, 1, ''[2040-01-01, 2040-01-02]'', ''held'', ''infinity''', '23514', 'slot_hold_period'),
    ('999, 1, ''(2040-01-01, 2040-01-02)'', ''cancelled'', ''infinity''', '23514', 'slot_hold_period'),
    ('999, 1, ''[2040-01-01, 2040-01-02)'', ''released'', ''infinity''', '23514', 'hold_state'),
    ('999, 1, ''[2040-01-01, 2040-01-02)'', '''', ''infinity''', '23514', 'hold_state'),
    ('999, 3, ''[2040-01-01, 2040-01-02)'', ''held'', ''infinity''', '23503', 'slot_hold_room_id_fkey'),
    ('101, 1, ''[2040-01-01, 2040-01-02)'', ''held'', ''infinity''', '23505', 'slot_hold_pkey'),
    ('999, 2, ''[2030-02-01 12:00, 2030-02-03)'', ''held'', ''infinity''', '23P01', 'slot_hold_no_overlap'),
    ('999, 2, ''[2030-02-01 12:00, 2030-02-03)'', ''confirmed'', ''infinity''', '23P01', 'slot_hold_no_overlap'),
    ('999, 2, ''[2030-02-01 12:00, 2030-02-03)'', ''pending_review'', ''infinity''', '23P01', 'slot_hold_no_overlap')
) AS b (v, s, n);
INSERT INTO bad_rows (statement, sqlstate, named)
SELECT format('INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at) VALUES (%s)', v), s, n
FROM (VALUES
    ('NULL, 1, 1, ''held'', ''infinity''', '23502', 'hold_id'),
    ('999, NULL, 1, ''held'', ''infinity''', '23502', 'item_id'),
    ('999, 1, NULL, ''held'', ''infinity''', '23502', 'quantity'),
    ('999, 1, 1, NULL, ''infinity''', '23502', 'state'),
    ('999, 1, 1, ''held'', NULL', '23502', 'expires_at'),
    ('999, 1, 0, ''held'', ''infinity''', '23514', 'stock_hold_quantity_check'),
    ('999, 1, -1, ''expired'', ''infinity''', '23514', 'stock_hold_quantity_check'),
    ('999, 1, 1, ''Held'', ''infinity''', '23514', 'hold_state'),
    ('999, 3, 1, ''held'', ''infinity''', '23503', 'stock_hold_item_id_fkey'),
    ('102, 1, 1, ''held'', ''infinity''', '23505', 'stock_hold_pkey')
) AS b (v, s, n);
INSERT INTO bad_rows (statement, sqlstate, named) VALUES
    ('INSERT INTO room VALUES (NULL, ''x'')', '23502', 'room_id'),
    ('INSERT INTO room VALUES (99, NULL)', '23502', 'name'),
    ('INSERT INTO room VALUES (1, ''x'')', '23505', 'room_pkey'),
    ('INSERT INTO inventory VALUES (NULL, 1)', '23502', 'item_id'),
    ('INSERT INTO inventory VALUES (99, NULL)', '23502', 'available'),
    ('INSERT INTO inventory VALUES (1, 1)', '23505', 'inventory_pkey'),
    ('INSERT INTO inventory VALUES (99, -1)', '23514', 'inventory_available_check'),
    ('INSERT INTO inventory VALUES (99, -1, 5)', '23514', 'inventory_available_check'),
    ('INSERT INTO inventory VALUES (99, 6, 5)', '23514', 'inventory_capacity_check'),
    ('INSERT INTO inventory VALUES (99, 0, -1)', '23514', 'inventory_capacity_check'),
    ('UPDATE inventory SET available = -1 WHERE item_id = 1', '23514', 'inventory_available_check'),
    ('UPDATE inventory SET available = available - 100 WHERE item_id = 1', '23514', 'inventory_available_check'),
    ('UPDATE inventory SET available = 6 WHERE item_id = 1', '23514', 'inventory_capacity_check'),
    ('UPDATE inventory SET available = NULL WHERE item_id = 1', '23502', 'available');

-- The SQLSTATE, and which column or constraint of which table it names.
CREATE FUNCTION refused(statement text, named text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    rows_before text := all_rows();
    o outcome := attempt(statement);
    tab text := (regexp_match(statement, '(?:INTO|UPDATE) (\w+)'))[1];
BEGIN
    RETURN concat_ws(', ', o.sqlstate,
        CASE WHEN o.sqlstate = '23502' AND o.message !~ ('"' || named || '"') THEN 'another column: ' || o.message
             WHEN o.sqlstate <> '23502' AND o.constraint_name <> named THEN 'another constraint: ' || o.constraint_name
        END,
        CASE WHEN (o.schema_name, o.table_name) <> ('public', tab) THEN format('another table: %s', o.table_name) END,
        CASE WHEN all_rows() <> rows_before THEN 'something was written' END);
END
$body$;
SELECT is(refused(statement, named), sqlstate, statement) FROM bad_rows ORDER BY number;

-- What does not occupy a period is in nobody's way, and becomes an obstacle only by a new row.
SELECT is(sqlstate_of($$INSERT INTO slot_hold VALUES
                        (201, 2, '[2030-02-01, 2030-02-02)', 'cancelled', '2000-01-01'),
                        (202, 2, '[2030-02-01, 2030-02-02)', 'expired', '2000-01-01')$$), '00000',
          'cancelled and expired rows overlap as they like');
SELECT is(sqlstate_of($$INSERT INTO slot_hold VALUES
                        (203, 2, '[2045-01-01, 2045-01-02)', 'held', '2000-01-01'),
                        (204, 2, '[2045-01-01, 2045-01-02)', 'held', '2000-01-01')$$), '23P01',
          'overdue rows do not');

-- Whatever was imported, the functions go on with it.
SELECT is(hold_confirm(101), 'confirmed', 'an imported booking');
SELECT is(hold_cancel(101), 'cancelled', 'is cancelled');
SELECT is(sqlstate_of($$SELECT hold_acquire(room_claim(2, '[2030-02-01, 2030-02-02)'))$$), '00000', 'and taken again');
SELECT is(sqlstate_of('SELECT hold_acquire(stock_claim(2, 1))'), '00000', 'and so is an item');

SELECT finish();
