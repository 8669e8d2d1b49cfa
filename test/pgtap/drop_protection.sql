-- Whatever statement would remove the extension is refused while something is held, under review, or booked for a
-- period that is not over.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
\i test/pgtap/include/attempt.sql

-- An installation of its own: in a schema of its own, by a superuser who owns nothing else.
DROP EXTENSION reservation;
DROP ROLE IF EXISTS reservation_installer;
CREATE ROLE reservation_installer SUPERUSER;
SET ROLE reservation_installer;
CREATE SCHEMA home;
CREATE EXTENSION reservation SCHEMA home;
RESET ROLE;
SET search_path = public, home;

INSERT INTO room VALUES (1, 'a');
INSERT INTO inventory (item_id, available, capacity) VALUES (1, 5, 6);

-- What there may be, and whether it keeps the extension.
CREATE TABLE scenes (number serial, what text, state text, period tstzrange, deadline timestamptz, keeps boolean);
INSERT INTO scenes (what, state, period, deadline, keeps) VALUES
    ('a held room', 'held', '[2100-01-01, 2100-01-02)', 'infinity', true),
    ('an overdue room', 'held', '[2000-01-01, 2000-01-02)', '2000-01-01', true),
    ('a room under review', 'pending_review', '[2000-01-01, 2000-01-02)', '2000-01-01', true),
    ('a booked room', 'confirmed', '[2100-01-01, 2100-01-02)', '2000-01-01', true),
    ('a booked room at this moment', 'confirmed', '[2000-01-01, 2100-01-02)', '2000-01-01', true),
    ('a booked room whose period is over', 'confirmed', '[2000-01-01, 2000-01-02)', '2000-01-01', false),
    ('an expired room', 'expired', '[2100-01-01, 2100-01-02)', '2000-01-01', false),
    ('a held item', 'held', NULL, 'infinity', true),
    ('an overdue item', 'held', NULL, '2000-01-01', true),
    ('an item under review', 'pending_review', NULL, '2000-01-01', true),
    ('a sold item', 'confirmed', NULL, '2000-01-01', false),
    ('a cancelled item', 'cancelled', NULL, 'infinity', false);

CREATE TABLE drops (number serial, statement text);
INSERT INTO drops (statement) VALUES
    ('DROP EXTENSION reservation'),
    ('DROP EXTENSION reservation CASCADE'),
    ('DROP EXTENSION IF EXISTS "reservation" RESTRICT'),
    ('DROP EXTENSION btree_gist CASCADE'),
    ('DROP EXTENSION btree_gist, reservation'),
    ('DROP SCHEMA home CASCADE'),
    ('DROP SCHEMA IF EXISTS nowhere, home CASCADE'),
    ('DROP OWNED BY reservation_installer CASCADE'),
    ('DO $do$ BEGIN EXECUTE ''DROP EXT'' || ''ENSION reservation''; END $do$');

-- Sets the scene, tries the statement, and leaves everything as it was.
CREATE FUNCTION dropped(scene scenes, statement text, allow boolean DEFAULT false) RETURNS text
LANGUAGE plpgsql AS $body$
DECLARE
    o outcome;
    here boolean;
    answer text;
BEGIN
    IF scene.period IS NULL THEN
        INSERT INTO stock_hold VALUES (1, 1, 1, scene.state, scene.deadline);
    ELSE
        INSERT INTO slot_hold VALUES (1, 1, scene.period, scene.state, scene.deadline);
    END IF;
    IF allow THEN
        SET LOCAL reservation.allow_drop = on;
    END IF;
    o := attempt(statement);
    here := EXISTS (SELECT FROM pg_extension WHERE extname = 'reservation');
    answer := CASE
        WHEN o.sqlstate = '00000' AND NOT here THEN 'gone'
        WHEN o.sqlstate = '2BP01' AND here AND well_worded(o) AND o.hint ~ 'reservation.allow_drop' THEN 'refused'
        ELSE format('%s, %s', o, here) END;
    RAISE EXCEPTION USING ERRCODE = 'ZZZZZ', MESSAGE = answer;
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
    RETURN SQLERRM;
END
$body$;

SELECT plan(12 * 9 + 2 * 9 + 11);

SELECT is(dropped(s, d.statement), CASE WHEN s.keeps THEN 'refused' ELSE 'gone' END,
          format('%s: %s', s.what, d.statement))
FROM drops AS d, scenes AS s ORDER BY d.number, s.number;
SELECT is(dropped(s, d.statement, true), 'gone', format('allowed: %s: %s', s.what, d.statement))
FROM drops AS d, scenes AS s WHERE s.what IN ('a held room', 'an item under review') ORDER BY d.number, s.number;

-- The members cannot go one by one, as of any extension.
SELECT is(sqlstate_of(statement), '2BP01', statement)
FROM (VALUES ('DROP TABLE slot_hold CASCADE'), ('DROP FUNCTION hold_reap CASCADE'), ('DROP TYPE hold_claim CASCADE'),
             ('DROP SEQUENCE hold_id_seq CASCADE'), ('DROP VIEW hold'), ('DROP EVENT TRIGGER reservation_drop_guard'))
     AS v (statement);

-- Other things may be dropped with holds there, also if they are named alike.
INSERT INTO slot_hold VALUES (1, 1, '[2100-01-01, 2100-01-02)', 'held', 'infinity');
CREATE SCHEMA elsewhere;
CREATE TABLE elsewhere.slot_hold AS SELECT * FROM slot_hold;
CREATE TABLE elsewhere.stock_hold AS SELECT hold_id, 1 AS room_id FROM slot_hold;
SELECT is(sqlstate_of('DROP TABLE elsewhere.slot_hold'), '00000', 'a table of another schema');
SELECT is(sqlstate_of('DROP SCHEMA elsewhere CASCADE'), '00000', 'another schema');

-- What was refused has left everything in its place, and what was allowed can be made again.
SELECT is(hold_confirm(1), 'confirmed', 'the hold is still there and is confirmed');
SET reservation.allow_drop = on;
DROP EXTENSION reservation;
RESET reservation.allow_drop;
CREATE EXTENSION reservation SCHEMA home;
INSERT INTO inventory VALUES (1, 2);
SELECT is(hold_acquire(stock_claim(1, 1)), 4294967296, 'a new installation in the same session starts anew');
SELECT is(sqlstate_of('DROP EXTENSION reservation'), '2BP01', 'and is protected like the old one');

SET reservation.allow_drop = on;
DROP EXTENSION reservation;
DROP OWNED BY reservation_installer CASCADE;
DROP ROLE reservation_installer;
SELECT finish();
