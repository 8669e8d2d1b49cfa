"""Through a pooler in transaction mode, every transaction may be on another server connection than the last."""
import random
import threading

import psycopg
import pytest

from pooler import PREPARES, pooler
from server import rows, value
from tour import Tour, contradictions


@pytest.fixture
def pooled(cluster, database):
    with pooler(cluster, servers=3) as started:
        clients = [started.connect(database, autocommit=False) for _ in range(3)]
        for client in clients:
            client.execute("SELECT 1")  # in three transactions at once, so that there are three servers
        for client in clients:
            client.rollback()
            client.close()
        yield started


def servers(connection):
    """The server processes that serve the pooler."""
    return {pid for (pid,) in rows(connection, """
        SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND backend_type = 'client backend'""")}


def test_statements_of_one_client_go_to_several_servers(pooled, database):
    """Without this, nothing below would show anything."""
    with pooled.connect(database) as client:
        assert len({value(client, "SELECT pg_backend_pid()") for _ in range(50)}) == 3


def test_every_function(pooled, database, connection):
    """In autocommit, and as one transaction a function's call; with prepared statements where the pooler has them."""
    with pooled.connect(database) as client:
        assert Tour(client).play().left_out() == set()
        Tour(client, first=100).play()
        assert bool(client._prepared._names) == PREPARES
    assert contradictions(connection) == []


class Customer:
    """Acquires, changes its mind, pays, confirms; knows what each of its holds must have become."""

    def __init__(self, pooled, database, number):
        self.connection = pooled.connect(database, autocommit=False)
        self.random = random.Random(number)
        self.name = f"customer {number}"
        self.expected = {}
        self.refused = 0

    def shop(self, turns):
        for turn in range(turns):
            try:
                with self.connection.transaction():
                    hold, state = self.visit(turn)
                    if self.random.random() < 0.1:
                        raise psycopg.Rollback()
                    self.expected[hold] = state
            except psycopg.Error as raised:
                assert raised.sqlstate in ("23514", "23P01"), raised
                self.refused += 1
        self.connection.close()

    def visit(self, turn):
        chance = self.random.random
        claim = (f"stock_claim({self.random.randint(1, 5)}, {self.random.randint(1, 3)})" if chance() < 0.6 else
                 f"room_claim({self.random.randint(1, 20)}, tstzrange('2047-01-01'::timestamptz + %s * interval '1 h',"
                 " '2047-01-01'::timestamptz + (%s + 1) * interval '1 h'))")
        hour = self.random.randint(0, 500)
        parameters = [hour, hour] if "%s" in claim else []
        key = f"{self.name} {turn}" if chance() < 0.5 else None
        hold = value(self.connection, f"SELECT hold_acquire({claim}, '10 min', %s, %s)", *parameters, self.name, key)
        if chance() < 0.3:
            self.connection.execute("SELECT hold_extend(%s, '20 min', 1, %s)", (hold, self.name))
        if chance() < 0.2:
            self.connection.execute("SELECT hold_begin_payment(%s, 'payment', NULL, %s)", (hold, self.name))
            self.connection.execute("SELECT hold_fail_payment(%s, 'payment', %s)", (hold, self.name))
        if key and chance() < 0.5:
            assert value(self.connection, f"SELECT hold_try_acquire({claim}, '10 min', %s, %s)", *parameters, self.name, key) == hold
        if chance() < 0.6:
            return hold, value(self.connection, "SELECT hold_confirm(%s, NULL, %s)", hold, self.name)
        if chance() < 0.7:
            return hold, value(self.connection, "SELECT hold_cancel(%s, NULL, %s)", hold, self.name)
        return hold, "held"


def test_many_customers_over_few_servers(pooled, database, connection):
    connection.execute("INSERT INTO room SELECT g, 'Blue' FROM generate_series(1, 20) g")
    connection.execute("INSERT INTO inventory SELECT g, 150 FROM generate_series(1, 5) g")
    customers = [Customer(pooled, database, number) for number in range(12)]
    failures = []

    def shop(customer):
        try:
            customer.shop(60)
        except BaseException as raised:  # told by the main thread
            failures.append(raised)

    threads = [threading.Thread(target=shop, args=(customer,)) for customer in customers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(servers(connection)) == 3
    states = dict(rows(connection, "SELECT hold_id, state FROM hold"))
    expected = {hold: state for customer in customers for hold, state in customer.expected.items()}
    assert states == expected and len(expected) > 100
    assert sum(customer.refused for customer in customers) > 0
    assert contradictions(connection) == []


@pytest.mark.parametrize("protocol", ["simple", "extended"] + (["prepared"] if PREPARES else []))
def test_pgbench(pooled, cluster, database, connection, tmp_path, protocol):
    connection.execute("INSERT INTO inventory SELECT g, 100000 FROM generate_series(1, 100) g")
    script = tmp_path / "script"
    script.write_text("""\\set item random(1, 100)
SELECT hold_acquire(stock_claim(:item, 1)) AS hold \\gset
SELECT hold_confirm(:hold);
""")
    done = cluster.run("pgbench", "-n", "-M", protocol, "-c", "8", "-t", "50", "-f", script,
                       "-h", pooled.directory, "-p", "6432", database)
    assert "number of transactions actually processed: 400/400" in done.stdout
    assert rows(connection, "SELECT state, count(*) FROM stock_hold GROUP BY 1") == [("confirmed", 400)]
    assert contradictions(connection) == []


def test_settings_of_one_transaction_do_not_leak(pooled, database, connection):
    """SET LOCAL is the way to a setting through such a pooler."""
    connection.execute("INSERT INTO inventory VALUES (1, 1000)")
    with pooled.connect(database, autocommit=False) as client:
        for _ in range(20):
            client.execute("SET LOCAL reservation.default_ttl = '2min'")
            hold = value(client, "SELECT hold_acquire(stock_claim(1, 1))")
            client.commit()
            other = value(client, "SELECT hold_acquire(stock_claim(1, 1))")
            client.commit()
            ttls = dict(rows(client, "SELECT hold_id, expires_at - created_at FROM stock_hold WHERE hold_id IN (%s, %s)", hold, other))
            client.commit()
            assert (ttls[hold].seconds, ttls[other].seconds) == (120, 600)
