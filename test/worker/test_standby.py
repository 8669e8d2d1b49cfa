"""On a streaming standby the workers do not run; its promotion starts them."""
import time

import pytest

from conftest import LAUNCHER, PRELOAD, Shop, until
from server import rows, value


@pytest.fixture(scope="module")
def primary(make_cluster):
    cluster = make_cluster("primary", PRELOAD, "reservation.reaper_databases = 'shop'",
                           "reservation.reaper_interval = 500ms").start()
    with cluster.connect() as connection:
        connection.execute("CREATE DATABASE shop")
    Shop(cluster, "shop").open()
    return cluster


@pytest.fixture(scope="module")
def standby(primary, make_cluster):
    cluster = make_cluster("standby", initdb=None)
    primary.run("pg_basebackup", "-D", cluster.data, "-R", "-c", "fast", "--no-sync")
    cluster.configure(f"unix_socket_directories = '{cluster.directory}'")
    return cluster.start()


def workers(cluster):
    with cluster.connect() as connection:
        return rows(connection, "SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'reservation%%'")


def test_from_standby_to_primary(primary, standby):
    on_primary, on_standby = Shop(primary, "shop"), Shop(standby, "shop")
    assert on_primary.is_cleaned()
    released = on_primary.hold()
    until(lambda: on_primary.state(released) == "expired")
    until(lambda: on_standby.state(released) == "expired")  # replicated, not released there
    assert workers(standby) == []

    # What runs out after the primary is gone stays as it is, and can be seen to be late.
    hold_id = on_primary.hold("2 seconds")
    until(lambda: on_standby.state(hold_id) == "held")
    primary.stop("immediate")
    time.sleep(3)
    assert workers(standby) == []
    assert on_standby.state(hold_id) == "held"
    assert on_standby.run("SELECT overdue, oldest_overdue > '0' FROM reservation_status() WHERE kind = 'item'"
                          ).fetchone() == (1, True)
    assert on_standby.ask("SELECT stock_availability(1)") == 1000000

    standby.promote()
    until(lambda: on_standby.state(hold_id) == "expired")
    with standby.connect() as connection:
        assert value(connection, LAUNCHER)
    assert on_standby.reaper() and on_standby.is_cleaned()


def test_after_a_restart_of_the_new_primary(standby):
    standby.stop()
    standby.start()
    assert Shop(standby, "shop").is_cleaned()
