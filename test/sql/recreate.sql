-- DROP EXTENSION and CREATE EXTENSION in one session; the protection in a session that has not loaded the library.
\set VERBOSITY terse
INSERT INTO room VALUES (1, 'Blue room');
INSERT INTO inventory VALUES (1, 3);
SELECT hold_acquire(room_claim(1, '[2027-01-01 10:00, 2027-01-01 11:00)')) AS room_hold,
       hold_acquire(stock_claim(1, 2)) AS stock_hold \gset

-- Refused as the first statement of a session, and nothing is lost.
\c -
\set VERBOSITY terse
DROP EXTENSION reservation;
\echo :LAST_ERROR_SQLSTATE
\c -
\set VERBOSITY terse
DROP EXTENSION btree_gist CASCADE;
\echo :LAST_ERROR_SQLSTATE
SELECT state FROM hold_get(:room_hold);

-- Drained, it goes.
SELECT hold_cancel(:room_hold), hold_confirm(:stock_hold);
DROP EXTENSION reservation;
SELECT hold_cancel(:room_hold);
\echo :LAST_ERROR_SQLSTATE

-- A new one in the same session, in another schema, then under another name of it.
CREATE SCHEMA booking;
CREATE EXTENSION reservation SCHEMA booking;
SET search_path = booking;
INSERT INTO room VALUES (1, 'Blue room');
INSERT INTO inventory VALUES (1, 3);
SELECT hold_acquire(room_claim(1, '[2027-01-01 10:00, 2027-01-01 11:00)')) AS room_hold,
       hold_acquire(stock_claim(1, 2)) AS stock_hold \gset
SELECT hold_acquire(stock_claim(1, 2));
ALTER SCHEMA booking RENAME TO "Booking 2";
SET search_path = "Booking 2";
SELECT hold_acquire(stock_claim(1, 1)) AS last_unit \gset
SELECT hold_try_acquire(stock_claim(1, 1));
SELECT hold_acquire(room_claim(1, '[2027-01-01 10:30, 2027-01-01 11:30)'));
SELECT hold_confirm(:room_hold), hold_cancel(:stock_hold), hold_confirm(:last_unit);
SELECT * FROM inventory;

-- And back to where the others expect it. allow_drop may be set before the library is loaded.
\c -
SET client_min_messages = warning;
SET reservation.allow_drop = on;
DROP SCHEMA "Booking 2" CASCADE;
RESET reservation.allow_drop;
CREATE EXTENSION reservation;
SELECT hold_acquire(stock_claim(1, 1));
INSERT INTO inventory VALUES (1, 1);
SELECT hold_acquire(stock_claim(1, 1)) - 4294967296 AS first;
SELECT hold_cancel(4294967296);
DELETE FROM stock_hold;
DELETE FROM inventory;
