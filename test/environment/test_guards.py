"""The trigger functions in places where only a superuser can put them: they raise, and the server lives."""
import itertools

import psycopg
import pytest

from server import rows, sqlstate, value

ROOM_SHAPE = """hold_id bigint, room_id bigint, during tstzrange, state text, expires_at timestamptz, version integer, holder text, \
payment_reference text, created_at timestamptz, changed_at timestamptz"""
ITEM_SHAPE = ROOM_SHAPE.replace("room_id bigint, during tstzrange", "item_id bigint, quantity integer")
INVENTORY_SHAPE = "item_id bigint, available integer, capacity integer"
EVENTS = ("INSERT", "UPDATE", "DELETE", "TRUNCATE")
WRITES = ("INSERT INTO mine DEFAULT VALUES", "UPDATE mine SET state = state", "DELETE FROM mine", "TRUNCATE mine")


@pytest.mark.parametrize("function, shape, guarded", [
    ("hold_guard('room')", ROOM_SHAPE, {"INSERT", "UPDATE", "DELETE"}),
    ("hold_guard('item')", ITEM_SHAPE, {"INSERT", "UPDATE", "DELETE"}),
    ("hold_truncate_guard('room')", ROOM_SHAPE, {"TRUNCATE"}),
    ("inventory_guard()", INVENTORY_SHAPE + ", state text", {"INSERT", "UPDATE"}),
], ids=["room", "item", "truncate", "inventory"])
def test_guards_in_a_wrong_place_raise(connection, function, shape, guarded):
    """Whoever may attach a guard cannot make it read what is not there, on a table of the right shape or of none."""
    for timing, level, event in itertools.product(("BEFORE", "AFTER"), ("ROW", "STATEMENT"), EVENTS):
        if (event, level) == ("TRUNCATE", "ROW"):
            continue  # no such trigger
        right = timing == "BEFORE" and event in guarded and level == ("STATEMENT" if event == "TRUNCATE" else "ROW")
        connection.execute(f"CREATE TABLE mine ({shape}); INSERT INTO mine DEFAULT VALUES")
        trigger = f"CREATE TRIGGER t {timing} {event} ON mine FOR EACH {level} EXECUTE FUNCTION"
        write = WRITES[EVENTS.index(event)]
        connection.execute(f"{trigger} {function}")
        if right:
            connection.execute(write)
        else:
            assert sqlstate(connection, write) == "39P01", (trigger, function)
        if function.endswith("')"):
            for arguments in ("'yacht'", "", "'room', 'item'"):
                connection.execute(f"CREATE OR REPLACE {trigger[7:]} {function[:function.index('(')]}({arguments})")
                if value(connection, "SELECT count(*) FROM mine") or event in ("INSERT", "TRUNCATE"):
                    assert sqlstate(connection, write) == "39P01", (trigger, arguments)
        connection.execute("DROP TABLE mine")


@pytest.mark.parametrize("function, shape", [("hold_guard('room')", ROOM_SHAPE), ("hold_guard('item')", ITEM_SHAPE),
                                             ("inventory_guard()", INVENTORY_SHAPE)], ids=["room", "item", "inventory"])
def test_guards_on_a_table_of_another_shape_raise(connection, function, shape):
    for column in shape.split(", "):
        name, type_ = column.split()
        if name == "holder":
            continue  # not looked at
        for other in (column.replace(type_, "numeric"), f"nothing {type_}"):
            connection.execute(f"CREATE TABLE mine ({shape.replace(column, other)})")
            connection.execute(f"CREATE TRIGGER t BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION {function}")
            assert sqlstate(connection, "INSERT INTO mine DEFAULT VALUES") == "39P01", other
            connection.execute("DROP TABLE mine")


def test_guards_on_what_is_no_table_raise(connection):
    connection.execute(f"CREATE TABLE parted ({ROOM_SHAPE}) PARTITION BY LIST (room_id)")
    connection.execute("CREATE TRIGGER t BEFORE TRUNCATE ON parted EXECUTE FUNCTION hold_truncate_guard('room')")
    assert sqlstate(connection, "TRUNCATE parted") == "39P01"
    connection.execute("INSERT INTO room VALUES (1, 'Blue'); SELECT hold_acquire(room_claim(1, '[2047-01-01, 2047-01-02)'))")
    connection.execute("CREATE VIEW seen AS SELECT * FROM slot_hold")
    for when, each in (("INSTEAD OF", "ROW"), ("BEFORE", "STATEMENT")):
        for function in ("hold_truncate_guard('room')", "hold_guard('room')"):
            connection.execute(f"CREATE OR REPLACE TRIGGER {each} {when} UPDATE ON seen FOR EACH {each} EXECUTE FUNCTION {function}")
            assert sqlstate(connection, "UPDATE seen SET state = state") == "39P01"
    for function in ("hold_guard", "hold_truncate_guard", "inventory_guard"):
        assert sqlstate(connection, f"SELECT {function}()") == "39P01"


def test_guards_survive_rows_that_the_declarations_would_refuse(connection):
    """A superuser who dropped NOT NULL gets an error or an odd row, not a crash."""
    for table, shape in (("slot_hold", ROOM_SHAPE), ("stock_hold", ITEM_SHAPE), ("inventory", INVENTORY_SHAPE)):
        kind = {"slot_hold": "'room'", "stock_hold": "'item'"}.get(table, "")
        guard = "hold_guard" if kind else "inventory_guard"
        connection.execute(f"CREATE TABLE mine ({shape})")
        for column in shape.split(", "):
            name = column.split()[0]
            connection.execute(f"INSERT INTO mine ({name}) VALUES (NULL)")
        connection.execute("INSERT INTO mine DEFAULT VALUES")
        if kind:
            for state in ("held", "confirmed", "expired", "cancelled", "pending_review"):
                connection.execute("INSERT INTO mine (state) VALUES (%s)", (state,))
        events = "INSERT OR UPDATE OR DELETE" if kind else "INSERT OR UPDATE"
        connection.execute(f"CREATE TRIGGER t BEFORE {events} ON mine FOR EACH ROW EXECUTE FUNCTION {guard}({kind})")
        column, new = ("state", "'confirmed'") if kind else ("capacity", "capacity + 1")
        for write in (f"UPDATE mine SET {column} = {new} WHERE ctid = %s", "DELETE FROM mine WHERE ctid = %s"):
            for (ctid,) in rows(connection, "SELECT ctid::text FROM mine"):
                try:
                    connection.execute(write, (ctid,))
                except psycopg.DatabaseError as raised:
                    assert raised.sqlstate in ("RV001", "RV009", "23514", "XX000"), raised
        if kind:
            connection.execute("INSERT INTO mine (state) VALUES ('confirmed'), ('held')")
            connection.execute(f"CREATE TRIGGER u BEFORE TRUNCATE ON mine EXECUTE FUNCTION hold_truncate_guard({kind})")
            assert sqlstate(connection, "TRUNCATE mine") == "RV009"
        connection.execute("DROP TABLE mine")
