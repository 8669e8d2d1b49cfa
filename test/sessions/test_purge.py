"""hold_purge among others: it passes over what is locked, waits only while it holds nothing, and one runs at a time."""
import pytest

from conftest import done, item, rooms

DAY = "interval '1 day'"


def closed_stock(db, hold_id, item_id, state="expired", quantity=1):
    """A hold that is over, or sold, unchanged for a day. Of sold stock the item must have been made for it."""
    db.run(f"""INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, created_at, changed_at)
               VALUES (%s, %s, %s, %s, now() - {DAY} / 2, now() - {DAY}, now() - {DAY})""", hold_id, item_id, quantity, state)


def closed_slot(db, hold_id, room_id, state="expired"):
    db.run(f"""INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, created_at, changed_at)
               VALUES (%s, %s, tstzrange('2001-01-01', '2001-01-02') , %s, now() - {DAY} / 2, now() - {DAY}, now() - {DAY})""",
           hold_id, room_id, state)


def sold_item(db, item_id, available, sold):
    db.run("INSERT INTO inventory VALUES (%s, %s, %s)", item_id, available, available + sold)


def left(db):
    return [hold_id for (hold_id,) in db.rows("SELECT hold_id FROM hold ORDER BY 1")]


def test_a_busy_resource_is_no_matter_for_what_is_over(db, connect):
    rooms(db, 1)
    item(db, 1, 5)
    closed_slot(db, 1, 1)
    closed_slot(db, 2, 1, "confirmed")
    closed_stock(db, 3, 1)
    customer = connect()
    customer.run("BEGIN; SELECT FROM room FOR UPDATE; SELECT FROM inventory FOR UPDATE")
    assert db.one("SELECT hold_purge('1 hour')") == 3
    customer.run("COMMIT")


@pytest.mark.parametrize("lock", ["FOR UPDATE", "FOR KEY SHARE"])
def test_a_locked_row_is_passed_over(db, connect, lock):
    item(db, 1, 5)
    for hold_id in 1, 2, 3:
        closed_stock(db, hold_id, 1)
    other = connect()
    other.run(f"BEGIN; SELECT FROM stock_hold WHERE hold_id = 2 {lock}")
    assert db.one("SELECT hold_purge('1 hour', 2)") == 2  # the limit counts what was purged
    assert left(db) == [2]
    assert db.one("SELECT hold_purge('1 hour')") == 0
    other.run("COMMIT")
    assert db.one("SELECT hold_purge('1 hour')") == 1


def test_sold_stock_waits_for_the_item_of_the_oldest_and_passes_over_others(db, connect, system):
    system("reservation.reaper_lock_wait", "'20s'")
    for item_id in 1, 2, 3:
        sold_item(db, item_id, 0, 1)
        closed_stock(db, item_id, item_id, "confirmed")
        db.run(f"UPDATE inventory SET available = available WHERE item_id = {item_id}")
    first, other, purge = connect(), connect(), connect()
    first.run("BEGIN; SELECT FROM inventory WHERE item_id = 1 FOR UPDATE")
    other.run("BEGIN; SELECT FROM inventory WHERE item_id = 2 FOR UPDATE")
    waiting = purge.start("SELECT hold_purge('1 hour', NULL, true)")
    first.run("COMMIT")
    assert done(waiting).value == 2
    assert left(db) == [2]
    other.run("COMMIT")
    assert db.one("SELECT hold_purge('1 hour', NULL, true)") == 1
    assert db.rows("SELECT available, capacity FROM inventory") == [(0, 0)] * 3


def test_sold_stock_does_not_wait_for_ever(db, connect, system):
    system("reservation.reaper_lock_wait", "'100ms'")
    for item_id in 1, 2:
        sold_item(db, item_id, 0, 1)
        closed_stock(db, item_id, item_id, "confirmed")
    first = connect()
    first.run("BEGIN; SELECT FROM inventory WHERE item_id = 1 FOR UPDATE")
    assert db.one("SELECT hold_purge('1 hour', NULL, true)") == 1
    assert left(db) == [1]
    first.run("COMMIT")


def test_in_a_transaction_that_holds_a_lock_it_waits_for_nothing(db, connect, system):
    system("reservation.reaper_lock_wait", "'20s'")
    sold_item(db, 1, 0, 1)
    closed_stock(db, 1, 1, "confirmed")
    rooms(db, 1)
    other = connect()
    other.run("BEGIN; SELECT FROM inventory WHERE item_id = 1 FOR UPDATE")
    db.run("BEGIN; SELECT FROM room WHERE room_id = 1 FOR UPDATE")
    waiting = other.start("SELECT FROM room WHERE room_id = 1 FOR UPDATE")
    assert db.one("SELECT hold_purge('1 hour', NULL, true)") == 0  # else these two would wait for each other
    db.run("COMMIT")
    assert done(waiting).ok
    other.run("COMMIT")


@pytest.mark.parametrize("sold", ["false", "true"])
def test_two_purges_that_have_something_locked_do_not_wait_for_each_other(db, connect, system, sold):
    system("reservation.reaper_lock_wait", "'20s'")
    sold_item(db, 1, 0, 1)
    closed_stock(db, 1, 1, "confirmed")
    item(db, 2, 5)
    closed_stock(db, 2, 2)
    other = connect()
    other.run("BEGIN")
    assert other.one(f"SELECT hold_purge('1 hour', NULL, {sold})") == 1 + (sold == "true")
    db.run("BEGIN; SELECT FROM inventory WHERE item_id = 2 FOR UPDATE")
    waiting = other.start("SELECT FROM inventory WHERE item_id = 2 FOR UPDATE")
    assert db.one(f"SELECT hold_purge('1 hour', NULL, {sold})") == 0  # it cannot have its turn, which other has
    db.run("COMMIT")
    assert done(waiting).ok
    other.run("COMMIT")


def test_the_last_of_two_purges_takes_the_key(db, connect):
    """Each of them alone would take the hold of the other for still there."""
    rooms(db, 1)
    item(db, 1, 5)
    ids = db.one("""SELECT hold_acquire_all(ARRAY[room_claim(1, '[2100-01-01, 2100-01-02)'), stock_claim(1, 1)],
                                            NULL, NULL, 'key')""")
    db.run("SELECT hold_cancel_all(%s)", ids)
    first, second = connect(), connect()
    first.run("BEGIN")
    assert first.one("SELECT hold_purge('0', 1)") == 1
    waiting = second.start("SELECT hold_purge('0')")
    first.run("COMMIT")
    assert done(waiting).value == 1
    assert db.one("SELECT count(*) FROM hold_request") == 0


def test_the_key_while_its_hold_is_being_purged(db, connect):
    """Until the purge commits, the key gives the old id; afterwards it is a new request."""
    item(db, 1, 5)
    acquire = "SELECT hold_acquire(stock_claim(1, 1), NULL, NULL, 'key')"
    old = db.one(acquire)
    db.run("SELECT hold_cancel(%s)", old)
    purge = connect()
    purge.run("BEGIN")
    assert purge.one("SELECT hold_purge('0')") == 1
    assert db.one(acquire) == old
    purge.run("COMMIT")
    assert db.one(acquire) not in (old, None)
    assert db.one("SELECT count(*) FROM stock_hold") == 1


def test_a_cancellation_that_the_purge_overtakes(db, connect):
    """A confirmed room whose period is over is purged while somebody cancels it: one of both."""
    rooms(db, 1)
    closed_slot(db, 1, 1, "confirmed")
    purge, customer = connect(), connect()
    purge.run("BEGIN")
    assert purge.one("SELECT hold_purge('1 hour')") == 1
    waiting = customer.start("SELECT hold_cancel(1)")
    purge.run("COMMIT")
    assert done(waiting).code == "P0002"
    closed_slot(db, 2, 1, "confirmed")
    customer.run("BEGIN; SELECT hold_cancel(2)")
    assert db.one("SELECT hold_purge('1 hour')") == 0
    customer.run("COMMIT")
    assert db.one("SELECT state FROM slot_hold") == "cancelled"


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_old_snapshots(db, connect, level):
    item(db, 1, 5)
    sold_item(db, 2, 0, 2)
    ids = db.one("SELECT hold_acquire_all(ARRAY[stock_claim(1, 1), stock_claim(1, 1)], NULL, NULL, 'key')")
    db.run("SELECT hold_cancel_all(%s)", ids)
    closed_stock(db, 1, 2, "confirmed", 2)
    old = connect()
    old.run(f"BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM hold_run")
    assert db.one("SELECT hold_purge('0', 1)") == 1
    answer = old.attempt("SELECT hold_purge('0', NULL, true)")
    assert answer.code in ("00000", "40001")
    old.run("COMMIT" if answer.ok else "ROLLBACK")
    db.run("SELECT hold_purge('0', NULL, true)")
    assert left(db) == []
    assert db.one("SELECT count(*) FROM hold_request") == 0
    assert db.row("SELECT available, capacity FROM inventory WHERE item_id = 2") == (0, 0)


def test_among_customers(db, race):
    """Purges of everything while others acquire, cancel, confirm and reap: nothing raises, and no unit is lost."""
    rooms(db, *range(1, 5))
    for item_id in range(1, 5):
        item(db, item_id, 1000)
    customer = """
        DO $$
        BEGIN
            FOR i IN 1..150 LOOP
                PERFORM hold_cancel(hold_acquire(stock_claim(1 + i % 4, 1), NULL, NULL, format('{0}-%s', i)));
                COMMIT;
                PERFORM hold_confirm(hold_acquire(stock_claim(1 + (i + 1) % 4, 2)));
                COMMIT;
                PERFORM hold_acquire(stock_claim(1 + i % 4, 1), '1 microsecond');
                COMMIT;
                PERFORM hold_reap(10, 1, 1);
                COMMIT;
            END LOOP;
        END $$"""
    purge = """
        DO $$
        BEGIN
            FOR i IN 1..100 LOOP
                PERFORM hold_purge('0', 20, {0});
                COMMIT;
            END LOOP;
        END $$"""
    answers = race([lambda s, n=n: s.attempt(customer.format(n)) for n in range(4)] +
                   [lambda s, sold=sold: s.attempt(purge.format(sold)) for sold in ("true", "false")])
    assert [answer.code for answer in answers] == ["00000"] * 6
    db.run("CALL hold_reap_all()")
    db.run("SELECT hold_purge('0', 100000, true)")
    assert left(db) == [] and db.one("SELECT count(*) FROM hold_request") == 0
    assert db.one("SELECT bool_and(available = capacity) FROM inventory")
    assert db.one("SELECT sum(capacity) FROM inventory") == 4000 - 4 * 150 * 2


def test_it_reads_nothing_that_stays(db):
    """By plans that were made while the tables were small, as in a session that lives long."""
    rooms(db, 1)
    item(db, 1, 5000)
    assert db.one("SELECT hold_purge('1 hour', 10, true)") == 0
    db.run("INSERT INTO hold_run SELECT g, now() - interval '1 day', now() - interval '1 day', 1, 1, 0, 0, 0, 0, false, NULL, 'a' "
           "FROM generate_series(1, 1000) g")
    db.run("INSERT INTO hold_event (hold_id, kind, resource_id, run_id, outcome, at, who) SELECT g, 'room', 1, 1 + g % 1000, 'released', now(), 'a' "
           "FROM generate_series(1, 2000) g")
    for count, state, until, changed in ((1000, "confirmed", "now() - interval '2 days'", "now()"),
                                         (1000, "expired", "now() - interval '2 days'", "now()"),
                                         (1000, "confirmed", "now() + interval '9 days'", "now() - interval '2 days'")):
        db.run(f"""INSERT INTO slot_hold (room_id, during, state, expires_at, created_at, changed_at)
                   SELECT 1, tstzrange({until} - g * interval '1 minute', {until} - (g - 1) * interval '1 minute'), '{state}',
                          {changed} + interval '1 hour', {changed}, {changed} FROM generate_series(1, {count}) g""")
    db.run("INSERT INTO stock_hold (item_id, quantity, state, expires_at) SELECT 1, 1, 'expired', now() FROM generate_series(1, 1000)")
    counters = "SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables"
    db.run("BEGIN")
    before = dict(db.rows(counters))
    assert db.one("SELECT hold_purge('1 hour', NULL, true)") == 0
    read = {table: count - before[table] for table, count in db.rows(counters)}
    db.run("COMMIT")
    assert read["slot_hold"] + read["stock_hold"] < 10, read
    assert read["hold_event"] <= 2 * 1000, read  # one for each run, by its index
