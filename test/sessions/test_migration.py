"""doc/migration.md with old and new writers at work while its statements run.

The old writers check and then insert, as the page says, and so overlap now and then. Whatever one of them was told to
have is there afterwards, once, on either side of the way and back.
"""
import random
import subprocess
import sys
import time

import psycopg
import pytest

from conftest import done, in_thread

sys.path.insert(0, "test/harness")
import docs  # noqa: E402

ROOMS, UNITS = (1, 2, 3), 1000000
HOURS = (30, 20000)  # a few that everybody wants, and more than there is time for
PAGE = "doc/migration.md"


def section(title):
    """The SQL blocks below a heading of the page."""
    with open(PAGE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("#") and line.endswith(title))
    end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith("#")), len(lines))
    blocks = [block.sql for block in docs.blocks_of(lines[start:end])]
    assert blocks, title
    return blocks


def statements(title, *words):
    """The blocks with one of the words, in their order."""
    found = [sql for sql in section(title) if any(word in sql for word in words)]
    assert len(found) == len(words), (title, words)
    return found


@pytest.fixture
def legacy(db):
    """The tables of the page, without its rows."""
    db.run("DROP SCHEMA IF EXISTS legacy CASCADE")
    for sql in statements("The old system", "CREATE SCHEMA legacy")[0].split(";"):
        if "legacy." in sql and "INSERT" not in sql or "CREATE SCHEMA" in sql:
            db.run(sql)
    db.run("INSERT INTO legacy.stock VALUES (7, %s), (8, %s)", UNITS, UNITS)
    yield db
    db.run("DROP SCHEMA legacy CASCADE")
    db.run("LOAD 'reservation'")
    db.run("ALTER SYSTEM RESET reservation.accept_holds")
    db.run("SELECT pg_reload_conf()")
    db.until("SELECT current_setting('reservation.accept_holds') = 'on'")


class Writer:
    """A client, of the old way until that is closed, then of the new one while that is open."""

    def __init__(self, session, number):
        self.session, self.name = session, f"customer {number}"
        self.random = random.Random(number)
        self.bookings, self.units = [], {7: 0, 8: 0}
        self.stop = False
        self.refused = set()
        self.old = True

    def work(self):
        while not self.stop:
            room, hour = self.random.choice(ROOMS), self.random.randrange(self.random.choice(HOURS))
            item, units = self.random.choice((7, 8)), self.random.randint(1, 3)
            try:
                (self.book_the_old_way if self.old else self.book_the_new_way)(room, hour)
                (self.order_the_old_way if self.old else self.order_the_new_way)(item, units)
            except psycopg.Error as error:
                if self.session.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    self.session.run("ROLLBACK")
                self.refused.add(error.sqlstate)
                if error.sqlstate == "P0001":  # made by hold_acquire now
                    self.old = False
                elif error.sqlstate not in ("RV008", "23P01", "23514"):
                    raise
            time.sleep(0.001)
        return self

    def period(self, hour):
        return (f"tstzrange(timestamptz '2100-01-01 00:00+00' + {hour} * interval '1 hour',"
                f" timestamptz '2100-01-01 00:00+00' + {hour + 1} * interval '1 hour')")

    def book_the_old_way(self, room, hour):
        during = self.period(hour)
        if self.session.one(f"""SELECT count(*) FROM legacy.booking
                                WHERE room_no = {room} AND status = 'paid' AND tstzrange(starts, ends) && {during}"""):
            return
        time.sleep(0.001)
        self.session.run(f"""INSERT INTO legacy.booking (room_no, starts, ends, customer, status)
                             SELECT {room}, lower(d), upper(d), '{self.name}', 'paid' FROM (SELECT {during}) AS v (d)""")
        self.bookings.append((room, hour))

    def order_the_old_way(self, item, units):
        self.session.run("BEGIN")
        taken = self.session.one("""UPDATE legacy.stock SET on_hand = on_hand - %s WHERE sku = %s AND on_hand >= %s
                                    RETURNING true""", units, item, units)
        if taken:
            self.session.run("""INSERT INTO legacy.order_line (sku, units, customer, status)
                                VALUES (%s, %s, %s, 'paid')""", item, units, self.name)
        self.session.run("COMMIT")
        self.units[item] += units if taken else 0

    def book_the_new_way(self, room, hour):
        self.session.run(f"SELECT hold_confirm(hold_acquire(room_claim({room}, {self.period(hour)}), holder => %s))",
                         self.name)
        self.bookings.append((room, hour))

    def order_the_new_way(self, item, units):
        self.session.run("SELECT hold_confirm(hold_acquire(stock_claim(%s, %s), holder => %s))", item, units, self.name)
        self.units[item] += units


def psql(blocks):
    """Runs blocks of the page as its reader does; what it printed, and whether there was no error."""
    ran = subprocess.run(["psql", "-qXAt", "-v", "ON_ERROR_STOP=1"], input="\n".join(blocks), text=True, timeout=60,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return ran.stdout, ran.returncode == 0


def run_all(blocks):
    printed, well = psql(blocks)
    assert well, printed


def cut_over(session):
    """Section 3 from its first block to its last; False if it found problems, and then nothing was written."""
    printed, well = psql(section("3. Cut over"))
    if not well:
        assert "there are problems, and nothing was imported" in printed
        assert session.one("SELECT (SELECT count(*) FROM hold) + (SELECT count(*) FROM inventory)") == 0
    return well


def resolve(session):
    """The business: of two bookings that overlap, the later one is refunded."""
    return session.rows("""
        WITH later AS (
            SELECT DISTINCT b.hold_id FROM legacy.slot_import AS a
            JOIN legacy.slot_import AS b ON b.room_id = a.room_id AND b.during && a.during AND b.hold_id > a.hold_id)
        UPDATE legacy.booking SET status = 'void' WHERE id IN (SELECT hold_id FROM later)
        RETURNING customer, room_no, extract(epoch FROM starts - '2100-01-01 00:00+00')::integer / 3600""")


def until_each(writers, condition):
    deadline = time.monotonic() + 30
    while not all(condition(writer) for writer in writers):
        assert time.monotonic() < deadline, "the writers do not get on"
        time.sleep(0.01)


def test_there_and_back(legacy, connect):
    db = legacy
    writers = [Writer(connect(), number) for number in range(4)]
    running = [in_thread(writer.work) for writer in writers]
    refunded = []
    until_each(writers, lambda w: len(w.bookings) > 2)

    first = section("1. Beside the old tables")
    assert "CREATE EXTENSION reservation CASCADE" in first[0]
    run_all([first[0].replace("CREATE EXTENSION reservation CASCADE", "LOAD 'reservation'"), *first[1:]])
    run_all(statements("2. List every problem", "CREATE VIEW"))

    # An overlap that nobody resolves in time stops the first attempt; later ones are tried until one goes through.
    for name in "ann", "ben":
        db.run("""INSERT INTO legacy.booking (room_no, starts, ends, customer, status)
                  VALUES (1, '2110-01-01 00:00+00', '2110-01-02 00:00+00', %s, 'paid')""", name)
    assert not cut_over(db)
    attempts = 1
    while True:
        refunded += resolve(db)
        attempts += 1
        if cut_over(db):
            break
        assert attempts < 200
    assert "ben" in [customer for customer, *_ in refunded] and len(refunded) == len(set(refunded))
    assert found(db) == []
    until_each(writers, lambda w: "P0001" in w.refused and "RV008" in w.refused)

    # Both agree, and no writer was told anything that is not there.
    assert psql(statements("4. Open, compare and watch", "FULL JOIN")) == ("", True)
    sold = {item: sum(writer.units[item] for writer in writers) for item in (7, 8)}
    assert {item: UNITS - units for item, units in sold.items()} == \
        {item: db.one("SELECT available FROM inventory WHERE item_id = %s", item) for item in (7, 8)}

    run_all(section("4. Open, compare and watch")[:1])
    count = [len(writer.bookings) for writer in writers]
    until_each(writers, lambda w: len(w.bookings) > count[writers.index(w)])

    run_all(["LOAD 'reservation';", "ALTER SYSTEM SET reservation.accept_holds = off;", "SELECT pg_reload_conf();"])
    db.until("SELECT current_setting('reservation.accept_holds') = 'off'")
    for writer in writers:
        writer.refused.clear()
    until_each(writers, lambda w: "RV008" in w.refused)
    db.until("SELECT count(*) = 0 FROM hold WHERE state IN ('held', 'pending_review')")
    run_all(statements("5. Going back", "DROP TRIGGER"))
    for writer in writers:
        writer.old = True
    count = [len(writer.bookings) for writer in writers]
    until_each(writers, lambda w: len(w.bookings) > count[writers.index(w)])
    for writer in writers:
        writer.stop = True
    for future in running:
        done(future)

    kept = [(writer.name, *booking) for writer in writers for booking in writer.bookings]
    for booking in refunded:
        if booking[0] != "ben":
            kept.remove(booking)
    assert sorted(kept) == sorted(db.rows("""
        SELECT customer, room_no, extract(epoch FROM starts - '2100-01-01 00:00+00')::integer / 3600
        FROM legacy.booking WHERE status = 'paid' AND customer <> 'ann'"""))
    for item in (7, 8):
        units = sum(writer.units[item] for writer in writers)
        assert db.one("SELECT on_hand FROM legacy.stock WHERE sku = %s", item) == UNITS - units
        assert db.one("SELECT sum(units) FROM legacy.order_line WHERE sku = %s AND status = 'paid'", item) == units


def found(session):
    return session.rows("SELECT * FROM reservation_audit()")
