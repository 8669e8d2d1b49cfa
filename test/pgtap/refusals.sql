-- What a refused acquire tells: one's own hold by its number, and nothing of anybody else's.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql

INSERT INTO room VALUES (1, 'a');
INSERT INTO inventory VALUES (1, 10);
CREATE TABLE ids AS SELECT * FROM (VALUES
    ('ann', hold_acquire(room_claim(1, '[2030-01-01, 2030-01-02)'), NULL, 'ann', 'key of ann')),
    ('bob', hold_acquire(room_claim(1, '[2030-01-02, 2030-01-03)'), NULL, 'bob')),
    ('nobody', hold_acquire(room_claim(1, '[2030-01-03, 2030-01-04)'))),
    ('', hold_acquire(room_claim(1, '[2030-01-04, 2030-01-05)'), NULL, ''))
) AS v (holder, id);

-- The names that an error says, whose hold it tells, and what it advises.
CREATE FUNCTION told(period text, holder text, function text DEFAULT 'hold_acquire(%s, NULL, %L)') RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    o outcome := attempt('SELECT ' || format(function, format('room_claim(1, %L)', period), holder));
    words text := concat_ws(' ', o.message, o.detail, o.hint);
BEGIN
    RETURN CASE
        WHEN o.sqlstate <> '23P01' OR NOT well_worded(o) THEN format('%s', o)
        WHEN words ~* 'ann|bob|key of' THEN format('a name: %s', words)
        ELSE concat_ws(', ',
            (SELECT string_agg('hold of ' || i.holder, ', ' ORDER BY i.id) FROM ids AS i
             WHERE words ~ ('\m' || i.id || '\M')),
            CASE WHEN o.hint ~ 'hold_extend' THEN 'extend it' END) END;
END
$body$;

SELECT plan(19);

SELECT is(told(period, holder), expected, format('%s asked by %s', period, quote_nullable(holder)))
FROM (VALUES
    ('[2030-01-01, 2030-01-02)', 'ann', 'hold of ann, extend it'),
    ('[2030-01-01 12:00, 2030-01-01 13:00)', 'ann', 'hold of ann, extend it'),
    ('[2030-01-01, 2030-01-03)', 'ann', 'hold of ann, extend it'),
    ('[2030-01-01, 2030-01-03)', 'bob', 'hold of bob, extend it'),
    ('[2030-01-01, 2030-01-05)', 'bob', 'hold of bob, extend it'),
    ('[2030-01-01, 2030-01-02)', 'bob', ''),
    ('[2030-01-01, 2030-01-02)', 'Ann', ''),
    ('[2030-01-01, 2030-01-02)', NULL, ''),
    ('[2030-01-01, 2030-01-05)', 'carl', ''),
    -- no holder is not the same as no holder
    ('[2030-01-03, 2030-01-04)', NULL, ''),
    ('[2030-01-03, 2030-01-04)', '', ''),
    ('[2030-01-04, 2030-01-05)', '', 'hold of , extend it')
) AS v (period, holder, expected);
SELECT is(told('[2030-01-01, 2030-01-03)', 'ann', 'hold_acquire_all(ARRAY[stock_claim(1, 1), %s], NULL, %L)'),
          'hold of ann, extend it', 'among several claims');
SELECT is(hold_confirm(id), 'confirmed', 'a booking') FROM ids WHERE holder = 'ann';
SELECT is(split_part(told('[2030-01-01, 2030-01-02)', 'ann'), ',', 1), 'hold of ann', 'one''s own booking is told');
SELECT is(told('[2030-01-01, 2030-01-02)', 'bob'), '', 'and nobody else''s');

-- Items have no hold in the way, only too few units.
SELECT is((attempt('SELECT hold_acquire(stock_claim(1, 11), NULL, ''ann'')')).sqlstate, '23514', 'too few units');
SELECT is((attempt('SELECT hold_acquire(stock_claim(1, 11), NULL, ''ann'')')).message,
          'item 1 has too few units available', 'says so');
SELECT unalike((SELECT concat_ws(' ', message, detail, hint) FROM attempt('SELECT hold_acquire(stock_claim(1, 11))')),
               '%ann%', 'and names nobody');

SELECT finish();
