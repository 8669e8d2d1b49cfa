"""Who may do what: the four roles, strangers, row security, and what error texts tell."""
import itertools

import psycopg
import pytest

from server import error, member_functions, member_relations, rows, sqlstate, value
from tour import EVENING, INTERNAL, MORNING, Tour, contradictions

# Every function of the extension with the role that it is for. Everybody may build claims.
APPLICATION = {"hold_acquire", "hold_try_acquire", "hold_acquire_all", "hold_try_acquire_all", "hold_get", "hold_confirm",
               "hold_try_confirm", "hold_cancel", "hold_extend", "hold_confirm_all", "hold_cancel_all", "hold_extend_all",
               "hold_begin_payment", "hold_fail_payment", "room_availability", "available_rooms", "stock_availability"}
REAPER = {"hold_reap", "hold_reap_all", "hold_purge", "reservation_status", "reservation_audit"}
REVIEWER = {"hold_resolve"}
CATALOGUE = {"inventory_adjust"}
EVERYBODY = {"room_claim", "stock_claim"}


def grant(admin, functions, role):
    for name, signature in member_functions(admin):
        if name in functions:
            admin.execute(f"GRANT EXECUTE ON ROUTINE {signature} TO {role}")


def test_each_role_does_its_work_and_nothing_else(cluster, make_role, database, connection):
    roles = {part: make_role() for part in ("application", "reaper", "reviewer", "catalogue")}
    grant(connection, APPLICATION, roles["application"])
    grant(connection, REAPER, roles["reaper"])
    grant(connection, REVIEWER, roles["reviewer"])
    grant(connection, CATALOGUE, roles["catalogue"])
    connection.execute(f"GRANT INSERT, SELECT ON room, inventory TO {roles['catalogue']}")

    sessions = {part: cluster.connect(database, user=role) for part, role in roles.items()}
    tour = Tour(sessions["catalogue"])
    tour.catalogue()
    tour.connection = sessions["application"]
    tour.application()
    tour.connection = sessions["reviewer"]
    tour.review()
    # The reaper's part begins with an overdue hold, which only the application can make.
    tour.connection = sessions["application"]
    tour.call("hold_acquire", "stock(%s, 1), '1 millisecond'", 1)
    assert value(sessions["reaper"], "SELECT released FROM hold_reap() WHERE pg_sleep(0.01) IS NOT NULL") == 1
    for function in REAPER - {"hold_reap", "hold_reap_all", "hold_purge"}:
        if tour.has(function):
            rows(sessions["reaper"], f"SELECT * FROM {function}()")
    if tour.has("hold_reap_all"):
        sessions["reaper"].execute("CALL hold_reap_all()")
    assert contradictions(connection) == []

    allowed = {"application": APPLICATION, "reaper": REAPER, "reviewer": REVIEWER, "catalogue": CATALOGUE}
    for part, session in sessions.items():
        for name, signature in member_functions(connection):
            may = value(connection, "SELECT has_function_privilege(%s, %s, 'EXECUTE')", roles[part], signature)
            assert may == (name in allowed[part] | EVERYBODY), (part, signature)
        for name, kind in member_relations(connection):
            mine = part == "catalogue" and name in ("room", "inventory")
            assert (sqlstate(session, f"SELECT * FROM {name}") == "42501") if not mine else rows(session, f"SELECT * FROM {name}")
            for statement in (f"DELETE FROM {name}", f"TRUNCATE {name}") if kind == "r" else ():
                assert sqlstate(session, statement) == "42501", statement
        for statement in ("INSERT INTO slot_hold VALUES (1, 1, '[2047-01-01, 2047-01-02)', 'held', '2047-01-01')",
                          "UPDATE stock_hold SET state = 'cancelled'", "SELECT nextval('hold_id_seq')",
                          "SELECT hold_next_id()", "UPDATE inventory SET capacity = 1000, available = 1000"):
            assert sqlstate(session, statement) == "42501", statement
        session.close()


def test_a_stranger_may_only_build_claims(cluster, make_role, database, connection):
    with cluster.connect(database, user=make_role()) as stranger:
        assert value(stranger, "SELECT resource_id FROM room_claim(1, '[2047-01-01, 2047-01-02)')") == 1
        assert value(stranger, "SELECT quantity FROM stock_claim(1, 2)") == 2
        for name, signature in member_functions(connection):
            assert value(connection, "SELECT has_function_privilege(%s, %s, 'EXECUTE')", stranger.info.user, signature) == \
                (name in EVERYBODY), signature
        assert sqlstate(stranger, "SELECT hold_acquire(stock_claim(1, 1))") == "42501"


def test_trigger_functions_cannot_be_attached_by_strangers(cluster, make_role, database, connection):
    stranger = make_role()
    connection.execute(f"CREATE SCHEMA theirs AUTHORIZATION {stranger}")
    with cluster.connect(database, user=stranger) as session:
        session.execute("CREATE TABLE theirs.mine (hold_id bigint, available int)")
        for function in ("hold_guard('room')", "hold_truncate_guard('room')", "inventory_guard()"):
            event = "TRUNCATE" if "truncate" in function else "INSERT"
            each = "STATEMENT" if "truncate" in function else "ROW"
            assert sqlstate(session, f"CREATE TRIGGER t BEFORE {event} ON theirs.mine FOR EACH {each}"
                                     f" EXECUTE FUNCTION public.{function}") == "42501"
        assert sqlstate(session, "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION public.reservation_load()") == "42501"


def test_trigger_functions_called_by_hand(connection):
    """Even for a superuser, a guard in a wrong place raises and does nothing else."""
    connection.execute("CREATE TABLE mine (a int); INSERT INTO mine VALUES (1)")
    for function in ("hold_guard", "hold_truncate_guard", "inventory_guard"):
        assert sqlstate(connection, f"SELECT {function}()") == "39P01"
    attempts = {
        "BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION hold_guard('room')": "INSERT INTO mine VALUES (2)",
        "BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION hold_guard('yacht')": "INSERT INTO mine VALUES (2)",
        "BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION hold_guard()": "INSERT INTO mine VALUES (2)",
        "AFTER UPDATE ON mine FOR EACH ROW EXECUTE FUNCTION hold_guard('item')": "UPDATE mine SET a = 2",
        "BEFORE UPDATE ON mine FOR EACH STATEMENT EXECUTE FUNCTION hold_guard('item')": "UPDATE mine SET a = 2",
        "BEFORE TRUNCATE ON mine FOR EACH STATEMENT EXECUTE FUNCTION hold_guard('item')": "TRUNCATE mine",
        "BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION inventory_guard()": "INSERT INTO mine VALUES (2)",
        "AFTER UPDATE ON mine FOR EACH ROW EXECUTE FUNCTION inventory_guard()": "UPDATE mine SET a = 2",
        "BEFORE UPDATE ON mine FOR EACH STATEMENT EXECUTE FUNCTION inventory_guard()": "UPDATE mine SET a = 2",
        "BEFORE TRUNCATE ON mine FOR EACH STATEMENT EXECUTE FUNCTION inventory_guard()": "TRUNCATE mine",
        "BEFORE DELETE ON mine FOR EACH ROW EXECUTE FUNCTION inventory_guard()": "DELETE FROM mine",
        "BEFORE TRUNCATE ON mine FOR EACH STATEMENT EXECUTE FUNCTION hold_truncate_guard('yacht')": "TRUNCATE mine",
        "BEFORE TRUNCATE ON mine FOR EACH STATEMENT EXECUTE FUNCTION hold_truncate_guard('room')": "TRUNCATE mine",
        "AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION hold_truncate_guard('room')": "INSERT INTO mine VALUES (2)",
    }
    for attached, statement in attempts.items():
        connection.execute(f"CREATE TRIGGER t {attached}")
        assert sqlstate(connection, statement) == "39P01", attached
        connection.execute("DROP TRIGGER t ON mine")
    assert rows(connection, "SELECT * FROM mine") == [(1,)]
