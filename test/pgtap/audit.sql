-- reservation_audit: whatever it looks for is provoked and found, each alone, and nothing is found when all is well.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
SELECT plan(80);

INSERT INTO room SELECT n, 'room ' || n FROM generate_series(1, 3) AS n;
INSERT INTO inventory VALUES (1, 10), (2, 0);

-- "object: problem" of every finding after the statements, which are undone.
CREATE FUNCTION found_after(VARIADIC statements text[]) RETURNS text[]
LANGUAGE plpgsql AS $body$
DECLARE
    statement text;
    found text[];
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        EXECUTE statement;
    END LOOP;
    found := ARRAY(SELECT object || ': ' || problem FROM reservation_audit() ORDER BY 1);
    RAISE EXCEPTION 'undo' USING ERRCODE = 'ZZZZZ';
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
    RETURN found;
END
$body$;

-- All is well -------------------------------------------------------------------------------------------------------

SELECT is_empty('SELECT * FROM reservation_audit()', 'resources without holds');
SET quote_all_identifiers = on;
SELECT is_empty('SELECT * FROM reservation_audit()', 'in a session that has every identifier quoted');
RESET quote_all_identifiers;

-- reaper: off
-- One hold in each situation, of a room and of an item.
INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, payment_reference, changed_at)
SELECT n, 1, tstzrange(d + n * interval '1 hour', d + (n + 1) * interval '1 hour'), state,
       clock_timestamp() + left_over, reference, clock_timestamp() - interval '23 hours'
FROM (SELECT timestamptz '2100-01-01 00:00+00') AS t (d), (VALUES
    (1, 'held', interval '1 hour', NULL), (2, 'held', '1 hour', 'pay'), (3, 'held', '-3 days', NULL),
    (4, 'held', '-3 days', 'pay'), (5, 'pending_review', '-1 day', 'pay'), (6, 'confirmed', '-3 days', NULL),
    (7, 'cancelled', '-3 days', NULL), (8, 'expired', '-3 days', NULL)) AS v (n, state, left_over, reference);
INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, payment_reference, changed_at)
SELECT hold_id + 10, 1, 2, state, expires_at, payment_reference, changed_at FROM slot_hold;
BEGIN;
SET LOCAL session_replication_role = replica;  -- the capacity of an import: available units and those of its holds
UPDATE inventory SET capacity = 22 WHERE item_id = 1;
COMMIT;
SELECT is_empty('SELECT * FROM reservation_audit()', 'a hold in every situation, overdue ones not released');
-- reaper: on
SELECT lives_ok('SELECT hold_reap()', 'a cleanup run');
SELECT lives_ok($$SELECT hold_confirm_all(hold_acquire_all(ARRAY[stock_claim(1, 3),
                room_claim(2, '[2100-01-01, 2100-01-02)'), room_claim(2, '[2100-01-02, 2100-01-03)')]))$$, 'bookings');
SELECT lives_ok('SELECT inventory_adjust(1, 5)', 'an adjustment');
SELECT is_empty('SELECT * FROM reservation_audit()', 'after all of them');

-- Rows --------------------------------------------------------------------------------------------------------------

SELECT is(found_after('CREATE TABLE kid () INHERITS (inventory)', 'INSERT INTO kid VALUES (1, 50, 50)'),
          ARRAY['item 1: counter does not agree with holds', 'table inventory: has a table that inherits from it'], 'a child of inventory');
SELECT is(found_after('UPDATE inventory SET available = available - 1 WHERE item_id = 1'),
          '{item 1: counter does not agree with holds}', 'a counter that was moved without a hold');
SELECT is(found_after('DELETE FROM stock_hold WHERE hold_id = 16'),
          '{item 1: counter does not agree with holds}', 'sold stock that was deleted');
SELECT is(found_after($$UPDATE stock_hold SET state = 'cancelled' WHERE hold_id = 11$$),
          '{item 1: counter does not agree with holds}', 'a cancellation that gave nothing back');
SELECT is(found_after($$INSERT INTO stock_hold (item_id, quantity, state, expires_at)
                        VALUES (2, 1, 'held', '2100-01-01')$$),
          '{item 2: counter does not agree with holds}', 'a hold that took nothing, of an item without units');
SELECT is(found_after('SET LOCAL session_replication_role = replica',
                      'UPDATE inventory SET available = -1, capacity = -1 WHERE item_id = 2',
                      'RESET session_replication_role'),
          '{item 2: counter does not agree with holds}', 'a counter below zero');
BEGIN;
UPDATE inventory SET available = 7 WHERE item_id = 1;
SELECT is((SELECT detail FROM reservation_audit()), 'Available 7, occupied by holds 13, capacity 27.',
          'the detail has the three numbers');
ROLLBACK;

BEGIN;
ALTER TABLE slot_hold DROP CONSTRAINT slot_hold_no_overlap;
INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at)
SELECT n, 3, tstzrange(d + lower * interval '1 hour', d + upper * interval '1 hour'), state, '2100-01-01'
FROM (SELECT timestamptz '2100-01-01 00:00+00') AS t (d), (VALUES
    (31, 0, 10, 'confirmed'), (32, 1, 2, 'held'), (33, 2, 3, 'cancelled'), (34, 4, 5, 'pending_review'),
    (35, 10, 11, 'held'), (36, 10, 11, 'expired')) AS v (n, lower, upper, state);
SET LOCAL timezone = 'UTC';
SELECT results_eq(
    $$SELECT object, detail FROM reservation_audit() WHERE problem = 'holds overlap' ORDER BY detail$$,
    $$VALUES ('room 3', 'Hold 31 for ["2100-01-01 00:00:00+00","2100-01-01 10:00:00+00")'
                     || ' and hold 32 for ["2100-01-01 01:00:00+00","2100-01-01 02:00:00+00").'),
             ('room 3', 'Hold 31 for ["2100-01-01 00:00:00+00","2100-01-01 10:00:00+00")'
                     || ' and hold 34 for ["2100-01-01 04:00:00+00","2100-01-01 05:00:00+00").')$$,
    'each hold that overlaps an earlier one, and only holds that occupy');
ROLLBACK;

SELECT is(found_after($$INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at)
                        VALUES (6, 2, 1, 'cancelled', '2100-01-01')$$),
          '{hold 6: id is in both hold tables}', 'an id in both tables');

SELECT is(found_after($$SELECT setval('hold_id_seq', 4294967296, false)$$),
          '{sequence hold_id_seq: stands behind the ids of holds}', 'a sequence that was set back');
SELECT is(found_after($$SELECT setval('hold_id_seq', max(hold_id) - 1) FROM hold$$),
          '{sequence hold_id_seq: stands behind the ids of holds}', 'the next id is the last one given');
SELECT is(found_after($$SELECT setval('hold_id_seq', max(hold_id)) FROM hold$$), '{}', 'the next id is the next');
SELECT is(found_after($$INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at)
                        VALUES (4398046511103, 2, 1, 'cancelled', '2100-01-01')$$),
          '{sequence hold_id_seq: stands behind the ids of holds}', 'an imported id of this node, ahead');
SELECT is(found_after($$INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at)
                        VALUES (4398046511104 + 4294967299, 2, 1, 'cancelled', '2100-01-01')$$),
          '{}', 'an id of another node says nothing');
SELECT is(found_after($$INSERT INTO hold_event (event_id, kind, resource_id, outcome, at, who)
                        VALUES (100000, 'item', 1, 'adjusted', now(), 'ann')$$),
          '{sequence hold_event_id_seq: stands behind the ids of events}', 'an event ahead of its sequence');
SELECT is(found_after('INSERT INTO hold_run VALUES (100000, now(), now(), 0, 0, 0, 0, 0, 0, false, NULL, ''ann'')'),
          '{sequence hold_run_id_seq: stands behind the ids of cleanup runs}', 'a run ahead of its sequence');

SELECT is(found_after($$INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, changed_at)
                        VALUES (41, 3, '[2100-01-01, 2100-01-02)', 'pending_review', now() - interval '3 days',
                                now() - interval '25 hours')$$),
          '{hold 41: under review for more than a day}', 'a room under review for 25 hours');
SELECT is(found_after($$INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, changed_at)
                        VALUES (42, 2, 1, 'pending_review', now(), now() - interval '25 hours')$$,
                      'INSERT INTO inventory VALUES (42, 0, 1)', 'SET LOCAL session_replication_role = replica',
                      'UPDATE stock_hold SET item_id = 42 WHERE hold_id = 42', 'RESET session_replication_role'),
          '{hold 42: under review for more than a day}', 'an item likewise');

SELECT is(found_after('SET LOCAL session_replication_role = replica',
                      format('UPDATE slot_hold SET state = ''cancelled'', %s WHERE hold_id = 7', change),
                      'RESET session_replication_role'),
          '{hold 7: row that the guard would refuse}', change)
FROM unnest(ARRAY['during = ''empty''', 'during = ''[2100-01-01,)''', 'during = ''(,2100-01-01)''',
                  'during = ''[2100-01-01, infinity)''', 'during = ''[2100-01-01, 2100-01-02]''',
                  'during = ''(2100-01-01, 2100-01-02)''']) AS change;
SELECT is(found_after('SET LOCAL session_replication_role = replica',
                      'UPDATE slot_hold SET state = ''sold'' WHERE hold_id = 7',
                      'UPDATE stock_hold SET quantity = 0 WHERE hold_id = 17', 'RESET session_replication_role'),
          '{hold 17: row that the guard would refuse,hold 7: row that the guard would refuse}', 'state and quantity');

-- What guards them --------------------------------------------------------------------------------------------------

SELECT is(found_after(format('ALTER TABLE %s DROP CONSTRAINT %s_pkey CASCADE', tab, tab)),
          (CASE tab WHEN 'room' THEN '{foreign key slot_hold.room_id: missing or disabled,table room: no unique key}'
                    WHEN 'inventory' THEN
                    '{foreign key stock_hold.item_id: missing or disabled,table inventory: no unique key}'
                    ELSE format('{table %s: no unique key}', tab) END)::text[],
          format('no primary key of %s', tab))
FROM unnest('{room,inventory,slot_hold,stock_hold,hold_request,hold_event,hold_run}'::text[]) AS tab;
SELECT is(found_after('ALTER TABLE stock_hold DROP CONSTRAINT stock_hold_pkey',
                      'CREATE UNIQUE INDEX my_index ON stock_hold (hold_id)'),
          '{}', 'another unique index is as good');
SELECT is(found_after('ALTER TABLE stock_hold DROP CONSTRAINT stock_hold_pkey',
                      'CREATE UNIQUE INDEX my_index ON stock_hold (hold_id) WHERE state = ''held'''),
          '{table stock_hold: no unique key}', 'not a partial one');
SELECT is(found_after('ALTER TABLE slot_hold DROP CONSTRAINT slot_hold_pkey',
                      'ALTER TABLE slot_hold ADD PRIMARY KEY (hold_id, room_id)'),
          '{table slot_hold: no unique key}', 'nor one on more columns');

SELECT is(found_after('ALTER TABLE slot_hold ALTER state DROP NOT NULL'),
          '{column slot_hold.state: may be null}', 'a column that may be null');

SELECT is(found_after('ALTER TABLE stock_hold DROP CONSTRAINT stock_hold_item_id_fkey'),
          '{foreign key stock_hold.item_id: missing or disabled}', 'no foreign key');
SELECT is(found_after('ALTER TABLE stock_hold DROP CONSTRAINT stock_hold_item_id_fkey',
                      'ALTER TABLE stock_hold ADD CONSTRAINT mine FOREIGN KEY (item_id) REFERENCES inventory NOT VALID'),
          '{foreign key stock_hold.item_id: missing or disabled}', 'one that was not validated');
SELECT is(found_after('ALTER TABLE stock_hold DROP CONSTRAINT stock_hold_item_id_fkey',
                      'ALTER TABLE stock_hold ADD CONSTRAINT mine FOREIGN KEY (item_id) REFERENCES inventory'),
          '{}', 'another one is as good');
SELECT is(found_after('ALTER TABLE room DISABLE TRIGGER ALL'),
          '{foreign key slot_hold.room_id: missing or disabled}', 'its triggers on the other table are disabled');
SELECT is(found_after('ALTER TABLE stock_hold DISABLE TRIGGER ALL'),
          '{foreign key stock_hold.item_id: missing or disabled,trigger hold_guard on stock_hold: disabled,'
          'trigger hold_truncate_guard on stock_hold: disabled}', 'all triggers disabled, as some loaders do');

SELECT is(found_after('ALTER TABLE slot_hold DROP CONSTRAINT slot_hold_no_overlap'),
          '{constraint slot_hold_no_overlap: missing}', 'no exclusion constraint');
SELECT is(found_after('ALTER TABLE slot_hold DROP CONSTRAINT slot_hold_no_overlap',
                      'ALTER TABLE slot_hold ADD CONSTRAINT slot_hold_no_overlap ' || definition),
          found::text[], definition)
FROM (VALUES
    ('EXCLUDE USING gist (room_id WITH =, during WITH &&) WHERE (state IN (''held'', ''confirmed''))',
     '{constraint slot_hold_no_overlap: not what it was}'),
    ('EXCLUDE USING gist (room_id WITH =, during WITH =) '
     'WHERE (state = ANY (''{held,pending_review,confirmed}''::text[]))',
     '{constraint slot_hold_no_overlap: not what it was}'),
    ('EXCLUDE USING gist (room_id WITH =, during WITH &&) '
     'WHERE (state = ANY (''{held,pending_review,confirmed}''::text[]))', '{}')) AS v (definition, found);

SELECT is(found_after('ALTER TABLE slot_hold DISABLE TRIGGER zz_hold_guard'),
          '{trigger hold_guard on slot_hold: disabled}', 'a disabled guard');
SELECT is(found_after('ALTER TABLE inventory ENABLE REPLICA TRIGGER zz_inventory_guard'),
          '{trigger inventory_guard on inventory: not what it was}', 'a guard for replicas only');
SELECT is(found_after('ALTER TABLE inventory ENABLE ALWAYS TRIGGER zz_inventory_guard'), '{}',
          'one that fires always is as good');
SELECT is(found_after('DROP TRIGGER zz_hold_truncate_guard ON stock_hold'),
          '{trigger hold_truncate_guard on stock_hold: missing}', 'no guard against TRUNCATE');
SELECT is(found_after('DROP TRIGGER zz_hold_guard ON stock_hold',
                      'CREATE TRIGGER zz_hold_guard BEFORE ' || definition), found::text[], definition)
FROM (VALUES
    ('INSERT OR UPDATE OR DELETE ON stock_hold FOR EACH ROW EXECUTE FUNCTION hold_guard(''room'')',
     '{trigger hold_guard on stock_hold: not what it was}'),
    ('INSERT OR DELETE ON stock_hold FOR EACH ROW EXECUTE FUNCTION hold_guard(''item'')',
     '{trigger hold_guard on stock_hold: not what it was}'),
    ('INSERT OR UPDATE OF state OR DELETE ON stock_hold FOR EACH ROW EXECUTE FUNCTION hold_guard(''item'')',
     '{trigger hold_guard on stock_hold: not what it was}'),
    ('INSERT OR UPDATE ON stock_hold FOR EACH ROW WHEN (NEW.quantity > 1) EXECUTE FUNCTION hold_guard(''item'')',
     '{trigger hold_guard on stock_hold: not what it was}')) AS v (definition, found);
SELECT is(found_after('ALTER TRIGGER zz_hold_guard ON stock_hold RENAME TO zz_my_guard'), '{}',
          'a guard by another name is as good');
SELECT is(found_after('CREATE OR REPLACE FUNCTION inventory_guard() RETURNS trigger LANGUAGE plpgsql AS '
                      '''BEGIN RETURN NEW; END'''),
          '{trigger inventory_guard on inventory: missing}', 'another function by its name is not');

CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
SELECT is(found_after('CREATE TRIGGER zzz BEFORE UPDATE ON inventory FOR EACH ROW EXECUTE FUNCTION nothing()'),
          '{trigger zzz on inventory: fires after the guard}', 'a trigger that fires after the guard');
SELECT is(found_after('CREATE TRIGGER app BEFORE UPDATE ON slot_hold FOR EACH ROW EXECUTE FUNCTION nothing()',
                      'CREATE TRIGGER zzz AFTER UPDATE ON slot_hold FOR EACH ROW EXECUTE FUNCTION nothing()'),
          '{}', 'triggers before it, and AFTER triggers, are welcome');

SELECT is(found_after('ALTER EVENT TRIGGER reservation_drop_guard ' || how),
          '{event trigger reservation_drop_guard: missing or not always enabled}', 'drop protection: ' || how)
FROM unnest(ARRAY['DISABLE', 'ENABLE', 'ENABLE REPLICA']) AS how;

-- Clocks ------------------------------------------------------------------------------------------------------------

SELECT is(found_after(VARIADIC array_prepend('CREATE ROLE audit_a LOGIN', statements)), found::text[], array_to_string(statements, '; '))
FROM (VALUES
    ('{ALTER ROLE audit_a SET reservation.expiry_grace = ''5s''}'::text[], '{role audit_a: has a clock of its own}'),
    ('{ALTER ROLE audit_a SET reservation.time_source = ''app.now''}', '{role audit_a: has a clock of its own}'),
    (ARRAY[format('ALTER ROLE audit_a IN DATABASE %I SET reservation.expiry_grace = ''5s''', current_database())],
     '{role audit_a: has a clock of its own}'),
    ('{ALTER ROLE audit_a IN DATABASE template1 SET reservation.expiry_grace = ''5s''}', '{}'),
    ('{ALTER ROLE audit_a SET reservation.expiry_grace = ''5s'',ALTER ROLE audit_a NOLOGIN}', '{}'),
    ('{ALTER ROLE audit_a SET reservation.default_ttl = ''5s''}', '{}'),
    ('{ALTER ROLE audit_a SET reservation.expiry_grace = 0}', '{}'),
    (ARRAY[format('ALTER DATABASE %I SET reservation.expiry_grace = ''5s''', current_database())], '{}'),
    (ARRAY[format('ALTER DATABASE %I SET reservation.expiry_grace = ''5s''', current_database()),
           'ALTER ROLE audit_a SET reservation.expiry_grace = 0'], '{role audit_a: has a clock of its own}'),
    (ARRAY[format('ALTER DATABASE %I SET reservation.expiry_grace = ''1min''', current_database()),
           'ALTER ROLE ALL SET reservation.expiry_grace = ''2min''',
           'ALTER ROLE audit_a SET reservation.expiry_grace = ''60000ms'''], '{}')) AS v (statements, found);
BEGIN;
CREATE ROLE audit_a LOGIN;
ALTER ROLE audit_a SET reservation.time_source = 'app.now';
SELECT is((SELECT detail FROM reservation_audit()), 'reservation.time_source is ''app.now'' for it and '''' for others.',
          'the detail has both values');
ROLLBACK;

SET reservation.time_source = 'app.now';
SELECT results_eq('SELECT * FROM reservation_audit()',
                  $$VALUES ('setting reservation.time_source', 'the time source fails',
                            'schema "app" does not exist.')$$, 'a time source that fails');
RESET reservation.time_source;

SELECT is_empty('SELECT * FROM reservation_audit()', 'all is well again');
SELECT finish();
