\set i :i + 1
\set hold 1000001 + :client_id + :clients * (:i - 1)
SELECT hold_confirm(:hold);
