-- Whatever ends a hold, and whatever comes after, its capacity goes back exactly once.
\set ON_ERROR_STOP 1
SET reservation.expiry_grace = '1h';
\i test/pgtap/include/attempt.sql
\i test/pgtap/include/situations.sql

-- What may come next, with the id and the resource of the hold. Some of it is refused: that is a step too.
CREATE TABLE steps (step text, statement text);
INSERT INTO steps VALUES
    ('confirm', 'SELECT hold_confirm(%1$s)'),
    ('try_confirm', 'SELECT hold_try_confirm(%1$s)'),
    ('cancel', 'SELECT hold_cancel(%1$s)'),
    ('cancel_all', 'SELECT hold_cancel_all(ARRAY[%1$s, %1$s]::bigint[])'),
    ('resolve confirmed', 'SELECT hold_resolve(%1$s, ''confirmed'')'),
    ('resolve cancelled', 'SELECT hold_resolve(%1$s, ''cancelled'')'),
    ('begin_payment', 'SELECT hold_begin_payment(%1$s, ''pay-1'')'),
    ('fail_payment', 'SELECT hold_fail_payment(%1$s, ''pay-1'')'),
    ('reap', 'SELECT hold_reap()'),
    -- takes more than is free, so it releases what is overdue
    ('acquire', 'SELECT hold_try_acquire(stock_claim(%2$s, 6))');

-- Three units of nine are held in a situation, and one for somebody else, so that a counter may go wrong in both
-- directions; then come two steps. Each way through gets an item of its own.
CREATE FUNCTION counter_after(situation text, step_names text[]) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    id bigint := make_hold('item', situation);
    item bigint := (SELECT resource_id FROM hold WHERE hold_id = id);
    name text;
    units integer;
    counter inventory;
BEGIN
    PERFORM inventory_adjust(item, 1);
    PERFORM hold_acquire(stock_claim(item, 1), '1 h');
    FOREACH name IN ARRAY step_names LOOP
        PERFORM attempt(format((SELECT statement FROM steps WHERE step = name), id, item));
        SELECT i.* INTO counter FROM inventory AS i WHERE i.item_id = item;
        units := (SELECT coalesce(sum(quantity), 0) FROM stock_hold AS s
                  WHERE s.item_id = item AND s.state IN ('held', 'pending_review', 'confirmed'));
        IF counter.capacity <> 9 OR counter.available <> 9 - units THEN
            RETURN format('%s in %s: %s of %s available, %s held', name, step_names, counter.available,
                          counter.capacity, units);
        END IF;
    END LOOP;
    RETURN NULL;
END
$body$;

SELECT plan(22);

SELECT is(ARRAY(SELECT DISTINCT p FROM steps AS a, steps AS b, counter_after(s.situation, ARRAY[a.step, b.step]) AS p
                WHERE p IS NOT NULL),
          '{}', format('%s: the counter agrees after any two steps', s.situation))
FROM (VALUES ('live'), ('live, in flight'), ('late'), ('late, in flight'), ('overdue'), ('overdue, in flight'),
             ('pending_review'), ('confirmed')) AS s (situation);

-- A period that was given back can be taken, once.
CREATE FUNCTION taken_after(situation text, statement text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    id bigint := make_hold('room', situation);
    claim text := format('SELECT hold_try_acquire(room_claim(%s, ''[2030-01-01 12:00, 2030-01-02 12:00)''))',
                         (SELECT resource_id FROM hold WHERE hold_id = id));
BEGIN
    PERFORM attempt(format(statement, id));
    RETURN CASE WHEN (attempt(claim)).answer IS NULL THEN 'refused' ELSE 'acquired' END
        || CASE WHEN (attempt(claim)).answer IS NULL THEN ', refused' ELSE ', acquired' END;
END
$body$;
SELECT is(taken_after(situation, statement), CASE WHEN gives_back THEN 'acquired, refused' ELSE 'refused, refused' END,
          format('the period of a room that is %s, after %s', situation, statement))
FROM (VALUES
    ('live', 'SELECT 1', false),
    ('live', 'SELECT hold_confirm(%s)', false),
    ('live', 'SELECT hold_cancel(%s)', true),
    ('late', 'SELECT 1', false),
    ('late', 'SELECT hold_try_confirm(%s)', false),
    ('late', 'SELECT hold_cancel(%s)', true),
    ('overdue', 'SELECT 1', true),
    ('overdue', 'SELECT hold_try_confirm(%s)', true),
    ('overdue, in flight', 'SELECT hold_try_confirm(%s)', false),
    ('overdue, in flight', 'SELECT 1', false),
    ('pending_review', 'SELECT hold_resolve(%s, ''confirmed'')', false),
    ('pending_review', 'SELECT hold_resolve(%s, ''cancelled'')', true),
    ('confirmed', 'SELECT 1', false),
    ('confirmed', 'SELECT hold_cancel(%s)', true)
) AS v (situation, statement, gives_back);

SELECT finish();
