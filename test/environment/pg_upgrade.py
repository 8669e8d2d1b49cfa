"""pg_upgrade from an older server to the one that is tested, with everything that the extension can hold."""
import pathlib

import pytest

from population import HOME, SCHEMA, content, populate, works
from server import BIN, Cluster, install, rows

OLD = pathlib.Path("/share/old")
(OLD_BIN,) = OLD.glob("usr/lib/postgresql/*/bin")


@pytest.mark.parametrize("mode", ["--copy", "--link"])
def test_pg_upgrade(make_cluster, monkeypatch, tmp_path, mode):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(OLD / "lib"))  # what the old binaries need and this system has no more
    old = make_cluster("old", binaries=OLD_BIN).start()
    with old.connect() as connection:
        print(rows(connection, "SELECT version()"))
        install(connection, SCHEMA)
        populate(connection)
        before = content(connection)
    old.stop()

    new = make_cluster("new", initdb=["--no-data-checksums"] if "--no-data-checksums" in Cluster.help("initdb") else [])
    arguments = ["-b", old.binaries, "-B", BIN, "-d", old.data, "-D", new.data, "-s", tmp_path]
    new.run("pg_upgrade", "--check", *arguments, cwd=tmp_path)
    new.run("pg_upgrade", mode, *arguments, cwd=tmp_path)
    new.start()
    with new.connect() as connection:
        assert content(connection) == before
        works(connection)
        new.run("vacuumdb", "--all", "--analyze-in-stages")
        works(connection, first=2000)
