-- Claims that cannot be: the SQLSTATE, the argument by its name and in arrays by its position, and nothing changed.
\set ON_ERROR_STOP 1
SET reservation.log_events = 'all';
\i test/pgtap/include/attempt.sql

INSERT INTO room VALUES (1, 'a');
INSERT INTO inventory VALUES (1, 10), (2, 2147483647);

CREATE TABLE bad_claims (number serial, claim text, sqlstate text, named text);
INSERT INTO bad_claims (claim, sqlstate, named) VALUES
    ('NULL::hold_claim', '22004', 'claim'),
    -- a hand-made claim, wrong kind
    ('(NULL, 1, NULL, 1)::hold_claim', '22004', 'kind'),
    ('(NULL, NULL, NULL, NULL)::hold_claim', '22004', 'kind'),
    ('('''', 1, NULL, 1)::hold_claim', '22023', 'kind'),
    ('(''seat'', 1, NULL, 1)::hold_claim', '22023', 'kind'),
    ('(''Item'', 1, NULL, 1)::hold_claim', '22023', 'kind'),
    ('(''item '', 1, NULL, 1)::hold_claim', '22023', 'kind'),
    ('(''stock'', 1, NULL, 1)::hold_claim', '22023', 'kind'),
    -- both fields, no field, the other kind's field
    ('(''room'', 1, ''[2030-01-01, 2030-01-02)'', 1)::hold_claim', '22023', 'quantity'),
    ('(''item'', 1, ''[2030-01-01, 2030-01-02)'', 1)::hold_claim', '22023', 'during'),
    ('(''room'', 1, NULL, NULL)::hold_claim', '22004', 'during'),
    ('(''item'', 1, NULL, NULL)::hold_claim', '22004', 'quantity'),
    ('(''room'', 1, NULL, 1)::hold_claim', '22004', 'during'),
    ('(''item'', 1, ''[2030-01-01, 2030-01-02)'', NULL)::hold_claim', '22004', 'quantity'),
    -- NULLs, through the constructors
    ('room_claim(NULL, ''[2030-01-01, 2030-01-02)'')', '22004', 'resource_id'),
    ('room_claim(1, NULL)', '22004', 'during'),
    ('stock_claim(NULL, 1)', '22004', 'resource_id'),
    ('stock_claim(1, NULL)', '22004', 'quantity'),
    -- periods
    ('room_claim(1, ''empty'')', '22023', 'during'),
    ('room_claim(1, ''[2030-01-01, 2030-01-01)'')', '22023', 'during'),
    ('room_claim(1, ''(,)'')', '22023', 'during'),
    ('room_claim(1, ''[2030-01-01,)'')', '22023', 'during'),
    ('room_claim(1, ''(,2030-01-02)'')', '22023', 'during'),
    ('room_claim(1, ''[2030-01-01, infinity)'')', '22023', 'during'),
    ('room_claim(1, ''[-infinity, 2030-01-02)'')', '22023', 'during'),
    ('room_claim(1, ''[-infinity, infinity)'')', '22023', 'during'),
    ('room_claim(1, ''[2030-01-01, 2030-01-02]'')', '22023', 'during'),
    ('room_claim(1, ''[2030-01-01, 2030-01-01]'')', '22023', 'during'),
    ('room_claim(1, ''(2030-01-01, 2030-01-02)'')', '22023', 'during'),
    ('room_claim(1, ''(2030-01-01, 2030-01-02]'')', '22023', 'during'),
    -- quantities
    ('stock_claim(1, 0)', '22023', 'quantity'),
    ('stock_claim(1, -1)', '22023', 'quantity'),
    ('stock_claim(1, -2147483648)', '22023', 'quantity');

-- The four functions that take claims: alone, and as the second of three elements.
CREATE TABLE forms (function text, call text, position text);
INSERT INTO forms VALUES
    ('hold_acquire', 'SELECT hold_acquire(%s)', NULL),
    ('hold_try_acquire', 'SELECT hold_try_acquire(%s)', NULL),
    ('hold_acquire_all', 'SELECT hold_acquire_all(ARRAY[stock_claim(1, 1), %s, stock_claim(1, 1)])', '2'),
    ('hold_try_acquire_all', 'SELECT hold_try_acquire_all(ARRAY[stock_claim(1, 1), %s, stock_claim(1, 1)])', '2');

-- The SQLSTATE, and what is missing from the error.
CREATE FUNCTION refused(statement text, named text, element text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    rows_before text := all_rows();
    o outcome := attempt(statement);
BEGIN
    RETURN concat_ws(', ', o.sqlstate,
        CASE WHEN o.message !~ ('\m' || named || '\M') THEN 'does not name it: ' || o.message END,
        CASE WHEN o.message !~ ('position ' || element || '$') THEN 'does not say where: ' || o.message END,
        CASE WHEN NOT well_worded(o) THEN format('badly worded: %s', o) END,
        CASE WHEN all_rows() <> rows_before THEN 'something was written' END);
END
$body$;

SELECT plan(33 * 4 + 6 * 4 + 18);

SELECT is(refused(format(f.call, b.claim), b.named, f.position), b.sqlstate, format('%s: %s', f.function, b.claim))
FROM bad_claims AS b, forms AS f ORDER BY b.number, f.function;

-- What is no bad argument, but not to be had.
CREATE TABLE unknown (claim text, sqlstate text, named text);
INSERT INTO unknown VALUES
    ('room_claim(2, ''[2030-01-01, 2030-01-02)'')', '23503', 'room 2'),
    ('room_claim(0, ''[2030-01-01, 2030-01-02)'')', '23503', 'room 0'),
    ('room_claim(-1, ''[2030-01-01, 2030-01-02)'')', '23503', 'room -1'),
    ('room_claim(9223372036854775807, ''[2030-01-01, 2030-01-02)'')', '23503', 'room 9223372036854775807'),
    ('stock_claim(3, 1)', '23503', 'item 3'),
    ('stock_claim(-9223372036854775808, 1)', '23503', 'item -9223372036854775808');
SELECT is(refused(format(f.call, u.claim), u.named, f.position), u.sqlstate, format('%s: %s', f.function, u.claim))
FROM unknown AS u, forms AS f ORDER BY u.claim, f.function;
SELECT is(refused('SELECT hold_acquire(stock_claim(1, 2147483647))', 'item 1'), '23514', 'more than any item has');
SELECT is((attempt('SELECT hold_try_acquire(stock_claim(1, 2147483647))')).answer, NULL, 'NULL for the try form');
SELECT is(refused('SELECT hold_acquire_all(ARRAY[stock_claim(1, 2147483647), stock_claim(1, 2147483647)])', 'item 1'),
          '23514', 'two quantities whose sum is no integer');
SELECT is(refused('SELECT hold_acquire_all(array_fill(stock_claim(2, 2147483647), ARRAY[3]))', 'item 2'),
          '23514', 'not even of an item that has so many');

-- The other arguments, in each of the four.
SELECT is(refused('SELECT hold_acquire_all(NULL)', 'claims'), '22004', 'no array of claims');
SELECT is(refused('SELECT hold_try_acquire_all(NULL)', 'claims'), '22004', 'no array of claims, in the try form');
SELECT is(refused(regexp_replace(format(f.call, 'stock_claim(1, 1)'), '[)]$', ', ''-1 s'')'), 'ttl'), '22023',
          f.function || ': a negative time to live')
FROM forms AS f;
SELECT is(refused(format('SELECT %s(stock_claim(1, 1), NULL, NULL, %L)', f.function, k.key), 'idempotency_key'),
          '22023', format('%s: a key of %s bytes', f.function, octet_length(k.key)))
FROM forms AS f, (VALUES (''), (repeat('k', 256)), (repeat('ä', 128))) AS k (key) WHERE f.position IS NULL;

-- And the largest quantity can be had where there is as much.
SELECT is((attempt('SELECT hold_cancel(hold_acquire(stock_claim(2, 2147483647)))')).answer, 'cancelled',
          'the largest quantity');
SELECT is((SELECT available FROM inventory WHERE item_id = 2), 2147483647, 'goes and comes back');

SELECT finish();
