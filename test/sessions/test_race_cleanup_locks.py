"""Cleanup among others: what a lock, a failing trigger or a great number of holds may cost, and what not."""
import threading
import time

import pytest

from conftest import codes, item, log, rooms, slot, states, stock


@pytest.fixture
def poison(db):
    """poison(table, condition): a trigger of the application that refuses some rows, with an SQLSTATE of its own."""
    poisoned = []

    def refuse(table, condition):
        poisoned.append(table)
        db.run("""
            CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION 'not this one' USING ERRCODE = 'XX123';
            END
            $$""")
        db.run(f"CREATE TRIGGER poison BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION refuse()")

    def cure():
        while poisoned:
            db.run(f"DROP TRIGGER poison ON {poisoned.pop()}")

    refuse.cure = cure
    yield refuse
    cure()


def overdue(db, kind, resource, holds, first_id, age="1 minute"):
    """Overdue holds on one resource, all with the same deadline."""
    if kind == "room":
        rooms(db, resource)
        db.run(f"""
            INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at)
            SELECT id, %s, tstzrange(t, t + interval '1 minute'), 'held', now() - interval '{age}'
            FROM generate_series(%s::bigint, %s) AS id, LATERAL (SELECT timestamptz '2100-01-01' + id * interval '1 minute') AS t(t)""",
               resource, first_id, first_id + holds - 1)
    else:
        db.run("INSERT INTO inventory (item_id, available, capacity) VALUES (%s, 0, %s)", resource, holds)
        db.run(f"""
            INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at)
            SELECT id, %s, 1, 'held', now() - interval '{age}' FROM generate_series(%s::bigint, %s) AS id""",
               resource, first_id, first_id + holds - 1)


def reap_all(session, arguments, most=100):
    """Runs until one finds nothing that it could do; their rows."""
    runs = []
    while not runs or runs[-1]["examined"]:
        runs.append(session.reap(arguments))
        assert len(runs) <= most
    return runs


def test_a_run_waits_once(db, connect, system):
    """Three rooms are taken, those of the oldest holds: it waits for the first, and not while it has others."""
    system("reservation.reaper_lock_wait", "'1s'")
    for n in range(1, 7):
        overdue(db, "room", n, 2, n * 100, f"{10 - n} minutes")
    for n in (1, 2, 3):
        connect().run(f"BEGIN; SELECT * FROM room WHERE room_id = {n} FOR UPDATE")
    start = time.monotonic()
    counts = connect().reap("2")  # in small batches
    assert 1 <= time.monotonic() - start < 2
    assert (counts["released"], counts["busy"]) == (2, 3)


@pytest.mark.parametrize("age", ["1 hour", "1 second"])
def test_sessions_that_idle_in_a_transaction(db, connect, age):
    """One has a room, one has a row of a hold, and theirs are the oldest holds of all, or the youngest: every other
    resource is cleaned at once, and so are the other holds of the resource whose row is taken."""
    for n in range(1, 11):
        overdue(db, "room", n, 5, n * 100, age if n == 1 else "1 minute")
        overdue(db, "item", n, 5, n * 100 + 10000, age if n == 1 else "1 minute")
    on_room, on_row, other = connect(), connect(), connect()
    on_room.run("BEGIN")
    on_room.run("SELECT * FROM room WHERE room_id = 1 FOR UPDATE")
    on_row.run("BEGIN")
    on_row.run("SELECT * FROM stock_hold WHERE hold_id = 10102 FOR UPDATE")
    # Somebody who only refers to rooms and holds is not in the way.
    db.run("CREATE TABLE visit (room_id bigint REFERENCES room, hold_id bigint REFERENCES slot_hold)")
    other.run("BEGIN")
    other.run("INSERT INTO visit SELECT room_id, hold_id FROM slot_hold WHERE room_id > 1")

    start = time.monotonic()
    counts = connect().reap()
    assert time.monotonic() - start < 2
    assert (counts["released"], counts["busy"], counts["halted"]) == (94, 2, False)
    assert sorted(id for id, state in states(db).items() if state == "held") == [100, 101, 102, 103, 104, 10102]
    for session in (on_room, on_row, other):
        session.run("ROLLBACK")
    assert connect().reap()["released"] == 6
    db.run("DROP TABLE visit")


def test_poisoned_hold(db, connect, poison):
    """The oldest hold raises: it fails, is logged with its SQLSTATE, does not use up max_holds, and stays."""
    overdue(db, "item", 1, 4, 1, "2 minutes")
    overdue(db, "room", 1, 4, 101)
    poison("stock_hold", "old.hold_id = 1")
    runs = [connect().reap("max_holds => 1") for _ in range(8)]
    # The eighth run meets it alone.
    assert [(r["examined"], r["released"], r["failed"]) for r in runs] == [(2, 1, 1)] * 7 + [(1, 0, 1)]
    assert states(db) == {1: "held"} | {n: "expired" for n in (2, 3, 4, 101, 102, 103, 104)}
    assert db.one("SELECT available FROM inventory") == 3
    notes = {row for row in log(db, "hold_id, outcome, version_seen, left(note, 5)") if row[1] == "failed"}
    assert notes == {(1, "failed", 1, "XX123")}
    poison.cure()
    assert connect().reap()["released"] == 1


@pytest.mark.parametrize("table", ["stock_hold", "inventory"])
def test_poison_in_a_large_run(db, connect, poison, table):
    """One run over everything; the counter's trigger takes all holds of its item with it, the row's only its own."""
    for n in range(1, 21):
        overdue(db, "item", n, 10, n * 100 + n)
    poison(table, "old.item_id = 7" if table == "inventory" else "old.hold_id = 707")
    bad = 10 if table == "inventory" else 1
    counts = connect().reap()
    assert (counts["examined"], counts["released"], counts["failed"]) == (200, 200 - bad, bad)
    assert list(states(db).values()).count("held") == bad
    assert db.one("SELECT available FROM inventory WHERE item_id = 7") == 10 - bad


@pytest.mark.parametrize("kind", ["room", "item"])
def test_more_than_two_batches_with_one_deadline(db, connect, kind):
    """2 × 50 + 1 holds that no order of deadlines tells apart: none is left out, none is met twice."""
    overdue(db, kind, 1, 101, 1)
    assert [run["released"] for run in reap_all(connect(), "50")] == [50, 50, 1, 0]
    assert len({hold_id for hold_id, outcome, _ in log(db) if outcome == "released"}) == 101
    if kind == "item":
        assert db.one("SELECT available FROM inventory") == 101


def test_more_failures_than_a_batch_with_one_deadline(db, connect, poison):
    """A batch full of holds that fail does not hide those behind it."""
    overdue(db, "item", 1, 101, 1)
    poison("stock_hold", "old.hold_id <= 60")
    counts = connect().reap("20")
    assert (counts["released"], counts["failed"]) == (20, 60)


def test_ten_thousand_over_a_thousand_resources(db, connect):
    db.run("""
        INSERT INTO room SELECT id, 'Room' FROM generate_series(1, 500) AS id;
        INSERT INTO inventory (item_id, available, capacity) SELECT id, 0, 10 FROM generate_series(1, 500) AS id;
        INSERT INTO slot_hold (room_id, during, state, expires_at)
        SELECT room_id, tstzrange(t, t + interval '1 hour'), 'held', now() - random() * interval '1 hour'
        FROM room, generate_series(timestamptz '2100-01-01', '2100-01-01 09:00', '1 hour') AS t;
        INSERT INTO stock_hold (item_id, quantity, state, expires_at)
        SELECT item_id, 1, 'held', now() - random() * interval '1 hour' FROM inventory, generate_series(1, 10)""")
    start = time.monotonic()
    runs = reap_all(connect(), "1000")
    assert time.monotonic() - start < 20
    assert [run["released"] for run in runs] == [1000] * 10 + [0]
    assert db.one("SELECT count(DISTINCT hold_id) FROM hold_event WHERE outcome = 'released'") == 10000
    assert db.one("SELECT sum(available) FROM inventory") == 5000


def test_customers_in_order_while_runs_go_on(db, race, system):
    """They take two rooms and two items one after the other in one transaction, and their holds run out at once. However
    long a run may wait, and however soon the server looks for deadlocks, there is none."""
    system("reservation.reaper_lock_wait", "'5s'")
    rooms(db, 1, 2)
    item(db, 1, 6)
    item(db, 2, 6)
    stop = time.monotonic() + 4
    trip = [f"SELECT hold_try_acquire(room_claim({n}, '[2100-01-01 %s:00+00, 2100-01-01 %s:59+00)'), '1 millisecond')"
            for n in (1, 2)] + [f"SELECT hold_try_acquire(stock_claim({n}, 1), '1 millisecond')" for n in (1, 2)]

    def customer(session, hour):
        answers = []
        session.run("SET deadlock_timeout = '20ms'")
        while time.monotonic() < stop:
            session.run("BEGIN")
            for statement in trip:
                answers.append(session.attempt(statement.replace("%s", str(hour))))
                if not answers[-1].ok:
                    break
            session.run("COMMIT")
        return answers

    def run(session):
        released = 0
        session.run("SET deadlock_timeout = '20ms'")
        while time.monotonic() < stop:
            counts = session.reap("1000, 1, 1")
            assert not counts["failed"] and not counts["halted"]
            released += counts["released"]
        return released

    *customers, released, more = race([lambda s, h=10 + n % 2: customer(s, h) for n in range(6)] + [run] * 2)
    assert codes([answer for answers in customers for answer in answers]).keys() == {"00000"}
    assert min(len(answers) for answers in customers) > 20
    assert released + more > 20


def test_the_oldest_hold_does_not_starve(db, race):
    """Its item is never at rest; a run gets it all the same, soon."""
    item(db, 1, 100)
    stock(db, 1, 1, 1)
    stop, released = time.monotonic() + 8, threading.Event()

    def customer(session):
        while time.monotonic() < stop and not released.is_set():
            session.run("BEGIN")
            hold_id = session.one("SELECT hold_acquire(stock_claim(1, 1))")
            session.run("SELECT pg_sleep(0.005)")
            session.run("SELECT hold_cancel(%s)", hold_id)
            session.run("COMMIT")

    def run(session):
        while time.monotonic() < stop and not released.is_set():
            if session.reap()["released"]:
                released.set()

    race([customer] * 8 + [run])
    assert states(db)[1] == "expired"
