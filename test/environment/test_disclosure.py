"""What an error tells: nothing of another holder's, in no field, at no isolation level."""
import psycopg
import pytest

from server import error, rows, value
from tour import EVENING, MORNING

SECRET = "SECRET"


@pytest.fixture
def parties(cluster, stranger, database, connection):
    """A victim with holds in every state, and a stranger's session that may only call functions."""
    connection.execute("INSERT INTO room SELECT g, 'Blue' FROM generate_series(1, 9) g")
    connection.execute("INSERT INTO inventory SELECT g, 5 FROM generate_series(1, 9) g")
    connection.execute("SET reservation.log_events = 'all'")
    holds = {}

    def acquire(name, claim, ttl="10 minutes"):
        holds[name] = value(connection, f"SELECT hold_acquire({claim}, %s, 'SECRET holder', %s)", ttl, f"SECRET key of {name}")
        return holds[name]

    acquire("held room", f"room_claim(1, '{MORNING}')")
    acquire("paid room", f"room_claim(2, '{MORNING}')")
    connection.execute("SELECT hold_begin_payment(%s, 'SECRET payment')", (holds["paid room"],))
    connection.execute("SELECT hold_confirm(%s)", (acquire("confirmed room", f"room_claim(3, '{MORNING}')"),))
    connection.execute("SELECT hold_cancel(%s)", (acquire("cancelled room", f"room_claim(4, '{MORNING}')"),))
    acquire("held item", "stock_claim(1, 5)")
    connection.execute("SELECT hold_confirm(%s)", (acquire("confirmed item", "stock_claim(2, 5)"),))
    acquire("late room", f"room_claim(5, '{MORNING}')", "10 milliseconds")
    acquire("late paid item", "stock_claim(3, 5)", "1 second")
    connection.execute("SELECT hold_begin_payment(%s, 'SECRET payment')", (holds["late paid item"],))
    acquire("reviewed room", f"room_claim(6, '{MORNING}')", "1 second")
    connection.execute("SELECT hold_begin_payment(%s, 'SECRET payment')", (holds["reviewed room"],))
    connection.execute("SELECT pg_sleep(1.1)")
    connection.execute("SELECT hold_try_confirm(%s)", (holds["reviewed room"],))
    with cluster.connect(database, user=stranger) as session:
        yield holds, session


def told(diagnostics):
    """Everything that a client gets to see of an error."""
    return "\n".join(str(field) for field in (
        diagnostics.message_primary, diagnostics.message_detail, diagnostics.message_hint, diagnostics.context,
        diagnostics.internal_query, diagnostics.schema_name, diagnostics.table_name, diagnostics.column_name,
        diagnostics.constraint_name) if field is not None)


def statements(holds):
    """(statement, the hold that it names itself) of what a stranger can try against the victim's holds."""
    for room in (1, 2, 3, 6):
        for holder in ("NULL", "'stranger'", "'secret holder'"):
            yield f"SELECT hold_acquire(room_claim({room}, '{MORNING}'), NULL, {holder})", None
            yield f"SELECT hold_acquire_all(ARRAY[room_claim(9, '{MORNING}'), room_claim({room}, '{MORNING}')], NULL, {holder})", None
    for item in (1, 2, 3):
        yield f"SELECT hold_acquire(stock_claim({item}, 1), NULL, 'stranger')", None
        yield f"SELECT hold_acquire_all(ARRAY[stock_claim(9, 1), stock_claim({item}, 6)])", None
        yield f"SELECT inventory_adjust({item}, -1)", None
    for key in holds:  # a key that the stranger guessed
        yield f"SELECT hold_acquire(room_claim(9, '{EVENING}'), NULL, 'stranger', 'SECRET key of {key}')", None
        yield f"SELECT hold_acquire_all('{{}}', '1 hour', 'stranger', 'SECRET key of {key}')", None
    for name, hold in holds.items():
        for holder in ("", ", NULL, 'stranger'"):
            version = ", 99" if not holder else holder
            yield f"SELECT hold_confirm({hold}{version})", hold
            yield f"SELECT hold_cancel({hold}{version})", hold
            yield f"SELECT hold_extend({hold}, NULL{version})", hold
            yield f"SELECT hold_begin_payment({hold}, 'mine'{version})", hold
        for holder in ("", ", 'stranger'"):
            yield f"SELECT hold_confirm_all(ARRAY[{hold}]{holder})", hold
            yield f"SELECT hold_cancel_all(ARRAY[{hold}]{holder})", hold
            yield f"SELECT hold_extend_all(ARRAY[{hold}], NULL{holder})", hold
            yield f"SELECT hold_fail_payment({hold}, 'mine'{holder})", hold
        yield f"SELECT hold_resolve({hold}, 'confirmed', NULL, 99)", hold
        yield f"SELECT * FROM hold WHERE hold_id = {hold}", hold
        yield f"UPDATE slot_hold SET holder = 'stranger' WHERE hold_id = {hold}", hold


@pytest.mark.parametrize("level", ["read committed", "repeatable read", "serializable"])
def test_refusals(parties, level):
    holds, session = parties
    session.autocommit = False
    warnings, refusals = [], 0
    session.add_notice_handler(lambda notice: warnings.append(told(notice)))
    for statement, named in statements(holds):
        session.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        try:
            session.execute(statement)
        except psycopg.Error as raised:
            refusals += 1
            text = told(raised.diag)
            # What the stranger wrote may come back; take it away and see what else there is.
            assert SECRET not in text.replace(statement, ""), (statement, text)
            for name, hold in holds.items():
                assert hold == named or str(hold) not in text.replace(statement, ""), (statement, text)
        session.rollback()
    assert refusals > 150
    assert warnings == []


def test_an_own_hold_is_named(connection):
    """The exception that the contract makes: a hold of the same holder in the way."""
    connection.execute("INSERT INTO room VALUES (1, 'Blue')")
    hold = value(connection, f"SELECT hold_acquire(room_claim(1, '{MORNING}'), NULL, 'ann')")
    diagnostics = error(connection, f"SELECT hold_acquire(room_claim(1, '{MORNING}'), NULL, 'ann')")
    assert str(hold) in diagnostics.message_detail and "hold_extend" in diagnostics.message_hint
    for other in ("'ben'", "NULL", "''", "'ann '"):
        assert str(hold) not in told(error(connection, f"SELECT hold_acquire(room_claim(1, '{MORNING}'), NULL, {other})"))
    # No holder is nobody in particular, not the same holder.
    connection.execute("SELECT hold_cancel(%s)", (hold,))
    hold = value(connection, f"SELECT hold_acquire(room_claim(1, '{MORNING}'))")
    assert str(hold) not in told(error(connection, f"SELECT hold_acquire(room_claim(1, '{MORNING}'))"))


def test_functions_answer_nothing_about_another_holder(parties):
    holds, session = parties
    for hold in holds.values():
        assert value(session, "SELECT hold_get(%s, 'stranger')", hold) is None
        assert value(session, "SELECT hold_try_confirm(%s, NULL, 'stranger')", hold) is None
    for room in (1, 2, 3, 6):
        assert value(session, f"SELECT hold_try_acquire(room_claim({room}, '{MORNING}'), NULL, 'stranger')") is None
    assert rows(session, "SELECT DISTINCT (hold_get(id, 'SECRET holder')).holder FROM unnest(%s::bigint[]) id",
                list(holds.values())) == [("SECRET holder",)]


# What a DBA may add to a hold table so that a hold of the victim violates it when somebody else reclaims it: how it is
# made, its SQLSTATE, and what the server would say about the row.
ON_UPDATE = """CREATE FUNCTION theirs_{table}() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {body}; RETURN NEW; END$$;
    CREATE TRIGGER a {when} UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION theirs_{table}()"""
VIOLATED = {
    "check": ("23514", "ALTER TABLE {table} ADD CHECK (state <> 'expired') NOT VALID"),
    "not null": ("23502", "ALTER TABLE {table} ADD COLUMN desk text NOT NULL DEFAULT 'front'; " +
                 ON_UPDATE.format(table="{table}", when="BEFORE", body="NEW.desk := NULL")),
    "foreign key": ("23503", """
        CREATE TABLE people_{table} (name text, state text, PRIMARY KEY (name, state));
        INSERT INTO people_{table} SELECT DISTINCT holder, 'held' FROM {table};
        ALTER TABLE {table} ADD FOREIGN KEY (holder, state) REFERENCES people_{table} NOT VALID"""),
    "unique": ("23505", "CREATE UNIQUE INDEX ON {table} (holder) WHERE state = 'expired'"),
    "exclusion": ("23P01", "ALTER TABLE {table} ADD EXCLUDE USING gist (holder WITH =) WHERE (state = 'expired')"),
    "check of a trigger's table": ("23514", "CREATE TABLE archive_{table} (line text CHECK (line = '')); " + ON_UPDATE.format(
        table="{table}", when="AFTER", body="INSERT INTO public.archive_{table} VALUES (NEW.holder)")),
    "check option of a trigger's view": ("44000", """
        CREATE TABLE archive_{table} (line text);
        CREATE VIEW empty_{table} AS SELECT * FROM archive_{table} WHERE line = '' WITH CHECK OPTION; """ + ON_UPDATE.format(
        table="{table}", when="AFTER", body="INSERT INTO public.empty_{table} VALUES (NEW.holder)")),
}


@pytest.fixture
def overdue(cluster, stranger, database, connection):
    """The victim's overdue holds of room 1 and item 1, a stranger's session, and calls of each that release one."""
    connection.execute("INSERT INTO room VALUES (1, 'Blue'); INSERT INTO inventory VALUES (1, 5)")
    # One that has expired already, for those constraints that compare two rows.
    connection.execute("""
        INSERT INTO slot_hold (room_id, during, state, expires_at, holder) VALUES (1, '[2001-01-01, 2001-01-02)', 'expired', '2001-01-01', 'SECRET');
        INSERT INTO stock_hold (item_id, quantity, state, expires_at, holder) VALUES (1, 1, 'expired', '2001-01-01', 'SECRET')""")
    holds = [value(connection, f"SELECT hold_acquire({claim}, '1 millisecond', 'SECRET')")
             for claim in (f"room_claim(1, '{MORNING}')", "stock_claim(1, 5)")]
    connection.execute("SELECT pg_sleep(0.002)")
    calls = []
    for hold, claim in zip(holds, (f"room_claim(1, '{MORNING}')", "stock_claim(1, 2)")):
        calls += [f"SELECT hold_acquire({claim})", f"SELECT hold_try_acquire({claim}, NULL, NULL, 'key')",
                  f"SELECT hold_acquire_all(ARRAY[{claim}], '1 hour', 'stranger')",
                  f"SELECT hold_try_acquire_all(ARRAY[{claim}])", f"SELECT hold_try_confirm({hold})"]
    with cluster.connect(database, user=stranger) as session:
        yield holds, calls, session


@pytest.mark.parametrize("kind", VIOLATED)
def test_constraints_of_others(cluster, connection, overdue, kind):
    """The row that violates a DBA's constraint is another holder's: the log has it."""
    holds, calls, session = overdue
    state, statements = VIOLATED[kind]
    for table in ("slot_hold", "stock_hold"):
        connection.execute(statements.format(table=table))
    for call in calls:
        logged = len(cluster.log())
        diagnostics = error(session, call)
        assert diagnostics.sqlstate == state, (call, told(diagnostics))
        assert SECRET not in told(diagnostics), (call, told(diagnostics))
        assert not any(str(hold) in told(diagnostics).replace(call, "") for hold in holds), (call, told(diagnostics))
        assert SECRET in cluster.log()[logged:], call
        # Nor is it shown to the owner: who that is cannot be known where his ANALYZE runs a stranger's code.
        assert SECRET not in told(error(connection, call)), call


def test_purge_of_what_others_refer_to(connection, overdue):
    (hold, _), _, session = overdue
    connection.execute("SELECT hold_cancel(%s)", (hold,))
    connection.execute("CREATE TABLE theirs (hold_id bigint REFERENCES slot_hold)")
    connection.execute("INSERT INTO theirs VALUES (%s)", (hold,))
    for one in session, connection:
        diagnostics = error(one, "SELECT hold_purge('1 microsecond')")
        assert diagnostics.sqlstate == "23503" and str(hold) not in told(diagnostics)


@pytest.mark.parametrize("state", ["ZZ001", "23514"])
def test_what_a_trigger_of_others_says_arrives(connection, overdue, state):
    """It was written for whoever calls."""
    _, calls, session = overdue
    for table in ("slot_hold", "stock_hold"):
        connection.execute(ON_UPDATE.format(table=table, when="BEFORE", body=f"""
            RAISE EXCEPTION 'the desk is closed' USING DETAIL = 'It opens at eight.', HINT = 'Come back.', ERRCODE = '{state}'"""))
    for call in calls:
        diagnostics = error(session, call)
        assert (diagnostics.sqlstate, diagnostics.message_primary, diagnostics.message_detail, diagnostics.message_hint) == \
            (state, "the desk is closed", "It opens at eight.", "Come back.")
