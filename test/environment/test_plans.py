"""Every statement that reads by index has a plan that stays good however the tables grow: made when they are empty."""
import pytest

from server import value
from statements import declared, type_names


def plan_nodes(plan):
    yield plan
    for child in plan.get("Plans", []):
        yield from plan_nodes(child)


def complaints(connection, text, types):
    names = type_names(connection, types)
    arguments = ", ".join(["NULL"] * len(names))
    connection.execute(f"PREPARE s {'(' + ', '.join(names) + ')' if names else ''} AS {text.replace('{schema}', 'public')}")
    plan = value(connection, f"EXPLAIN (FORMAT JSON) EXECUTE s {'(' + arguments + ')' if names else ''}")[0]["Plan"]
    connection.execute("DEALLOCATE s")
    found = []
    for node in plan_nodes(plan):
        table = node.get("Relation Name")
        if node["Node Type"] == "Seq Scan":
            found.append(f"reads all of {table}")
        elif "Index Scan" in node["Node Type"] or "Index Only Scan" in node["Node Type"]:
            if "Index Cond" not in node:
                found.append(f"walks through {node['Index Name']}")
        if "Join Filter" in node:
            found.append(f"compares every pair: {node['Join Filter']}")
    return found


@pytest.fixture
def settings(connection):
    """Those under which the library plans such a statement."""
    connection.execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_indexscan = on; SET jit = off")


# What a statement goes through as a whole, because that is what it asks for.
WHOLE = {
    "room_pkey": "rooms without a hold in a period",
    "slot_hold_deadline": "how many holds are live, late and overdue",
    "stock_hold_deadline": "the same",
    "hold_run_pkey": "the last run; runs without an event",
}


def test_every_statement_that_reads_by_index(connection, settings):
    statements = {text: types for text, types in declared(reads=("by_index",)).items() if "{schema}." in text}
    assert len(statements) > 50
    walked = set()
    for text, types in statements.items():
        found = set(complaints(connection, text, types))
        walked |= {index for index in WHOLE if f"walks through {index}" in found}
        assert found <= {f"walks through {index}" for index in WHOLE}, text
    assert walked == set(WHOLE)


@pytest.mark.parametrize("text, complaint", [
    ("SELECT 1 FROM {schema}.slot_hold WHERE holder = $1", "reads all of slot_hold"),
    ("SELECT 1 FROM {schema}.slot_hold a JOIN {schema}.stock_hold b ON a.holder <> b.holder",
     "compares every pair: (a.holder <> b.holder)"),
    ("SELECT 1 FROM {schema}.stock_hold ORDER BY hold_id LIMIT 1", "walks through stock_hold_pkey"),
    ("SELECT 1 FROM {schema}.stock_hold WHERE hold_id = $1::bigint", None),
])
def test_the_check_can_complain(connection, settings, text, complaint):
    found = complaints(connection, text, ["25"])
    assert found == [] if complaint is None else complaint in found
