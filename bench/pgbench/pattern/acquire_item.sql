\set i :i + 1
\set n :client_id + :clients * :i
\set item :first + :n % :spread
BEGIN;
SELECT item_id FROM inventory WHERE item_id = :item FOR UPDATE;
WITH released AS (
    UPDATE stock_hold SET state = 'expired'
    WHERE item_id = :item AND state = 'held' AND expires_at <= clock_timestamp()
    RETURNING item_id, quantity
)
UPDATE inventory AS i SET available = i.available + r.quantity
FROM (SELECT item_id, sum(quantity) AS quantity FROM released GROUP BY item_id) AS r WHERE i.item_id = r.item_id;
WITH taken AS (
    UPDATE inventory SET available = available - 1
    WHERE item_id = :item AND available >= 1
    RETURNING item_id
)
INSERT INTO stock_hold
SELECT nextval('hold_id_seq'), item_id, 1, 'held', clock_timestamp() + interval '10 minutes'
FROM taken
RETURNING hold_id;
COMMIT;
