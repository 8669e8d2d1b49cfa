"""Books a room: hold, pay, confirm. Connects through PGHOST, PGDATABASE and PGUSER."""
import time
import uuid

import psycopg

FREE_HOUR = """
    SELECT tstzrange(lower(gap), lower(gap) + '1h') FROM room_availability(%s, '[2030-01-01, 2040-01-01)') AS gap
    WHERE upper(gap) - lower(gap) >= '1h' LIMIT 1"""
ACQUIRE_ROOM = "SELECT hold_acquire(room_claim(%s, %s), %s, %s, %s)"
ACQUIRE_UNITS = "SELECT hold_acquire(stock_claim(%s, %s), %s, %s)"


def call(connection, sql, *values):
    """One call in its own transaction."""
    with connection.transaction():
        return connection.execute(sql, values).fetchone()[0]


def refusal(connection, sql, *values):
    """The SQLSTATE of a call that is refused; psycopg has no class of its own for RV..., they are DatabaseError."""
    try:
        call(connection, sql, *values)
    except psycopg.Error as error:
        return error.sqlstate
    return "not refused"


def pay(connection, hold, reference, provider):
    """Tells of the payment, and commits, before it goes out: from then on nobody releases the hold. A certain no gives
    it back. No answer is an exception of the provider: the hold waits in flight, and then for a person's review."""
    call(connection, "SELECT hold_begin_payment(%s, %s)", hold, reference)
    if provider(reference):
        return call(connection, "SELECT hold_confirm(%s)", hold)
    call(connection, "SELECT hold_fail_payment(%s, %s)", hold, reference)
    return call(connection, "SELECT hold_cancel(%s)", hold)


def transaction(connection, work):
    """Several statements in one transaction, repeated when it lost a race."""
    for attempt in range(1, 6):
        try:
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                work(connection, attempt)
            return attempt
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
            if attempt == 5:
                raise


with psycopg.connect(autocommit=True) as db, psycopg.connect(autocommit=True) as other:
    hour = call(db, FREE_HOUR, 1)

    # The key makes the request safe to repeat when its answer got lost.
    key = str(uuid.uuid4())
    hold = call(db, ACQUIRE_ROOM, 1, hour, "10 minutes", "ann", key)
    print("ann holds room 1")
    again = call(db, ACQUIRE_ROOM, 1, hour, "10 minutes", "ann", key)
    print("the same key again:", "the same hold" if again == hold else "another hold")
    print("ben wants the same hour:", refusal(db, ACQUIRE_ROOM, 1, hour, None, "ben", None))

    print("ann has paid:", pay(db, hold, "payment-1", lambda reference: True))
    print("a second confirm:", call(db, "SELECT hold_confirm(%s)", hold))
    unit = call(db, ACQUIRE_UNITS, 2, 1, None, "eli")
    print("eli's card is refused:", pay(db, unit, "payment-2", lambda reference: False))

    short = call(db, ACQUIRE_UNITS, 2, 1, "50 milliseconds", "carol")
    time.sleep(0.1)
    print("carol waited too long:", refusal(db, "SELECT hold_confirm(%s)", short))

    def buy(connection, attempt):
        connection.execute("SELECT stock_availability(%s)", (2,))
        if attempt == 1:
            call(other, ACQUIRE_UNITS, 2, 1, None, "somebody faster")
        connection.execute(ACQUIRE_UNITS, (2, 1, None, "dora"))

    print(f"dora lost a race and tried again: {transaction(db, buy)} attempts")
