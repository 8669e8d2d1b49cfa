\set i :i + 1
\set hold 1 + :client_id + :clients * (:i - 1)
\set room 1 + :hold % :spread
BEGIN;
SELECT room_id FROM room WHERE room_id = :room FOR UPDATE;
UPDATE slot_hold SET state = 'cancelled'
WHERE room_id = :room AND hold_id = :hold AND state IN ('held', 'confirmed')
RETURNING hold_id, state;
COMMIT;
