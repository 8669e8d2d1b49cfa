\set i :i + 1
\set n :client_id + :clients * :i
\set item :first + :n % :spread
SELECT hold_acquire(stock_claim(:item, 1));
