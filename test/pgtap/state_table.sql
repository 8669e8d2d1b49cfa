-- What each call does in each state: every cell of the table, for rooms and for items.
\set ON_ERROR_STOP 1
SET reservation.expiry_grace = '1h';
SET reservation.log_events = 'all';
\i test/pgtap/include/attempt.sql
\i test/pgtap/include/situations.sql

-- What a call on a hold in a situation did, in the words of the table below; "=" says that nothing was written.
CREATE FUNCTION cell(kind text, situation text, command text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    id bigint := make_hold(kind, situation);
    before hold;
    after hold;
    o outcome;
    rows_before text := all_rows();
    last_event bigint := (SELECT coalesce(max(event_id), 0) FROM hold_event);
    began timestamptz := clock_timestamp();
    ended timestamptz;
    units_back integer;
    expected_event text;
    events text;
BEGIN
    SELECT * INTO before FROM hold WHERE hold_id = id;
    o := attempt(call_of(command, id));
    ended := clock_timestamp();
    SELECT * INTO after FROM hold WHERE hold_id = id;

    IF o.sqlstate <> '00000' AND NOT well_worded(o) THEN
        RETURN format('badly worded: %s', o);
    ELSIF all_rows() = rows_before THEN
        RETURN CASE
            WHEN o.sqlstate <> '00000' THEN
                o.sqlstate || CASE WHEN o.sqlstate = 'RV001' AND o.hint ~ 'review' THEN ', review' ELSE '' END
            WHEN o.answer IS NULL THEN 'NULL'
            WHEN o.answer = before.version::text THEN '= version'
            ELSE '= ' || o.answer
        END;
    ELSIF o.sqlstate <> '00000' THEN
        RETURN o.sqlstate || ', but something was written';
    END IF;

    IF after.version <> before.version + 1 THEN
        RETURN format('version %s became %s', before.version, after.version);
    ELSIF after.changed_at NOT BETWEEN began AND ended THEN
        RETURN format('changed at %s', after.changed_at);
    ELSIF (after.resource_id, after.during, after.quantity, after.created_at)
            IS DISTINCT FROM (before.resource_id, before.during, before.quantity, before.created_at) THEN
        RETURN 'another identity';
    ELSIF after.expires_at <> before.expires_at AND command <> 'extend' THEN
        RETURN 'another deadline';
    END IF;

    units_back := CASE WHEN after.state IN ('cancelled', 'expired') THEN 3 ELSE 0 END;
    IF kind = 'item' AND (SELECT available FROM inventory WHERE item_id = before.resource_id) <> 5 + units_back THEN
        RETURN 'wrong counter';
    ELSIF EXISTS (SELECT FROM wrong_counters()) THEN
        RETURN 'some counter does not agree with its holds';
    END IF;

    expected_event := CASE
        WHEN after.state = 'expired' THEN 'released'
        WHEN after.state = 'pending_review' THEN 'pending_review'
        WHEN command LIKE 'resolve %' THEN 'resolved'
        WHEN command LIKE 'begin_payment%' THEN 'payment_begun'
        WHEN command LIKE 'fail_payment%' THEN 'payment_failed'
        WHEN command = 'extend' THEN 'extended'
        ELSE after.state END;
    SELECT string_agg(format('%s %s %s at version %s: %s to %s by %s in run %s', e.outcome, e.kind, e.resource_id,
                             e.version_seen, e.state_before, e.state_after, e.who, coalesce(e.run_id::text, 'none')),
                      '; ')
    INTO events FROM hold_event AS e WHERE e.hold_id = id AND e.event_id > last_event;
    IF events IS DISTINCT FROM format('%s %s %s at version %s: %s to %s by %s in run none', expected_event, kind,
                                      before.resource_id, before.version, before.state, after.state, current_user) THEN
        RETURN format('logged as %s', events);
    END IF;

    RETURN CASE
        WHEN after.state <> before.state AND o.answer = after.state THEN o.answer
        WHEN after.state <> before.state THEN format('answered %s, but is %s', o.answer, after.state)
        WHEN command = 'extend' AND o.answer::timestamptz = after.expires_at
             AND after.expires_at BETWEEN began + interval '45 min' AND ended + interval '45 min' THEN 'new deadline'
        WHEN command LIKE 'begin_payment%' AND o.answer = after.version::text
             AND after.payment_reference = CASE WHEN command LIKE '%other' THEN 'pay-2' ELSE 'pay-1' END
             THEN 'version + 1'
        WHEN command LIKE 'fail_payment%' AND o.answer = after.version::text AND after.payment_reference IS NULL
             THEN 'version + 1'
        ELSE format('answered %s, wrote %s', o.answer, after)
    END;
END
$body$;

-- The table: what is in flight has the reference "pay-1", which is what "same" gives.
CREATE TABLE commands AS SELECT names FROM (VALUES (ARRAY[
    'confirm', 'try_confirm', 'cancel', 'extend', 'begin_payment, same', 'begin_payment, other', 'fail_payment, same',
    'fail_payment, other', 'resolve confirmed', 'resolve cancelled'])) AS c (names);
CREATE TABLE state_table (kind text, situation text, cells text[]);
INSERT INTO state_table
SELECT k.kind, v.situation, v.cells
FROM (VALUES
('both', 'live', ARRAY['confirmed', 'confirmed', 'cancelled', 'new deadline',
    'version + 1', 'version + 1', '= version', '= version', 'RV009', 'RV009']),
('both', 'live, in flight', ARRAY['confirmed', 'confirmed', 'RV007', 'new deadline',
    '= version', 'RV007', 'version + 1', 'RV007', 'RV009', 'RV009']),
('both', 'late', ARRAY['RV001', '= held', 'cancelled', 'RV001',
    'RV001', 'RV001', '= version', '= version', 'RV009', 'RV009']),
('both', 'overdue', ARRAY['RV001', 'expired', 'cancelled', 'RV001',
    'RV001', 'RV001', '= version', '= version', 'RV009', 'RV009']),
('both', 'late, in flight', ARRAY['RV001, review', '= held', 'RV007', 'RV001',
    'RV001', 'RV001', 'version + 1', 'RV007', 'RV009', 'RV009']),
('both', 'overdue, in flight', ARRAY['RV001, review', 'pending_review', 'RV007', 'RV001',
    'RV001', 'RV001', 'version + 1', 'RV007', 'RV009', 'RV009']),
('room', 'confirmed', ARRAY['= confirmed', '= confirmed', 'cancelled', 'RV003',
    'RV003', 'RV003', 'RV003', 'RV003', '= confirmed', 'RV003']),
('item', 'confirmed', ARRAY['= confirmed', '= confirmed', 'RV003', 'RV003',
    'RV003', 'RV003', 'RV003', 'RV003', '= confirmed', 'RV003']),
('both', 'pending_review', ARRAY['RV004', '= pending_review', 'RV004', 'RV004',
    'RV004', 'RV004', 'RV004', 'RV004', 'confirmed', 'cancelled']),
('both', 'cancelled', ARRAY['RV002', '= cancelled', '= cancelled', 'RV002',
    'RV002', 'RV002', 'RV002', 'RV002', 'RV002', '= cancelled']),
('both', 'expired', ARRAY['RV001', '= expired', '= expired', 'RV001',
    'RV001', 'RV001', 'RV001', 'RV001', 'RV001', 'RV001']),
('item', 'no such hold', ARRAY['P0002', 'NULL', 'P0002', 'P0002',
    'P0002', 'P0002', 'P0002', 'P0002', 'P0002', 'P0002'])
) AS v (kinds, situation, cells)
JOIN (VALUES ('room'), ('item')) AS k (kind) ON v.kinds IN ('both', k.kind);

SELECT plan(211);

SELECT is((SELECT count(*) FROM state_table), 21::bigint, 'two kinds in ten situations, and no such hold');
SELECT is(cell(t.kind, t.situation, c.command), t.cells[c.place],
          format('%s, %s: %s', t.kind, t.situation, c.command))
FROM state_table AS t, commands, unnest(commands.names) WITH ORDINALITY AS c (command, place)
ORDER BY t.kind DESC, t.situation, c.place;

SELECT finish();
