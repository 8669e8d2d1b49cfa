"""The recipe that stops new holds: LOAD, ALTER SYSTEM, reload. What a closed server does is in test/pgtap/drain.sql."""
import pytest

from conftest import item


@pytest.fixture
def reopened(db):
    """Whatever the test did, the server accepts holds afterwards."""
    yield
    db.run("LOAD 'reservation'")
    db.run("ALTER SYSTEM RESET reservation.accept_holds")
    db.run("SELECT pg_reload_conf()")
    db.until("SELECT current_setting('reservation.accept_holds') = 'on'")


def test_alter_system_needs_the_library(connect, reopened):
    """Up to 16 the server refuses a setting that it does not know; since 17 it takes it, whatever the value."""
    session = connect()
    unknown = "42704" if session.connection.info.server_version < 170000 else "00000"
    assert session.attempt("ALTER SYSTEM SET reservation.accept_holds = off").code == unknown
    session.run("LOAD 'reservation'")
    assert session.attempt("ALTER SYSTEM SET reservation.accept_holds = 'ajar'").code == "22023"
    assert session.attempt("ALTER SYSTEM SET reservation.accept_holds = off").ok


def test_the_recipe_closes_and_opens(db, connect, reopened):
    item(db, 1, 10)
    held = db.one("SELECT hold_acquire(stock_claim(1, 1))")
    admin = connect()
    for value, code in ("off", "RV008"), ("on", "00000"):
        admin.run("LOAD 'reservation'")
        admin.run(f"ALTER SYSTEM SET reservation.accept_holds = {value}")
        admin.run("SELECT pg_reload_conf()")
        admin.until("SELECT current_setting('reservation.accept_holds') = %s", value)
        fresh = connect()
        assert fresh.attempt("SELECT hold_acquire(stock_claim(1, 1))").code == code
        assert fresh.attempt("SELECT hold_extend(%s, '1 hour')", held).code == code
    assert db.one("SELECT hold_confirm(%s)", held) == "confirmed"


def test_alter_database_reaches_only_new_sessions(db, connect, reopened):
    item(db, 1, 10)
    name = db.one("SELECT current_database()")
    db.run(f"ALTER DATABASE {name} SET reservation.accept_holds = off")
    try:
        assert db.attempt("SELECT hold_acquire(stock_claim(1, 1))").ok
        assert connect().attempt("SELECT hold_acquire(stock_claim(1, 1))").code == "RV008"
    finally:
        db.run(f"ALTER DATABASE {name} RESET ALL")


def test_a_drained_server_lets_go(db, connect, system):
    """Closed, every hold that was accepted comes to its end by itself, and nothing keeps the extension any more."""
    item(db, 1, 10)
    db.run("SELECT hold_acquire(stock_claim(1, 2), '100 milliseconds')")
    paid = db.one("SELECT hold_acquire(stock_claim(1, 3))")
    system("reservation.accept_holds", "off")
    other = connect()
    in_the_way = "DROP EXTENSION reservation"
    db.run("BEGIN")
    assert db.attempt(in_the_way).code == "2BP01"
    db.run("ROLLBACK")
    assert other.one("SELECT hold_confirm(%s)", paid) == "confirmed"
    other.until("SELECT expires_at <= clock_timestamp() FROM stock_hold WHERE state = 'held'")
    assert other.reap()["released"] == 1
    assert other.rows("SELECT * FROM hold WHERE state IN ('held', 'pending_review')") == []
    assert other.one("SELECT stock_availability(1)") == 7
    db.run("BEGIN")
    assert db.attempt(in_the_way).ok
    db.run("ROLLBACK")
