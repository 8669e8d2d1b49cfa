"""What the tests with several sessions at once share.

Every test begins with empty tables. A Session is one connection; `attempt` gives a refusal back as a value, `start`
sends a statement that is expected to wait, and `race` runs jobs in sessions of their own from one signal.

With POOLER set, sessions are clients of the pooler in that directory, and the tests that unpooled.py names are left out.
"""
import contextlib
import os
import re
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import psycopg
import pytest

from unpooled import UNPOOLED

POOLER = os.environ.get("POOLER")
PREPARES = "POOLER_PREPARES" in os.environ
PERIOD = "[2100-01-01 10:00+00, 2100-01-01 11:00+00)"
PATIENCE = 20  # seconds until a test says that something which should happen did not

TABLES = "room, slot_hold, inventory, stock_hold, hold_request, hold_event, hold_run"
EMPTY = f"SET LOCAL session_replication_role = replica; TRUNCATE {TABLES} CASCADE"  # one transaction
# The promise of the extension, as queries that find whoever broke it.
UNSOUND = {
    "capacity = available + occupying units": """
        SELECT i.*, coalesce(sum(h.quantity), 0) AS occupying
        FROM inventory i
        LEFT JOIN stock_hold h ON h.item_id = i.item_id AND h.state IN ('held', 'pending_review', 'confirmed')
        GROUP BY i.item_id
        HAVING i.capacity <> i.available + coalesce(sum(h.quantity), 0) OR i.available NOT BETWEEN 0 AND i.capacity""",
    "no two holds of a room overlap": """
        SELECT a.hold_id, b.hold_id
        FROM slot_hold a
        JOIN slot_hold b ON a.room_id = b.room_id AND a.during && b.during AND a.hold_id < b.hold_id
        WHERE a.state IN ('held', 'pending_review', 'confirmed') AND b.state IN ('held', 'pending_review', 'confirmed')""",
    "an id is given once": "SELECT hold_id FROM hold GROUP BY hold_id HAVING count(*) > 1",
    "nothing was confirmed at or after its deadline": """
        SELECT * FROM hold WHERE state = 'confirmed' AND changed_at >= expires_at AND payment_reference IS NULL""",
}


class Answer(NamedTuple):
    """What a statement gave: its value, or the SQLSTATE and the text of its refusal."""
    value: object
    code: str
    text: str = ""

    @property
    def ok(self):
        return self.code == "00000"


# What would be true of one server session only, of whichever client's transaction it happens to serve.
OF_A_SESSION = re.compile(r"(^|;)\s*(SET (?!LOCAL|TRANSACTION)|RESET |PREPARE (?!TRANSACTION)|LISTEN |LOAD )|pg_advisory_lock")
WAITING = """SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0"""


class Session:
    def __init__(self, pooler=POOLER):
        self.pooler = pooler
        if pooler:
            self.connection = psycopg.connect(host=pooler, port=6432, autocommit=True, prepare_threshold=None)
            self.connection.prepared_max = 10000  # it would DEALLOCATE otherwise
        else:
            self.connection = psycopg.connect("", autocommit=True)
        self.warnings = []
        self.connection.add_notice_handler(self.notice)

    def notice(self, diagnostic):
        if diagnostic.severity_nonlocalized == "WARNING":
            self.warnings.append(diagnostic.message_primary)

    @property
    def pid(self):
        assert not self.pooler, "a client of the pooler has no process of its own"
        return self.connection.info.backend_pid

    def run(self, sql, *parameters):
        if not self.pooler:
            return self.connection.execute(sql, parameters or None)
        assert not OF_A_SESSION.search(sql), f"only in a session of its own: {sql}"
        return self.connection.execute(sql, parameters or None, prepare=PREPARES and ";" not in sql)

    def rows(self, sql, *parameters):
        return self.run(sql, *parameters).fetchall()

    def row(self, sql, *parameters):
        return self.run(sql, *parameters).fetchone()

    def one(self, sql, *parameters):
        row = self.row(sql, *parameters)
        return row and row[0]

    def attempt(self, sql, *parameters):
        try:
            cursor = self.run(sql, *parameters)
            row = cursor.fetchone() if cursor.description else None
            return Answer(row and row[0], "00000")
        except psycopg.Error as error:
            return Answer(None, error.sqlstate or "08000", str(error))

    def start(self, sql, *parameters):
        """Sends the statement and returns once it waits for another session: a Future of its Answer."""
        with contextlib.closing(Session()) as watch:
            waiting = watch.one(WAITING)
            future = in_thread(self.attempt, sql, *parameters)
            watch.until(f"SELECT ({WAITING}) > %s", waiting, unless=future.done)
        return future

    def until(self, sql, *parameters, unless=lambda: False):
        """Repeats the query until it says true."""
        deadline = time.monotonic() + PATIENCE
        while not self.one(sql, *parameters):
            assert not unless(), "it went through without waiting"
            assert time.monotonic() < deadline, f"never became true: {sql}"
            time.sleep(0.002)

    def reap(self, arguments=""):
        """One cleanup run, as a dictionary."""
        cursor = self.run(f"SELECT * FROM hold_reap({arguments})")
        return dict(zip([column.name for column in cursor.description], cursor.fetchone()))

    def close(self):
        self.connection.close()


def in_thread(function, *arguments):
    future = Future()

    def work():
        try:
            future.set_result(function(*arguments))
        except BaseException as error:  # handed to whoever asks for the result
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future


def done(future):
    """The result of what was started."""
    return future.result(PATIENCE)


def pytest_collection_modifyitems(items):
    """Leaves out what unpooled.py names, where each name must be that of a test."""
    if not POOLER:
        return
    for file in {item.path.name for item in items}:
        names = UNPOOLED.get(file, {})
        assert set(names) <= {item.originalname for item in items if item.path.name == file}, file
    items[:] = [item for item in items if item.originalname not in UNPOOLED.get(item.path.name, {})]


@pytest.fixture
def connect():
    """Makes sessions that end with the test."""
    with contextlib.ExitStack() as open_sessions:
        def new():
            return open_sessions.enter_context(contextlib.closing(Session()))
        yield new


@pytest.fixture(autouse=True)
def db(connect):
    """A session on empty tables; whatever a test did, the tables are sound after it."""
    session = connect()
    session.run(EMPTY)
    yield session
    if session.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        session.run("ROLLBACK")
    for promise, query in UNSOUND.items():
        assert session.rows(query) == [], promise


@pytest.fixture
def race(connect):
    """race(jobs): runs job(session) for each in a thread of its own, from one signal; their results, in order."""
    def run(jobs):
        sessions = [connect() for _ in jobs]
        for session in sessions:  # whatever a first call costs is paid before the signal
            session.run("SELECT hold_get(0)")
        barrier = threading.Barrier(len(jobs))

        def work(job, session):
            barrier.wait(PATIENCE)
            return job(session)

        with ThreadPoolExecutor(len(jobs)) as pool:
            return [f.result(60) for f in [pool.submit(work, *pair) for pair in zip(jobs, sessions)]]
    return run


@pytest.fixture
def system(db):
    """system(name, value): sets it for the whole server until the test ends."""
    changed = []
    with contextlib.closing(Session(pooler=None)) as admin:  # needs the library to be loaded by the same session
        admin.run("LOAD 'reservation'")

        def change(name, value):
            changed.append(name)
            admin.run(f"ALTER SYSTEM SET {name} = {value}")
            admin.run("SELECT pg_reload_conf()")
            with contextlib.closing(Session(pooler=None)) as fresh:
                fresh.run("LOAD 'reservation'")
                fresh.until("SELECT current_setting(%s) = %s", name, str(value).strip("'"))
            if POOLER:  # its servers are told at the same moment
                time.sleep(0.1)
        yield change
        for name in changed:
            admin.run(f"ALTER SYSTEM RESET {name}")
        if changed:
            admin.run("SELECT pg_reload_conf()")


def rooms(db, *ids):
    db.run("INSERT INTO room SELECT id, 'Room ' || id FROM unnest(%s::bigint[]) AS id", list(ids))


def item(db, item_id, units):
    db.run("INSERT INTO inventory (item_id, available) VALUES (%s, %s)", item_id, units)


def stock(db, hold_id, item_id, quantity, expires="clock_timestamp() - interval '1 second'", reference=None):
    """A hold of stock by raw SQL, overdue unless said otherwise, in the way of the pattern."""
    db.run(f"""
        WITH taken AS (
            UPDATE inventory SET available = available - %s WHERE item_id = %s AND available >= %s RETURNING item_id)
        INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, payment_reference)
        SELECT %s, item_id, %s, 'held', {expires}, %s FROM taken""",
           quantity, item_id, quantity, hold_id, quantity, reference)


def slot(db, hold_id, room_id, during=PERIOD, expires="clock_timestamp() - interval '1 second'", reference=None):
    db.run(f"""
        INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, payment_reference)
        VALUES (%s, %s, %s, 'held', {expires}, %s)""", hold_id, room_id, during, reference)


def codes(answers):
    """How often each SQLSTATE came."""
    counts = {}
    for answer in answers:
        counts[answer.code] = counts.get(answer.code, 0) + 1
    return counts


class Clock:
    """A time source that stands still until it is set; every session sees it as it stands."""

    def __init__(self, db, connect):
        self.db, self.connect = db, connect
        db.run("""
            CREATE SCHEMA clock;
            CREATE SEQUENCE clock.minute MINVALUE 0 START 0;
            CREATE FUNCTION clock.at(minute numeric) RETURNS timestamptz LANGUAGE sql
                RETURN timestamptz '2100-01-01 00:00+00' + minute * interval '1 minute';
            CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql
                RETURN (SELECT clock.at(last_value) FROM clock.minute);
            SET reservation.time_source = 'clock.now';""")
        self.set(0)

    def set(self, minute):
        self.db.run("SELECT setval('clock.minute', %s)", minute)

    def session(self):
        session = self.connect()
        session.run("LOAD 'reservation'")
        session.run("SET reservation.time_source = 'clock.now'")
        return session


@pytest.fixture
def clock(db, connect):
    yield Clock(db, connect)
    db.run("RESET reservation.time_source; DROP SCHEMA clock CASCADE")


def log(db, columns="hold_id, outcome, version_seen"):
    return db.rows(f"SELECT {columns} FROM hold_event ORDER BY event_id")


def states(db):
    return dict(db.rows("SELECT hold_id, state FROM hold"))
