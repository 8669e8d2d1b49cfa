"""Confirms at the deadline: to the microsecond, and against those who release the same hold at that moment.

The busy loops run in the server, where a call can be aimed at a deadline to a few microseconds.
"""
import pytest

from conftest import done, in_thread, item, rooms

# Takes holds that live for half a millisecond, aims a confirm at each deadline, and writes down what it was told.
CUSTOMER = """
    DROP TABLE IF EXISTS told;
    CREATE UNLOGGED TABLE told (
        hold_id bigint, function text, answer text, before timestamptz, after timestamptz, deadline timestamptz);
    CREATE OR REPLACE PROCEDURE customer(kind text, resource bigint, function text, tries integer) AS $$
    DECLARE
        t told;
        claim hold_claim;
        aim timestamptz;
    BEGIN
        t.function := function;
        FOR i IN 1..tries LOOP
            claim := CASE kind
                WHEN 'room' THEN room_claim(resource, tstzrange(
                    timestamptz '2100-01-01' + i * interval '1 hour', timestamptz '2100-01-01' + (i + 1) * interval '1 hour'))
                ELSE stock_claim(resource, 1) END;
            t.hold_id := hold_acquire(claim, '500 microseconds');
            COMMIT;
            SELECT expires_at INTO t.deadline FROM hold_get(t.hold_id);
            aim := t.deadline + (random() - 0.8) * interval '200 microseconds';
            WHILE clock_timestamp() < aim LOOP END LOOP;
            BEGIN
                t.before := clock_timestamp();
                IF function = 'hold_confirm' THEN
                    t.answer := hold_confirm(t.hold_id);
                ELSE
                    t.answer := hold_try_confirm(t.hold_id);
                END IF;
                t.after := clock_timestamp();
            EXCEPTION WHEN OTHERS THEN
                t.after := clock_timestamp();
                t.answer := SQLSTATE;
            END;
            INSERT INTO told SELECT t.*;
            COMMIT;
        END LOOP;
    END
    $$ LANGUAGE plpgsql;
"""
# Those who release: each goes on until the customers are done, which the lock on a number says.
BUSY = 4711
RELEASER = f"""
    CREATE OR REPLACE PROCEDURE release_by_reap() AS $$
    BEGIN
        WHILE NOT pg_try_advisory_xact_lock_shared({BUSY}) LOOP
            PERFORM hold_reap();
            COMMIT;
        END LOOP;
    END
    $$ LANGUAGE plpgsql;
    CREATE OR REPLACE PROCEDURE release_by_hand() AS $$
    BEGIN
        WHILE NOT pg_try_advisory_xact_lock_shared({BUSY}) LOOP
            PERFORM room_id FROM room WHERE room_id = 1 FOR UPDATE;
            UPDATE slot_hold SET state = 'expired'
            WHERE room_id = 1 AND state = 'held' AND expires_at <= clock_timestamp();
            COMMIT;
            PERFORM item_id FROM inventory WHERE item_id = 1 FOR UPDATE;
            WITH released AS (
                UPDATE stock_hold SET state = 'expired'
                WHERE item_id = 1 AND state = 'held' AND expires_at <= clock_timestamp()
                RETURNING item_id, quantity)
            UPDATE inventory AS i SET available = i.available + r.units
            FROM (SELECT item_id, sum(quantity) AS units FROM released GROUP BY item_id) AS r
            WHERE i.item_id = r.item_id;
            COMMIT;
        END LOOP;
    END
    $$ LANGUAGE plpgsql;
"""
# What must be so for every call, as queries that find the calls for which it is not.
WRONG = {
    "confirmed or RV001, or what the row says": """
        SELECT t.answer, h.state, count(*) FROM told t JOIN hold h USING (hold_id)
        WHERE NOT CASE function
            WHEN 'hold_confirm' THEN answer IN ('confirmed', 'RV001') AND (answer = 'confirmed') = (state = 'confirmed')
            ELSE answer = state AND state IN ('confirmed', 'expired') END
        GROUP BY 1, 2""",
    "before the deadline it is confirmed": """
        SELECT t.* FROM told t WHERE after < deadline AND answer <> 'confirmed'""",
    "from the deadline on it is not": "SELECT t.* FROM told t WHERE before >= deadline AND answer = 'confirmed'",
    "decided before the deadline, and written once": """
        SELECT h.* FROM hold h WHERE state = 'confirmed' AND (changed_at >= expires_at OR version <> 2)""",
    "released once, and only what is expired": """
        SELECT h.hold_id, h.state, count(e.hold_id)
        FROM hold h LEFT JOIN hold_event e ON e.hold_id = h.hold_id AND e.outcome = 'released'
        GROUP BY 1, 2 HAVING count(e.hold_id) > (h.state = 'expired')::integer""",
}


@pytest.fixture(autouse=True)
def procedures(db):
    db.run(CUSTOMER)
    db.run(RELEASER)
    rooms(db, *range(1, 5))
    for item_id in range(1, 5):
        item(db, item_id, 100000)


def check(db, tries, near):
    for rule, query in WRONG.items():
        assert db.rows(query) == [], rule
    assert db.one("SELECT count(*) FROM told") == tries
    confirmed, close = db.row("""
        SELECT count(*) FILTER (WHERE answer = 'confirmed'),
               count(*) FILTER (WHERE before < deadline AND after > deadline)
        FROM told""")
    # The test has aimed: both answers came, and many calls were under way at the very deadline.
    assert tries / 20 < confirmed < tries * 19 / 20
    assert close > near


@pytest.mark.parametrize("function", ["hold_confirm", "hold_try_confirm"])
def test_thousands_of_confirms_around_the_deadline(db, race, function):
    calls = [("room", 1), ("room", 2), ("item", 1), ("item", 2)]
    race([lambda s, c=c: s.run("CALL customer(%s, %s, %s, 500)", *c, function) for c in calls])
    check(db, 2000, 300)


@pytest.mark.parametrize("function", ["hold_confirm", "hold_try_confirm"])
@pytest.mark.parametrize("kind", ["room", "item"])
@pytest.mark.parametrize("releaser", ["release_by_reap", "release_by_hand"])
def test_confirm_against_release(db, connect, kind, function, releaser):
    """Every hold is confirmed and released at the same moment; one of the two ends it."""
    db.run("SELECT pg_advisory_lock(%s)", BUSY)
    other = in_thread(connect().run, f"CALL {releaser}()")
    connect().run("CALL customer(%s, 1, %s, 300)", kind, function)
    db.run("SELECT pg_advisory_unlock(%s)", BUSY)
    done(other)
    check(db, 300, 30)
    # Every hold that was not confirmed has been released, and nothing else was.
    db.reap("1000, 1, 1")
    assert db.one("SELECT count(*) FROM hold WHERE state NOT IN ('confirmed', 'expired')") == 0
    assert db.one("SELECT count(*) FROM hold WHERE state = 'expired'") == db.one(
        "SELECT count(*) FROM told WHERE answer <> 'confirmed'")
