"""The document on letting go of a hold: its worked example and its acceptance tests, with real sessions.

The clock is a sequence; a run waits for whoever has the resource of the oldest hold as long as the test needs.
(Its first acceptance test, confirm and expire at once many times, is test_race_deadline.py.)
"""
import pytest

from conftest import codes, done, item, log, rooms, slot, states, stock

CHANGES = {  # what a customer does in time, while it can be seen only later: statement, state and version afterwards
    "confirm": ("SELECT hold_confirm(%s)", "confirmed", 2),
    "cancel": ("SELECT hold_cancel(%s)", "cancelled", 2),
    "extend": ("SELECT hold_extend(%s, '1 hour')", "held", 2),
    "begin_payment": ("SELECT hold_begin_payment(%s, 'call')", "held", 2),
}


@pytest.fixture
def patient(system):
    system("reservation.reaper_lock_wait", "'20s'")


def everything(db):
    """All that a run could have written."""
    return [db.rows(f"SELECT * FROM {table} ORDER BY 1")
            for table in ("slot_hold", "stock_hold", "inventory", "hold_event", "hold_run")]


@pytest.mark.parametrize("kind", ["room", "item"])
def test_worked_example(db, clock, patient, kind):
    """R1 and R4 are untouched, R2 is confirmed while the run waits for it, R3's payment has no answer."""
    rooms(db, 2)
    for item_id in (1, 2, 3, 4):
        item(db, item_id, 1)
    if kind == "room":
        slot(db, 2, 2, expires="clock.at(9)")
    else:
        stock(db, 2, 2, 1, expires="clock.at(9)")
    stock(db, 1, 1, 1, expires="clock.at(10)")
    stock(db, 3, 3, 1, expires="clock.at(10)", reference="call 3")
    stock(db, 4, 4, 1, expires="clock.at(10)")
    for hold_id, version in ((1, 1), (2, 3), (3, 2), (4, 4)):  # as if they had a history
        for _ in range(version - 1):
            db.run(f"UPDATE {'slot' if (hold_id, kind) == (2, 'room') else 'stock'}_hold SET holder = 'R' WHERE hold_id = %s",
                   hold_id)

    customer, run = clock.session(), clock.session()
    customer.run("BEGIN")
    assert customer.one("SELECT hold_confirm(2, 3)") == "confirmed"
    clock.set(20)
    waiting = run.start("SELECT (examined, released, skipped, pending_review, failed, busy, halted)::text FROM hold_reap()")
    customer.run("COMMIT")
    assert done(waiting).value == "(4,2,1,1,0,0,f)"

    assert states(db) == {1: "expired", 2: "confirmed", 3: "pending_review", 4: "expired"}
    assert sorted(log(db)) == [(1, "released", 1), (2, "skipped", 3), (3, "pending_review", 2), (4, "released", 4)]
    assert db.rows("SELECT DISTINCT run_id FROM hold_event") == db.rows("SELECT run_id FROM hold_run")
    units = dict(db.rows("SELECT item_id, available FROM inventory"))
    assert units == {1: 1, 2: 1 if kind == "room" else 0, 3: 0, 4: 1}
    assert db.rows("SELECT examined, released, skipped, pending_review, failed, busy, halted, reason FROM hold_run") == [
        (4, 2, 1, 1, 0, 0, False, None)]

    before = everything(db)
    assert run.reap()["examined"] == 0
    assert everything(db) == before, "a second run changes nothing"


def test_confirmed_just_before_the_run_reads(db, clock):
    item(db, 1, 1)
    stock(db, 1, 1, 1, expires="clock.at(10)")
    clock.set(9)
    assert db.one("SELECT hold_confirm(1)") == "confirmed"
    clock.set(10)
    assert clock.session().reap()["examined"] == 0
    assert states(db) == {1: "confirmed"}


def test_the_deadline_itself_is_overdue(db, clock):
    item(db, 1, 2)
    stock(db, 1, 1, 1, expires="clock.at(10)")
    stock(db, 2, 1, 1, expires="clock.at(10) + interval '1 microsecond'")
    clock.set(10)
    assert clock.session().reap()["released"] == 1
    assert states(db) == {1: "expired", 2: "held"}


@pytest.mark.parametrize("kind", ["room", "item"])
@pytest.mark.parametrize("change", CHANGES)
def test_changed_while_the_run_waits(db, clock, patient, kind, change):
    """Whatever the customer did in time, the stale release is rejected, and logged with the version that it saw."""
    rooms(db, 1)
    item(db, 1, 1)
    slot(db, 1, 1, expires="clock.at(10)") if kind == "room" else stock(db, 1, 1, 1, expires="clock.at(10)")
    statement, state, version = CHANGES[change]
    customer, run = clock.session(), clock.session()
    customer.run("BEGIN")
    customer.run(statement, 1)
    clock.set(20)
    waiting = run.start("SELECT (examined, skipped, busy)::text FROM hold_reap()")
    customer.run("COMMIT")
    assert done(waiting).value == "(1,1,0)"
    assert db.rows("SELECT state, version FROM hold") == [(state, version)]
    assert log(db, "outcome, version_seen, state_before, state_after") == [("skipped", 1, "held", state)]
    # A run that reads now sees what there is: the extended hold lives, the marked one goes to a person.
    assert run.reap()["pending_review"] == (change == "begin_payment")
    assert states(db) == {1: "pending_review" if change == "begin_payment" else state}


def test_rolled_back_while_the_run_waits(db, clock, patient):
    item(db, 1, 1)
    stock(db, 1, 1, 1, expires="clock.at(10)")
    customer, run = clock.session(), clock.session()
    customer.run("BEGIN")
    customer.run("SELECT hold_confirm(1)")
    clock.set(20)
    waiting = run.start("SELECT released FROM hold_reap()")
    customer.run("ROLLBACK")
    assert done(waiting).value == 1
    assert states(db) == {1: "expired"}


def test_payment_without_an_answer(db, clock):
    """It goes to a person once, keeps its capacity, its reference and its version until then, and never to a customer."""
    rooms(db, 1)
    item(db, 1, 2)
    slot(db, 1, 1, expires="clock.at(10)")
    stock(db, 2, 1, 2, expires="clock.at(10)")
    assert db.one("SELECT hold_begin_payment(1, 'call 1')") == 2
    assert db.one("SELECT hold_begin_payment(2, 'call 2')") == 2
    clock.set(20)
    run = clock.session()
    assert db.attempt("SELECT hold_acquire(stock_claim(1, 1))").code == "23514"
    assert run.reap("max_review_share => 1")["pending_review"] == 2
    assert run.reap("max_review_share => 1")["examined"] == 0
    assert db.rows("SELECT hold_id, state, version, payment_reference FROM hold ORDER BY 1") == [
        (1, "pending_review", 3, "call 1"), (2, "pending_review", 3, "call 2")]
    assert db.one("SELECT available FROM inventory") == 0
    assert db.attempt("SELECT hold_confirm(1)").code == "RV004"
    assert db.attempt("SELECT hold_begin_payment(1, 'call 1')").code == "RV004"
    assert db.one("SELECT hold_resolve(1, 'confirmed', 'it was paid')") == "confirmed"
    assert db.one("SELECT hold_resolve(2, 'cancelled')") == "cancelled"
    assert db.one("SELECT available FROM inventory") == 2


def test_released_by_another_run_is_not_unusual(db, clock, patient):
    """All that the second run meets has just been expired by the first: skipped, and no reason to halt."""
    item(db, 1, 30)
    for hold_id in range(1, 31):
        stock(db, hold_id, 1, 1, expires="clock.at(10)")
    clock.set(20)
    first, second = clock.session(), clock.session()
    first.run("BEGIN")
    assert first.reap()["released"] == 30
    waiting = second.start("SELECT (examined, released, skipped, busy, halted)::text FROM hold_reap()")
    first.run("COMMIT")
    assert done(waiting).value == "(30,0,30,0,f)"
    assert db.one("SELECT available FROM inventory") == 30


def test_runs_at_once_share_the_work(db, race):
    """Four runs at a time over forty resources: every hold is released once."""
    rooms(db, *range(1, 21))
    db.run("INSERT INTO inventory (item_id, available, capacity) SELECT id, 0, 10 FROM generate_series(1, 20) AS id")
    db.run("""
        INSERT INTO slot_hold (room_id, during, state, expires_at)
        SELECT room_id, tstzrange(t, t + interval '1 hour'), 'held', clock_timestamp() - random() * interval '1 hour'
        FROM room, generate_series(timestamptz '2100-01-01', '2100-01-01 09:00', '1 hour') AS t""")
    db.run("""
        INSERT INTO stock_hold (item_id, quantity, state, expires_at)
        SELECT item_id, 1, 'held', clock_timestamp() - random() * interval '1 hour'
        FROM inventory, generate_series(1, 10)""")

    def run(session):
        released = 0
        for _ in range(400):
            counts = session.reap("25, 1, 1")
            assert not counts["halted"]
            released += counts["released"]
            if counts["examined"] + counts["busy"] == 0:
                return released
        raise AssertionError("it never came to an end")

    assert sum(race([run] * 4)) == 400
    assert db.one("SELECT count(*) FROM hold WHERE state = 'expired' AND version = 2") == 400
    assert db.one("SELECT count(DISTINCT hold_id) FROM hold_event WHERE outcome = 'released'") == 400
    assert db.one("SELECT count(*) FROM hold_event WHERE outcome = 'released'") == 400
    assert db.one("SELECT sum(available) FROM inventory") == 200


def test_cancel_against_runs(db, race):
    """Each of two hundred overdue holds is cancelled by its holder and found by a run; its units come back once."""
    item(db, 1, 200)
    db.run("UPDATE inventory SET available = 0")
    db.run("""
        INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at)
        SELECT id, 1, 1, 'held', clock_timestamp() - interval '1 minute' FROM generate_series(1, 200) AS id""")

    def customer(session):
        return [session.attempt("SELECT hold_cancel(%s)", hold_id) for hold_id in range(200, 0, -1)]

    def run(session):
        return [session.reap("1, 1, 1") for _ in range(200)]

    answers, runs = race([customer, run])
    assert codes(answers) == {"00000": 200}
    final = states(db)
    assert all(answer.value == final[200 - n] for n, answer in enumerate(answers))
    assert sum(counts["released"] for counts in runs) == list(final.values()).count("expired") > 0
    assert list(final.values()).count("cancelled") > 0
    assert db.one("SELECT available FROM inventory") == 200
