-- Arguments that cannot be, of every function but those that acquire: the SQLSTATE, the argument by its name, and
-- nothing changed.
\set ON_ERROR_STOP 1
SET reservation.log_events = 'all';
\i test/pgtap/include/attempt.sql

INSERT INTO room VALUES (1, 'a');
INSERT INTO inventory VALUES (1, 10), (2, 2147483647);
INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, holder)
VALUES (11, 1, '[2030-01-01, 2030-01-02)', 'held', clock_timestamp() + interval '10 min', 'ann'),
       (12, 1, '[2030-01-02, 2030-01-03)', 'pending_review', clock_timestamp() - interval '10 min', 'ann');
INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, holder)
VALUES (21, 1, 1, 'held', clock_timestamp() + interval '10 min', 'ann');
UPDATE inventory SET capacity = 11 WHERE item_id = 1;

CREATE TABLE bad_calls (number serial, call text, sqlstate text, named text);
INSERT INTO bad_calls (call, sqlstate, named) VALUES
    ('hold_get(NULL)', '22004', 'hold_id'),
    ('hold_confirm(NULL)', '22004', 'hold_id'),
    ('hold_try_confirm(NULL)', '22004', 'hold_id'),
    ('hold_cancel(NULL)', '22004', 'hold_id'),
    ('hold_extend(NULL)', '22004', 'hold_id'),
    ('hold_extend(11, ''0 s'')', '22023', 'ttl'),
    ('hold_extend(11, ''-1 s'')', '22023', 'ttl'),
    ('hold_extend(11, ''1 mon'')', '22023', 'ttl'),
    ('hold_extend(11, ''1 year -364 days'')', '22023', 'ttl'),
    ('hold_extend(11, ''1 day -1 hour'')', '22023', 'ttl'),
    ('hold_extend(11, ''2147483647 days'')', '22023', 'ttl'),
    ('hold_extend_all(ARRAY[11, 21], ''0 s'')', '22023', 'ttl'),
    ('hold_begin_payment(NULL, ''pay-1'')', '22004', 'hold_id'),
    ('hold_begin_payment(11, NULL)', '22004', 'reference'),
    ('hold_fail_payment(NULL, ''pay-1'')', '22004', 'hold_id'),
    ('hold_fail_payment(11, NULL)', '22004', 'reference'),
    ('hold_resolve(NULL, ''confirmed'')', '22004', 'hold_id'),
    ('hold_resolve(12, NULL)', '22004', 'outcome'),
    ('hold_resolve(12, '''')', '22023', 'outcome'),
    ('hold_resolve(12, ''expired'')', '22023', 'outcome'),
    ('hold_resolve(12, ''held'')', '22023', 'outcome'),
    ('hold_resolve(12, ''Confirmed'')', '22023', 'outcome'),
    ('hold_confirm_all(NULL)', '22004', 'hold_ids'),
    ('hold_cancel_all(NULL)', '22004', 'hold_ids'),
    ('hold_extend_all(NULL)', '22004', 'hold_ids'),
    ('hold_confirm_all(ARRAY[11, NULL, 21])', '22004', 'position 2'),
    ('hold_cancel_all(ARRAY[11, 21, NULL])', '22004', 'position 3'),
    ('hold_extend_all(ARRAY[NULL, 11, 21]::bigint[])', '22004', 'position 1'),
    ('inventory_adjust(NULL, 1)', '22004', 'item_id'),
    ('inventory_adjust(1, NULL)', '22004', 'delta'),
    ('inventory_adjust(2, 1)', '22023', 'delta'),
    ('inventory_adjust(1, 2147483647)', '22023', 'delta'),
    ('hold_reap(0)', '22023', 'max_holds'),
    ('hold_reap(-1)', '22023', 'max_holds'),
    ('hold_reap(1, -0.1)', '22023', 'max_skipped_share'),
    ('hold_reap(1, ''NaN'')', '22023', 'max_skipped_share'),
    ('hold_reap(1, 0.5, ''-infinity'')', '22023', 'max_review_share'),
    ('hold_reap(1, 0.5, ''NaN'')', '22023', 'max_review_share'),
    ('hold_reap(1, 0.5, 0.5, -1)', '22023', 'min_sample'),
    -- what does not exist
    ('hold_confirm(99)', 'P0002', 'hold 99'),
    ('hold_confirm(0)', 'P0002', 'hold 0'),
    ('hold_confirm(-1)', 'P0002', 'hold -1'),
    ('hold_cancel(9223372036854775807)', 'P0002', 'hold 9223372036854775807'),
    ('hold_extend(99)', 'P0002', 'hold 99'),
    ('hold_begin_payment(99, ''pay-1'')', 'P0002', 'hold 99'),
    ('hold_fail_payment(99, ''pay-1'')', 'P0002', 'hold 99'),
    ('hold_resolve(99, ''confirmed'')', 'P0002', 'hold 99'),
    ('hold_confirm_all(ARRAY[11, 99, 21])', 'P0002', 'hold 99 .* position 2'),
    ('hold_cancel_all(ARRAY[11, 21, 98, 99])', 'P0002', 'hold 98 .* position 3'),
    ('hold_extend_all(ARRAY[99, 11, 21])', 'P0002', 'hold 99 .* position 1'),
    ('inventory_adjust(3, 1)', '23503', 'item 3'),
    -- what the hold or the item does not allow
    ('hold_confirm(11, 2)', 'RV005', 'hold 11'),
    ('hold_confirm(11, NULL, ''bob'')', 'P0002', 'hold 11'),
    ('inventory_adjust(1, -11)', '23514', 'item 1'),
    ('inventory_adjust(1, -2147483648)', '23514', 'item 1');

-- Unknown in the try forms, and of hold_get, is NULL.
CREATE TABLE unknown (call text);
INSERT INTO unknown VALUES
    ('hold_try_confirm(99)'), ('hold_try_confirm(-9223372036854775808)'), ('hold_try_confirm(99, 1, ''ann'')'),
    ('(hold_get(99)).hold_id'), ('(hold_get(11, ''bob'')).hold_id'), ('NULLIF(hold_get(99) IS NULL, true)');

CREATE FUNCTION refused(call text, named text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    rows_before text := all_rows();
    o outcome := attempt('SELECT ' || call);
BEGIN
    RETURN concat_ws(', ', o.sqlstate,
        CASE WHEN o.message !~ ('\m' || named || '\M') THEN 'does not name it: ' || o.message END,
        CASE WHEN NOT well_worded(o) THEN format('badly worded: %s', o) END,
        CASE WHEN all_rows() <> rows_before THEN 'something was written' END);
END
$body$;

SELECT plan(67);

SELECT is(refused(call, named), sqlstate, call) FROM bad_calls ORDER BY number;
SELECT is((attempt('SELECT ' || call)).answer, NULL, call) FROM unknown;

-- The fields of an error that a table stands behind.
SELECT is(((a).schema_name, (a).table_name, (a).constraint_name)::text, expected, call)
FROM (VALUES
    ('inventory_adjust(1, -11)', '(public,inventory,inventory_available_check)'),
    ('hold_acquire(stock_claim(1, 11))', '(public,inventory,inventory_available_check)'),
    ('hold_acquire(room_claim(1, ''[2030-01-01, 2030-01-02)''))', '(public,slot_hold,slot_hold_no_overlap)'),
    ('hold_acquire(room_claim(2, ''[2030-01-01, 2030-01-02)''))', '(public,room,"")'),
    ('hold_acquire(stock_claim(3, 1))', '(public,inventory,"")'),
    ('inventory_adjust(3, 1)', '(public,inventory,"")')
) AS v (call, expected), attempt('SELECT ' || call) AS a;

SELECT finish();
