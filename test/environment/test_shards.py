"""Ready for a sharded engine: statements that it can send to one place, and guards that judge a row by its content."""
import pathlib

import pytest

from server import rows, sqlstate, value
from statements import compiled, declared, nodes, tree_of

RESOURCE = {"slot_hold": "room_id", "stock_hold": "item_id"}
HOSTILE = (pathlib.Path(__file__).parent / "hostile.sql").read_text(encoding="utf-8")
UPDATE, INSERT, DELETE = "2", "3", "4"


class Catalog:
    """What the numbers in a parse tree stand for."""

    def __init__(self, connection):
        self.relations = dict(rows(connection, "SELECT oid::text, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"))
        self.columns = {(table, number): name for table, number, name in rows(
            connection, "SELECT attrelid::regclass::text, attnum::text, attname FROM pg_attribute WHERE attnum > 0")}
        self.functions = {oid: (name, volatile, schema) for oid, name, volatile, schema in rows(
            connection, "SELECT oid::text, proname, provolatile::text, pronamespace::regnamespace::text FROM pg_proc")}
        self.operators = {oid: (name, code, schema) for oid, name, code, schema in rows(
            connection, "SELECT oid::text, oprname, oprcode::oid::text, oprnamespace::regnamespace::text FROM pg_operator")}


@pytest.fixture(scope="module")
def catalog(cluster):
    with cluster.database() as name, cluster.connect(name) as connection:
        yield connection, Catalog(connection)


def holds_touched(query, catalog):
    """(table, range table index, "insert" or another way) of each hold table that a query writes or locks."""
    def table(index):
        return catalog.relations.get(query["rtable"][0][index - 1].get("relid", ["0"])[0])

    result = int(query["resultRelation"][0])
    if result and table(result) in RESOURCE:
        yield table(result), result, {UPDATE: "update", INSERT: "insert", DELETE: "delete"}[query["commandType"][0]]
    marks = query["rowMarks"][0]
    for mark in marks if isinstance(marks, list) else []:
        index = int(mark["rti"][0])
        if table(index) in RESOURCE:
            yield table(index), index, "lock"


def names_its_resource(query, table, index, way, catalog):
    """An insert sets the column from a parameter or another table; everything else compares it with =."""
    def is_resource(node):
        return node["node"] == "VAR" and node["varno"] == [str(index)] and \
            catalog.columns.get((table, node["varattno"][0])) == RESOURCE[table]

    if way == "insert":
        targets = query["targetList"][0]
        return any(catalog.columns[table, target["resno"][0]] == RESOURCE[table] for target in targets)
    for node in nodes(query["jointree"]):
        if node["node"] == "OPEXPR" and catalog.operators[node["opno"][0]][0] == "=":
            left, right = node["args"][0]
            for mine, other in ((left, right), (right, left)):
                if is_resource(mine) and other["node"] in ("PARAM", "VAR") and other.get("varno") != [str(index)]:
                    return True
    return False


def functions_called(tree, catalog):
    for node in nodes(tree):
        for field in ("funcid", "opfuncid", "aggfnoid", "winfnoid"):
            if node.get(field, ["0"]) != ["0"]:
                yield catalog.functions[node[field][0]]
        if node.get("opno", ["0"]) != ["0"]:
            yield catalog.functions[catalog.operators[node["opno"][0]][1]]
        if node["node"] == "NEXTVALUEEXPR":
            yield "nextval", "v", "pg_catalog"


def complaints(connection, catalog, text, types):
    """What a sharded engine could not do with a statement."""
    found = []
    tree = tree_of(connection, text, types)
    touched = [(query, *how) for query in nodes(tree) if query["node"] == "QUERY" for how in holds_touched(query, catalog)]
    for query, table, index, way in touched:
        if not names_its_resource(query, table, index, way, catalog):
            found.append(f"{way} of {table} without {RESOURCE[table]}")
    if touched:
        found += [f"volatile {name}" for name, volatile, _ in functions_called(tree, catalog) if volatile == "v"]
    return found, len(touched)


def test_the_source_and_the_library_say_the_same():
    """No text is composed in a way that these checks would not see."""
    assert {text for text in declared() if "{schema}." in text} == compiled()


def test_every_statement_that_writes_or_locks_a_hold(catalog):
    connection, names = catalog
    touching = 0
    for text, types in declared().items():
        found, count = complaints(connection, names, text, types)
        assert found == [], text
        touching += count > 0
    assert touching >= 10


@pytest.mark.parametrize("text, complaint", [
    ("UPDATE {schema}.slot_hold SET state = 'expired' WHERE hold_id = $1", "update of slot_hold without room_id"),
    ("UPDATE {schema}.stock_hold SET state = 'expired' WHERE hold_id = $1 AND item_id > $1", "update of stock_hold without item_id"),
    ("UPDATE {schema}.stock_hold SET state = 'expired' WHERE item_id = item_id", "update of stock_hold without item_id"),
    ("DELETE FROM {schema}.stock_hold WHERE hold_id = $1", "delete of stock_hold without item_id"),
    ("WITH gone AS (DELETE FROM {schema}.slot_hold WHERE hold_id = $1 RETURNING 1) SELECT count(*) FROM gone",
     "delete of slot_hold without room_id"),
    ("SELECT 1 FROM {schema}.slot_hold WHERE hold_id = $1 FOR UPDATE", "lock of slot_hold without room_id"),
    ("SELECT 1 FROM (SELECT 1 FROM {schema}.stock_hold WHERE hold_id = $1 FOR SHARE) q", "lock of stock_hold without item_id"),
    ("UPDATE {schema}.slot_hold SET state = 'expired' WHERE room_id = $1 AND expires_at < clock_timestamp()",
     "volatile clock_timestamp"),
    ("UPDATE {schema}.slot_hold SET version = random() * 10 WHERE room_id = $1", "volatile random"),
    ("UPDATE {schema}.stock_hold h SET version = 1 FROM {schema}.inventory i WHERE h.item_id = i.item_id", None),
    ("SELECT 1 FROM {schema}.slot_hold WHERE $1 = room_id FOR UPDATE", None),
    ("SELECT 1 FROM {schema}.slot_hold WHERE hold_id = $1 AND expires_at < clock_timestamp()", None),  # reads only
])
def test_the_check_can_complain(catalog, text, complaint):
    connection, names = catalog
    found, _ = complaints(connection, names, text, ["20"])
    assert found == ([complaint] if complaint else [])


def test_no_statement_resolves_a_name_by_the_search_path(cluster):
    """Every text, executed in the other tests or not, analysed where each unqualified name would be a stranger's."""
    with cluster.database() as name, cluster.connect(name) as connection:
        connection.execute(HOSTILE)
        for source, target in rows(connection, """
                SELECT castsource::regtype::text, casttarget::regtype::text FROM pg_cast
                WHERE castfunc IN (SELECT oid FROM pg_proc WHERE pronamespace = 'hostile'::regnamespace)
                  AND concat(castsource::regtype, casttarget::regtype) !~ 'hold_claim'"""):
            connection.execute(f"DROP CAST ({source} AS {target})")  # not found by a path, and only a superuser makes it
        names = Catalog(connection)
        allowed = {"pg_catalog", "public"}
        connection.execute("SET search_path = hostile, pg_temp, pg_catalog, public")

        def strangers(text, types):
            tree = tree_of(connection, text, types)
            return {name for name, _, schema in functions_called(tree, names) if schema not in allowed} | \
                   {names.operators[node["opno"][0]][0] for node in nodes(tree)
                    if node.get("opno", ["0"]) != ["0"] and names.operators[node["opno"][0]][2] not in allowed}

        for text, types in declared().items():
            assert strangers(text, types) == set(), text
        assert strangers("SELECT 1 FROM {schema}.room WHERE room_id = $1", ["20"]) == {"=", "operator_20_20_16"}


@pytest.fixture
def shards(connection):
    """Copies of the guarded tables under other names, with the same triggers, as a sharded engine makes them."""
    for number, table in enumerate(("slot_hold", "stock_hold", "inventory"), 102008):
        shard = f"{table}_{number}"
        connection.execute(f"CREATE TABLE {shard} (LIKE {table} INCLUDING ALL)")
        for (definition,) in rows(connection, """
                SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal""", table):
            copied = definition.replace(f" ON public.{table} ", f" ON public.{shard} ")
            assert copied != definition
            connection.execute(copied)


SLOT, STOCK = "slot_hold_102008", "stock_hold_102009"
DAY = "'[2047-01-01, 2047-01-02)'"


def hold_on(table, hold_id, state, expires_at, payment="NULL", claim=None):
    columns, claimed = ("room_id, during", f"1, {claim or DAY}") if table == SLOT else ("item_id, quantity", f"1, {claim or 2}")
    return (f"INSERT INTO {table} (hold_id, {columns}, state, expires_at, payment_reference)"
            f" VALUES ({hold_id}, {claimed}, '{state}', '{expires_at}', {payment})")


def test_guards_work_on_shards_by_content(cluster, database, shards):
    """Each write in a session that never called a function of the extension."""
    def write(statement):
        with cluster.connect(database) as fresh:
            fresh.execute(statement)

    def refused(statement, state):
        with cluster.connect(database) as fresh:
            assert sqlstate(fresh, statement) == state, statement

    for table in (SLOT, STOCK):
        claim = "during" if table == SLOT else "quantity"
        write(hold_on(table, 1, "held", "2046-01-01"))
        refused(hold_on(table, 9, "lost", "2046-01-01"), "23514")
        refused(hold_on(table, 9, "held", "2046-01-01", claim="'empty'" if table == SLOT else "0"), "23514")
        if table == SLOT:
            refused(hold_on(table, 9, "held", "2046-01-01"), "23P01")  # the copied exclusion constraint
        refused(f"UPDATE {table} SET state = 'expired' WHERE hold_id = 1", "RV009")
        refused(f"UPDATE {table} SET {claim} = {claim}, created_at = '2001-01-01' WHERE hold_id = 1", "RV009")
        refused(f"UPDATE {table} SET expires_at = '2045-01-01' WHERE hold_id = 1", "RV009")
        refused(f"DELETE FROM {table}", "RV009")
        refused(f"TRUNCATE {table}", "RV009")
        write(f"UPDATE {table} SET state = 'confirmed', version = 40 WHERE hold_id = 1")
        with cluster.connect(database) as fresh:
            assert rows(fresh, f"SELECT state, version FROM {table}") == [("confirmed", 2)]
            assert value(fresh, f"SELECT count(*) FROM {table} WHERE changed_at > created_at") == 1
        write(f"UPDATE {table} SET state = 'cancelled' WHERE hold_id = 1" if table == SLOT else f"DELETE FROM {table}")
        if table == SLOT:
            refused(f"UPDATE {table} SET state = 'held' WHERE hold_id = 1", "RV009")
            write(f"DELETE FROM {table}")
        write(hold_on(table, 2, "held", "2006-01-01"))
        refused(f"UPDATE {table} SET state = 'confirmed' WHERE hold_id = 2", "RV001")
        refused(f"UPDATE {table} SET state = 'pending_review' WHERE hold_id = 2", "RV009")
        write(f"UPDATE {table} SET state = 'expired' WHERE hold_id = 2")
        write(hold_on(table, 3, "held", "2006-01-01", "'payment'"))
        refused(f"UPDATE {table} SET state = 'expired' WHERE hold_id = 3", "RV009")
        refused(f"UPDATE {table} SET state = 'cancelled' WHERE hold_id = 3", "RV009")
        write(f"UPDATE {table} SET state = 'pending_review' WHERE hold_id = 3")
        refused(f"DELETE FROM {table} WHERE hold_id = 3", "RV009")

    inventory = "inventory_102010"
    write(f"INSERT INTO {inventory} (item_id, available) VALUES (1, 5)")
    refused(f"UPDATE {inventory} SET available = -1", "23514")
    refused(f"UPDATE {inventory} SET available = 6", "23514")
    refused(f"UPDATE {inventory} SET capacity = 7", "RV009")
    write(f"UPDATE {inventory} SET capacity = capacity + 1, available = available + 1")
    write(f"UPDATE {inventory} SET available = available - 2")
    with cluster.connect(database) as fresh:
        assert rows(fresh, f"SELECT available, capacity FROM {inventory}") == [(4, 6)]
