"""reservation_audit with other sessions at work, with settings of the server, and over many rows.

What it finds is tested in test/pgtap/audit.sql.
"""
import pytest

from conftest import EMPTY, done, in_thread, item, rooms

FINDINGS = "SELECT object || ': ' || problem FROM reservation_audit() ORDER BY 1"


def found(session):
    return [row[0] for row in session.rows(FINDINGS)]


@pytest.fixture
def role(db):
    db.run("CREATE ROLE audited LOGIN")
    yield "audited"
    db.run("DROP ROLE audited")


def test_the_servers_settings_are_those_of_others(db, connect, system, role):
    system("reservation.expiry_grace", "'2s'")
    db.run(f"ALTER ROLE {role} SET reservation.expiry_grace = '2000ms'")
    assert found(connect()) == []
    db.run(f"ALTER ROLE {role} SET reservation.expiry_grace = '0'")
    assert found(connect()) == [f"role {role}: has a clock of its own"]


def test_a_role_with_a_clock_of_its_own_sees_it_too(db, connect, role):
    me = db.one("SELECT current_user")
    db.run(f"ALTER ROLE {me} SET reservation.expiry_grace = '5s'")
    try:
        session = connect()
        assert session.one("SHOW reservation.expiry_grace") == "5s"
        assert found(session) == [f"role {me}: has a clock of its own"]
    finally:
        db.run(f"ALTER ROLE {me} RESET ALL")


def test_work_that_goes_on_is_no_finding(db, connect):
    rooms(db, 1)
    item(db, 1, 10)
    stop = []

    def work(session):
        while not stop:
            ids = session.one("""
                SELECT hold_acquire_all(ARRAY[room_claim(1, '[2100-01-01, 2100-01-02)'), stock_claim(1, 3)])""")
            session.run("SELECT hold_cancel_all(%s)", ids)

    worker = in_thread(work, connect())
    try:
        for _ in range(50):
            assert found(db) == []
    finally:
        stop.append(True)
        done(worker)


def test_many_holds(db):
    """A plan that was made on empty tables does not join 30,000 rows with 30,000 one by one."""
    assert found(db) == []
    rooms(db, *range(1, 101))
    db.run("INSERT INTO inventory SELECT n, 0, 300 FROM generate_series(1, 100) AS n")
    db.run("SET session_replication_role = replica")
    db.run("""
        INSERT INTO slot_hold (room_id, during, state, expires_at, created_at, changed_at)
        SELECT 1 + n % 100, tstzrange(t + n * interval '1 min', t + (n + 100) * interval '1 min'), 'confirmed', t, t, t
        FROM generate_series(1, 30000) AS n, timestamptz(date '2100-01-01') AS t""")
    db.run("""
        INSERT INTO stock_hold (item_id, quantity, state, expires_at, created_at, changed_at)
        SELECT 1 + n % 100, 1, 'confirmed', t, t, t
        FROM generate_series(1, 30000) AS n, timestamptz(date '2100-01-01') AS t""")
    db.run("RESET session_replication_role; SET statement_timeout = '20s'")
    assert found(db) == []
    db.run("UPDATE inventory SET available = 1 WHERE item_id = 50")
    assert found(db) == ["item 50: counter does not agree with holds"]
    db.run(EMPTY)  # or the checks of every test would take half a minute here
