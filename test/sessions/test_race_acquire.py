"""Many sessions want the same thing at once: it is given as often as it exists, and nobody deadlocks."""
import time

import pytest

from conftest import PERIOD, codes, done, item, rooms, slot, stock

ROOM = f"SELECT hold_acquire(room_claim(1, '{PERIOD}'), holder => %s)"
TRY_ROOM = ROOM.replace("hold_acquire", "hold_try_acquire")


def unit(quantity=1, function="hold_acquire"):
    return f"SELECT {function}(stock_claim(1, {quantity}))"


@pytest.mark.parametrize("abandoned", [False, True])
def test_forty_acquirers_of_one_period(db, race, abandoned):
    rooms(db, 1)
    if abandoned:  # then all forty also race to release what is in the way
        slot(db, 1, 1)
    answers = race([lambda s, n=n: s.attempt(ROOM, f"holder {n}") for n in range(40)])
    assert codes(answers) == {"00000": 1, "23P01": 39}
    winner, = (answer.value for answer in answers if answer.ok)
    assert db.rows("SELECT hold_id FROM slot_hold WHERE state = 'held'") == [(winner,)]
    released = db.rows("SELECT hold_id, version_seen FROM hold_event WHERE outcome = 'released'")
    assert released == ([(1, 1)] if abandoned else [])


def test_overlapping_but_different_periods(db, race):
    """Twenty periods of one hour that begin a minute apart: each overlaps every other."""
    rooms(db, 1)
    claim = "SELECT hold_acquire(room_claim(1, tstzrange(%s::timestamptz, %s::timestamptz + interval '1 hour')))"
    starts = [f"2100-01-01 10:{minute:02}+00" for minute in range(20)]
    assert codes(race([lambda s, t=t: s.attempt(claim, t, t) for t in starts])) == {"00000": 1, "23P01": 19}


def test_adjacent_periods_all_get_theirs(db, race):
    rooms(db, 1)
    claim = "SELECT hold_acquire(room_claim(1, tstzrange(%s::timestamptz, %s::timestamptz)))"
    hours = [(f"2100-01-01 {h:02}:00+00", f"2100-01-01 {h + 1:02}:00+00") for h in range(20)]
    assert codes(race([lambda s, h=h: s.attempt(claim, *h) for h in hours])) == {"00000": 20}


def test_try_acquire_says_null_to_those_who_lose(db, race):
    rooms(db, 1)
    answers = race([lambda s, n=n: s.attempt(TRY_ROOM, f"holder {n}") for n in range(20)])
    assert codes(answers) == {"00000": 20}
    assert len([answer for answer in answers if answer.value is not None]) == 1


@pytest.mark.parametrize("units, quantity, abandoned", [(12, 1, 0), (20, 3, 0), (12, 1, 7), (20, 3, 20)])
def test_acquirers_of_units(db, race, units, quantity, abandoned):
    item(db, 1, units)
    for n in range(abandoned):
        stock(db, n + 1, 1, 1)
    answers = race([lambda s: s.attempt(unit(quantity)) for _ in range(30)])
    winners = units // quantity
    assert codes(answers) == {"00000": winners, "23514": 30 - winners}
    # Not more was released than the claims needed, and nothing twice.
    missing = winners * quantity - (units - abandoned)
    assert db.one("SELECT count(*) FROM stock_hold WHERE state = 'expired'") == max(missing, 0)
    assert db.one("SELECT count(*) FROM hold_event WHERE outcome = 'released'") == max(missing, 0)
    assert db.one("SELECT available FROM inventory") == max(units - abandoned - winners * quantity, 0)


def test_the_oldest_are_released_and_not_more(db, race):
    """Ten abandoned holds of three units; two customers want four each. Three holds suffice for them."""
    item(db, 1, 30)
    for n in range(10):
        stock(db, n + 1, 1, 3, f"clock_timestamp() - interval '{20 - n} seconds'")
    assert codes(race([lambda s: s.attempt(unit(4))] * 2)) == {"00000": 2}
    assert db.rows("SELECT hold_id FROM stock_hold WHERE state = 'expired' ORDER BY 1") == [(1,), (2,), (3,)]
    assert db.one("SELECT available FROM inventory") == 1


def test_try_acquire_of_units(db, race):
    item(db, 1, 5)
    answers = race([lambda s: s.attempt(unit(function="hold_try_acquire")) for _ in range(20)])
    assert codes(answers) == {"00000": 20}
    assert len({answer.value for answer in answers} - {None}) == 5


@pytest.mark.parametrize("ending, winners", [("COMMIT", 0), ("ROLLBACK", 1)])
@pytest.mark.parametrize("kind", ["room", "item"])
def test_those_who_wait_for_an_open_transaction(db, connect, kind, ending, winners):
    rooms(db, 1)
    item(db, 1, 1)
    acquire, refusal = (ROOM.replace("%s", "NULL"), "23P01") if kind == "room" else (unit(), "23514")
    first = connect()
    first.run("BEGIN")
    first.run(acquire)
    waiting = [connect().start(acquire) for _ in range(10)]
    first.run(ending)
    answers = [done(future) for future in waiting]
    assert codes(answers) == ({"00000": 1, refusal: 9} if winners else {refusal: 10})


@pytest.mark.parametrize("kind", ["room", "item"])
def test_the_clock_is_read_when_the_lock_is_there(db, connect, kind):
    """What ran out while they waited is theirs, and their own time begins when they have it."""
    rooms(db, 1)
    item(db, 1, 1)
    soon = "clock_timestamp() + interval '0.3 second'"
    slot(db, 1, 1, expires=soon) if kind == "room" else stock(db, 1, 1, 1, expires=soon)
    first = connect()
    first.run("BEGIN; SELECT * FROM room FOR UPDATE; SELECT * FROM inventory FOR UPDATE")
    waiting = connect().start(ROOM.replace("%s", "NULL") if kind == "room" else unit())
    first.until("SELECT expires_at <= clock_timestamp() FROM hold WHERE hold_id = 1")
    before = first.one("SELECT clock_timestamp()")
    first.run("COMMIT")
    answer = done(waiting)
    assert answer.ok
    assert db.one("SELECT created_at > %s AND expires_at = created_at + interval '10 minutes' FROM hold WHERE hold_id = %s",
                  before, answer.value)


def test_nothing_is_ever_sold_twice_while_holds_come_and_go(db, race, connect):
    """A watcher looks at every moment: in one snapshot, counter and holds always agree."""
    item(db, 1, 3)
    watcher, stop = connect(), time.monotonic() + 2

    def customer(session):
        taken = refused = 0
        while time.monotonic() < stop:
            answer = session.attempt(unit())
            if answer.ok:
                taken += 1
                assert session.attempt("SELECT hold_cancel(%s)", answer.value).value == "cancelled"
            else:
                assert answer.code == "23514", answer
                refused += 1
        return taken, refused

    def watch(_):
        seen = set()
        while time.monotonic() < stop:
            available, occupying = watcher.row("""
                SELECT available, (SELECT coalesce(sum(quantity), 0) FROM stock_hold WHERE state = 'held')
                FROM inventory""")
            assert available + occupying == 3
            seen.add(available)
        return seen

    *counts, seen = race([customer] * 8 + [watch])
    assert sum(taken for taken, _ in counts) > 50
    assert sum(refused for _, refused in counts) > 0
    assert len(seen) > 1
    assert db.one("SELECT available FROM inventory") == 3


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_with_a_retry_every_level_sells_what_there_is(db, race, level):
    """Whoever gets 40001 tries again, as the server's manual has it; nobody is told that it is sold out too early."""
    rooms(db, 1)
    item(db, 1, 9)
    for n in range(4):
        stock(db, n + 1, 1, 1)

    def customer(session, statement):
        session.run(f"SET default_transaction_isolation = '{level}'")
        for _ in range(200):
            answer = session.attempt(statement)
            if answer.code != "40001":
                return answer
        raise AssertionError("it never came to an end")

    answers = race([lambda s: customer(s, unit())] * 14 + [lambda s: customer(s, ROOM.replace("%s", "NULL"))] * 6)
    assert codes(answers[:14]) == {"00000": 9, "23514": 5}
    assert codes(answers[14:]) == {"00000": 1, "23P01": 5}


def test_own_lock_on_the_resource_is_no_reason_to_deadlock(db, connect):
    """Somebody locks the counter as the pattern does, and calls; others are in the queue already."""
    item(db, 1, 2)
    first, second = connect(), connect()
    first.run("BEGIN")
    first.run("SELECT item_id FROM inventory WHERE item_id = 1 FOR UPDATE")
    waiting = second.start(unit())
    assert first.attempt(unit()).code == "00000"
    first.run("COMMIT")
    assert done(waiting).code == "00000"
