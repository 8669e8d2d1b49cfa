"""Sessions that are cancelled and terminated at random moments while many of them want the same few resources.

RESERVATION_INTERRUPT_SECONDS: how long, 12 by default. RESERVATION_INTERRUPT_SEED: the choices of the sessions and of those
who interrupt them; what meets what is up to the clock.
"""
import collections
import os
import random
import signal
import threading
import time

import psycopg

from conftest import PATIENCE, done, in_thread, item, rooms

SECONDS = float(os.environ.get("RESERVATION_INTERRUPT_SECONDS", "12"))
SEED = int(os.environ.get("RESERVATION_INTERRUPT_SEED", "20471"))
SESSIONS, IMMORTAL = 10, 3  # so many are only ever cancelled: whatever is left behind gathers in them
ROOMS, ITEMS = 2, 2
INTERRUPTED = {"57014", "57P01", "08000"}  # the last is the driver's, which only sees the connection end
REFUSED = {"23P01", "23514", "P0002", "RV001", "RV002", "RV003", "RV004", "RV007"}
PLANS = "SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource'"
LOCKS = """SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid() AND locktype IN ('advisory', 'tuple', 'transactionid', 'relation')
    AND coalesce(database, 0) IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))"""


class Customer:
    """One of the sessions. It connects again when it was terminated."""

    def __init__(self, connect, number, shared):
        self.connect, self.dice, self.shared = connect, random.Random(SEED * 100 + number), shared
        self.immortal = number < IMMORTAL
        self.session, self.busy = self.begin(), False
        self.codes, self.sold, self.lives = collections.Counter(), [], 1

    def begin(self):
        session = self.connect()
        session.connection.prepare_threshold = None  # its plans are those of the server's functions
        return session

    def begin_again(self):
        assert not self.immortal
        self.session, self.lives = self.begin(), self.lives + 1

    def claim(self):
        if self.dice.random() < 0.4:
            hour = self.dice.randrange(6)
            return f"room_claim({self.dice.randint(1, ROOMS)}, '[2100-01-01 {hour:02}:00+00, 2100-01-01 {hour + 2:02}:00+00)')"
        return f"stock_claim({self.dice.randint(1, ITEMS)}, {self.dice.randint(1, 3)})"

    def call(self):
        dice, hold = self.dice, self.dice.choice(self.shared[-15:] or [12345])
        terms = f"'{dice.choice([1, 5, 500])} milliseconds', NULL, " + (f"'key {dice.getrandbits(40)}'" if dice.random() < 0.3 else "NULL")
        claims = ", ".join(self.claim() for _ in range(dice.randint(1, 4)))
        return dice.choice([
            f"SELECT hold_acquire({self.claim()}, {terms})", f"SELECT hold_try_acquire({self.claim()}, {terms})",
            f"SELECT hold_acquire_all(ARRAY[{claims}], {terms})", f"SELECT hold_try_acquire_all(ARRAY[{claims}], {terms})",
            f"SELECT hold_confirm({hold})", f"SELECT hold_try_confirm({hold})", f"SELECT hold_cancel({hold})",
            f"SELECT hold_extend({hold}, '20 milliseconds')", f"SELECT hold_begin_payment({hold}, 'call')",
            f"SELECT hold_fail_payment({hold}, 'call')", f"SELECT inventory_adjust({dice.randint(1, ITEMS)}, {dice.choice([-1, 1, 2])})",
            "SELECT hold_reap(1000, 1, 1)", "CALL hold_reap_all(5)", "SELECT hold_purge('1 millisecond')"])

    def step(self):
        call = self.call()
        transaction = self.dice.random() < 0.3 and not call.startswith("CALL")
        ending = self.dice.choice(["COMMIT", "COMMIT", "ROLLBACK", "ROLLBACK TO before; COMMIT"])
        self.busy = True
        begun = self.session.attempt("BEGIN; SAVEPOINT before") if transaction else None
        answer = self.session.attempt(call) if not begun or begun.ok else begun
        ended = self.session.attempt(ending if answer.ok else "ROLLBACK") if transaction else answer
        self.busy = False
        for one in (answer, ended):
            assert one.code in INTERRUPTED | REFUSED | {"00000"}, (call, one)
        self.codes[call.split("(")[0].split()[-1], answer.code] += 1
        if answer.ok and ended.ok and ending == "COMMIT":
            self.remember(call, answer.value)
        if self.session.connection.closed:
            self.begin_again()
        elif transaction and not ended.ok:
            self.session.attempt("ROLLBACK")  # the end of the transaction was what was cancelled

    def remember(self, call, value):
        if "acquire" in call and value:
            self.shared.extend(value if isinstance(value, list) else [value])
        elif "confirm" in call and value == "confirmed":
            self.sold.append(int(call.split("(")[1].rstrip(")")))


def interrupt(admin, customers, dice, stop):
    """Cancels and terminates who is busy; how often it did what."""
    sent = collections.Counter()
    while not stop.is_set():
        customer = dice.choice(customers)
        way = dice.choices(["pg_cancel_backend", "SIGINT", "pg_terminate_backend"], [6, 3, 0 if customer.immortal else 1])[0]
        time.sleep(dice.random() * 0.004)
        if not customer.busy:
            continue
        try:
            pid = customer.session.pid
            if pid <= 0:  # the driver's word for a connection that ended; for kill it would be a whole group
                continue
            if way == "SIGINT":
                os.kill(pid, signal.SIGINT)
            else:
                admin.run(f"SELECT {way}(%s)", pid)
        except (ProcessLookupError, psycopg.Error):
            continue  # it ended just now
        sent[way] += 1
    return sent


def test_interrupted_at_random_under_load(db, connect):
    print(f"seed {SEED}")
    rooms(db, *range(1, ROOMS + 2))
    for number in range(1, ITEMS + 2):
        item(db, number, 12)
    shared = []
    customers = [Customer(connect, number, shared) for number in range(SESSIONS)]
    stop, limit = threading.Event(), time.monotonic() + SECONDS

    def shop(customer):
        while not stop.is_set() and time.monotonic() < limit:
            customer.step()

    def disturb():
        """Plans become invalid again and again, so that making them is interrupted too."""
        session = connect()
        while not stop.wait(0.03):
            session.run("ANALYZE slot_hold, stock_hold, inventory, hold_event")

    helpers = [in_thread(interrupt, connect(), customers, random.Random(SEED + n), stop) for n in range(2)]
    helpers.append(in_thread(disturb))
    jobs = [in_thread(shop, customer) for customer in customers]
    try:
        for job in jobs:
            job.result(SECONDS + PATIENCE)
    finally:
        stop.set()
    sent = sum((done(helper) for helper in helpers[:2]), collections.Counter())
    done(helpers[2])

    # It did happen, to every call, and in between every call went through.
    codes = sum((customer.codes for customer in customers), collections.Counter())
    calls = {name for name, _ in codes}
    print(dict(sent), "lives", sum(customer.lives for customer in customers), dict(codes))
    assert len(calls) == 14
    assert {name for name, code in codes if code == "00000"} == calls
    assert len({name for name, code in codes if code in INTERRUPTED}) >= 10
    assert sum(count for (_, code), count in codes.items() if code == "57014") > 50
    assert sum(customer.lives for customer in customers) - SESSIONS > 10

    # Nothing is left: no lock, and in those that lived through it all no plan beyond those that a session keeps.
    for customer in customers:
        customer.session.attempt("SELECT 1")
        if customer.session.connection.closed:  # by a signal that came late
            customer.begin_again()
    db.until(f"SELECT ({LOCKS}) = 0")
    fresh = Customer(connect, SESSIONS, shared).session
    for session in [customer.session for customer in customers] + [fresh]:
        every_call(session)
    assert db.one(LOCKS) == 0
    most = fresh.one(PLANS) * 2
    assert [customer.session.one(PLANS) for customer in customers if customer.session.one(PLANS) > most] == []

    # What was answered is what is there, and everything adds up; the fixture looks at the sums.
    kept = dict(db.rows("SELECT hold_id, kind || ' ' || state FROM hold"))
    for hold in {hold for customer in customers for hold in customer.sold}:
        assert kept.get(hold, "room cancelled") in ("item confirmed", "room confirmed", "room cancelled"), hold
    assert db.rows("SELECT * FROM reservation_audit()") == []
    assert db.rows("""SELECT * FROM hold_request AS r
                      WHERE NOT EXISTS (SELECT FROM hold WHERE hold_id = ANY (r.hold_ids))""") == []
    assert db.rows("SELECT * FROM pg_prepared_xacts") == []


def every_call(session):
    """All of them work, on the room and the item that nobody wanted before."""
    room, unit = f"room_claim({ROOMS + 1}, '[2100-01-01, 2100-01-02)')", f"stock_claim({ITEMS + 1}, 1)"
    holds = session.one(f"SELECT hold_acquire_all(ARRAY[{room}, {unit}])")
    assert session.one("SELECT hold_begin_payment(%s, 'call')", holds[0]) == 2
    assert session.one("SELECT hold_fail_payment(%s, 'call')", holds[0]) == 3
    assert session.one("SELECT hold_extend_all(%s, '1 hour')", holds)
    assert session.one("SELECT hold_try_confirm(%s)", holds[0]) == "confirmed"
    assert session.one("SELECT hold_cancel_all(%s)", holds) == ["cancelled", "cancelled"]
    assert session.one("SELECT hold_cancel(hold_acquire(%s))" % unit) == "cancelled"
    assert session.one("SELECT hold_cancel(hold_try_acquire(%s))" % room) == "cancelled"
    session.run("SELECT inventory_adjust(%s, 1)", ITEMS + 1)
    session.run("SELECT hold_reap(1000, 1, 1)")
    session.run("CALL hold_reap_all()")
    session.run("SELECT hold_purge('1 hour')")
    assert session.rows("SELECT * FROM reservation_audit()") == []
