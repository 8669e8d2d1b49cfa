\set i :i + 1
\set hold 1000001 + :client_id + :clients * (:i - 1)
\set item 1 + :hold % :spread
BEGIN;
SELECT item_id FROM inventory WHERE item_id = :item FOR UPDATE;
WITH released AS (
    UPDATE stock_hold SET state = 'cancelled'
    WHERE item_id = :item AND hold_id = :hold AND state = 'held'
    RETURNING item_id, quantity
)
UPDATE inventory AS i SET available = i.available + r.quantity
FROM released AS r WHERE i.item_id = r.item_id
RETURNING i.available;
COMMIT;
