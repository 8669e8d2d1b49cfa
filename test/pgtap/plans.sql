-- The way to a hold is its id, also by a plan that is made while the tables are empty and has no statistics to go by.
\set ON_ERROR_STOP 1
SELECT plan(3);

INSERT INTO room VALUES (1, 'a');
INSERT INTO inventory VALUES (1, 10);
SELECT hold_acquire(stock_claim(1, 1), '1 h') AS item_hold \gset
SELECT hold_acquire(room_claim(1, '[2030-01-01, 2030-01-02)'), '1 h') AS room_hold \gset

BEGIN;
SELECT hold_extend(:item_hold, '2 h') \g /dev/null
SELECT is(pg_stat_get_xact_numscans('stock_hold_item'::regclass), 0::bigint, 'not through all holds of the item');
SELECT cmp_ok(pg_stat_get_xact_numscans('stock_hold_pkey'::regclass), '>=', 2::bigint, 'a hold of the item by its id');
COMMIT;
BEGIN;
SELECT hold_extend(:room_hold, '2 h') \g /dev/null
SELECT cmp_ok(pg_stat_get_xact_numscans('slot_hold_pkey'::regclass), '>=', 2::bigint, 'a hold of the room by its id');
COMMIT;

SELECT finish();
