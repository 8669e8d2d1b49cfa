-- DELETE and TRUNCATE, as superuser: what was promised stays.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
\i test/pgtap/include/attempt.sql

INSERT INTO room VALUES (1, 'a');
INSERT INTO inventory (item_id, available, capacity) VALUES (1, 5, 100);

-- A row of each kind, in a state, with a payment in flight or not, whose period is over or not.
CREATE SEQUENCE import_ids;
CREATE FUNCTION make_row(kind text, state text, period tstzrange, in_flight boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql AS $body$
DECLARE
    id bigint := nextval('import_ids');
BEGIN
    IF kind = 'room' THEN
        INSERT INTO room VALUES (1000 + id, 'room');
        INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, payment_reference)
        VALUES (id, 1000 + id, period, state, '2000-01-01', CASE WHEN in_flight THEN 'pay-1' END);
    ELSE
        INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, payment_reference)
        VALUES (id, 1, 1, state, '2000-01-01', CASE WHEN in_flight THEN 'pay-1' END);
    END IF;
    RETURN id;
END
$body$;

CREATE TABLE rows_to_remove (number serial, kind text, state text, period tstzrange, may_go boolean, what text);
INSERT INTO rows_to_remove (kind, state, period, may_go, what) VALUES
    ('room', 'held', '[2000-01-01, 2000-01-02)', false, 'a held room, overdue, its period over'),
    ('room', 'held', '[2100-01-01, 2100-01-02)', false, 'a held room'),
    ('room', 'pending_review', '[2000-01-01, 2000-01-02)', false, 'a room under review, its period over'),
    ('room', 'pending_review', '[2100-01-01, 2100-01-02)', false, 'a room under review'),
    ('room', 'confirmed', '[2100-01-01, 2100-01-02)', false, 'a booked room'),
    ('room', 'confirmed', '[2000-01-01, 2100-01-02)', false, 'a booked room at this moment'),
    ('room', 'confirmed', '[2000-01-01, 2000-01-02)', true, 'a booked room, its period over'),
    ('room', 'confirmed', tstzrange('2000-01-01', clock_timestamp()), true, 'a booked room, its period just over'),
    ('room', 'cancelled', '[2100-01-01, 2100-01-02)', true, 'a cancelled booking'),
    ('room', 'expired', '[2100-01-01, 2100-01-02)', true, 'an expired booking'),
    ('item', 'held', NULL, false, 'a held item, overdue'),
    ('item', 'pending_review', NULL, false, 'an item under review'),
    ('item', 'confirmed', NULL, true, 'a sold item'),
    ('item', 'cancelled', NULL, true, 'a cancelled item'),
    ('item', 'expired', NULL, true, 'an expired item');

-- Deletes one row, or truncates the table that has only this row, and says what came of it.
CREATE FUNCTION removed(row_to_remove rows_to_remove, statement text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    tab text := CASE row_to_remove.kind WHEN 'room' THEN 'slot_hold' ELSE 'stock_hold' END;
    id bigint;
    o outcome;
    here boolean;
    answer text;
BEGIN
    id := make_row(row_to_remove.kind, row_to_remove.state, row_to_remove.period);
    o := attempt(format(statement, tab, id));
    here := EXISTS (SELECT FROM hold WHERE hold_id = id);
    answer := CASE
        WHEN o.sqlstate = '00000' AND NOT here THEN 'gone'
        WHEN o.sqlstate = 'RV009' AND here AND well_worded(o) THEN 'refused'
        ELSE format('%s, %s', o, here) END;
    RAISE EXCEPTION USING ERRCODE = 'ZZZZZ', MESSAGE = answer;  -- leaves nothing behind for the next one
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
    RETURN SQLERRM;
END
$body$;

SELECT plan(57);

SELECT is(removed(r, s.statement), CASE WHEN r.may_go THEN 'gone' ELSE 'refused' END,
          format('%s: %s', s.name, r.what))
FROM rows_to_remove AS r,
(VALUES ('DELETE', 'DELETE FROM %I WHERE hold_id = %s'),
        ('TRUNCATE', 'TRUNCATE %I'),
        ('TRUNCATE CASCADE of the resource', 'TRUNCATE room, inventory CASCADE')) AS s (name, statement)
ORDER BY s.name, r.number;

-- One row that must stay keeps all of them, among many that may go.
SELECT make_row('room', 'cancelled', '[2100-01-01, 2100-01-02)') FROM generate_series(1, 3) \g /dev/null
SELECT make_row('item', 'expired', NULL) FROM generate_series(1, 3) \g /dev/null
SELECT is(sqlstate_of('DELETE FROM slot_hold'), '00000', 'what is over goes');
SELECT make_row('room', 'cancelled', '[2100-01-01, 2100-01-02)') FROM generate_series(1, 3) \g /dev/null
SELECT make_row('room', 'confirmed', '[2100-01-01, 2100-01-02)') AS booked \gset
SELECT make_row('item', 'pending_review', NULL, true) AS reviewed \gset
UPDATE inventory SET available = 99, capacity = 100;
SELECT is(sqlstate_of('DELETE FROM slot_hold'), 'RV009', 'with a booked room no row of the table');
SELECT is(sqlstate_of('DELETE FROM stock_hold'), 'RV009', 'with an item under review no row of the table');
SELECT is(sqlstate_of('TRUNCATE slot_hold, stock_hold'), 'RV009', 'nor by one TRUNCATE of both');
SELECT is((SELECT count(*) FROM hold), 8::bigint, 'all are there');

-- The resources of holds stay as well, by their foreign keys.
SELECT is(sqlstate_of('DELETE FROM room'), '23503', 'a room with holds');
SELECT is(sqlstate_of('DELETE FROM inventory'), '23503', 'an item with holds');
SELECT is(sqlstate_of('UPDATE room SET room_id = -room_id'), '23503', 'a room with holds keeps its number');
SELECT is(sqlstate_of('UPDATE inventory SET item_id = -item_id'), '23503', 'an item with holds keeps its number');

-- Brought to an end by the functions, everything may go.
SELECT is(hold_cancel(:booked), 'cancelled', 'the booking is cancelled');
SELECT is(hold_resolve(:reviewed, 'confirmed'), 'confirmed', 'the review ends with a sale');
TRUNCATE slot_hold, stock_hold;
DELETE FROM room;
DELETE FROM inventory;
SELECT is((SELECT count(*) FROM hold), 0::bigint, 'all are gone');

SELECT finish();
