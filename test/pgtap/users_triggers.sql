-- Triggers that users put on our tables: they call us from inside of our own statements, or keep a row from being
-- written. TRIGGER is granted to nobody, so whoever may do this can do anything; but a mistake must be told.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql
SELECT plan(12);

INSERT INTO room SELECT n, 'room ' || n FROM generate_series(1, 40) AS n;
INSERT INTO inventory VALUES (1, 10);

-- Called again while the same statement runs, with its plan invalid by then.
CREATE FUNCTION and_the_next() RETURNS trigger
LANGUAGE plpgsql SET search_path = public AS $body$
BEGIN
    IF NEW.room_id % 2 = 1 THEN
        ANALYZE slot_hold;
        PERFORM hold_acquire(room_claim(NEW.room_id + 1, NEW.during));
    END IF;
    RETURN NULL;
END
$body$;
CREATE TRIGGER and_the_next AFTER INSERT ON slot_hold FOR EACH ROW EXECUTE FUNCTION and_the_next();
SELECT is((SELECT count(hold_acquire(room_claim(2 * n + 1, '[2030-01-01, 2030-01-02)'))) FROM generate_series(0, 19) AS n),
          20::bigint, 'acquire within acquire, its plan thrown away in between');
SELECT is((SELECT count(*) FROM slot_hold), 40::bigint, 'each took the next room too');
DROP TRIGGER and_the_next ON slot_hold;

-- A write that is suppressed.
CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';

CREATE TRIGGER suppress BEFORE INSERT ON stock_hold FOR EACH ROW EXECUTE FUNCTION suppress();
SELECT is(sqlstate_of('SELECT hold_acquire(stock_claim(1, 1))'), 'XX000', 'the hold of an item');
SELECT is(sqlstate_of('SELECT hold_try_acquire(stock_claim(1, 1))'), 'XX000', 'also when it may be refused');
DROP TRIGGER suppress ON stock_hold;

CREATE TRIGGER suppress BEFORE INSERT ON slot_hold FOR EACH ROW EXECUTE FUNCTION suppress();
SELECT is(sqlstate_of($$SELECT hold_acquire(room_claim(1, '[2031-01-01, 2031-01-02)'))$$), '23P01', 'that of a room');
DROP TRIGGER suppress ON slot_hold;

CREATE TRIGGER suppress BEFORE INSERT ON hold_request FOR EACH ROW EXECUTE FUNCTION suppress();
SELECT is(sqlstate_of($$SELECT hold_acquire(stock_claim(1, 1), NULL, NULL, 'key')$$), 'XX000', 'a key');
DROP TRIGGER suppress ON hold_request;

SELECT hold_acquire(stock_claim(1, 1), '1 h') AS item_hold \gset
CREATE TRIGGER suppress BEFORE UPDATE ON stock_hold FOR EACH ROW EXECUTE FUNCTION suppress();
SELECT is(sqlstate_of(format('SELECT hold_confirm(%s)', :item_hold)), 'XX000', 'a confirmation');
DROP TRIGGER suppress ON stock_hold;

CREATE TRIGGER suppress BEFORE UPDATE ON inventory FOR EACH ROW EXECUTE FUNCTION suppress();
SELECT is(sqlstate_of(format('SELECT hold_cancel(%s)', :item_hold)), 'XX000', 'units that come back');
SELECT is(sqlstate_of('SELECT inventory_adjust(1, 1)'), 'XX000', 'an adjustment');
SELECT is(sqlstate_of('SELECT hold_acquire(stock_claim(1, 1))'), '23514', 'units that are taken');
DROP TRIGGER suppress ON inventory;

SELECT is_empty('SELECT * FROM wrong_counters()', 'nothing of it was done by halves');
SELECT is((SELECT count(*) FROM stock_hold WHERE state = 'held'), 1::bigint, 'the hold stands');

SELECT finish();
