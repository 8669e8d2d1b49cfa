"""CALL hold_reap_all(): one commit a batch, an account of it, and an end whatever others do."""
import pytest

from conftest import codes, item, rooms, slot, states, stock


def many(db, count, item_id=1):
    item(db, item_id, count)
    db.run("""INSERT INTO stock_hold (item_id, quantity, state, expires_at)
              SELECT %s, 1, 'held', clock_timestamp() - interval '1 second' FROM generate_series(1, %s)""", item_id, count)
    db.run("UPDATE inventory SET available = 0 WHERE item_id = %s", item_id)


@pytest.fixture
def operator(connect):
    session = connect()
    session.told = []
    session.connection.add_notice_handler(lambda notice: session.told.append((notice.severity, notice.message_primary)))
    return session


def test_until_nothing_is_overdue(db, operator):
    many(db, 25)
    operator.run("CALL hold_reap_all(10)")
    assert db.one("SELECT count(*) FROM stock_hold WHERE state = 'expired'") == 25
    assert [row[0] for row in db.rows("SELECT released FROM hold_run ORDER BY run_id")] == [10, 10, 5]
    assert operator.told == [
        ("NOTICE", "batch 1 done: 10 released, 0 to review, 0 skipped, 0 failed so far"),
        ("NOTICE", "batch 2 done: 20 released, 0 to review, 0 skipped, 0 failed so far"),
        ("NOTICE", "cleanup done: 25 released, 0 to review, 0 skipped, 0 failed")]


@pytest.mark.parametrize("batch", ["", "NULL", "batch => 1000"])
def test_by_default(db, operator, batch):
    many(db, 1001)
    operator.run(f"CALL hold_reap_all({batch})")
    assert [row[0] for row in db.rows("SELECT released FROM hold_run ORDER BY run_id")] == [1000, 1]


def test_nothing_to_do(db, operator):
    operator.run("CALL hold_reap_all()")
    assert operator.told == [("NOTICE", "cleanup done: 0 released, 0 to review, 0 skipped, 0 failed")]
    assert db.one("SELECT count(*) FROM hold_run") == 0


def test_each_batch_is_committed(db, operator, connect):
    """What stands in the way of the third batch is not in the way of the first two, whose work is seen by then."""
    many(db, 20)
    db.run("""
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN IF (SELECT count(*) FROM public.hold_run) = 2 THEN PERFORM pg_advisory_xact_lock(4711); END IF; RETURN new; END';
        CREATE TRIGGER slow BEFORE UPDATE ON stock_hold FOR EACH ROW EXECUTE FUNCTION slow()""")
    try:
        blocker = connect()
        blocker.run("SELECT pg_advisory_lock(4711)")
        waiting = operator.start("CALL hold_reap_all(8)")
        assert db.one("SELECT count(*) FROM stock_hold WHERE state = 'expired'") == 16
        assert len(operator.told) == 2
        assert db.one("SELECT available FROM inventory") == 16
        blocker.run("SELECT pg_terminate_backend(%s)", operator.pid)  # an end in the middle of it
        assert waiting.result(20).code in ("57P01", "08000")
        assert db.one("SELECT count(*) FROM stock_hold WHERE state = 'expired'") == 16
    finally:
        db.run("DROP FUNCTION slow CASCADE")


def test_busy_and_failed_ones_do_not_keep_it_going(db, operator, connect):
    many(db, 12)
    rooms(db, 1)
    slot(db, 1, 1)
    db.run("""
        CREATE FUNCTION boom() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''boom''; END';
        CREATE TRIGGER boom BEFORE UPDATE ON stock_hold FOR EACH ROW EXECUTE FUNCTION boom()""")
    try:
        idler = connect()
        idler.run("BEGIN; SELECT FROM room FOR UPDATE")
        operator.run("CALL hold_reap_all(5)")
        assert operator.told[-1] == ("NOTICE", "cleanup done: 0 released, 0 to review, 0 skipped, 12 failed")
        assert db.rows("SELECT examined, failed, busy FROM hold_run") == [(12, 12, 1)]
        idler.run("COMMIT")
    finally:
        db.run("DROP FUNCTION boom CASCADE")


def test_a_halt_ends_it(db, operator):
    item(db, 1, 30)
    for hold_id in range(1, 31):
        stock(db, hold_id, 1, 1, reference="pay")
    operator.run("CALL hold_reap_all(25)")
    warning, end = operator.told
    assert warning[0] == "WARNING" and "had a payment in flight" in warning[1]
    assert end == ("NOTICE", "cleanup halted: 0 released, 20 to review, 0 skipped, 0 failed")
    assert db.one("SELECT count(*) FROM hold_run") == 1
    operator.told.clear()
    operator.run("CALL hold_reap_all(25)")
    assert operator.told == [("NOTICE", "cleanup done: 0 released, 10 to review, 0 skipped, 0 failed")]


def test_two_at_once(db, race):
    for item_id in range(1, 11):
        many(db, 100, item_id)
    answers = race([lambda s: s.attempt("CALL hold_reap_all(30)")] * 3)
    assert codes(answers) == {"00000": 3}
    db.run("CALL hold_reap_all()")
    assert set(states(db).values()) == {"expired"}
    assert db.one("SELECT sum(released) FROM hold_run") == 1000


REFUSED = {
    "a transaction block": "BEGIN; CALL hold_reap_all()",
    "a function": "SELECT in_a_function()",
    "a block with an exception clause": "DO $$ BEGIN CALL hold_reap_all(); EXCEPTION WHEN division_by_zero THEN END $$",
    "a procedure with a setting": "CALL with_a_setting()",
    "several statements at once": "CALL hold_reap_all(); SELECT 1",
}


@pytest.mark.parametrize("where", REFUSED)
def test_where_it_cannot_commit(db, operator, where):
    many(db, 3)
    db.run("""
        CREATE OR REPLACE FUNCTION in_a_function() RETURNS void LANGUAGE plpgsql AS 'BEGIN CALL hold_reap_all(); END';
        CREATE OR REPLACE PROCEDURE with_a_setting() LANGUAGE plpgsql SET work_mem = '4MB' AS 'BEGIN CALL hold_reap_all(); END'""")
    answer = operator.attempt(REFUSED[where])
    operator.connection.rollback()
    assert answer.code == "2D000"
    assert "hold_reap_all cannot run inside a transaction block" in answer.text
    assert "Call it as a statement of its own; inside a transaction, call hold_reap." in answer.text
    assert set(states(db).values()) == {"held"}


def test_where_it_can(db, operator):
    many(db, 30)
    operator.run("DO $$ BEGIN CALL hold_reap_all(7); COMMIT; CALL hold_reap_all(8); END $$")
    assert set(states(db).values()) == {"expired"}
    assert db.one("SELECT count(*) FROM hold_run") == 5


@pytest.mark.parametrize("batch", ["0", "-1"])
def test_invalid_batches(operator, batch):
    answer = operator.attempt(f"CALL hold_reap_all({batch})")
    assert answer.code == "22023" and "invalid batch" in answer.text


def test_who_may(db, operator):
    """The caller needs both functions; what is done is done with the rights of the owner, and logged as the caller's."""
    many(db, 3)
    db.run("CREATE ROLE sweeper LOGIN; GRANT EXECUTE ON PROCEDURE hold_reap_all TO sweeper")
    try:
        operator.run("SET ROLE sweeper")
        answer = operator.attempt("CALL hold_reap_all()")
        assert answer.code == "42501" and "function hold_reap" in answer.text
        db.run("GRANT EXECUTE ON FUNCTION hold_reap TO sweeper")
        operator.run("CALL hold_reap_all(2)")
        assert set(states(db).values()) == {"expired"}
        assert db.rows("SELECT DISTINCT who FROM hold_run") == [("sweeper",)]
    finally:
        operator.run("RESET ROLE")
        db.run("DROP OWNED BY sweeper; DROP ROLE sweeper")
