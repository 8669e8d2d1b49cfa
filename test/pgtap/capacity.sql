-- capacity = available + units of occupying holds: what a raw UPDATE of an item may do, and inventory_adjust. Whatever
-- lowers the capacity under live holds, they can be cancelled, confirmed and reaped afterwards.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql

-- An item with 5 of 17 units available; 12 are held, 3 in each state that occupies it and 3 overdue.
CREATE SEQUENCE item_ids;
CREATE FUNCTION make_item() RETURNS bigint
LANGUAGE plpgsql AS $body$
DECLARE
    item bigint := nextval('item_ids');
BEGIN
    INSERT INTO inventory (item_id, available, capacity) VALUES (item, 5, 17);
    INSERT INTO stock_hold (item_id, quantity, state, expires_at)
    SELECT item, 3, state, clock_timestamp() + offs
    FROM (VALUES ('held', interval '10 min'), ('held', '-1 min'), ('confirmed', '-1 min'), ('pending_review', '-1 min'),
                 ('cancelled', '10 min'), ('expired', '-1 min')) AS v (state, offs);
    RETURN item;
END
$body$;

SELECT plan(65);

CREATE TABLE cases (number serial, assignments text, expected text, why text);
INSERT INTO cases (assignments, expected, why) VALUES
    ('capacity = 18', 'RV009', 'more capacity alone'),
    ('capacity = 16', 'RV009', 'less capacity alone'),
    ('capacity = 5', 'RV009', 'the capacity of the available units'),
    ('capacity = 18, available = 7', 'RV009', 'by different amounts'),
    ('capacity = 18, available = 4', 'RV009', 'in opposite directions'),
    ('capacity = 16, available = 5 + 1', 'RV009', 'in opposite directions'),
    ('capacity = 4', '23514', 'less capacity than is available'),
    ('capacity = 0, available = 0', 'RV009', 'less capacity than is held'),
    ('capacity = 11, available = -1', '23514', 'fewer than no units available'),
    ('capacity = -1, available = -1', '23514', 'no capacity at all'),
    ('available = 18', '23514', 'more available than there are'),
    ('available = NULL', '23502', 'no counter, which is no row'),
    ('capacity = capacity + 3, available = available + 3', '8 of 20', 'together'),
    ('capacity = capacity - 5, available = available - 5', '0 of 12', 'together, as far as it goes'),
    ('capacity = 17, available = 5', '5 of 17', 'nothing'),
    -- the counter is the writer's: the pattern's statements move it with a hold
    ('available = available - 2', '3 of 17', 'the counter alone'),
    ('available = 17', '17 of 17', 'the counter alone'),
    ('available = 0', '0 of 17', 'the counter alone');
CREATE FUNCTION updated(assignments text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    item bigint := make_item();
    o outcome := attempt(format('UPDATE inventory SET %s WHERE item_id = %s', assignments, item));
BEGIN
    RETURN CASE
        WHEN o.sqlstate <> '00000' AND NOT well_worded(o) THEN format('badly worded: %s', o)
        WHEN o.sqlstate <> '00000' AND (SELECT (available, capacity) <> (5, 17) FROM inventory WHERE item_id = item)
            THEN 'something was written'
        WHEN o.sqlstate <> '00000' THEN o.sqlstate
        ELSE (SELECT format('%s of %s', available, capacity) FROM inventory WHERE item_id = item) END;
END
$body$;
SELECT is(updated(assignments), expected, format('%s: SET %s', why, assignments)) FROM cases ORDER BY number;

-- A counter that went wrong is put right: any capacity that agrees with the holds is accepted, whatever it was.
-- reaper: off
SELECT make_item() AS item \gset
UPDATE inventory SET available = 2 WHERE item_id = :item;
SELECT is(sqlstate_of(format('UPDATE inventory SET capacity = 15 WHERE item_id = %s', :item)), 'RV009',
          'a counter that is wrong does not make every capacity right');
SELECT is(sqlstate_of(format('UPDATE inventory SET capacity = 14 WHERE item_id = %s', :item)), '00000',
          'the capacity that agrees with the holds');
UPDATE inventory SET available = 9 WHERE item_id = :item;
SELECT is(sqlstate_of(format('UPDATE inventory SET capacity = 30, available = 18 WHERE item_id = %s', :item)), '00000',
          'capacity and counter by different amounts to where they agree');
SELECT make_item() AS item \gset
DELETE FROM stock_hold WHERE item_id = :item AND state = 'confirmed';
SELECT is(sqlstate_of(format('UPDATE inventory SET capacity = 14 WHERE item_id = %s', :item)), '00000',
          'sold units that were deleted leave the capacity');
-- reaper: on

-- inventory_adjust moves both, and logs it whatever is logged.
INSERT INTO inventory VALUES (1001, 5), (1002, 0);
SET reservation.log_events = 'none';
SELECT is(inventory_adjust(1001, 3), 8, 'a delivery');
SELECT is(inventory_adjust(1001, -2, 'broken'), 6, 'a loss');
SELECT is((SELECT (available, capacity)::text FROM inventory WHERE item_id = 1001), '(6,6)', 'both moved');
SELECT is(sqlstate_of('SELECT inventory_adjust(1001, -7)'), '23514', 'more than is available');
SELECT is((attempt('SELECT inventory_adjust(1001, -7)')).constraint_name, 'inventory_available_check', 'by its name');
SELECT is(inventory_adjust(1001, -6), 0, 'all of it');
SELECT is(sqlstate_of('SELECT inventory_adjust(1001, -1)'), '23514', 'nothing is left');
SELECT is(inventory_adjust(1002, 2147483647), 2147483647, 'the largest capacity');
SELECT results_eq(
    $$SELECT outcome, kind, resource_id, hold_id, units, run_id, note FROM hold_event
      WHERE outcome = 'adjusted' ORDER BY event_id$$,
    $$SELECT 'adjusted', 'item', i, NULL::bigint, u, NULL::bigint, n
      FROM (VALUES (1001::bigint, 3, NULL), (1001, -2, 'broken'), (1001, -6, NULL), (1002, 2147483647, NULL))
        AS v (i, u, n)$$, 'what was adjusted is logged, and what was refused is not');
RESET reservation.log_events;

-- Lowering the capacity under live holds, each way, and then whatever comes to the holds.
CREATE FUNCTION lowered(statement text, calls text[]) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    item bigint := make_item();
    live bigint := (SELECT hold_id FROM stock_hold WHERE item_id = item AND state = 'held' AND expires_at > now());
    overdue bigint := (SELECT hold_id FROM stock_hold WHERE item_id = item AND state = 'held' AND expires_at <= now());
    reviewed bigint := (SELECT hold_id FROM stock_hold WHERE item_id = item AND state = 'pending_review');
    call text;
    o outcome;
BEGIN
    EXECUTE format(statement, item);
    IF (SELECT (available, capacity) <> (0, 12) FROM inventory WHERE item_id = item) THEN
        RETURN 'not lowered';
    END IF;
    FOREACH call IN ARRAY calls LOOP
        o := attempt(replace(replace(replace(replace(call, ':live', live::text), ':overdue', overdue::text),
                                     ':reviewed', reviewed::text), ':item', item::text));
        IF o.sqlstate <> '00000' THEN
            RETURN format('%s: %s', call, o);
        END IF;
    END LOOP;
    RETURN CASE WHEN EXISTS (SELECT FROM wrong_counters()) THEN 'wrong counter, ' ELSE '' END
        || (SELECT format('%s of %s', available, capacity) FROM inventory WHERE item_id = item);
END
$body$;
-- The statements below are about counters that agree.
DELETE FROM inventory AS i WHERE NOT EXISTS (SELECT FROM stock_hold AS s WHERE s.item_id = i.item_id);
UPDATE inventory AS i SET available = u.units, capacity = 2 * u.units
FROM (SELECT item_id, sum(quantity) AS units FROM stock_hold WHERE state IN ('held', 'confirmed', 'pending_review')
      GROUP BY item_id) AS u WHERE u.item_id = i.item_id;
SELECT is((SELECT count(*) FROM wrong_counters()), 0::bigint, 'every counter agrees with its holds');

CREATE TABLE after_lowering (what text, calls text[], expected text);
INSERT INTO after_lowering VALUES
    ('cancel', ARRAY['SELECT hold_cancel(:live)'], '3 of 12'),
    ('confirm', ARRAY['SELECT hold_confirm(:live)'], '0 of 12'),
    ('cancel what is overdue', ARRAY['SELECT hold_cancel(:overdue)'], '3 of 12'),
    ('try to confirm what is overdue', ARRAY['SELECT hold_try_confirm(:overdue)'], '3 of 12'),
    ('reap', ARRAY['SELECT hold_reap()'], '3 of 12'),
    ('extend, reap and cancel',
     ARRAY['SELECT hold_extend(:live, ''1h'')', 'SELECT hold_reap()', 'SELECT hold_cancel(:live)'], '6 of 12'),
    ('resolve as cancelled', ARRAY['SELECT hold_resolve(:reviewed, ''cancelled'')'], '3 of 12'),
    ('resolve as confirmed', ARRAY['SELECT hold_resolve(:reviewed, ''confirmed'')'], '0 of 12'),
    ('acquire what is overdue', ARRAY['SELECT hold_acquire(stock_claim(:item, 2))'], '1 of 12'),
    ('cancel by the pattern''s statement',
     ARRAY['WITH released AS (
                UPDATE stock_hold SET state = ''cancelled''
                WHERE item_id = :item AND hold_id = :live AND state = ''held'' RETURNING item_id, quantity)
            UPDATE inventory AS i SET available = i.available + r.quantity
            FROM released AS r WHERE i.item_id = r.item_id RETURNING i.available'], '3 of 12'),
    ('cancel, reap, lower once more and resolve',
     ARRAY['SELECT hold_cancel(:live)', 'SELECT hold_reap()', 'SELECT inventory_adjust(:item, -6)',
           'SELECT hold_resolve(:reviewed, ''cancelled'')'], '3 of 6');
SELECT is(lowered(s.statement, a.calls), a.expected, format('%s, then %s', s.name, a.what))
FROM after_lowering AS a,
(VALUES
    ('inventory_adjust', 'SELECT inventory_adjust(%s, -5)'),
    ('UPDATE by amounts', 'UPDATE inventory SET available = available - 5, capacity = capacity - 5 WHERE item_id = %s'),
    ('UPDATE by values', 'UPDATE inventory SET available = 0, capacity = 12 WHERE item_id = %s')
) AS s (name, statement);

SELECT finish();
