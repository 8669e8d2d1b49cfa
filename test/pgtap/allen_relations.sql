-- The thirteen relations of two intervals: which claims a hold is in the way of, in each of its states.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql

-- The held period is [10:00, 12:00).
CREATE TABLE relations (relation text, claimed tstzrange, in_the_way boolean);
INSERT INTO relations
SELECT v.relation, tstzrange(d.day + v.lower, d.day + v.upper), v.in_the_way
FROM (VALUES (timestamptz '2030-06-01 00:00+00')) AS d (day), (VALUES
    ('before', interval '8:00', interval '9:00', false),
    ('meets', '8:00', '10:00', false),
    ('overlaps', '9:00', '11:00', true),
    ('finished by', '9:00', '12:00', true),
    ('contains', '9:00', '13:00', true),
    ('starts', '10:00', '11:00', true),
    ('equals', '10:00', '12:00', true),
    ('started by', '10:00', '13:00', true),
    ('during', '10:30', '11:30', true),
    ('finishes', '11:00', '12:00', true),
    ('overlapped by', '11:00', '13:00', true),
    ('met by', '12:00', '13:00', false),
    ('after', '13:00', '14:00', false),
    -- and the edges, as fine as time is
    ('meets, to the microsecond', '8:00', '9:59:59.999999', false),
    ('overlaps by a microsecond', '8:00', '10:00:00.000001', true),
    ('overlapped by a microsecond', '11:59:59.999999', '13:00', true),
    ('met by, to the microsecond', '12:00:00.000001', '13:00', false)
) AS v (relation, lower, upper, in_the_way);

-- Claims a period of a room of its own whose period 10 to 12 has a hold in that state, by the function of that name.
-- Answers what became of the claim, and the state of the older hold.
CREATE SEQUENCE room_ids START 3001;
CREATE FUNCTION claim_beside(older_state text, deadline interval, function text, claimed tstzrange) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    room bigint := nextval('room_ids');
    older bigint;
    o outcome;
    state_after text;
BEGIN
    INSERT INTO room VALUES (room, 'room ' || room);
    INSERT INTO slot_hold (room_id, during, state, expires_at)
    VALUES (room, '[2030-06-01 10:00+00, 2030-06-01 12:00+00)', older_state, clock_timestamp() + deadline)
    RETURNING hold_id INTO older;
    o := attempt(format('SELECT %I(room_claim(%s, %L))', function, room, claimed));
    state_after := (SELECT state FROM slot_hold WHERE hold_id = older);
    RETURN format('%s, %s',
        CASE
            WHEN o.sqlstate = '23P01' AND o.constraint_name = 'slot_hold_no_overlap' AND o.table_name = 'slot_hold'
                 AND o.schema_name = 'public' AND well_worded(o) THEN 'refused'
            WHEN o.sqlstate <> '00000' THEN format('%s', o)
            WHEN o.answer IS NULL THEN 'refused'
            WHEN EXISTS (SELECT FROM slot_hold AS s
                         WHERE s.hold_id = o.answer::bigint AND s.room_id = room AND s.during = claimed
                           AND s.state = 'held') THEN 'acquired'
            ELSE 'answered ' || o.answer
        END, state_after);
END
$body$;

SELECT plan(17 * 7);

SELECT is(claim_beside(s.state, s.deadline, s.function, r.claimed),
          CASE WHEN r.in_the_way THEN s.overlapping ELSE s.disjoint END,
          format('%s %s hold: %s', r.relation, s.description, s.function))
FROM relations AS r,
(VALUES
    ('a live', 'held', interval '10 min', 'hold_acquire', 'refused, held', 'acquired, held'),
    ('a live', 'held', '10 min', 'hold_try_acquire', 'refused, held', 'acquired, held'),
    ('a confirmed', 'confirmed', '-1 min', 'hold_acquire', 'refused, confirmed', 'acquired, confirmed'),
    ('a reviewed', 'pending_review', '-1 min', 'hold_acquire', 'refused, pending_review',
     'acquired, pending_review'),
    ('a cancelled', 'cancelled', '10 min', 'hold_acquire', 'acquired, cancelled', 'acquired, cancelled'),
    ('an expired', 'expired', '-1 min', 'hold_acquire', 'acquired, expired', 'acquired, expired'),
    -- only what is in the way is released
    ('an overdue', 'held', '-1 min', 'hold_acquire', 'acquired, expired', 'acquired, held')
) AS s (description, state, deadline, function, overlapping, disjoint);

SELECT finish();
