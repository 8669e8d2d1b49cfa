"""PgBouncer in transaction mode before a cluster.

usage: pooler.py SERVERS COMMAND...   runs the command with its directory in POOLER, and POOLER_PREPARES set if it
                                      keeps the prepared statements of its clients
"""
import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import psycopg

from server import Cluster, directory_for

PROGRAM = "/usr/sbin/pgbouncer"
VERSION = tuple(map(int, re.search(r"(\d+)\.(\d+)", subprocess.check_output([PROGRAM, "--version"], text=True)).groups()))
# Since 1.21 it knows the prepared statements of its clients and makes them where they are executed.
PREPARES = VERSION >= (1, 21)


class Pooler:
    def __init__(self, cluster, servers):
        self.directory = directory_for("pooler")
        (self.directory / "users").write_text('"postgres" ""\n')
        settings = {
            "unix_socket_dir": self.directory, "listen_addr": "", "listen_port": 6432, "auth_type": "trust",
            "auth_file": self.directory / "users", "logfile": self.directory / "log", "pool_mode": "transaction",
            "default_pool_size": servers, "min_pool_size": min(servers, 3), "server_round_robin": 1, "max_client_conn": 500,
            "ignore_startup_parameters": "extra_float_digits",
            **({"max_prepared_statements": 500} if PREPARES else {}),
        }
        (self.directory / "ini").write_text(
            f"[databases]\n* = host={cluster.directory} port=5432\n[pgbouncer]\n" +
            "".join(f"{name} = {setting}\n" for name, setting in settings.items()))
        self.process = subprocess.Popen([PROGRAM, self.directory / "ini"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def connect(self, database, autocommit=True):
        """A client that prepares every statement, where the pooler lets it."""
        for attempt in itertools.count():
            try:
                connection = psycopg.connect(host=str(self.directory), port=6432, dbname=database, user="postgres",
                                             autocommit=autocommit, prepare_threshold=0 if PREPARES else None)
                connection.prepared_max = 10000  # it would DEALLOCATE otherwise, which is the session's business
                return connection
            except psycopg.OperationalError:
                if attempt > 100 or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory)


@contextlib.contextmanager
def pooler(cluster, servers):
    started = Pooler(cluster, servers)
    try:
        yield started
    finally:
        started.stop()


def main():
    with pooler(Cluster(os.environ["PGHOST"]), int(sys.argv[1])) as started:
        with started.connect("postgres"):
            pass  # it listens now
        environment = {**os.environ, "POOLER": str(started.directory), **({"POOLER_PREPARES": "yes"} if PREPARES else {})}
        return subprocess.call(sys.argv[2:], env=environment)


if __name__ == "__main__":
    sys.exit(main())
