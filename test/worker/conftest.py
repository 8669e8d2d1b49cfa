"""Servers with background workers, and what is asked about them."""
import pathlib
import shutil
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "environment"))
from server import Cluster, install, value  # noqa: E402 (the tests of the environment have the clusters)

PRELOAD = "shared_preload_libraries = 'reservation'"
REAPERS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'reservation reaper' AND datname = %s"
LAUNCHER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'reservation launcher'"


def until(condition, seconds=30):
    """Waits until a condition holds, and says what it gave."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return result


@pytest.fixture(scope="module")
def make_cluster():
    """Makes clusters that are stopped and removed with the file."""
    made = []

    def make(name, *settings, kind=Cluster, **options):
        made.append(kind.create(name, *settings, **options))
        return made[-1]

    yield make
    for cluster in made:
        cluster.stop("immediate")
        shutil.rmtree(cluster.directory)


class Shop:
    """A database with one item of many units, whose holds run out."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name

    def run(self, query, *parameters):
        with self.cluster.connect(self.name) as connection:
            return connection.execute(query, parameters or None)

    def ask(self, query, *parameters):
        with self.cluster.connect(self.name) as connection:
            return value(connection, query, *parameters)

    def open(self, schema="public"):
        with self.cluster.connect(self.name) as connection:
            install(connection, schema)
            connection.execute(f"INSERT INTO {schema}.inventory VALUES (1, 1000000) ON CONFLICT DO NOTHING")
        return self

    def hold(self, ttl="10 milliseconds", schema="public"):
        return self.ask(f"SELECT {schema}.hold_acquire({schema}.stock_claim(1, 1), %s::interval)", ttl)

    def state(self, hold_id, schema="public"):
        return self.ask(f"SELECT state FROM {schema}.stock_hold WHERE hold_id = %s", hold_id)

    def is_cleaned(self, seconds=15, schema="public"):
        """Whether a hold that runs out now is released by somebody else."""
        hold_id = self.hold(schema=schema)
        return until(lambda: self.state(hold_id, schema) == "expired", seconds)

    def reaper(self):
        """The process id of the one reaper of this database; None while there is none."""
        with self.cluster.connect() as connection:
            pids = [pid for (pid,) in connection.execute(REAPERS, (self.name,)).fetchall()]
        assert len(pids) < 2
        return pids[0] if pids else None
