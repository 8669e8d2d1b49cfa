-- The tables, the view and the type as they are promised: columns in order, types, NOT NULL, keys; what belongs to the
-- extension, what a dump takes along, who may touch it, what says what it is.
\set ON_ERROR_STOP 1

-- Every object of the extension, without the types that come with tables and arrays: since 17 those are members too.
CREATE VIEW members AS
    SELECT d.classid, d.objid, pg_describe_object(d.classid, d.objid, 0) AS object, c.relkind, c.relname::text
    FROM pg_extension AS e
    JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
    LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
    LEFT JOIN pg_type AS t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
    LEFT JOIN pg_class AS r ON r.oid = t.typrelid
    WHERE e.extname = 'reservation' AND (t.oid IS NULL OR r.relkind = 'c' OR (r.oid IS NULL AND t.typcategory <> 'A'));

SELECT plan(31);

SELECT is(
    ARRAY(SELECT format('%s %s', relkind, relname) COLLATE "C" FROM members WHERE relname IS NOT NULL ORDER BY 1),
    '{S hold_event_id_seq,S hold_id_seq,S hold_run_id_seq,r hold_event,r hold_request,r hold_run,r inventory,r room,'
    'r slot_hold,r stock_hold,v hold}',
    'seven tables, their sequences and a view belong to the extension');
SELECT is(ARRAY(SELECT t.typname::text FROM members AS m JOIN pg_type AS t ON t.oid = m.objid
                WHERE m.classid = 'pg_type'::regclass AND t.typname = 'hold_claim'), '{hold_claim}',
          'the type belongs to the extension');
SELECT is((SELECT count(*) FROM members AS m JOIN pg_event_trigger AS t ON t.oid = m.objid
           WHERE m.classid = 'pg_event_trigger'::regclass AND t.evtevent = 'ddl_command_start' AND t.evtenabled <> 'D'),
          1::bigint, 'the event trigger belongs to the extension and is enabled');

-- Columns in order, with their types; what must not be NULL ends with an exclamation mark.
CREATE FUNCTION columns_of(relation regclass) RETURNS text
LANGUAGE sql AS $body$
    SELECT string_agg(format('%s %s%s', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN '!' END),
                      ', ' ORDER BY attnum)
    FROM pg_attribute WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped
$body$;
SELECT is(columns_of('room'), 'room_id bigint!, name text!', 'columns of room');
SELECT is(columns_of('slot_hold'),
          'hold_id bigint!, room_id bigint!, during tstzrange!, state text!, expires_at timestamp with time zone!, '
          'version integer!, holder text, payment_reference text, created_at timestamp with time zone!, '
          'changed_at timestamp with time zone!', 'columns of slot_hold');
SELECT is(columns_of('inventory'), 'item_id bigint!, available integer!, capacity integer!', 'columns of inventory');
SELECT is(columns_of('stock_hold'),
          'hold_id bigint!, item_id bigint!, quantity integer!, state text!, expires_at timestamp with time zone!, '
          'version integer!, holder text, payment_reference text, created_at timestamp with time zone!, '
          'changed_at timestamp with time zone!', 'columns of stock_hold');
SELECT matches(columns_of('hold_request'),
               '^idempotency_key text!, .*hold_ids bigint[[][]]!, created_at timestamp with time zone!$',
               'columns of hold_request');
SELECT is(columns_of('hold_event'),
          'event_id bigint!, hold_id bigint, kind text!, resource_id bigint!, outcome text!, version_seen integer, '
          'state_before text, state_after text, units integer, at timestamp with time zone!, who text!, run_id bigint, '
          'note text', 'columns of hold_event');
SELECT is(columns_of('hold_run'),
          'run_id bigint!, started_at timestamp with time zone!, finished_at timestamp with time zone!, '
          'examined integer!, released integer!, skipped integer!, pending_review integer!, failed integer!, '
          'busy integer!, halted boolean!, reason text, who text!', 'columns of hold_run');
SELECT is(columns_of('hold'),
          'hold_id bigint, kind text, resource_id bigint, during tstzrange, quantity integer, state text, '
          'version integer, expires_at timestamp with time zone, holder text, payment_reference text, '
          'created_at timestamp with time zone, changed_at timestamp with time zone', 'columns of the view hold');
SELECT is(columns_of((SELECT typrelid FROM pg_type WHERE oid = 'hold_claim'::regtype)),
          'kind text, resource_id bigint, during tstzrange, quantity integer', 'fields of hold_claim');

SELECT col_is_pk('public', 'room', 'room_id', 'key of room');
SELECT col_is_pk('public', 'slot_hold', 'hold_id', 'key of slot_hold');
SELECT col_is_pk('public', 'inventory', 'item_id', 'key of inventory');
SELECT col_is_pk('public', 'stock_hold', 'hold_id', 'key of stock_hold');
SELECT col_is_pk('public', 'hold_request', 'idempotency_key', 'key of hold_request');
SELECT fk_ok('public', 'slot_hold', 'room_id', 'public', 'room', 'room_id', 'a slot is of a room');
SELECT fk_ok('public', 'stock_hold', 'item_id', 'public', 'inventory', 'item_id', 'stock is of an item');

SELECT is(
    (SELECT format('%s %s %s %s', contype, am.amname, convalidated, condeferrable)
     FROM pg_constraint JOIN pg_class AS i ON i.oid = conindid JOIN pg_am AS am ON am.oid = i.relam
     WHERE conname = 'slot_hold_no_overlap'),
    'x gist t f', 'slot_hold_no_overlap is an exclusion by GiST');
SELECT matches(
    (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'slot_hold_no_overlap'),
    '^EXCLUDE USING gist [(]room_id WITH =, during WITH &&[)] WHERE ', 'of the same room with overlapping periods');

-- Every guard is there and enabled.
SELECT is(
    ARRAY(SELECT format('%s %s %s', tgrelid::regclass, tgtype, tgenabled) FROM pg_trigger
          WHERE NOT tgisinternal AND tgrelid IN (SELECT objid FROM members)
          ORDER BY tgrelid::regclass::text COLLATE "C", tgtype),
    -- 1 for each row, 2 before, 4 insert, 8 delete, 16 update, 32 truncate
    ARRAY[format('inventory %s O', 1 + 2 + 4 + 16),
          format('slot_hold %s O', 1 + 2 + 4 + 8 + 16), format('slot_hold %s O', 2 + 32),
          format('stock_hold %s O', 1 + 2 + 4 + 8 + 16), format('stock_hold %s O', 2 + 32)],
    'guards before each row and before TRUNCATE');

-- A dump takes along every row of every table, and every sequence.
SELECT is((SELECT extrelocatable FROM pg_extension WHERE extname = 'reservation'), false,
          'the extension is not relocatable');
SELECT set_eq(
    $$SELECT unnest(extconfig)::regclass::text AS relation, unnest(extcondition) AS condition
      FROM pg_extension WHERE extname = 'reservation'$$,
    $$SELECT objid::regclass::text, '' FROM members WHERE relkind IN ('r', 'S')$$,
    'every table and sequence is registered for dumps, without a condition');
SELECT is((SELECT (superuser, trusted)::text FROM pg_available_extension_versions AS v
           JOIN pg_extension AS e ON (e.extname, e.extversion) = (v.name, v.version) WHERE e.extname = 'reservation'),
          '(t,f)', 'only a superuser installs it');
SELECT is((SELECT requires::text FROM pg_available_extension_versions AS v
           JOIN pg_extension AS e ON (e.extname, e.extversion) = (v.name, v.version) WHERE e.extname = 'reservation'),
          '{btree_gist}', 'it requires btree_gist alone');

-- Nobody but the owner touches a table.
SELECT is(ARRAY(SELECT format('%s to %s', object, g.grantee)
                FROM members AS m JOIN pg_class AS c ON c.oid = m.objid AND m.classid = 'pg_class'::regclass,
                     aclexplode(c.relacl) AS g
                WHERE g.grantee <> c.relowner), '{}', 'no privilege on a table, a view or a sequence is granted');

-- Every object says what it is.
SELECT is(ARRAY(SELECT object FROM members
                WHERE coalesce(obj_description(objid, classid::regclass::name), '') = '' ORDER BY object COLLATE "C"),
          '{}', 'every object has a comment');

-- Deadlines are found by an index: the oldest of all, and the oldest of an item.
INSERT INTO room SELECT n, 'room' FROM generate_series(1, 50) AS n;
INSERT INTO inventory (item_id, available, capacity) SELECT n, 0, 2000000 FROM generate_series(1, 50) AS n;
INSERT INTO slot_hold (room_id, during, state, expires_at)
SELECT 1 + n % 50, tstzrange(d, d + interval '1 h'), (ARRAY['held', 'confirmed', 'expired'])[1 + n % 3], d
FROM generate_series(1, 5000) AS n, LATERAL (SELECT timestamptz '2030-01-01' + n * interval '2 h' AS d) AS t;
INSERT INTO stock_hold (item_id, quantity, state, expires_at)
SELECT 1 + n % 50, 1, (ARRAY['held', 'confirmed', 'expired'])[1 + n % 3], timestamptz '2030-01-01' + n * interval '2 h'
FROM generate_series(1, 5000) AS n;
ANALYZE slot_hold, stock_hold;
CREATE FUNCTION plan_of(query text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    line text;
    lines text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        lines := concat_ws(E'\n', lines, line);
    END LOOP;
    RETURN lines;
END
$body$;
SELECT matches(plan_of(query), '^Limit\n *->  Index (Only )?Scan using', query) FROM (VALUES
    ('SELECT hold_id FROM slot_hold WHERE state = ''held'' ORDER BY expires_at LIMIT 1'),
    ('SELECT hold_id FROM stock_hold WHERE state = ''held'' ORDER BY expires_at LIMIT 1'),
    ('SELECT hold_id FROM stock_hold WHERE item_id = 7 AND state = ''held'' ORDER BY expires_at LIMIT 1')
) AS v (query);

SELECT finish();
