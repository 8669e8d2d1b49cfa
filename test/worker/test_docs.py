"""What doc/cleanup.md shows of pg_cron and of the worker, with its settings, on one server."""
import pathlib
import re

import pytest

from conftest import Shop, until
from server import VERSION, rows, value

DOCUMENT = (pathlib.Path(__file__).parents[2] / "doc/cleanup.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)


def settings():
    """Those of both ways, with both libraries preloaded as the comment says."""
    lines = [line.split("#")[0].strip() for block in blocks("ini") for line in block.splitlines()]
    preloads = [line for line in lines if line.startswith("shared_preload_libraries")]
    assert preloads == ["shared_preload_libraries = 'pg_cron'", "shared_preload_libraries = 'reservation'"]
    assert "'pg_cron, reservation' where there is more than one" in DOCUMENT
    return [line for line in lines if line not in preloads] + ["shared_preload_libraries = 'pg_cron, reservation'"]


def test_the_settings_and_the_statements(make_cluster):
    cluster = make_cluster("documented", *settings(), "max_worker_processes = 20").start()
    with cluster.connect() as connection:
        connection.execute("CREATE DATABASE shop")
        connection.execute("CREATE DATABASE hotel")
    shop, hotel = Shop(cluster, "shop").open(), Shop(cluster, "hotel").open()

    *schedules, activity = blocks("pgsql")
    assert len(schedules) == 4
    with cluster.connect("shop") as connection:
        for block in schedules:
            if "5 seconds" in block and VERSION < 17:
                with pytest.raises(Exception, match="invalid schedule"):
                    connection.execute(block)
            else:
                connection.execute(block)
        connection.execute("RESET ROLE")
        assert rows(connection, "SELECT DISTINCT username FROM cron.job") == [("reaper",)]
        assert value(connection, "SELECT count(*) FROM cron.job") == (2 if VERSION >= 17 else 1)
        if VERSION >= 17:
            until(lambda: value(connection, "SELECT count(*) FROM cron.job_run_details WHERE status = 'succeeded'"))
        assert shop.is_cleaned() and hotel.is_cleaned()
        assert sorted((kind, database or "") for kind, database, *_ in rows(connection, activity)) == [
            ("reservation launcher", ""), ("reservation reaper", "hotel"), ("reservation reaper", "shop")]
