-- ================================================================================
--  1. A room, and a pool of three interchangeable units
-- ================================================================================
INSERT INTO room VALUES (1, 'Blue room');
INSERT INTO inventory VALUES (1, 3);
TABLE room;
TABLE inventory;
-- ================================================================================
--  2. Two customers want the same room: Ann is first, Ben is refused
-- ================================================================================
-- Ann holds the room from ten to eleven; unless she confirms, for ten minutes.
SELECT hold_acquire(room_claim(1, '[2030-07-04 10:00, 2030-07-04 11:00)'),
                    '10 minutes', 'ann') AS ann \gset
\echo Ann has hold :ann

-- Ben would like half past ten to half past eleven.
SELECT hold_acquire(room_claim(1, '[2030-07-04 10:30, 2030-07-04 11:30)'),
                    '10 minutes', 'ben') AS ben \gset
\echo SQLSTATE :SQLSTATE

-- An hour later is free: a period ends just before its upper bound.
SELECT hold_acquire(room_claim(1, '[2030-07-04 11:00, 2030-07-04 12:00)'),
                    '10 minutes', 'ben') AS ben \gset
\echo Ben has hold :ben

-- ================================================================================
--  3. Ann pays, and her hold becomes a booking
-- ================================================================================
SELECT hold_confirm(:ann);
-- Saying it again is safe: a client that lost the answer just asks once more.
SELECT hold_confirm(:ann);
-- ================================================================================
--  4. Three units, and nobody can sell a fourth
-- ================================================================================
SELECT hold_acquire(stock_claim(1, 2), '10 minutes', 'cleo') AS cleo \gset
SELECT * FROM inventory;
-- One is left. Dan wants two.
SELECT hold_acquire(stock_claim(1, 2), '10 minutes', 'dan') AS dan \gset
\echo SQLSTATE :SQLSTATE

-- ================================================================================
--  5. Cleo changes her mind: her two units go back, and Dan gets his
-- ================================================================================
SELECT hold_cancel(:cleo);
SELECT hold_acquire(stock_claim(1, 2), '10 minutes', 'dan') AS dan \gset
SELECT hold_confirm(:dan);
SELECT * FROM inventory;
-- ================================================================================
--  6. A hold runs out, and the room goes to the next customer
-- ================================================================================
-- Eve holds the afternoon for one second, and does not confirm in time.
SELECT hold_acquire(room_claim(1, '[2030-07-04 14:00, 2030-07-04 15:00)'),
                    '1 second', 'eve') AS eve \gset
SELECT (hold_get(:eve)).state, (hold_get(:eve)).expires_at > clock_timestamp() AS live;
SELECT pg_sleep(1.2);
SELECT (hold_get(:eve)).state, (hold_get(:eve)).expires_at > clock_timestamp() AS live;
-- The deadline has passed, so it can no longer be confirmed:
SELECT hold_confirm(:eve);
\echo SQLSTATE :SQLSTATE

-- Finn asks for the same hour. The overdue hold is in the way, so it is released first.
SELECT hold_acquire(room_claim(1, '[2030-07-04 14:00, 2030-07-04 15:00)'),
                    '10 minutes', 'finn') AS finn \gset
SELECT h.holder, h.during, h.state
FROM (SELECT (hold_get(id)).* FROM unnest(ARRAY[:eve, :finn]) AS id) AS h;
-- ================================================================================
--  7. What nobody asks for again, the reaper releases
-- ================================================================================
SELECT hold_acquire(stock_claim(1, 1), '1 second', 'gus') AS gus \gset
SELECT pg_sleep(1.2);
SELECT examined, released FROM hold_reap();
SELECT * FROM inventory;
-- ================================================================================
--  That was the whole life of a hold. To try it yourself: make psql
--  opens a shell on a throw-away server like this one, with a few rooms and items.
-- ================================================================================
