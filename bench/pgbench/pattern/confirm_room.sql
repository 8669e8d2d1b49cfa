\set i :i + 1
\set hold 1 + :client_id + :clients * (:i - 1)
\set room 1 + :hold % :spread
BEGIN;
SELECT room_id FROM room WHERE room_id = :room FOR UPDATE;
UPDATE slot_hold SET state = 'confirmed'
WHERE room_id = :room AND hold_id = :hold AND state = 'held'
  AND expires_at > clock_timestamp()
RETURNING hold_id, state;
COMMIT;
