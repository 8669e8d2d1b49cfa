"""Drop protection: every statement that removes the extension, and what gets around it."""
import contextlib
import threading
import time

import pytest

from server import VERSION, error, install, sqlstate, value

ROOM = "INSERT INTO {0}.room VALUES (1, 'Blue')"
HELD_ROOM = "SELECT {0}.hold_acquire({0}.room_claim(1, '[2047-01-01, 2047-01-02)'))"


@contextlib.contextmanager
def owned(cluster, owner):
    """A database whose extension, schemas and all belong to a superuser who is not the bootstrap one."""
    with cluster.empty_database() as name:
        with cluster.connect(name, user=owner) as connection:
            connection.execute("CREATE SCHEMA home; CREATE SCHEMA gist; CREATE EXTENSION btree_gist SCHEMA gist")
            install(connection, "home")
            connection.execute(ROOM.format("home"))
        yield name


@pytest.fixture(scope="module")
def owner(make_role):
    return make_role("LOGIN SUPERUSER")


@pytest.fixture(scope="module")
def promised(cluster, owner):
    """Such a database with a hold. Nobody changes it: what is not refused is rolled back."""
    with owned(cluster, owner) as name:
        with cluster.connect(name) as connection:
            connection.execute(HELD_ROOM.format("home"))
        yield name


@pytest.fixture(scope="module")
def unpromised(cluster, owner):
    """Such a database without a hold."""
    with owned(cluster, owner) as name:
        yield name


STATEMENTS = [
    "DROP EXTENSION reservation",
    "DROP EXTENSION reservation CASCADE",
    "DROP EXTENSION IF EXISTS plpgsql, reservation CASCADE",
    "DROP SCHEMA home CASCADE",
    "DROP SCHEMA IF EXISTS gist, home CASCADE",
    "DROP EXTENSION btree_gist CASCADE",
    "DROP SCHEMA gist CASCADE",
    "DROP OWNED BY {owner}",
    "DROP OWNED BY {owner} CASCADE",
    "DO $$ BEGIN EXECUTE 'DROP EXTENSION reservation CASCADE'; END $$",
    "SET session_replication_role = replica; DROP EXTENSION reservation",
    "BEGIN; ALTER SCHEMA home RENAME TO elsewhere; DROP EXTENSION reservation; COMMIT",
    "BEGIN; DROP EXTENSION reservation; ROLLBACK",
    "ALTER EXTENSION reservation DROP EVENT TRIGGER reservation_drop_guard; DROP EXTENSION reservation",
    "ALTER TABLE home.slot_hold RENAME TO other; DROP EXTENSION reservation",
    "DROP ACCESS METHOD gist CASCADE",  # the server refuses this one and the next itself
    "DROP TYPE home.hold_claim CASCADE",
    "DROP FUNCTION home.hold_guard CASCADE",
    "DROP TABLE home.slot_hold CASCADE",
    "DROP EVENT TRIGGER reservation_drop_guard",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_refused_in_a_session_that_never_called_a_function(cluster, owner, promised, statement):
    with cluster.connect(promised) as fresh:
        diagnostics = error(fresh, statement.format(owner=owner))
        assert diagnostics.sqlstate == "2BP01"
        if "reservation" in diagnostics.message_primary and "holds" in diagnostics.message_primary:
            assert "allow_drop" in diagnostics.message_hint
        fresh.execute("ROLLBACK")
        assert value(fresh, "SELECT count(*) FROM pg_extension WHERE extname = 'reservation'") == 1
        assert value(fresh, "SELECT count(*) FROM home.slot_hold") == 1


@pytest.mark.parametrize("statement", STATEMENTS[:9])
def test_the_same_statements_work_without_promises(cluster, owner, unpromised, statement):
    """The refusals above are due to the hold and to nothing else."""
    with cluster.connect(unpromised) as fresh:
        fresh.execute("BEGIN; SET client_min_messages = error")
        fresh.execute(statement.format(owner=owner))
        assert value(fresh, "SELECT count(*) FROM pg_extension WHERE extname = 'reservation'") == 0
        fresh.execute("ROLLBACK")


@pytest.mark.parametrize("statement", STATEMENTS[:9])
def test_allow_drop(cluster, owner, promised, statement):
    with cluster.connect(promised) as fresh:
        fresh.execute("BEGIN; SET client_min_messages = error; SET reservation.allow_drop = on")
        fresh.execute(statement.format(owner=owner))
        assert value(fresh, "SELECT count(*) FROM pg_extension WHERE extname = 'reservation'") == 0
        fresh.execute("ROLLBACK")


def test_allow_drop_is_for_superusers(cluster, promised, make_role):
    """Somebody who owns no more than the schema may drop it, but not the holds in it."""
    landlord = make_role()
    with cluster.connect(promised) as connection:
        connection.execute(f"ALTER SCHEMA home OWNER TO {landlord}")
    with cluster.connect(promised, user=landlord) as session:
        session.execute("SET reservation.allow_drop = on")  # a placeholder, and refused when the library comes
        assert sqlstate(session, "DROP SCHEMA home CASCADE") == "2BP01"
        assert sqlstate(session, "SET reservation.allow_drop = on") == "42501"
        assert sqlstate(session, "DROP SCHEMA home CASCADE") == "2BP01"


@pytest.mark.parametrize("holds, refused", [
    ("INSERT INTO slot_hold VALUES (1, 1, '[2047-01-01, 2047-01-02)', 'held', '2007-01-01')", True),  # overdue, but held
    ("INSERT INTO slot_hold VALUES (1, 1, '[2007-01-01, 2007-01-02)', 'held', '2047-01-01')", True),
    ("INSERT INTO slot_hold VALUES (1, 1, '[2007-01-01, 2007-01-02)', 'pending_review', '2007-01-01')", True),
    ("INSERT INTO slot_hold VALUES (1, 1, '[2007-01-01, 2047-01-02)', 'confirmed', '2007-01-01')", True),
    ("INSERT INTO slot_hold VALUES (1, 1, '[2007-01-01, 2007-01-02)', 'confirmed', '2047-01-01')", False),  # over
    ("INSERT INTO slot_hold VALUES (1, 1, '[2047-01-01, 2047-01-02)', 'cancelled', '2047-01-01')", False),
    ("INSERT INTO slot_hold VALUES (1, 1, '[2047-01-01, 2047-01-02)', 'expired', '2047-01-01')", False),
    ("INSERT INTO stock_hold VALUES (1, 1, 1, 'held', '2047-01-01')", True),
    ("INSERT INTO stock_hold VALUES (1, 1, 1, 'pending_review', '2047-01-01')", True),
    ("INSERT INTO stock_hold VALUES (1, 1, 1, 'confirmed', '2047-01-01')", False),  # sold
    ("INSERT INTO stock_hold VALUES (1, 1, 1, 'cancelled', '2047-01-01')", False),
    ("INSERT INTO stock_hold VALUES (1, 1, 1, 'expired', '2047-01-01')", False),
    ("SELECT 1", False),
])
def test_which_holds_protect(cluster, database, holds, refused):
    with cluster.connect(database) as connection:
        connection.execute(ROOM.format("public"))
        connection.execute("INSERT INTO inventory VALUES (1, 5, 6)")
        connection.execute(holds)
    with cluster.connect(database) as fresh:
        if refused:
            assert sqlstate(fresh, "DROP EXTENSION reservation") == "2BP01"
        else:
            fresh.execute("DROP EXTENSION reservation")


def test_a_hold_that_is_committed_while_the_drop_waits(cluster, database):
    """The tables are locked before they are looked at, so no hold slips in between."""
    with cluster.connect(database) as other, cluster.connect(database) as dropping, cluster.connect(database) as watching:
        other.execute(ROOM.format("public"))
        other.execute("BEGIN")
        other.execute(HELD_ROOM.format("public"))
        states = []
        thread = threading.Thread(target=lambda: states.append(sqlstate(dropping, "DROP EXTENSION reservation")))
        thread.start()
        for _ in range(500):
            if value(watching, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s", dropping.info.backend_pid):
                break
            time.sleep(0.02)
        other.execute("COMMIT")
        thread.join(60)
        assert states == ["2BP01"]


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_hold_that_is_newer_than_the_snapshot_of_the_drop(cluster, database, level):
    with cluster.connect(database) as other, cluster.connect(database) as dropping:
        other.execute(ROOM.format("public"))
        dropping.execute(f"BEGIN ISOLATION LEVEL {level}; SELECT 1 FROM pg_class LIMIT 1")  # takes the snapshot
        other.execute(HELD_ROOM.format("public"))
        assert sqlstate(dropping, "DROP EXTENSION reservation") == "2BP01"


def test_own_uncommitted_holds_protect_too(connection):
    connection.execute(ROOM.format("public"))
    connection.execute("BEGIN")
    connection.execute(HELD_ROOM.format("public"))
    assert sqlstate(connection, "DROP EXTENSION reservation") == "2BP01"


def test_other_tables_of_these_names_are_nobodys_business(connection):
    """Only the member tables are guarded; a copy, or a table of the name elsewhere, is the user's own."""
    connection.execute(ROOM.format("public") + ";" + HELD_ROOM.format("public"))
    connection.execute("CREATE SCHEMA mine; CREATE TABLE mine.slot_hold AS TABLE slot_hold; CREATE TABLE mine.other AS TABLE slot_hold")
    connection.execute("DROP TABLE mine.other; DROP TABLE mine.slot_hold; DROP SCHEMA mine")


# What the documentation says gets around it: each still does, so that the documentation stays true.

def test_around_it_by_dropping_the_database(cluster):
    with cluster.database() as name:
        with cluster.connect(name) as connection:
            connection.execute(ROOM.format("public") + ";" + HELD_ROOM.format("public"))
        with cluster.connect() as connection:
            connection.execute(f"DROP DATABASE {name}")


def test_around_it_by_disabling_the_event_trigger(cluster, database):
    with cluster.connect(database) as connection:
        connection.execute(ROOM.format("public") + ";" + HELD_ROOM.format("public"))
        connection.execute("ALTER EVENT TRIGGER reservation_drop_guard DISABLE")
        assert sqlstate(connection, "DROP EXTENSION reservation") == "2BP01"  # this session has the library
    with cluster.connect(database, options="-c session_preload_libraries=reservation") as preloaded:
        assert sqlstate(preloaded, "DROP EXTENSION reservation") == "2BP01"  # and here nothing has to load it
    with cluster.connect(database) as fresh:
        fresh.execute("DROP EXTENSION reservation")


if VERSION >= 17:
    def test_around_it_by_the_setting_event_triggers(cluster, database):
        with cluster.connect(database) as connection:
            connection.execute(ROOM.format("public") + ";" + HELD_ROOM.format("public"))
        with cluster.connect(database) as fresh:
            fresh.execute("SET event_triggers = off; DROP EXTENSION reservation")


def test_around_it_by_taking_the_table_out_of_the_extension(connection):
    """Nothing is lost, though: the table stays, with its rows, as the user's own."""
    connection.execute(ROOM.format("public") + ";" + HELD_ROOM.format("public"))
    connection.execute("SET client_min_messages = error")
    connection.execute("ALTER EXTENSION reservation DROP TABLE slot_hold")
    connection.execute("DROP EXTENSION reservation CASCADE")
    assert value(connection, "SELECT count(*) FROM slot_hold") == 1
