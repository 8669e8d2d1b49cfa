"""pg_cron runs the cleanup: both lines that doc/cleanup.md shows, with its own record of the runs as proof.

Schedules of seconds came with pg_cron 1.5; Debian 12 has 1.4, whose finest is a minute.
"""
import pytest

from conftest import Shop, until
from server import VERSION, rows, value

SECONDS = VERSION >= 17
SCHEDULE = "2 seconds" if SECONDS else "* * * * *"
PATIENCE = 30 if SECONDS else 150


@pytest.fixture(scope="module", params=["background workers", "connections"])
def shop(request, make_cluster):
    cluster = make_cluster("cron", "shared_preload_libraries = 'pg_cron'", "cron.database_name = 'shop'",
                           "max_worker_processes = 20")
    cluster.configure(f"cron.host = '{cluster.directory}'",
                      f"cron.use_background_workers = {'on' if request.param == 'background workers' else 'off'}")
    cluster.start()
    with cluster.connect() as connection:
        connection.execute("CREATE DATABASE shop")
    shop = Shop(cluster, "shop").open()
    shop.run("CREATE EXTENSION pg_cron")
    return shop


def succeeded(shop, name):
    return shop.run("SELECT count(*) FILTER (WHERE d.status = 'succeeded'), count(*) FILTER (WHERE d.status = 'failed'),"
                    " max(d.return_message) FROM cron.job_run_details AS d JOIN cron.job AS j USING (jobid)"
                    " WHERE j.jobname = %s AND d.status IN ('succeeded', 'failed')", name).fetchone()


def test_select_and_call(shop):
    """Two holds more than a batch, so that the procedure commits more than once."""
    shop.run("CREATE ROLE reaper LOGIN; GRANT USAGE ON SCHEMA cron TO reaper;"
             " GRANT EXECUTE ON FUNCTION hold_reap TO reaper; GRANT EXECUTE ON PROCEDURE hold_reap_all TO reaper")
    with shop.cluster.connect("shop", "reaper") as reaper:
        value(reaper, f"SELECT cron.schedule('reap', '{SCHEDULE}', 'SELECT hold_reap()')")
        value(reaper, f"SELECT cron.schedule('reap all', '{SCHEDULE}', 'CALL hold_reap_all(10)')")
    shop.ask("SELECT count(hold_acquire(stock_claim(1, 1), '10 milliseconds')) FROM generate_series(1, 1022)")
    until(lambda: succeeded(shop, "reap")[0] > 0 and succeeded(shop, "reap all")[0] > 0, PATIENCE)

    until(lambda: shop.ask("SELECT NOT EXISTS (SELECT FROM stock_hold WHERE state = 'held')"), PATIENCE)
    assert shop.ask("SELECT available FROM inventory WHERE item_id = 1") == 1000000
    done, failed, _ = succeeded(shop, "reap")
    assert (done > 0, failed) == (True, 0)
    done, failed, message = succeeded(shop, "reap all")
    assert (done > 0, failed) == (True, 0)
    assert "CALL" in message
    assert rows(shop.cluster.connect("shop"), "SELECT DISTINCT who FROM hold_run") == [("reaper",)]
    assert shop.ask("SELECT count(*) FROM hold_run WHERE NOT halted AND examined = 10") > 1

    for name in "reap", "reap all":
        with shop.cluster.connect("shop", "reaper") as reaper:
            assert value(reaper, f"SELECT cron.unschedule('{name}')")


def test_a_schedule_of_seconds_where_there_is_none(shop):
    if SECONDS:
        assert shop.ask("SELECT cron.unschedule(cron.schedule('3 seconds', 'SELECT hold_reap()'))")
    else:
        with pytest.raises(Exception, match="invalid schedule"):
            shop.ask("SELECT cron.schedule('3 seconds', 'SELECT hold_reap()')")
