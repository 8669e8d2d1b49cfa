-- Triggers that users put on our tables: they call us from inside of our own statements. TRIGGER is granted to nobody, so whoever may do this can do anything; but a mistake must be told.
\set ON_ERROR_STOP 1
\i test/pgtap/include/attempt.sql
SELECT plan(2);

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

SELECT finish();
