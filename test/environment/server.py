"""Clusters, and databases that have the extension, for the tests of this directory."""
import contextlib
import itertools
import os
import pathlib
import subprocess
import tempfile

import psycopg

WORK = pathlib.Path(os.environ["WORK"])
BIN = pathlib.Path(subprocess.check_output([os.environ["PG_CONFIG"], "--bindir"], text=True).strip())
EXTENSION_DIR = pathlib.Path(
    subprocess.check_output([os.environ["PG_CONFIG"], "--sharedir"], text=True).strip()) / "extension"
VERSION = int(subprocess.check_output([BIN / "postgres", "--version"], text=True).split()[2].split(".")[0].split("rc")[0])

numbers = itertools.count(1)


def directory_for(name):
    """A new directory below the harness's, with a path short enough for a socket in it."""
    return pathlib.Path(tempfile.mkdtemp(prefix=name + ".", dir=WORK))


class Cluster:
    """A cluster on a unix socket in a directory of its own."""

    def __init__(self, directory, binaries=BIN):
        self.directory = pathlib.Path(directory)
        self.data = self.directory / "data"
        self.binaries = pathlib.Path(binaries)

    @classmethod
    def create(cls, name, *settings, binaries=BIN, initdb=()):
        """A new cluster, with these options for initdb; None makes only the directory, for a copy of another cluster."""
        cluster = cls(directory_for(name), binaries)
        if initdb is None:
            return cluster
        cluster.run("initdb", "-D", cluster.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale",
                    "--no-sync", *initdb)
        cluster.configure("listen_addresses = ''", f"unix_socket_directories = '{cluster.directory}'", "fsync = off",
                          "jit = off", "timezone = 'UTC'", *settings)
        return cluster

    @staticmethod
    def help(program):
        return subprocess.check_output([BIN / program, "--help"], text=True)

    def configure(self, *settings):
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.writelines(f"{setting}\n" for setting in settings)

    def environment(self):
        return {**os.environ, "PGHOST": str(self.directory), "PGPORT": "5432", "PGUSER": "postgres",
                "PGDATABASE": "postgres", "PATH": f"{self.binaries}:{os.environ['PATH']}"}

    def run(self, program, *arguments, check=True, environment=(), cwd=None):
        """Runs a program of this server's version; its output is in what is returned, and shown if it fails."""
        done = subprocess.run([self.binaries / program, *map(str, arguments)],
                              env={**self.environment(), **dict(environment)}, cwd=cwd, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                              check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{program} ended with {done.returncode}: {done.stdout}")
        return done

    def control(self, action, *options):
        """pg_ctl, with the server's output in a file: a pipe would stay open as long as the server runs."""
        with open(self.directory / "log", "a", encoding="utf-8") as log:
            subprocess.run([self.binaries / "pg_ctl", action, "-s", "-w", "-D", self.data, *options],
                           env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=120,
                           check=True)

    def start(self):
        self.control("start")
        return self

    def stop(self, mode="fast"):
        if (self.data / "postmaster.pid").exists():
            self.control("stop", "-m", mode)

    def promote(self):
        self.control("promote")

    def log(self):
        return (self.directory / "log").read_text(encoding="utf-8")

    def connect(self, database="postgres", user="postgres", autocommit=True, **options):
        return psycopg.connect(host=str(self.directory), port=5432, dbname=database, user=user,
                               autocommit=autocommit, **options)

    @contextlib.contextmanager
    def empty_database(self):
        """The name of a database without the extension, gone afterwards."""
        name = f"db_{os.getpid()}_{next(numbers)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield name
        finally:
            with self.connect() as connection:
                connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    @contextlib.contextmanager
    def database(self, schema="public"):
        """The name of a database with the extension in a schema, gone afterwards."""
        with self.empty_database() as name:
            with self.connect(name) as connection:
                install(connection, schema)
            yield name


def quoted(identifier):
    return '"' + identifier.replace('"', '""') + '"'


def install(connection, schema="public"):
    connection.execute("SET client_min_messages = warning")
    if schema != "public":
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
    connection.execute(f"CREATE EXTENSION reservation SCHEMA {quoted(schema)} CASCADE")
    connection.execute("RESET client_min_messages")


def value(connection, query, *parameters):
    """The one value that a query returns."""
    row = connection.execute(query, parameters or None).fetchone()
    return row[0] if row else None


def rows(connection, query, *parameters):
    return connection.execute(query, parameters or None).fetchall()


def error(connection, query, *parameters):
    """The server's error that a statement ends with."""
    try:
        connection.execute(query, parameters or None)
    except psycopg.Error as raised:
        return raised.diag
    raise AssertionError(f"was not refused: {query}")


def sqlstate(connection, query, *parameters):
    return error(connection, query, *parameters).sqlstate


def member_functions(connection):
    """(name, signature) of every function of the extension."""
    return rows(connection, """
        SELECT p.proname, p.oid::regprocedure::text
        FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND e.extname = 'reservation'
        JOIN pg_proc p ON p.oid = d.objid
        WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass
        ORDER BY 1""")


def member_relations(connection):
    """(name, kind) of every relation of the extension: r is a table, S a sequence, v a view."""
    return rows(connection, """
        SELECT c.relname, c.relkind::text
        FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND e.extname = 'reservation'
        JOIN pg_class c ON c.oid = d.objid
        WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_extension'::regclass AND c.relkind IN ('r', 'S', 'v')
        ORDER BY 1""")
