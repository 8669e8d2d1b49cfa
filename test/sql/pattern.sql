-- The statements of the reservation pattern as they are written there, on the extension's tables, each with the
-- answer that the pattern promises; between and after them the functions, which see what the statements did.
\set VERBOSITY terse
CREATE EXTENSION IF NOT EXISTS btree_gist WITH SCHEMA public;

--
-- Slots
--
INSERT INTO room VALUES (1, 'Blue room');
BEGIN;
SELECT room_id FROM room WHERE room_id = 1 FOR UPDATE;
UPDATE slot_hold SET state = 'expired'
WHERE room_id = 1 AND state = 'held' AND expires_at <= clock_timestamp();
INSERT INTO slot_hold VALUES
    (1, 1, tstzrange('2027-01-01 10:00+00', '2027-01-01 11:00+00', '[)'),
     'held', clock_timestamp() + interval '10 minutes');
COMMIT;

-- The functions find the hold as their own.
SELECT hold_id, kind, resource_id, state, version FROM hold_get(1);

BEGIN;
SELECT room_id FROM room WHERE room_id = 1 FOR UPDATE;
UPDATE slot_hold SET state = 'confirmed'
WHERE room_id = 1 AND hold_id = 1 AND state = 'held'
  AND expires_at > clock_timestamp()
RETURNING hold_id, state;
COMMIT;

-- Once more: zero rows, since it is no longer held.
BEGIN;
SELECT room_id FROM room WHERE room_id = 1 FOR UPDATE;
UPDATE slot_hold SET state = 'confirmed'
WHERE room_id = 1 AND hold_id = 1 AND state = 'held'
  AND expires_at > clock_timestamp()
RETURNING hold_id, state;
COMMIT;
SELECT hold_confirm(1);

-- Expected SQLSTATE 23P01.
INSERT INTO slot_hold VALUES
    (2, 1, tstzrange('2027-01-01 10:30+00', '2027-01-01 11:30+00', '[)'),
     'held', clock_timestamp() + interval '10 minutes');
\echo :LAST_ERROR_SQLSTATE
SELECT hold_acquire(room_claim(1, tstzrange('2027-01-01 10:30+00', '2027-01-01 11:30+00', '[)')));
\echo :LAST_ERROR_SQLSTATE

-- A [11:00,12:00) claim does not overlap the [10:00,11:00) claim.
INSERT INTO slot_hold VALUES
    (2, 1, tstzrange('2027-01-01 11:00+00', '2027-01-01 12:00+00', '[)'),
     'held', clock_timestamp() + interval '10 minutes');

-- The confirmed booking is cancelled under the room lock.
BEGIN;
SELECT room_id FROM room WHERE room_id = 1 FOR UPDATE;
UPDATE slot_hold SET state = 'cancelled'
WHERE room_id = 1 AND hold_id = 1 AND state IN ('held', 'confirmed')
RETURNING hold_id, state;
COMMIT;
SELECT hold_acquire(room_claim(1, tstzrange('2027-01-01 10:00+00', '2027-01-01 11:00+00', '[)'))) AS id \gset
SELECT :id >= 4294967296 AS acquired, state, version FROM hold_get(:id);

-- An abandoned, already expired hold is reclaimed before the insert.
INSERT INTO slot_hold VALUES
    (3, 1, tstzrange('2027-01-01 14:00+00', '2027-01-01 15:00+00', '[)'),
     'held', clock_timestamp() - interval '1 minute');
BEGIN;
SELECT room_id FROM room WHERE room_id = 1 FOR UPDATE;
UPDATE slot_hold SET state = 'expired'
WHERE room_id = 1 AND state = 'held' AND expires_at <= clock_timestamp();
INSERT INTO slot_hold VALUES
    (4, 1, tstzrange('2027-01-01 14:00+00', '2027-01-01 15:00+00', '[)'),
     'held', clock_timestamp() + interval '10 minutes');
COMMIT;
SELECT hold_id, state, version FROM slot_hold WHERE room_id = 1 AND hold_id < 4294967296 ORDER BY hold_id;

-- The same by an acquire.
INSERT INTO slot_hold VALUES
    (5, 1, tstzrange('2027-01-01 16:00+00', '2027-01-01 17:00+00', '[)'),
     'held', clock_timestamp() - interval '1 minute');
SELECT hold_acquire(room_claim(1, tstzrange('2027-01-01 16:30+00', '2027-01-01 17:30+00', '[)'))) > 5 AS acquired;
SELECT hold_id, state, version FROM slot_hold WHERE room_id = 1 AND hold_id = 5;

--
-- Stock
--
INSERT INTO inventory VALUES (1, 3);
BEGIN;
WITH taken AS (
    UPDATE inventory SET available = available - 2
    WHERE item_id = 1 AND available >= 2
    RETURNING item_id
)
INSERT INTO stock_hold
SELECT 10, item_id, 2, 'held', clock_timestamp() + interval '10 minutes'
FROM taken
RETURNING hold_id;
COMMIT;
SELECT * FROM inventory WHERE item_id = 1;

-- Insufficient stock: no hold is inserted.
BEGIN;
WITH taken AS (
    UPDATE inventory SET available = available - 2
    WHERE item_id = 1 AND available >= 2
    RETURNING item_id
)
INSERT INTO stock_hold
SELECT 11, item_id, 2, 'held', clock_timestamp() + interval '10 minutes'
FROM taken
RETURNING hold_id;
COMMIT;
SELECT hold_acquire(stock_claim(1, 2));
\echo :LAST_ERROR_SQLSTATE
SELECT hold_try_acquire(stock_claim(1, 2));
SELECT hold_acquire(stock_claim(1, 1)) AS last_unit \gset
SELECT * FROM inventory WHERE item_id = 1;
SELECT hold_cancel(:last_unit);

BEGIN;
SELECT item_id FROM inventory WHERE item_id = 1 FOR UPDATE;
WITH released AS (
    UPDATE stock_hold SET state = 'cancelled'
    WHERE item_id = 1 AND hold_id = 10 AND state = 'held'
    RETURNING item_id, quantity
)
UPDATE inventory AS i SET available = i.available + r.quantity
FROM released AS r WHERE i.item_id = r.item_id
RETURNING i.available;
COMMIT;

-- Repeating this transition changes nothing, and neither does the function.
BEGIN;
SELECT item_id FROM inventory WHERE item_id = 1 FOR UPDATE;
WITH released AS (
    UPDATE stock_hold SET state = 'cancelled'
    WHERE item_id = 1 AND hold_id = 10 AND state = 'held'
    RETURNING item_id, quantity
)
UPDATE inventory AS i SET available = i.available + r.quantity
FROM released AS r WHERE i.item_id = r.item_id
RETURNING i.available;
COMMIT;
SELECT hold_cancel(10);
SELECT * FROM inventory WHERE item_id = 1;

-- Expiry is the same operation with a deadline predicate.
BEGIN;
WITH taken AS (
    UPDATE inventory SET available = available - 3
    WHERE item_id = 1 AND available >= 3
    RETURNING item_id
)
INSERT INTO stock_hold
SELECT 12, item_id, 3, 'held', clock_timestamp() - interval '1 minute'
FROM taken
RETURNING hold_id;
COMMIT;
BEGIN;
SELECT item_id FROM inventory WHERE item_id = 1 FOR UPDATE;
WITH released AS (
    UPDATE stock_hold SET state = 'expired'
    WHERE item_id = 1 AND hold_id = 12 AND state = 'held' AND expires_at <= clock_timestamp()
    RETURNING item_id, quantity
)
UPDATE inventory AS i SET available = i.available + r.quantity
FROM released AS r WHERE i.item_id = r.item_id
RETURNING i.available;
COMMIT;

-- Confirmation has a live deadline predicate and changes only the hold.
SELECT hold_acquire(stock_claim(1, 3)) AS id \gset
BEGIN;
SELECT item_id FROM inventory WHERE item_id = 1 FOR UPDATE;
UPDATE stock_hold SET state = 'confirmed'
WHERE item_id = 1 AND hold_id = :id AND state = 'held'
  AND expires_at > clock_timestamp()
RETURNING quantity, state, version;
COMMIT;
SELECT * FROM inventory WHERE item_id = 1;

-- Nothing that occupies a room and nothing but the sold units is left; what is over may be removed.
SELECT count(hold_cancel(hold_id)) FROM slot_hold WHERE room_id = 1 AND state IN ('held', 'confirmed');
DELETE FROM slot_hold WHERE room_id = 1;
DELETE FROM room WHERE room_id = 1;
DELETE FROM stock_hold WHERE item_id = 1;
DELETE FROM inventory WHERE item_id = 1;
