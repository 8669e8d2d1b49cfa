"""A streaming standby, its promotion, and logical replication into a database that has the extension."""
import time

import pytest

from population import HOME, SCHEMA, content, populate, works
from server import install, member_functions, member_relations, rows, sqlstate, value
from tour import EVENING, MORNING, Tour, contradictions

TABLES = ["room", "inventory", "slot_hold", "stock_hold", "hold_request", "hold_event", "hold_run"]
DAY = "[2047-01-01 00:00+00, 2047-01-02 00:00+00)"


def wait_for(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("did not happen in 30 seconds")


def without_sequences(found):
    return {name: facts for name, facts in found.items() if not name.endswith("_seq")}


@pytest.fixture
def primary(make_cluster):
    cluster = make_cluster("primary", "wal_level = logical", "max_wal_senders = 20", "max_replication_slots = 20",
                           "max_logical_replication_workers = 10", "max_worker_processes = 20").start()
    with cluster.connect() as connection:
        install(connection, SCHEMA)
        populate(connection)
    return cluster


@pytest.fixture
def standby(primary, make_cluster):
    def follow():
        cluster = make_cluster("standby", initdb=None)
        primary.run("pg_basebackup", "-D", cluster.data, "-R", "-c", "fast", "--no-sync")
        cluster.configure(f"unix_socket_directories = '{cluster.directory}'")
        return cluster.start()
    return follow()


def caught_up(primary, standby):
    with primary.connect() as on_primary, standby.connect() as on_standby:
        position = value(on_primary, "SELECT pg_current_wal_insert_lsn()::text")
        wait_for(lambda: value(on_standby, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", position))


WRITES = {
    "hold_acquire": "{0}.hold_acquire({0}.room_claim(1, '[2050-01-01, 2050-01-02)'))",
    "hold_try_acquire": "{0}.hold_try_acquire({0}.stock_claim(99, 1))",
    "hold_acquire_all": "{0}.hold_acquire_all(ARRAY[{0}.stock_claim(99, 1)], NULL, NULL, 'a new key')",
    "hold_try_acquire_all": "{0}.hold_try_acquire_all(ARRAY[{0}.stock_claim(99, 1), {0}.stock_claim(1, 1)])",
    "hold_confirm": "{0}.hold_confirm({1})",
    "hold_try_confirm": "{0}.hold_try_confirm({1})",
    "hold_cancel": "{0}.hold_cancel({1})",
    "hold_extend": "{0}.hold_extend({1}, '23 hours')",
    "hold_confirm_all": "{0}.hold_confirm_all(ARRAY[{1}])",
    "hold_cancel_all": "{0}.hold_cancel_all(ARRAY[{1}])",
    "hold_extend_all": "{0}.hold_extend_all(ARRAY[{1}], '23 hours')",
    "hold_begin_payment": "{0}.hold_begin_payment({1}, 'payment')",
    "hold_fail_payment": "{0}.hold_fail_payment({1}, 'payment')",
    "hold_resolve": "{0}.hold_resolve(2, 'cancelled')",
    "hold_reap": "{0}.hold_reap()",
    "hold_purge": "{0}.hold_purge('1 second')",
    "inventory_adjust": "{0}.inventory_adjust(99, 1)",
    "hold_next_id": "{0}.hold_next_id()",
}
READS = {
    "hold_get": "(SELECT h.state FROM {0}.hold_get({1}) h)",
    "room_availability": "(SELECT count(*) FROM {0}.room_availability(1, '%s'))" % DAY,
    "available_rooms": "(SELECT count(*) FROM {0}.available_rooms('%s'))" % EVENING,
    "stock_availability": "{0}.stock_availability(99)",
    "reservation_status": "(SELECT count(*) FROM {0}.reservation_status())",
    "reservation_audit": "(SELECT count(*) FROM {0}.reservation_audit())",
    "room_claim": "{0}.room_claim(1, '%s')" % MORNING,
    "stock_claim": "{0}.stock_claim(1, 1)",
}
NEITHER = {"hold_guard", "hold_truncate_guard", "inventory_guard", "reservation_load", "hold_reap_all"}


def test_standby(primary, standby):
    caught_up(primary, standby)
    with primary.connect() as connection, standby.connect() as reader:
        assert without_sequences(content(reader)) == without_sequences(content(connection))
        assert {name for name, _ in member_functions(connection)} <= WRITES.keys() | READS.keys() | NEITHER
        present = {name for name, _ in member_functions(connection)}
        hold = value(connection, f"SELECT min(hold_id) FROM {HOME}.stock_hold WHERE state = 'held' AND expires_at > now()")

        for name in present & READS.keys():
            query = f"SELECT {READS[name].format(HOME, hold)}::text"
            assert value(reader, query) == value(connection, query) is not None, name
        assert value(reader, f"SELECT {HOME}.stock_availability(99)") > 0

        for name in present & WRITES.keys():
            call = f"SELECT {WRITES[name].format(HOME, hold)}"
            assert sqlstate(reader, call) == "25006", name
            # The same in a read-only transaction of the primary, where nothing but the transaction forbids it.
            connection.execute("BEGIN READ ONLY")
            assert sqlstate(connection, call) == "25006", name
            connection.execute("ROLLBACK")
            connection.execute("BEGIN")
            connection.execute(call)  # and in a read-write one it does something
            connection.execute("ROLLBACK")
        if "hold_reap_all" in present:
            assert sqlstate(reader, f"CALL {HOME}.hold_reap_all()") == "25006"
        assert rows(reader, "SELECT * FROM pg_locks WHERE locktype = 'advisory'") == []
        assert value(reader, f"SELECT state FROM {HOME}.hold_get({hold})") == "held"  # the session goes on


def test_promotion_keeps_every_hold(primary, standby):
    with primary.connect() as connection:
        connection.execute(f"INSERT INTO {HOME}.inventory VALUES (500, 1000)")
        holds = [value(connection, f"SELECT {HOME}.hold_acquire({HOME}.stock_claim(500, 1), '1 day')") for _ in range(100)]
        connection.execute(f"SELECT {HOME}.hold_confirm_all(%s)", (holds[:50],))
        payment = value(connection, f"SELECT {HOME}.hold_begin_payment(%s, 'payment')", holds[60])
        assert payment == 2
    caught_up(primary, standby)
    with primary.connect() as connection:
        before = content(connection)
        largest = value(connection, f"SELECT max(hold_id) FROM {HOME}.hold")
    primary.stop("immediate")
    standby.promote()
    with standby.connect() as connection:
        assert without_sequences(content(connection)) == without_sequences(before)
        assert value(connection, f"SELECT {HOME}.hold_confirm(%s)", holds[60]) == "confirmed"
        # A promoted sequence goes on behind what its primary may have given out.
        assert value(connection, f"SELECT {HOME}.hold_acquire({HOME}.stock_claim(500, 1))") > largest
        works(connection)


# What the documentation says to run on a subscriber that takes over: sequences are not replicated.
TAKE_OVER = f"""
SELECT setval('{HOME}.hold_id_seq', (SELECT greatest(max(hold_id & 4398046511103), 4294967296) FROM {HOME}.hold));
SELECT setval('{HOME}.hold_event_id_seq', (SELECT coalesce(max(event_id), 0) + 1 FROM {HOME}.hold_event));
SELECT setval('{HOME}.hold_run_id_seq', (SELECT coalesce(max(run_id), 0) + 1 FROM {HOME}.hold_run))"""


def test_logical_replication(primary, make_cluster):
    subscriber = make_cluster("subscriber", "max_logical_replication_workers = 10", "max_worker_processes = 20").start()
    names = ", ".join(f"{HOME}.{table}" for table in TABLES)
    with primary.connect() as connection, subscriber.connect() as copy:
        assert {name for name, kind in member_relations(connection) if kind == "r"} == set(TABLES)
        connection.execute(f"CREATE PUBLICATION holds FOR TABLE {names}")
        install(copy, SCHEMA)
        copy.execute("SET client_min_messages = error")
        copy.execute(f"CREATE SUBSCRIPTION holds CONNECTION 'host={primary.directory} port=5432 user=postgres dbname=postgres'"
                     " PUBLICATION holds")
        wait_for(lambda: value(copy, "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel"))

        # Every kind of change, those included that the guards would judge differently a moment later.
        Tour(connection, HOME, first=300).play()
        connection.execute(f"SELECT * FROM {HOME}.hold_reap()")
        late = value(connection, f"SELECT {HOME}.hold_acquire({HOME}.stock_claim(99, 1), '300 milliseconds')")
        connection.execute(f"SELECT {HOME}.hold_confirm(%s)", (late,))
        connection.execute(f"DELETE FROM {HOME}.slot_hold WHERE hold_id = 3")
        connection.execute(f"UPDATE {HOME}.inventory SET capacity = capacity + 1, available = available + 1")

        def same():
            return without_sequences(content(copy)) == without_sequences(content(connection))
        wait_for(same)
        assert contradictions(copy, HOME) == []
        assert "ERROR" not in subscriber.log()

        copy.execute("ALTER SUBSCRIPTION holds DISABLE; ALTER SUBSCRIPTION holds SET (slot_name = NONE); DROP SUBSCRIPTION holds")
        connection.execute("SELECT pg_drop_replication_slot('holds')")
        copy.execute(TAKE_OVER)
        works(copy)
