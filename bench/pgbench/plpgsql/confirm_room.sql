\set i :i + 1
\set hold 1 + :client_id + :clients * (:i - 1)
SELECT plain.confirm_room(:hold);
