"""Who may do what: the four roles, strangers, row security, and what error texts tell."""


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
        rows(sessions["reaper"], f"SELECT * FROM {function}()")
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


def test_row_security_for_others_does_not_change_what_the_functions_do(cluster, make_role, database, connection):
    """Policies bind whoever reads the tables directly; the functions run as the owner and see every hold."""
    application, analyst = make_role(), make_role()
    grant(connection, APPLICATION | CATALOGUE | REVIEWER | REAPER, application)
    connection.execute(f"GRANT INSERT ON room, inventory TO {application}; GRANT SELECT ON hold, slot_hold, stock_hold TO {analyst}")
    for name, kind in member_relations(connection):
        if kind == "r":
            connection.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
    connection.execute("CREATE POLICY all_in ON room FOR INSERT WITH CHECK (true)")
    connection.execute("CREATE POLICY all_in ON inventory FOR INSERT WITH CHECK (true)")
    connection.execute(f"CREATE POLICY confirmed ON slot_hold FOR SELECT TO {analyst} USING (state = 'confirmed')")
    with cluster.connect(database, user=application) as session:
        Tour(session).play()
    assert contradictions(connection) == []
    with cluster.connect(database, user=analyst) as session:
        seen = rows(session, "SELECT DISTINCT state FROM slot_hold")
        assert seen == [("confirmed",)]
        assert rows(session, "SELECT * FROM stock_hold") == []


def test_forced_row_security_of_an_owner_who_is_no_superuser(cluster, make_role, database, connection):
    """A foreign key and the capacity rule read past policies, as the server's own checks do."""
    catalogue = make_role()
    connection.execute(f"GRANT SELECT, INSERT, UPDATE ON inventory TO {catalogue}")
    connection.execute("INSERT INTO inventory VALUES (1, 5); SELECT hold_acquire(stock_claim(1, 2))")
    with cluster.connect(database, user=catalogue) as session:
        # The rule sees the hold of 2 units although the writer may not read stock_hold.
        assert sqlstate(session, "UPDATE inventory SET capacity = 4 WHERE item_id = 1") == "RV009"
        session.execute("UPDATE inventory SET capacity = 6, available = 4 WHERE item_id = 1")
        assert value(session, "SELECT current_user") == catalogue  # the owner's identity ended with the check


def test_who_is_the_role_that_calls(cluster, make_role, database, connection):
    """SET ROLE counts, the owner of the functions does not."""
    group, member = make_role("NOLOGIN"), make_role()
    connection.execute(f"GRANT {group} TO {member}")
    grant(connection, CATALOGUE | REAPER, group)
    connection.execute("INSERT INTO inventory VALUES (1, 5)")
    with cluster.connect(database, user=member) as session:
        session.execute("SELECT inventory_adjust(1, 1, 'as member')")
        session.execute(f"SET ROLE {group}")
        session.execute("SELECT inventory_adjust(1, 1, 'as group')")
        session.execute("RESET ROLE")
        assert sqlstate(session, "SET ROLE postgres") == "42501"
    connection.execute(f"SET SESSION AUTHORIZATION {member}; SELECT inventory_adjust(1, 1, 'authorized'); RESET SESSION AUTHORIZATION")
    connection.execute("SELECT inventory_adjust(1, 1, 'as superuser')")
    assert rows(connection, "SELECT note, who FROM hold_event ORDER BY event_id") == [
        ("as member", member), ("as group", group), ("authorized", member), ("as superuser", "postgres")]


SUPERUSER_SETTINGS = {"max_lifetime": "'1h'", "expiry_grace": "'1h'", "accept_holds": "off", "log_events": "'none'",
                      "allow_drop": "on", "time_source": "'theirs.noon'"}


@pytest.mark.parametrize("setting", SUPERUSER_SETTINGS)
def test_settings_that_only_a_superuser_sets(cluster, make_role, database, connection, setting):
    """Not by SET, by a role's or database's default, by a connection option, by a function, before or after loading."""
    person, name, wanted = make_role(), f"reservation.{setting}", SUPERUSER_SETTINGS[setting]
    grant(connection, APPLICATION, person)
    connection.execute("INSERT INTO inventory VALUES (1, 5)")
    connection.execute("SELECT hold_next_id()")  # loads the library
    initial = value(connection, f"SELECT current_setting('{name}')")
    connection.execute(f"CREATE SCHEMA theirs AUTHORIZATION {person}")
    connection.execute("CREATE FUNCTION theirs.noon() RETURNS timestamptz LANGUAGE plpgsql AS $$BEGIN RAISE 'called'; END$$")

    def in_force(session):
        session.execute("SELECT hold_acquire(stock_claim(1, 1))")  # raises if their time source were asked
        return value(session, f"SELECT current_setting('{name}')")

    with cluster.connect(database, user=person) as session:
        session.execute(f"SET {name} = {wanted}")  # the library is not loaded yet: only a placeholder
        assert in_force(session) == initial
        assert sqlstate(session, f"SET {name} = {wanted}") == "42501"
        assert sqlstate(session, f"SET LOCAL {name} = {wanted}") == "42501"
        assert sqlstate(session, "SELECT set_config(%s, %s, false)", name, wanted.strip("'")) == "42501"
        assert in_force(session) == initial

    # Stored by a session that has the library, and by one that does not know the name.
    for loaded in (True, False):
        with cluster.connect(database, user=person) as session:
            if loaded:
                in_force(session)
            assert sqlstate(session, f"ALTER ROLE {person} SET {name} = {wanted}") == "42501"
            assert sqlstate(session, f"ALTER DATABASE {database} SET {name} = {wanted}") == "42501"
            assert sqlstate(session, f"ALTER SYSTEM SET {name} = {wanted}") in ("42501", "25001", "42704")
            assert sqlstate(session, f"CREATE FUNCTION theirs.f() RETURNS bigint SET {name} = {wanted} LANGUAGE sql"
                                     " AS 'SELECT public.hold_acquire(public.stock_claim(1, 1))'") == "42501"
    with cluster.connect(database, user=person, options=f"-c {name}={wanted.strip(chr(39))}") as session:
        assert in_force(session) == initial

    # A superuser may, and may grant it: then it is in force.
    connection.execute(f"ALTER ROLE {person} SET {name} = {wanted}")
    with cluster.connect(database, user=person) as session:
        assert value(session, f"SELECT current_setting('{name}')") != initial
    connection.execute(f"ALTER ROLE {person} RESET {name}")


@pytest.mark.parametrize("name", ["noon", "a.b.c", "theirs.", ".noon", "theirs.noon; DROP TABLE room"])
def test_a_time_source_is_a_qualified_name(connection, name):
    connection.execute("SELECT hold_next_id()")
    assert sqlstate(connection, "SELECT set_config('reservation.time_source', %s, false)", name) == "22023"
