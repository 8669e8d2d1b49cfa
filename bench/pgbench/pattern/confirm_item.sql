\set i :i + 1
\set hold 1000001 + :client_id + :clients * (:i - 1)
\set item 1 + :hold % :spread
BEGIN;
SELECT item_id FROM inventory WHERE item_id = :item FOR UPDATE;
UPDATE stock_hold SET state = 'confirmed'
WHERE item_id = :item AND hold_id = :hold AND state = 'held'
  AND expires_at > clock_timestamp()
RETURNING hold_id, state;
COMMIT;
