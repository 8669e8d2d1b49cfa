\set i :i + 1
\set n :client_id + :clients * :i
\set item :first + :n % :spread
SELECT plain.acquire_item(:item, 1);
