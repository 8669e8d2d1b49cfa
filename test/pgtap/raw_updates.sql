-- What a superuser's UPDATE of a hold may do, and what the guards refuse.
\set ON_ERROR_STOP 1
SET reservation.expiry_grace = '1h';
\i test/pgtap/include/attempt.sql
\i test/pgtap/include/situations.sql

-- Sets columns of a new hold in a situation. "ok" says that the row has the values, the next version and the time;
-- an SQLSTATE says that nothing was written.
CREATE FUNCTION updated(kind text, situation text, assignments text) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    id bigint := make_hold(kind, situation, 'ann');
    tab text := CASE kind WHEN 'room' THEN 'slot_hold' ELSE 'stock_hold' END;
    rows_before text := all_rows();
    before hold;
    after hold;
    o outcome;
    began timestamptz;
BEGIN
    SELECT * INTO before FROM hold WHERE hold_id = id;
    began := clock_timestamp();
    o := attempt(format('UPDATE %I SET %s WHERE hold_id = %s', tab, assignments, id));
    SELECT * INTO after FROM hold WHERE hold_id = id;
    RETURN CASE
        WHEN o.sqlstate <> '00000' AND all_rows() <> rows_before THEN o.sqlstate || ', but something was written'
        WHEN o.sqlstate <> '00000' AND NOT well_worded(o) THEN format('badly worded: %s', o)
        WHEN o.sqlstate <> '00000' THEN o.sqlstate
        WHEN after.version <> before.version + 1 THEN format('version %s became %s', before.version, after.version)
        WHEN after.changed_at NOT BETWEEN began AND clock_timestamp() THEN format('changed at %s', after.changed_at)
        WHEN (after.kind, after.resource_id, after.during, after.quantity, after.created_at)
             IS DISTINCT FROM (before.kind, before.resource_id, before.during, before.quantity, before.created_at)
            THEN 'another identity'
        ELSE 'ok' END;
END
$body$;

SELECT plan(161);

-- Every transition from every situation, by the statement that is written first.
CREATE TABLE transitions (kinds text, situation text, to_held text, to_confirmed text, to_cancelled text,
                          to_expired text, to_pending_review text);
INSERT INTO transitions VALUES
    ('both', 'live',                'ok',    'ok',    'ok',    'RV009', 'RV009'),
    ('both', 'live, in flight',     'ok',    'ok',    'RV009', 'RV009', 'RV009'),
    ('both', 'late',                'ok',    'RV001', 'ok',    'RV009', 'RV009'),
    ('both', 'late, in flight',     'ok',    'RV001', 'RV009', 'RV009', 'RV009'),
    ('both', 'overdue',             'ok',    'RV001', 'ok',    'ok',    'RV009'),
    ('both', 'overdue, in flight',  'ok',    'RV001', 'RV009', 'RV009', 'ok'),
    ('room', 'confirmed',           'RV009', 'ok',    'ok',    'RV009', 'RV009'),
    ('item', 'confirmed',           'RV009', 'ok',    'RV009', 'RV009', 'RV009'),
    ('both', 'pending_review',      'RV009', 'ok',    'ok',    'RV009', 'ok'),
    ('both', 'cancelled',           'RV009', 'RV009', 'RV009', 'RV009', 'RV009'),
    ('both', 'expired',             'RV009', 'RV009', 'RV009', 'RV009', 'RV009');
SELECT is(updated(k.kind, t.situation, format('state = %L', v.state)), v.expected,
          format('%s, %s: to %s', k.kind, t.situation, v.state))
FROM transitions AS t
JOIN (VALUES ('room'), ('item')) AS k (kind) ON t.kinds IN ('both', k.kind)
CROSS JOIN LATERAL (VALUES ('held', t.to_held), ('confirmed', t.to_confirmed), ('cancelled', t.to_cancelled),
                           ('expired', t.to_expired), ('pending_review', t.to_pending_review)) AS v (state, expected);

-- Everything else that a statement may try.
CREATE TABLE cases (number serial, kind text, situation text, assignments text, expected text, why text);
INSERT INTO cases (kind, situation, assignments, expected, why) VALUES
    ('room', 'live', 'state = ''released''', '23514', 'a state that does not exist'),
    ('item', 'live', 'state = ''Held''', '23514', 'a state that does not exist'),
    ('item', 'confirmed', 'state = ''''', '23514', 'a state that does not exist'),
    ('room', 'live', 'state = NULL', '23502', 'no state'),
    ('item', 'live', 'state = NULL', '23502', 'no state'),
    ('room', 'live', 'expires_at = NULL', '23502', 'no deadline'),
    -- version and time are the guard's
    ('room', 'live', 'version = 99', 'ok', 'a version that jumps'),
    ('room', 'live', 'version = 1', 'ok', 'a version that goes back'),
    ('item', 'live', 'version = version', 'ok', 'a version that stays'),
    ('item', 'live', 'version = NULL', 'ok', 'no version'),
    ('room', 'live', 'changed_at = ''2000-01-01''', 'ok', 'a time long ago'),
    ('room', 'live', 'changed_at = ''2100-01-01''', 'ok', 'a time to come'),
    ('item', 'live', 'changed_at = ''infinity''', 'ok', 'a time that never comes'),
    ('item', 'live', 'changed_at = NULL', 'ok', 'no time'),
    ('room', 'live', 'hold_id = hold_id', 'ok', 'nothing'),
    ('room', 'confirmed', 'version = version, changed_at = changed_at', 'ok', 'nothing'),
    ('room', 'cancelled', 'hold_id = hold_id', 'RV009', 'nothing, of a row that never changes'),
    ('item', 'expired', 'changed_at = changed_at', 'RV009', 'nothing, of a row that never changes'),
    -- the time of a statement does not decide in its favour
    ('room', 'overdue', 'state = ''confirmed'', changed_at = expires_at - interval ''1 s''', 'RV001', 'decided before'),
    ('item', 'late', 'state = ''confirmed'', changed_at = expires_at - interval ''1 s''', 'RV001', 'decided before'),
    ('room', 'live', 'state = ''expired'', changed_at = expires_at + interval ''2 h''', 'RV009', 'decided later'),
    ('item', 'late', 'state = ''expired'', changed_at = expires_at + interval ''2 h''', 'RV009', 'decided later'),
    -- deadlines
    ('room', 'live', 'expires_at = expires_at + interval ''1 h''', 'ok', 'a deadline moves forward'),
    ('item', 'live, in flight', 'expires_at = expires_at + interval ''1 us''', 'ok', 'a deadline moves forward'),
    ('room', 'live', 'expires_at = expires_at', 'ok', 'a deadline stays'),
    ('room', 'late', 'expires_at = expires_at', 'ok', 'a deadline stays'),
    ('room', 'live', 'expires_at = expires_at - interval ''1 us''', 'RV009', 'a deadline moves back'),
    ('item', 'live', 'expires_at = ''-infinity''', 'RV009', 'a deadline moves back'),
    ('room', 'late', 'expires_at = clock_timestamp() + interval ''1 h''', 'RV009', 'a deadline that has passed'),
    ('item', 'overdue', 'expires_at = clock_timestamp() + interval ''1 h''', 'RV009', 'a deadline that has passed'),
    ('item', 'overdue, in flight', 'expires_at = ''infinity''', 'RV009', 'a deadline that has passed'),
    ('item', 'late', 'expires_at = expires_at - interval ''1 d''', 'RV009', 'late made overdue'),
    ('room', 'live', 'expires_at = expires_at - interval ''1 d'', state = ''expired''', 'RV009', 'live made expired'),
    -- identity
    ('room', 'live', 'hold_id = -hold_id', 'RV009', 'another id'),
    ('item', 'confirmed', 'hold_id = -hold_id', 'RV009', 'another id'),
    ('room', 'live', 'room_id = 1', 'RV009', 'another room'),
    ('item', 'live', 'item_id = 1', 'RV009', 'another item'),
    ('room', 'pending_review', 'room_id = 1', 'RV009', 'another room'),
    ('room', 'live', 'during = ''[2030-01-01, 2030-01-03)''', 'RV009', 'another period'),
    ('room', 'confirmed', 'during = ''[2030-01-01, 2030-01-01 12:00)''', 'RV009', 'another period'),
    ('room', 'live', 'during = ''[2030-01-01, 2030-01-02)''', 'ok', 'the same period'),
    ('item', 'live', 'quantity = 2', 'RV009', 'another quantity'),
    ('item', 'confirmed', 'quantity = 4', 'RV009', 'another quantity'),
    ('item', 'live', 'quantity = 3', 'ok', 'the same quantity'),
    ('room', 'live', 'created_at = created_at - interval ''1 h''', 'RV009', 'another time of creation'),
    ('item', 'pending_review', 'created_at = clock_timestamp()', 'RV009', 'another time of creation'),
    ('item', 'confirmed', 'state = ''confirmed'', quantity = 1', 'RV009', 'another quantity'),
    -- what a writer may set
    ('room', 'live', 'holder = ''bob''', 'ok', 'another holder'),
    ('item', 'confirmed', 'holder = NULL', 'ok', 'no holder'),
    ('item', 'live', 'payment_reference = ''pay-9''', 'ok', 'a payment'),
    ('room', 'live, in flight', 'payment_reference = NULL', 'ok', 'a payment that failed'),
    ('room', 'cancelled', 'holder = ''bob''', 'RV009', 'another holder of a row that never changes'),
    ('item', 'expired', 'payment_reference = ''pay-9''', 'RV009', 'a payment for a row that never changes');
SELECT is(updated(kind, situation, assignments), expected,
          format('%s, %s: %s: SET %s', kind, situation, why, assignments))
FROM cases ORDER BY number;

-- Other statements that update are updates.
INSERT INTO room VALUES (1, 'a');
INSERT INTO inventory VALUES (1, 5);
INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at)
VALUES (1, 1, '[2030-01-01, 2030-01-02)', 'held', clock_timestamp() + interval '10 min'),
       (2, 1, '[2030-01-02, 2030-01-03)', 'cancelled', clock_timestamp());
CREATE FUNCTION clone(assignment text) RETURNS text
LANGUAGE sql AS $body$
    SELECT format('INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at)
                   SELECT hold_id, room_id, during, state, expires_at FROM slot_hold
                   ON CONFLICT (hold_id) DO UPDATE SET %s', assignment)
$body$;
SELECT is(sqlstate_of(clone('holder = ''ann''')), 'RV009', 'INSERT … ON CONFLICT DO UPDATE of a cancelled row');
SELECT is(sqlstate_of(clone('holder = ''ann'' WHERE slot_hold.hold_id = 1')), '00000', 'and of a live row');
SELECT is(sqlstate_of(clone('state = ''expired'' WHERE slot_hold.hold_id = 1')), 'RV009', 'to a state that is not yet');
SELECT is(sqlstate_of($$MERGE INTO slot_hold AS s USING room AS r ON r.room_id = s.room_id AND s.hold_id = 1
                        WHEN MATCHED THEN UPDATE SET expires_at = expires_at - interval '1 min'$$), 'RV009', 'MERGE');
SELECT is((SELECT (state, version, holder)::text FROM slot_hold WHERE hold_id = 1), '(held,2,ann)',
          'only the one that was allowed is written');

-- Where a trigger of the user's changes the row, the guard judges what will be stored.
CREATE FUNCTION meddle() RETURNS trigger
LANGUAGE plpgsql AS $body$
BEGIN
    NEW.expires_at := OLD.expires_at - interval '5 min';
    RETURN NEW;
END
$body$;
CREATE TRIGGER meddle BEFORE UPDATE ON slot_hold FOR EACH ROW EXECUTE FUNCTION meddle();
SELECT is(sqlstate_of('UPDATE slot_hold SET holder = ''bob'' WHERE hold_id = 1'), 'RV009', 'a trigger of a user');
DROP TRIGGER meddle ON slot_hold;

-- A replica applies what its origin decided.
SET session_replication_role = replica;
SELECT is(sqlstate_of('UPDATE slot_hold SET state = ''held'', version = 7 WHERE hold_id = 2'), '00000',
          'session_replication_role = replica applies any change');
RESET session_replication_role;
SELECT is((SELECT (state, version)::text FROM slot_hold WHERE hold_id = 2), '(held,7)', 'as it is');

SELECT finish();
