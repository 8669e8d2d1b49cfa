"""Transactions that do not end as they began: rolled back, prepared, cancelled, timed out, read-only. The SQLSTATE is the
server's own, and nothing is left: no hold, no unit, no key, no lock."""
import threading
import time

import pytest

from conftest import PATIENCE, PERIOD, done, in_thread, item, log, rooms, slot, states, stock

LATER = "clock_timestamp() + interval '1 hour'"
# Each call that waits when somebody has the room and the item; hold 1 is of the room, 2 of the item.
CALLS = {
    "acquire room": f"SELECT hold_acquire(room_claim(1, '{PERIOD}'), NULL, NULL, 'key')",
    "acquire item": "SELECT hold_acquire(stock_claim(1, 1), NULL, NULL, 'key')",
    "try acquire": "SELECT hold_try_acquire(stock_claim(1, 1))",
    "acquire all": f"SELECT hold_acquire_all(ARRAY[stock_claim(2, 1), room_claim(2, '{PERIOD}'), stock_claim(1, 1)])",
    "try acquire all": "SELECT hold_try_acquire_all(ARRAY[stock_claim(1, 1), stock_claim(2, 1)])",
    "confirm": "SELECT hold_confirm(1)",
    "try confirm": "SELECT hold_try_confirm(2)",
    "cancel": "SELECT hold_cancel(2)",
    "extend": "SELECT hold_extend(1, '2 hours')",
    "pay": "SELECT hold_begin_payment(2, 'call')",
    "confirm all": "SELECT hold_confirm_all('{2,1}')",
    "adjust": "SELECT inventory_adjust(1, 5)",
}
HELD_LOCKS = "SELECT count(*) FROM pg_locks WHERE pid = %s AND locktype IN ('advisory', 'tuple', 'transactionid')"


@pytest.fixture
def scene(db):
    """Two rooms and two items, with a hold that lives on the first of each, at another hour than PERIOD."""
    rooms(db, 1, 2)
    item(db, 1, 3)
    item(db, 2, 3)
    slot(db, 1, 1, "[2100-02-01 10:00+00, 2100-02-01 11:00+00)", LATER)
    stock(db, 2, 1, 1, LATER)
    return picture(db)


def picture(db):
    """All that a call could have changed."""
    return [db.rows(f"SELECT * FROM {table} ORDER BY 1") for table in
            ("slot_hold", "stock_hold", "inventory", "hold_request", "hold_event")]


def block(connect):
    blocker = connect()
    blocker.run("BEGIN; SELECT * FROM room WHERE room_id = 1 FOR UPDATE; SELECT * FROM inventory WHERE item_id = 1 FOR UPDATE")
    return blocker


def nothing_left(db, session, scene):
    assert picture(db) == scene
    assert db.one(HELD_LOCKS, session.pid) == 0


def test_savepoint_rolled_back(db, connect, scene):
    """After ROLLBACK TO nobody has to wait for the transaction that is still open."""
    session, other = connect(), connect()
    other.run("SET lock_timeout = '1s'")
    session.run("BEGIN")
    for name, call in CALLS.items():
        session.run("SAVEPOINT before")
        assert session.attempt(call).ok, name
        session.run("ROLLBACK TO before")
        assert picture(session) == scene
        other.run("BEGIN")
        assert other.attempt(call).ok, name
        other.run("ROLLBACK")
    # What comes after the rollback counts.
    hold_id = session.one(CALLS["acquire item"])
    session.run("COMMIT")
    assert states(db) == {1: "held", 2: "held", hold_id: "held"}


WAITS = {"lock_timeout": {"55P03"}, "statement_timeout": {"57014"}, "pg_cancel_backend": {"57014"},
         "pg_terminate_backend": {"57P01", "08000"}}  # the second where the driver only sees the connection end


@pytest.mark.parametrize("way", WAITS)
def test_interrupted_in_a_lock_wait(db, connect, scene, way):
    blocker, session = block(connect), connect()
    for name, call in CALLS.items():
        if way.endswith("timeout"):
            session.run(f"SET {way} = '50ms'")
            assert session.attempt(call).code in WAITS[way], name
            session.run(f"RESET {way}")
        else:
            waiting = session.start(call)
            db.run(f"SELECT {way}(%s)", session.pid)
            assert done(waiting).code in WAITS[way], name
            db.until(f"SELECT count(*) = 0 FROM ({HELD_LOCKS}) AS held (locks) WHERE locks > 0", session.pid)
        nothing_left(db, session, scene)
        if way == "pg_terminate_backend":
            session = connect()
    blocker.run("ROLLBACK")
    for name, call in CALLS.items():  # the same session goes on
        session.run("BEGIN")
        assert session.attempt(call).ok, name
        session.run("ROLLBACK")


@pytest.mark.parametrize("way", ["lock_timeout", "statement_timeout"])
def test_interrupted_in_the_queue_of_a_key(db, connect, scene, way):
    first, session = connect(), connect()
    first.run("BEGIN")
    hold_id = first.one(CALLS["acquire room"])
    session.run(f"SET {way} = '50ms'")
    assert session.attempt(CALLS["acquire room"]).code in WAITS[way]
    assert db.one(HELD_LOCKS, session.pid) == 0
    first.run("COMMIT")
    assert session.one(CALLS["acquire room"]) == hold_id


def test_interrupted_while_a_run_waits(db, connect, system):
    """The run's own limit of waiting is not what remains in the session."""
    system("reservation.reaper_lock_wait", "'20s'")
    item(db, 1, 1)
    stock(db, 1, 1, 1)
    blocker, session = block(connect), connect()
    blocker.run("SELECT * FROM inventory FOR UPDATE")
    session.run("SET lock_timeout = '7s'; SET statement_timeout = '50ms'")
    assert session.attempt("SELECT hold_reap()").code == "57014"
    assert states(db) == {1: "held"} and log(db) == [] and db.one(HELD_LOCKS, session.pid) == 0
    assert session.one("SHOW lock_timeout") == "7s"
    system("reservation.reaper_lock_wait", "'50ms'")
    session.run("SET statement_timeout = 0")
    assert session.reap()["busy"] == 1
    assert session.one("SHOW lock_timeout") == "7s"
    blocker.run("ROLLBACK")
    assert session.reap()["released"] == 1


@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
def test_prepared_transaction(db, connect, scene, ending):
    """It keeps what it has after its session is gone, and its end decides."""
    session = connect()
    session.run("BEGIN")
    room, unit = session.one(CALLS["acquire room"]), session.one("SELECT hold_acquire(stock_claim(1, 2))")
    session.run("SELECT hold_confirm_all('{1,2}')")
    session.run("PREPARE TRANSACTION 'trip'")
    session.close()
    other = connect()
    other.run("SET lock_timeout = '60ms'")
    try:
        for call in ("acquire room", "acquire item", "cancel"):
            assert other.attempt(CALLS[call]).code == "55P03", call
        assert other.reap()["examined"] == 0
    finally:
        db.run(f"{ending} PREPARED 'trip'")
    other.run("RESET lock_timeout")
    if ending == "COMMIT":
        assert states(db) == {1: "confirmed", 2: "confirmed", room: "held", unit: "held"}
        assert other.one(CALLS["acquire room"]) == room
        assert other.attempt("SELECT hold_acquire(stock_claim(1, 1))").code == "23514"
    else:
        assert picture(db) == scene
        assert other.one(CALLS["acquire room"]) != room


def test_run_in_a_prepared_transaction(db, connect):
    item(db, 1, 1)
    stock(db, 1, 1, 1)
    session = connect()
    session.run("BEGIN")
    assert session.reap()["released"] == 1
    session.run("PREPARE TRANSACTION 'run'")
    assert connect().reap()["busy"] == 1
    db.run("COMMIT PREPARED 'run'")
    assert states(db) == {1: "expired"} and log(db) == [(1, "released", 1)]


def test_read_only(db, connect, scene):
    session = connect()
    for name, call in CALLS.items():
        session.run("BEGIN READ ONLY")
        assert session.attempt(call).code == "25006", name
        session.run("ROLLBACK")
        nothing_left(db, session, scene)
    session.run("BEGIN READ ONLY")
    assert session.one("SELECT state FROM hold_get(1)") == "held"
    session.run("COMMIT")


def test_drain_reaches_open_sessions(db, connect, scene):
    """The recipe, and two sessions that were open before it: one has called us already, the other one has not."""
    old, idle = connect(), connect()
    kept = old.one(CALLS["acquire item"])
    idle.run("BEGIN")
    idle.run("SELECT 1")
    try:
        for statement in ("LOAD 'reservation'", "ALTER SYSTEM SET reservation.accept_holds = off", "SELECT pg_reload_conf()"):
            db.run(statement)
        for session in (old, idle):
            session.until("SELECT hold_get(0) IS NULL AND current_setting('reservation.accept_holds') = 'off'")
        idle.run("COMMIT")
        for session in (old, idle):
            for call in ("acquire room", "try acquire", "acquire all", "extend"):
                answer = session.attempt(CALLS[call].replace("'key'", "'new'"))
                assert answer.code == "RV008", call
            assert session.one(CALLS["acquire item"]) == kept, "a known key is answered"
        # What was accepted is honoured or released.
        assert old.one("SELECT hold_confirm(1)") == "confirmed"
        assert idle.one("SELECT hold_cancel(2)") == "cancelled"
        assert idle.reap()["examined"] == 0
    finally:
        db.run("ALTER SYSTEM RESET reservation.accept_holds")
        db.run("SELECT pg_reload_conf()")
    for session in (old, idle):
        session.until("SELECT current_setting('reservation.accept_holds') = 'on'")
        assert session.attempt("SELECT hold_acquire(stock_claim(2, 1))").ok


def test_cancelled_at_random_moments(db, connect):
    """Calls that are cancelled some microseconds after they were sent: what was answered is what is there."""
    item(db, 1, 100000)
    session, canceller = connect(), connect()
    answered, cancelled, stop = set(), 0, threading.Event()

    def cancel():
        while not stop.is_set():
            canceller.run("SELECT pg_cancel_backend(%s), pg_sleep(0.0007 * random())", session.pid)

    cancelling = in_thread(cancel)
    limit = time.monotonic() + PATIENCE
    while min(cancelled, len(answered)) < 15 and time.monotonic() < limit:
        answer = session.attempt("SELECT hold_acquire(stock_claim(1, 1), NULL, NULL, %s)", f"key {time.monotonic()}")
        assert answer.code in ("00000", "57014"), answer
        if answer.ok:
            answered.add(answer.value)
        else:
            cancelled += 1
    stop.set()
    done(cancelling)
    assert min(cancelled, len(answered)) >= 15
    # A call may have committed just before it was cancelled; then it is there as a whole.
    assert answered <= states(db).keys()
    assert db.one("SELECT count(*) FROM stock_hold") == 100000 - db.one("SELECT available FROM inventory")
    assert db.one("SELECT count(*) FROM hold_request") == len(states(db))
