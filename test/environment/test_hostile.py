"""Objects of a caller's schemas and of pg_temp are never used by what the extension does."""
import pathlib

import pytest

from server import member_functions, member_relations, rows, sqlstate, value
from tour import Tour, contradictions

HOSTILE = (pathlib.Path(__file__).parent / "hostile.sql").read_text(encoding="utf-8")
SEARCH_PATH = "hostile, pg_temp, pg_catalog, public"


@pytest.fixture(scope="module")
def hostile(cluster):
    """A database whose schema hostile shadows everything."""
    with cluster.database() as name:
        with cluster.connect(name) as admin:
            admin.execute(HOSTILE)
            admin.execute("GRANT EXECUTE ON ALL ROUTINES IN SCHEMA public TO PUBLIC")
            admin.execute("GRANT INSERT ON room, inventory TO PUBLIC")
        yield name


@pytest.fixture
def victim(make_role):
    return make_role()


class Surrounded:
    """A session under the hostile search path; leaves with an error if an alarm went off, even one that was caught."""

    def __init__(self, cluster, name, user):
        self.connection = cluster.connect(name, user=user)
        self.alarms = []
        self.connection.add_notice_handler(self.listen)
        self.connection.execute("SELECT hostile.plant('pg_temp')")
        self.connection.execute(f"SET search_path = {SEARCH_PATH}")

    def listen(self, notice):
        if "hostile" in notice.message_primary:
            self.alarms.append(f"{notice.message_primary}: {notice.message_detail}")

    def __enter__(self):
        return self.connection

    def __exit__(self, *_):
        self.connection.close()
        assert self.alarms == []


def test_the_surroundings_are_hostile(cluster, victim, hostile):
    """What an unqualified name finds here raises: the checks below can fail."""
    surrounded = Surrounded(cluster, hostile, victim)
    for query in ("SELECT 1 = 1", "SELECT 1::int8 = 1::int8", "SELECT 1 IN (1, 2)", "SELECT 1 BETWEEN 0 AND 2",
                  "SELECT 'a' IS DISTINCT FROM 'a'::text", "SELECT - 1::pg_catalog.int4", "SELECT clock_timestamp()", "SELECT count(*)",
                  "SELECT sum(1)", "SELECT 1::int8", "SELECT CASE 1 WHEN 1 THEN 2 END",
                  "SELECT room_claim(1, NULL)", "SELECT hold_reap(1, 1, 1, 1)",
                  "SELECT pg_catalog.upper('x'::pg_catalog.text) = ANY ('{x}'::pg_catalog.text[])",
                  "DELETE FROM slot_hold", "SELECT hostile.hold_next_id()",
                  "SELECT pg_catalog.tstzrange(NULL, NULL) && pg_catalog.tstzrange(NULL, NULL)"):
        assert sqlstate(surrounded.connection, query) == "HO000", query
    assert len(surrounded.alarms) >= 15


@pytest.mark.parametrize("first, superuser", [(100, False), (200, True)])
def test_every_function(cluster, victim, hostile, first, superuser):
    user = "postgres" if superuser else victim
    with cluster.connect(hostile) as admin, Surrounded(cluster, hostile, user) as connection:
        tour = Tour(connection, first=first)
        tour.play()
        assert contradictions(admin) == []
        tour.connection = admin
        assert tour.left_out() == set()


@pytest.mark.parametrize("settings", ["reservation.log_events = 'all'", "reservation.expiry_grace = '1ms'"])
def test_every_function_with_settings(cluster, hostile, settings):
    """Statements that only some settings bring about."""
    with Surrounded(cluster, hostile, "postgres") as connection:
        connection.execute(f"SET {settings}")
        Tour(connection, first=300 if "log" in settings else 400).play()


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_isolation_levels(cluster, victim, hostile, level):
    with Surrounded(cluster, hostile, victim) as connection:
        connection.execute(f"SET default_transaction_isolation = '{level.lower()}'")
        Tour(connection, first=500 if level == "SERIALIZABLE" else 600).play()


def test_raw_writers(cluster, hostile):
    """The guards, each as the first of our code that the session runs."""
    statements = [
        "INSERT INTO public.room VALUES (700, 'Blue')",
        "INSERT INTO public.inventory VALUES (700, 5)",
        "INSERT INTO public.slot_hold VALUES (700, 700, '[2047-01-01, 2047-01-02)', 'held', '2047-01-01')",
        "INSERT INTO public.stock_hold VALUES (701, 700, 1, 'confirmed', '2047-01-01')",
        "INSERT INTO public.stock_hold (item_id, quantity, state, expires_at) VALUES (700, 1, 'expired', '2007-01-01')",
        "UPDATE public.slot_hold SET expires_at = '2047-01-02' WHERE hold_id OPERATOR(pg_catalog.=) 700",
        "UPDATE public.slot_hold SET state = 'confirmed' WHERE hold_id OPERATOR(pg_catalog.=) 700",
        "UPDATE public.slot_hold SET state = 'cancelled' WHERE hold_id OPERATOR(pg_catalog.=) 700",
        "DELETE FROM public.slot_hold WHERE hold_id OPERATOR(pg_catalog.=) 700",
        "UPDATE public.inventory SET capacity = 6 WHERE item_id OPERATOR(pg_catalog.=) 700",  # reads the item's holds
        "UPDATE public.inventory SET capacity = 7, available = 6 WHERE item_id OPERATOR(pg_catalog.=) 700",
        "DELETE FROM public.stock_hold WHERE item_id OPERATOR(pg_catalog.=) 700",
        "DELETE FROM public.inventory WHERE item_id OPERATOR(pg_catalog.=) 700",
        "DELETE FROM public.room WHERE room_id OPERATOR(pg_catalog.=) 700",
    ]
    for statement in statements:
        with Surrounded(cluster, hostile, "postgres") as connection:
            connection.execute(statement)
    with Surrounded(cluster, hostile, "postgres") as connection:
        assert sqlstate(connection, "TRUNCATE public.slot_hold") in ("RV009", None)


def test_drop_is_judged_without_them(cluster, hostile):
    with Surrounded(cluster, hostile, "postgres") as connection:
        connection.execute("INSERT INTO public.room VALUES (800, 'Blue')")
        connection.execute("SELECT public.hold_acquire(public.room_claim(800, '[2047-01-01, 2047-01-02)'))")
    with Surrounded(cluster, hostile, "postgres") as connection:
        assert sqlstate(connection, "DROP EXTENSION reservation CASCADE") == "2BP01"


def members(connection):
    """How to make an object of the same name and kind as each member of the extension that lives in a schema."""
    for name, kind in member_relations(connection):
        yield name, {"r": "CREATE TABLE target.{0} ()", "v": "CREATE VIEW target.{0} AS SELECT 1 AS one",
                     "S": "CREATE SEQUENCE target.{0}"}[kind].format(name)
    yield "hold_claim", "CREATE TYPE target.hold_claim AS (kind text)"
    for name, arguments in rows(connection, """
            SELECT p.proname, oidvectortypes(p.proargtypes)
            FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND e.extname = 'reservation'
            JOIN pg_proc p ON p.oid = d.objid WHERE d.classid = 'pg_proc'::regclass ORDER BY 1"""):
        needs = "CREATE TYPE target.hold_claim AS (kind text);" if "hold_claim" in arguments else ""
        arguments = arguments.replace("hold_claim", "target.hold_claim")
        yield name, f"{needs} CREATE FUNCTION target.{name}({arguments}) RETURNS int RETURN 1"


def test_names_that_somebody_took_before_the_installation(cluster, make_role):
    """The installation fails and leaves nothing; it neither adopts nor replaces what a stranger made."""
    with cluster.database() as name, cluster.connect(name) as admin:
        decoys = dict(members(admin))
        assert set(decoys) >= {name for name, _ in member_functions(admin)}
        stranger = make_role()
        admin.execute(f"DROP EXTENSION reservation; CREATE SCHEMA target; GRANT CREATE, USAGE ON SCHEMA target TO {stranger}")
        for taken, statement in decoys.items():
            admin.execute(f"SET ROLE {stranger}; {statement}; RESET ROLE")
            assert sqlstate(admin, "CREATE EXTENSION reservation SCHEMA target") in ("42P07", "42710", "42723"), taken
            assert rows(admin, "SELECT * FROM pg_extension WHERE extname = 'reservation'") == []
            assert value(admin, "SELECT count(*) FROM pg_event_trigger") == 0
            admin.execute(f"DROP OWNED BY {stranger}; GRANT CREATE, USAGE ON SCHEMA target TO {stranger}")
        admin.execute("CREATE EXTENSION reservation SCHEMA target")
        Tour(admin, "target").play()


def test_installed_among_hostile_objects(cluster):
    """The script itself and everything it defines resolve nothing in the target schema but what they made."""
    with cluster.database() as name, cluster.connect(name) as admin:
        alarms = []
        admin.add_notice_handler(lambda notice: alarms.append(notice.message_primary) if "hostile" in notice.message_primary else None)
        ours = [signature for _, signature in member_functions(admin)]
        relations = member_relations(admin)
        admin.execute(HOSTILE)
        admin.execute("SET client_min_messages = warning")
        for relation, kind in relations:
            admin.execute(f"DROP {'SEQUENCE' if kind == 'S' else 'TABLE'} hostile.{relation} CASCADE")
        for signature in ours:
            admin.execute(f"DROP FUNCTION IF EXISTS hostile.{signature} CASCADE")
        admin.execute("DROP EXTENSION reservation CASCADE")
        admin.execute("DROP TYPE hostile.hold_claim CASCADE")
        admin.execute("CREATE EXTENSION reservation SCHEMA hostile")
        assert value(admin, "SELECT count(*) FROM pg_operator WHERE oprnamespace = 'hostile'::regnamespace") > 2000
        admin.execute("SET search_path = hostile, pg_catalog")
        Tour(admin, "hostile").play()
        assert alarms == []
