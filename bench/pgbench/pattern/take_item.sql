\set i :i + 1
\set n :client_id + :clients * :i
\set item :first + :n % :spread
WITH taken AS (
    UPDATE inventory SET available = available - 1
    WHERE item_id = :item AND available >= 1
    RETURNING item_id
)
INSERT INTO stock_hold
SELECT nextval('hold_id_seq'), item_id, 1, 'held', clock_timestamp() + interval '10 minutes'
FROM taken
RETURNING hold_id;
