"""What happens around a reaper: processes are killed, the server restarts, databases come, go, and are copied."""
import os
import re
import signal
import time

import psycopg
import pytest

from conftest import LAUNCHER, PRELOAD, Shop, until
from server import value

DATABASES = "shop, later, copied, owned"


@pytest.fixture(scope="module")
def cluster(make_cluster):
    cluster = make_cluster("served", PRELOAD, f"reservation.reaper_databases = '{DATABASES}'",
                           "reservation.reaper_interval = 500ms").start()
    with cluster.connect() as connection:
        connection.execute("CREATE DATABASE shop")
    Shop(cluster, "shop").open()
    return cluster


@pytest.fixture
def shop(cluster):
    return Shop(cluster, "shop")


def execute(cluster, statement, user="postgres"):
    with cluster.connect(user=user) as connection:
        connection.execute(statement)


def launcher(cluster):
    with cluster.connect() as connection:
        return value(connection, LAUNCHER)


def alive(cluster):
    """Whether the server takes a connection."""
    try:
        return launcher(cluster)
    except psycopg.OperationalError:
        return None


def test_a_database_that_comes_later(cluster):
    assert cluster.log().count('there is no database "later"') == 1
    execute(cluster, "CREATE DATABASE later")
    later = Shop(cluster, "later")
    until(later.reaper, 15)
    assert later.open().is_cleaned()
    assert cluster.log().count('there is no database "later"') == 1  # told once


def test_a_reaper_that_is_terminated(cluster, shop):
    reaper = until(shop.reaper)
    with cluster.connect() as connection:
        assert value(connection, "SELECT pg_terminate_backend(%s)", reaper)
    until(lambda: shop.reaper() not in (None, reaper))
    assert shop.is_cleaned()


def test_a_launcher_that_is_terminated_takes_its_reapers_along(cluster, shop):
    reaper, before = until(shop.reaper), launcher(cluster)
    with cluster.connect() as connection:
        assert value(connection, "SELECT pg_terminate_backend(%s)", before)
    until(lambda: launcher(cluster) not in (None, before))
    until(lambda: shop.reaper() not in (None, reaper))
    time.sleep(2)
    assert shop.reaper() and shop.is_cleaned()  # and there is only one


@pytest.mark.parametrize("victim", ["reaper", "launcher"])
def test_kill_9(cluster, shop, victim):
    """The server recovers from a crash, and the workers are back without anybody's help."""
    hold_id = shop.hold("2 seconds")
    reaper, old_launcher = until(shop.reaper), launcher(cluster)
    os.kill({"reaper": reaper, "launcher": old_launcher}[victim], signal.SIGKILL)
    until(lambda: alive(cluster) not in (None, old_launcher))
    until(lambda: shop.state(hold_id) == "expired")
    assert shop.reaper() != reaper and shop.is_cleaned()


@pytest.mark.parametrize("mode", ["fast", "immediate", "smart"])
def test_restart(cluster, shop, mode):
    hold_id = shop.hold("1 second")
    begin = time.monotonic()
    cluster.stop(mode)
    assert time.monotonic() - begin < 20
    cluster.start()
    until(lambda: shop.state(hold_id) == "expired")
    assert shop.is_cleaned()


def test_a_served_database_is_copied(cluster, shop):
    until(shop.reaper)
    held = shop.hold("1 hour")
    execute(cluster, "CREATE DATABASE copied TEMPLATE shop")
    copy = Shop(cluster, "copied")
    assert shop.is_cleaned() and copy.is_cleaned()
    assert shop.state(held) == copy.state(held) == "held"


def test_a_served_database_is_renamed_and_moved(cluster, tmp_path):
    copy = Shop(cluster, "copied")
    until(copy.reaper)
    execute(cluster, "ALTER DATABASE copied RENAME TO away")
    assert Shop(cluster, "away").reaper() is None
    time.sleep(1.5)
    assert Shop(cluster, "away").reaper() is None and copy.reaper() is None
    execute(cluster, "ALTER DATABASE away RENAME TO copied")
    until(copy.reaper, 15)
    with cluster.connect() as connection:
        connection.execute("SET allow_in_place_tablespaces = on")
        connection.execute("CREATE TABLESPACE elsewhere LOCATION ''")
        connection.execute("ALTER DATABASE copied SET TABLESPACE elsewhere")
    assert copy.is_cleaned()


@pytest.mark.parametrize("force", ["", " WITH (FORCE)"])
def test_a_served_database_is_dropped(cluster, force):
    copy = Shop(cluster, "copied")
    with cluster.connect() as connection:
        if not value(connection, "SELECT count(*) FROM pg_database WHERE datname = 'copied'"):
            connection.execute("CREATE DATABASE copied")
            copy.open()
    until(copy.reaper, 15)
    execute(cluster, f"DROP DATABASE copied{force}")
    time.sleep(1.5)
    assert copy.reaper() is None
    assert launcher(cluster) and Shop(cluster, "shop").is_cleaned()


def test_its_owner_may_drop_it_by_force(cluster):
    """A process of a superuser would stop an owner who is none."""
    execute(cluster, "CREATE ROLE landlord LOGIN CREATEDB")
    execute(cluster, "CREATE DATABASE owned OWNER landlord")
    owned = Shop(cluster, "owned").open()
    until(owned.reaper, 15)
    assert owned.is_cleaned()
    execute(cluster, "DROP DATABASE owned WITH (FORCE)", user="landlord")
    assert owned.reaper() is None
    execute(cluster, "DROP ROLE landlord")


def test_ddl_of_others_does_not_wait_for_it(cluster, shop):
    """A process that took no part in barriers or invalidations would hold up DROP DATABASE of any other."""
    execute(cluster, "CREATE DATABASE unrelated")
    until(shop.reaper)
    begin = time.monotonic()
    execute(cluster, "DROP DATABASE unrelated")
    assert time.monotonic() - begin < 4


def test_without_a_free_slot(make_cluster):
    cluster = make_cluster("crowded", PRELOAD, "reservation.reaper_databases = 'postgres, template1'",
                           "max_worker_processes = 2", "max_logical_replication_workers = 0").start()
    until(lambda: "no background worker could be registered" in cluster.log())
    assert "Consider increasing max_worker_processes." in cluster.log()
    cluster.stop()


def test_preloaded_without_databases(make_cluster):
    cluster = make_cluster("idle", PRELOAD).start()
    assert launcher(cluster) is None
    shop = Shop(cluster, "postgres").open()
    with cluster.connect() as connection:
        assert value(connection, "SHOW reservation.reaper_databases") == ""
    hold_id = shop.hold()
    time.sleep(0.5)
    assert shop.state(hold_id) == "held" and shop.ask("SELECT released FROM hold_reap()") == 1
    cluster.stop()


def test_a_list_that_is_none(make_cluster):
    """As with any setting of a library: the server says so, and starts without it."""
    cluster = make_cluster("typo", PRELOAD, "reservation.reaper_databases = 'postgres,,other'").start()
    assert 'invalid value for parameter "reservation.reaper_databases"' in cluster.log()
    assert "It must be a list of database names, separated by commas." in cluster.log()
    assert launcher(cluster) is None
    cluster.stop()


def test_nothing_of_this_looked_like_an_accident(cluster):
    """All that ended workers was an administrator, or the kill of a test."""
    ends = [line for line in cluster.log().splitlines() if re.search("FATAL|PANIC|ERROR|TRAP|exit code [^01]", line)]
    expected = "terminating|the database system is|could not connect|exit code 2"
    assert [line for line in ends if not re.search(expected, line)] == []
