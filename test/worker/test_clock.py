"""The clock of the whole server is stepped back and forth under it: nothing lives for ever, nothing expires twice."""
import os
import pathlib
import re
import subprocess
import time

import psycopg
import pytest

from conftest import PRELOAD, Shop, until
from server import Cluster, rows, value

HERE = pathlib.Path(__file__).parent
MULTIARCH = subprocess.check_output(["gcc", "-print-multiarch"], text=True).strip()
LIBRARY = pathlib.Path("/usr/lib") / MULTIARCH / "faketime/libfaketime.so.1"


class ShiftedClock(Cluster):
    """A cluster whose server reads the time from a file: seconds to add to the real time."""

    def environment(self):
        select = self.directory / "select.so"
        if not select.exists():
            subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-o", select, HERE / "select.c"], check=True)
        return {**super().environment(), "LD_PRELOAD": f"{select} {LIBRARY}", "FAKETIME_TIMESTAMP_FILE": str(self.directory / "clock"),
                "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def shift(self, seconds):
        new = self.directory / "clock.new"
        new.write_text(f"{seconds:+d}\n", encoding="utf-8")
        os.replace(new, self.directory / "clock")


@pytest.fixture(scope="module")
def shop(make_cluster):
    cluster = make_cluster("clock", PRELOAD, "reservation.reaper_databases = 'shop'", "reservation.reaper_interval = 200ms",
                           "reservation.log_events = all", kind=ShiftedClock)
    cluster.shift(0)
    cluster.start()
    with cluster.connect() as connection:
        assert abs(value(connection, "SELECT extract(epoch FROM clock_timestamp())") - int(time.time())) < 60
        connection.execute("CREATE DATABASE shop")
    return Shop(cluster, "shop").open()


@pytest.fixture(autouse=True)
def real_time(shop):
    yield
    shop.cluster.shift(0)


def overdue(shop):
    return shop.ask("SELECT count(*) FROM stock_hold WHERE state = 'held' AND expires_at <= clock_timestamp()")


def contradictions(shop):
    """What must not be, whatever the clock did."""
    return rows(shop.cluster.connect("shop"), """
        SELECT h.hold_id, h.state, h.version, count(e.event_id) FILTER (WHERE e.outcome = 'released') AS released
        FROM stock_hold AS h LEFT JOIN hold_event AS e USING (hold_id)
        GROUP BY h.hold_id
        HAVING count(*) FILTER (WHERE e.outcome = 'released') <> (h.state = 'expired')::integer
            OR count(*) FILTER (WHERE e.outcome = 'released' AND e.at < h.expires_at) > 0
            OR count(*) FILTER (WHERE e.outcome = 'confirmed' AND e.at >= h.expires_at) > 0
        UNION ALL
        SELECT i.item_id, 'counter', i.available, i.capacity FROM inventory AS i
        WHERE i.capacity <> i.available + (SELECT coalesce(sum(quantity), 0) FROM stock_hold AS h
                                           WHERE h.item_id = i.item_id AND h.state IN ('held', 'confirmed'))""")


def test_back_and_forth(shop):
    confirmed, everything = [], []
    for shift in 0, 3600, 0, -7200, 5, 86400 * 20, -1, 0, -86400, 60, 0:
        shop.cluster.shift(shift)
        short = [shop.hold("400 milliseconds") for _ in range(3)]
        long = [shop.hold("1 hour") for _ in range(3)]
        assert shop.ask("SELECT hold_confirm(%s)", long[0]) == "confirmed"
        confirmed.append(long[0])
        everything += short + long
        # Whatever the time is by now: what is overdue by it goes soon, the holds that were just made among it.
        until(lambda: all(shop.state(hold_id) == "expired" for hold_id in short))
        until(lambda: overdue(shop) == 0)
        assert contradictions(shop) == []
        for hold_id in confirmed:
            assert shop.ask("SELECT hold_confirm(%s)", hold_id) == "confirmed"

    # Holds that were made while the clock was ahead live until it gets there, and not a moment longer.
    assert shop.ask("SELECT count(*) FROM stock_hold WHERE state = 'held'") > 0
    shop.cluster.shift(86400 * 40)
    until(lambda: shop.ask("SELECT count(*) FROM stock_hold WHERE state = 'held'") == 0)
    assert contradictions(shop) == []
    assert shop.ask("SELECT array_agg(hold_id ORDER BY hold_id) FROM stock_hold WHERE state = 'confirmed'") == confirmed
    assert shop.ask("SELECT count(*) FROM stock_hold WHERE state = 'expired'") == len(everything) - len(confirmed)

    # Every step back by more than a second that a run noticed was told to the administrator, once.
    halts = re.findall("halted: (.*)", shop.cluster.log())
    assert halts and set(halts) == {"the time source is behind the end of the last run"}
    assert len(halts) <= 5
    assert shop.ask("SELECT count(*) FROM hold_run WHERE halted") == len(halts)


def test_a_deadline_that_the_clock_jumped_over(shop):
    hold_id = shop.hold("1 hour")
    shop.cluster.shift(7200)
    with pytest.raises(psycopg.Error) as refused:
        shop.ask("SELECT hold_confirm(%s)", hold_id)
    assert refused.value.sqlstate == "RV001"
    until(lambda: shop.state(hold_id) == "expired")
    shop.cluster.shift(0)
    with pytest.raises(psycopg.Error) as refused:  # nobody raises the dead
        shop.ask("SELECT hold_confirm(%s)", hold_id)
    assert refused.value.sqlstate == "RV001"


def test_a_call_does_not_see_two_times(shop):
    """The clock jumps between the decision and the trigger of many confirms; each is right by one of the two."""
    ids = shop.ask("SELECT array_agg(hold_acquire(stock_claim(1, 1), '1 hour')) FROM generate_series(1, 300)")
    answers = []
    with shop.cluster.connect("shop") as connection:
        for number, hold_id in enumerate(ids):
            shop.cluster.shift(7200 if number % 2 else 0)
            try:
                answers.append(value(connection, "SELECT hold_confirm(%s)", hold_id))
            except psycopg.Error as error:
                answers.append(error.sqlstate)
    assert set(answers) <= {"confirmed", "RV001"}
    shop.cluster.shift(7200)
    until(lambda: overdue(shop) == 0)
    assert contradictions(shop) == []
    assert shop.ask("SELECT count(*) FROM stock_hold WHERE hold_id = ANY (%s) AND state = 'confirmed'", ids
                    ) == answers.count("confirmed")
