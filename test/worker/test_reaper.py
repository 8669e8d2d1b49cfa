"""What a reaper does, what it shows, and what it survives inside its database."""
import contextlib
import re
import time

import psycopg
import pytest

from conftest import LAUNCHER, PRELOAD, Shop, until
from server import VERSION, rows, value

INTERVAL = 2  # seconds


@pytest.fixture(scope="module")
def cluster(make_cluster):
    cluster = make_cluster("reaped", PRELOAD, "reservation.reaper_databases = 'shop, \"Other Shop\", shop'",
                           f"reservation.reaper_interval = {INTERVAL}s").start()
    with cluster.connect() as connection:
        connection.execute("CREATE DATABASE shop")
        connection.execute('CREATE DATABASE "Other Shop"')
    return cluster


@pytest.fixture(scope="module")
def shop(cluster):
    return Shop(cluster, "shop").open()


def test_every_database_that_is_named_has_one(cluster, shop):
    other = Shop(cluster, "Other Shop").open()
    assert shop.is_cleaned() and other.is_cleaned()
    assert shop.reaper() != other.reaper()
    assert shop.ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'reservation%%'") == 3


def test_the_run_is_recorded(shop):
    hold_id = shop.hold()
    until(lambda: shop.state(hold_id) == "expired")
    row = shop.run("SELECT e.outcome, e.version_seen, e.who, r.released > 0, r.halted FROM hold_event AS e"
                   " JOIN hold_run AS r USING (run_id) WHERE e.hold_id = %s", hold_id).fetchone()
    assert row == ("released", 1, "postgres", True, False)


@contextlib.contextmanager
def setting(cluster, name, new):
    """The setting of the whole server for a while; changing it makes the reapers look."""
    with cluster.connect() as admin:
        admin.execute("LOAD 'reservation'")
        admin.execute(f"ALTER SYSTEM SET {name} = '{new}'")
        admin.execute("SELECT pg_reload_conf()")
        try:
            yield admin
        finally:
            admin.execute(f"ALTER SYSTEM RESET {name}")
            admin.execute("SELECT pg_reload_conf()")


def sleeps_long(shop, admin):
    text = value(admin, "SELECT query FROM pg_stat_activity WHERE pid = %s", shop.reaper()) or ""
    limit = value(admin, "SELECT to_char(clock_timestamp() + interval '50 minutes', 'YYYY-MM-DD HH24:MI')")
    return text.startswith("next look at ") and text[13:29] >= limit


def test_it_wakes_at_each_deadline(cluster, shop):
    """With an interval of an hour nothing else can be what wakes it."""
    with setting(cluster, "reservation.reaper_interval", "1h") as admin:
        until(lambda: sleeps_long(shop, admin))
        holds = [shop.hold(f"{seconds} seconds") for seconds in (2, 4, 6)]
        value(admin, "SELECT pg_reload_conf()")  # a nudge, for it cannot know of them yet
        until(lambda: "a hold is due then" in value(
            admin, "SELECT query FROM pg_stat_activity WHERE pid = %s", shop.reaper()))
        for hold_id in holds:
            until(lambda: shop.state(hold_id) == "expired")
        # A machine that stands still for two seconds lets two deadlines pass before one run; never all three.
        assert shop.ask("SELECT count(DISTINCT run_id) FROM hold_event WHERE hold_id = ANY (%s)", holds) >= 2
        assert shop.ask("SELECT bool_and(changed_at >= expires_at) FROM stock_hold WHERE hold_id = ANY (%s)", holds)
        until(lambda: sleeps_long(shop, admin))


def test_what_it_could_not_know_waits_for_the_interval(cluster, shop):
    with setting(cluster, "reservation.reaper_interval", "1h") as admin:
        until(lambda: sleeps_long(shop, admin))
        hold_id = shop.hold()
        time.sleep(INTERVAL + 1)
        assert shop.state(hold_id) == "held"
    until(lambda: shop.state(hold_id) == "expired")  # a reload reaches it while it sleeps


def test_the_grace_counts(cluster, shop):
    with setting(cluster, "reservation.expiry_grace", "1500ms"):
        until(lambda: shop.ask("SELECT hold_get(0) IS NULL AND current_setting('reservation.expiry_grace') = '1500ms'"))
        hold_id = shop.hold("1 second")
        until(lambda: shop.state(hold_id) == "expired")
        assert shop.ask("SELECT changed_at - expires_at >= '1.5 s' FROM stock_hold WHERE hold_id = %s", hold_id)


def test_more_than_a_batch(shop):
    shop.ask("SELECT count(hold_acquire(stock_claim(1, 1), '1 second')) FROM generate_series(1, 2500)")
    until(lambda: shop.ask("SELECT NOT EXISTS (SELECT FROM stock_hold WHERE state = 'held')"))
    assert shop.ask("SELECT count(*) FROM hold_run WHERE examined = 1000") >= 2


def test_what_it_shows_while_it_sleeps(cluster, shop):
    shop.hold("1 hour")
    hold_id = shop.hold()
    until(lambda: shop.state(hold_id) == "expired")
    query = """
        SELECT state, xact_start IS NULL, backend_xmin IS NULL, backend_xid IS NULL, wait_event_type, wait_event, query,
               (SELECT count(*) FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype <> 'virtualxid')
        FROM pg_stat_activity AS a WHERE pid = %s"""
    asleep = 0
    with cluster.connect() as connection:
        for _ in range(200):
            state, *rest = connection.execute(query, (shop.reaper(),)).fetchone()
            if state == "idle":
                no_xact, no_xmin, no_xid, wait_type, wait, text, locks = rest
                assert no_xact and no_xmin and no_xid and locks == 0
                assert wait_type in ("Extension", None)  # None at the moment that it wakes up
                if wait_type:
                    assert wait == ("ReservationReaper" if VERSION >= 17 else "Extension")
                    asleep += 1
                assert text.startswith("next look at ")
            time.sleep(0.01)
    assert asleep > 50
    (launcher,) = rows(cluster.connect(), "SELECT state, wait_event, query FROM pg_stat_activity"
                                          " WHERE backend_type = 'reservation launcher'")
    assert launcher == ("idle", "ReservationLauncher" if VERSION >= 17 else "Extension", "2 of 2 databases have a reaper")


def test_drop_and_create_extension(shop):
    reaper = shop.reaper()
    for schema in "public", "elsewhere", "public":
        shop.run("SET reservation.allow_drop = on; DROP EXTENSION reservation")
        until(lambda: "the extension is not created" in shop.ask("SELECT query FROM pg_stat_activity WHERE pid = %s", reaper))
        shop.open(schema)
        assert shop.is_cleaned(schema=schema)
    assert shop.reaper() == reaper  # it was no error


def test_its_schema_is_renamed(shop):
    shop.run("SET reservation.allow_drop = on; DROP EXTENSION reservation; DROP SCHEMA IF EXISTS elsewhere CASCADE")
    reaper = shop.reaper()
    shop.open("before")
    assert shop.is_cleaned(schema="before")
    shop.run('ALTER SCHEMA before RENAME TO "Afterwards"')
    assert shop.is_cleaned(schema='"Afterwards"')
    assert shop.reaper() == reaper
    shop.run('ALTER SCHEMA "Afterwards" RENAME TO before; SET reservation.allow_drop = on; DROP EXTENSION reservation')
    shop.open()


def test_an_error_ends_it_and_another_begins(cluster, shop):
    reaper = until(shop.reaper)
    shop.run("""
        CREATE FUNCTION boom() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''boom''; END';
        CREATE TRIGGER boom BEFORE INSERT ON hold_run FOR EACH ROW EXECUTE FUNCTION boom()""")
    hold_id = shop.hold()
    # Each lives for so short a time that only the log is sure to see it.
    until(lambda: set(re.findall(r"\[(\d+)\] ERROR:  boom", cluster.log())) - {str(reaper)})
    assert shop.state(hold_id) == "held"
    shop.run("DROP FUNCTION boom CASCADE")
    until(lambda: shop.state(hold_id) == "expired")


def test_a_halted_run_does_not_end_it(cluster, shop):
    shop.run("CREATE SCHEMA clock; CREATE FUNCTION clock.broken() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz'")
    hold_id = shop.hold("1 second")
    reaper = until(shop.reaper)
    with cluster.connect() as admin:
        admin.execute("ALTER DATABASE shop SET reservation.time_source = 'clock.broken'")
        value(admin, "SELECT pg_terminate_backend(%s)", reaper)
    reaper = until(lambda: shop.reaper() not in (None, reaper) and shop.reaper())
    until(lambda: shop.ask("SELECT count(*) FROM hold_run WHERE halted") > 1)
    assert shop.ask("SELECT bool_and(reason LIKE 'the time source failed%%') FROM hold_run WHERE halted")
    assert "halted: the time source failed" in cluster.log()
    assert shop.reaper() == reaper and shop.state(hold_id) == "held"
    with cluster.connect() as admin:
        admin.execute("ALTER DATABASE shop RESET reservation.time_source")
        value(admin, "SELECT pg_terminate_backend(%s)", reaper)
    until(lambda: shop.state(hold_id) == "expired")


def test_a_read_only_database_is_left_alone(cluster, shop):
    hold_id = shop.hold("1 second")
    reaper = until(shop.reaper)
    with cluster.connect() as admin:
        admin.execute("ALTER DATABASE shop SET default_transaction_read_only = on")
        value(admin, "SELECT pg_terminate_backend(%s)", reaper)
        reaper = until(lambda: shop.reaper() not in (None, reaper) and shop.reaper())
        until(lambda: "read-only" in value(admin, "SELECT query FROM pg_stat_activity WHERE pid = %s", reaper))
        time.sleep(1)  # the hold is overdue by now
        until(lambda: "read-only" in value(admin, "SELECT query FROM pg_stat_activity WHERE pid = %s", reaper))
        assert shop.state(hold_id) == "held" and shop.reaper() == reaper
        admin.execute("ALTER DATABASE shop RESET default_transaction_read_only")
        value(admin, "SELECT pg_terminate_backend(%s)", reaper)
    until(lambda: shop.state(hold_id) == "expired")


def test_only_our_own_function_is_called(cluster):
    """Who may create functions in the schema of the extension does not get one called by the superuser's process."""
    other = Shop(cluster, "Other Shop")
    other.run("""
        CREATE ROLE squatter LOGIN;
        CREATE TABLE caught (who text); GRANT INSERT ON caught TO PUBLIC; GRANT USAGE, CREATE ON SCHEMA public TO squatter""")
    with cluster.connect(other.name, "squatter") as squatter:
        for arguments in "integer", "integer, float8", "bigint", "integer, numeric, numeric, integer", "text":
            squatter.execute(f"CREATE FUNCTION public.hold_reap({arguments}) RETURNS text LANGUAGE sql"
                             " AS $$ INSERT INTO public.caught VALUES (current_user) RETURNING who $$")
        with pytest.raises(psycopg.errors.DuplicateFunction):
            squatter.execute("CREATE FUNCTION public.hold_reap(integer, float8, float8, integer) RETURNS text LANGUAGE sql"
                             " AS $$ SELECT '' $$")
    assert other.is_cleaned()
    with cluster.connect(other.name) as connection:
        connection.execute("CALL hold_reap_all()")
    assert other.ask("SELECT count(*) FROM caught") == 0


def test_a_busy_resource_does_not_stop_it(cluster, shop):
    shop.run("INSERT INTO inventory VALUES (2, 10) ON CONFLICT DO NOTHING")
    with cluster.connect("shop") as idler:
        busy = shop.hold()
        idler.execute("BEGIN")
        idler.execute("SELECT FROM inventory WHERE item_id = 1 FOR UPDATE")
        free = shop.ask("SELECT hold_acquire(stock_claim(2, 1), '10 milliseconds')")
        until(lambda: shop.state(free) == "expired")
        assert shop.state(busy) == "held"
        idler.execute("COMMIT")
        until(lambda: shop.state(busy) == "expired")
    assert len(rows(cluster.connect(), LAUNCHER)) == 1
