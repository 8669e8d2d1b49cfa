"""What an error tells: nothing of another holder's, in no field, at no isolation level."""
import psycopg
import pytest

from server import error, member_functions, rows, value
from tour import EVENING, MORNING

SECRET = "SECRET"


@pytest.fixture
def parties(cluster, make_role, database, connection):
    """A victim with holds in every state, and a stranger's session that may only call functions."""
    stranger = make_role()
    for _, signature in member_functions(connection):
        connection.execute(f"GRANT EXECUTE ON ROUTINE {signature} TO {stranger}")
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
