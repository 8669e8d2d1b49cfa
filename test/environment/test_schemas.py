"""Any target schema, two databases, renames under a running session."""
import pytest

from server import error, install, member_relations, quoted, sqlstate, value
from tour import Tour, contradictions

ODD_NAMES = [
    "reservation",
    "Upper Case",
    "select",
    "with.dot",
    "hyphen-ated",
    "{schema}",
    "%s",
    "größe",
    "x" * 63,
    "public",
]


@pytest.mark.parametrize("schema", ODD_NAMES)
def test_works_in_any_schema(cluster, schema):
    with cluster.database(schema) as name, cluster.connect(name) as connection:
        tour = Tour(connection, quoted(schema)).play()
        assert tour.left_out() == set()
        assert contradictions(connection, quoted(schema)) == []


# The server itself puts no such name into a script, because a script could be made to run something else by it.
@pytest.mark.parametrize("schema", ["quote'd", 'double"quoted', "back\\slash", "dollar$"])
def test_names_that_the_server_refuses(cluster, schema):
    with cluster.empty_database() as name, cluster.connect(name) as connection:
        connection.execute("CREATE EXTENSION btree_gist")
        connection.execute(f"CREATE SCHEMA {quoted(schema)}")
        assert "invalid character in extension" in error(
            connection, f"CREATE EXTENSION reservation SCHEMA {quoted(schema)}").message_primary
        assert member_relations(connection) == []

        # An existing installation may be given such a name, though, and then everything works.
        connection.execute(f"DROP SCHEMA {quoted(schema)}")
        install(connection, "home")
        connection.execute(f"ALTER SCHEMA home RENAME TO {quoted(schema)}")
        assert Tour(connection, quoted(schema)).play().left_out() == set()


def test_system_schemas_are_refused(connection):
    connection.execute("DROP EXTENSION reservation")
    for schema in ("pg_catalog", "pg_temp"):
        assert sqlstate(connection, f"CREATE EXTENSION reservation SCHEMA {schema}") is not None
        assert member_relations(connection) == []
    install(connection)


def test_set_schema_is_refused(connection):
    connection.execute("CREATE SCHEMA other")
    assert sqlstate(connection, "ALTER EXTENSION reservation SET SCHEMA other") == "0A000"


def test_two_databases_know_nothing_of_each_other(cluster):
    with cluster.database() as one, cluster.database("Other") as two, \
            cluster.connect(one) as first, cluster.connect(two) as second:
        Tour(first).play()
        assert value(second, 'SELECT count(*) FROM "Other".hold') == 0
        Tour(second, '"Other"').play()
        rows_of_first = value(first, "SELECT count(*) FROM hold")
        second.execute("SET reservation.allow_drop = on")
        second.execute("DROP EXTENSION reservation")
        assert value(first, "SELECT count(*) FROM hold") == rows_of_first
        Tour(first, first=10).play()


def test_rename_under_a_session(cluster):
    """Kept plans follow the name: every function, in one session, before and after each rename."""
    with cluster.database("one") as name, cluster.connect(name) as connection:
        Tour(connection, "one", 1).play()
        connection.execute('ALTER SCHEMA one RENAME TO "Two Words"')
        assert Tour(connection, '"Two Words"', 11).play().left_out() == set()

        # The old name is taken by a decoy with tables of the same shape: nothing may be written there.
        connection.execute("CREATE SCHEMA one")
        for table, kind in member_relations(connection):
            if kind == "r":
                connection.execute(f'CREATE TABLE one.{table} (LIKE "Two Words".{table} INCLUDING ALL)')
        Tour(connection, '"Two Words"', 21).play()
        for table, kind in member_relations(connection):
            if kind == "r":
                assert value(connection, f"SELECT count(*) FROM one.{table}") == 0

        # Names swapped.
        connection.execute("ALTER SCHEMA one RENAME TO decoy")
        connection.execute('ALTER SCHEMA "Two Words" RENAME TO one')
        connection.execute('ALTER SCHEMA decoy RENAME TO "Two Words"')
        Tour(connection, "one", 31).play()
        assert value(connection, 'SELECT count(*) FROM "Two Words".hold_event') == 0
        assert contradictions(connection, "one") == []


def test_rename_by_another_session(cluster):
    with cluster.database("one") as name, cluster.connect(name) as connection, cluster.connect(name) as other:
        Tour(connection, "one", 1).play()
        other.execute("ALTER SCHEMA one RENAME TO two")
        Tour(connection, "two", 11).play()
        assert contradictions(connection, "two") == []


def test_rename_that_is_rolled_back(cluster):
    with cluster.database("one") as name, cluster.connect(name, autocommit=False) as connection:
        connection.execute("INSERT INTO one.inventory VALUES (1, 10)")
        connection.execute("SELECT one.hold_acquire(one.stock_claim(1, 1))")
        connection.commit()
        connection.execute("ALTER SCHEMA one RENAME TO two")
        connection.execute("SELECT two.hold_acquire(two.stock_claim(1, 1))")
        connection.rollback()
        connection.execute("SELECT one.hold_acquire(one.stock_claim(1, 1))")
        connection.commit()
        assert value(connection, "SELECT available FROM one.inventory") == 8


def test_dropped_and_created_in_one_session(connection):
    for schema in ("public", "elsewhere", "public"):
        Tour(connection, schema).play()
        connection.execute("SET reservation.allow_drop = on")
        connection.execute("DROP EXTENSION reservation")
        connection.execute("CREATE SCHEMA IF NOT EXISTS elsewhere")
        connection.execute(f"CREATE EXTENSION reservation SCHEMA {'elsewhere' if schema == 'public' else 'public'}")
