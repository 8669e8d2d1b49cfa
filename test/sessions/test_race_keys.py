"""One idempotency key in many sessions: one request, one answer."""
import time

import pytest

from conftest import PERIOD, codes, done, item, rooms, slot, states, stock

UNIT = "SELECT hold_acquire(stock_claim(1, 1), NULL, 'me', 'key')"
ROOM = f"SELECT hold_acquire(room_claim(1, '{PERIOD}'), NULL, 'me', 'key')"


@pytest.mark.parametrize("abandoned", [False, True])
@pytest.mark.parametrize("statement", [UNIT, ROOM, UNIT.replace("hold_acquire", "hold_try_acquire")])
def test_retries_race_for_the_last(db, race, statement, abandoned):
    """Twenty retries of one request for the last unit, or the only room: all get the one hold that there is."""
    rooms(db, 1)
    item(db, 1, 1)
    if abandoned:
        slot(db, 1, 1) if statement == ROOM else stock(db, 1, 1, 1)
    answers = race([lambda s: s.attempt(statement) for _ in range(20)])
    assert codes(answers) == {"00000": 20}
    hold_id, = {answer.value for answer in answers}
    assert [id for id, state in states(db).items() if state == "held"] == [hold_id]
    assert db.rows("SELECT idempotency_key, hold_ids FROM hold_request") == [("key", [hold_id])]


def test_one_key_on_a_room_and_an_item(db, race):
    """Whoever comes first gives the key its meaning; the others' request is another one."""
    rooms(db, 1)
    item(db, 1, 100)
    answers = race([lambda s, n=n: s.attempt(ROOM if n % 2 else UNIT) for n in range(20)])
    assert codes(answers) == {"00000": 10, "RV006": 10}
    winner, = {answer.value for answer in answers if answer.ok}
    assert {answer.ok for n, answer in enumerate(answers) if n % 2} in ({True}, {False})
    assert states(db) == {winner: "held"}


def test_one_key_with_other_ttl_or_holder(db, race):
    item(db, 1, 100)
    requests = ["'1 hour', 'me'", "'60 minutes', 'me'", "'1 hour', 'you'", "'2 hours', 'me'", "NULL, 'me'", "'1 hour', NULL"]
    answers = race([lambda s, r=r: s.attempt(f"SELECT hold_acquire(stock_claim(1, 1), {r}, 'key')") for r in requests * 3])
    assert len({answer.value for answer in answers if answer.ok}) == 1
    assert len(states(db)) == 1 and codes(answers)["RV006"] in (12, 15)
    assert all("ttl" in a.text or "holder" in a.text for a in answers if a.code == "RV006")


@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
def test_those_who_wait_for_an_open_transaction(db, connect, ending):
    item(db, 1, 1)
    first = connect()
    first.run("BEGIN")
    hold_id = first.one(UNIT)
    waiting = [connect().start(UNIT) for _ in range(8)]
    first.run(ending)
    answers = [done(future) for future in waiting]
    assert codes(answers) == {"00000": 8}
    got, = {answer.value for answer in answers}
    assert (got == hold_id) == (ending == "COMMIT")
    assert states(db) == {got: "held"}


def test_a_refusal_leaves_no_record(db, connect):
    """Sold out is no answer to keep: the retry gets what has come back meanwhile."""
    item(db, 1, 1)
    other = connect()
    other.run("BEGIN")
    hold_id = other.one("SELECT hold_acquire(stock_claim(1, 1))")
    first, second = connect(), connect()
    waiting = [first.start(UNIT), second.start(UNIT.replace("hold_acquire", "hold_try_acquire"))]
    other.run("COMMIT")
    assert [(done(future).code, done(future).value) for future in waiting] == [("23514", None), ("00000", None)]
    assert db.rows("SELECT * FROM hold_request") == []
    db.run("SELECT hold_cancel(%s)", hold_id)
    assert first.attempt(UNIT).ok and second.attempt(UNIT) == first.attempt(UNIT)


def test_a_key_that_is_known_waits_for_no_resource(db, connect):
    """The answer is there before the claims are looked at: it needs no lock of theirs."""
    rooms(db, 1)
    item(db, 1, 1)
    one, room = db.one(UNIT), db.one(ROOM.replace("'key'", "'room'"))
    blocker, session = connect(), connect()
    blocker.run("BEGIN; SELECT * FROM inventory FOR UPDATE; SELECT * FROM room FOR UPDATE")
    session.run("SET lock_timeout = '1s'")
    assert session.one(UNIT) == one and session.one(ROOM.replace("'key'", "'room'")) == room
    session.run("SET reservation.accept_holds = off")
    assert session.one(UNIT) == one
    assert session.attempt(UNIT.replace("'key'", "'other'")).code == "RV008"
    blocker.run("ROLLBACK")


def test_single_and_array_are_one_request(db, race):
    item(db, 1, 5)
    array = "SELECT (hold_acquire_all(ARRAY[stock_claim(1, 1)], NULL, 'me', 'key'))[1]"
    answers = race([lambda s, n=n: s.attempt(array if n % 2 else UNIT) for n in range(16)])
    assert codes(answers) == {"00000": 16} and len({answer.value for answer in answers}) == 1


def test_after_a_hundred_calls_in_one_transaction(db, connect):
    """A long transaction has no weaker keys than a short one."""
    item(db, 1, 1)
    first, second = connect(), connect()
    for number, session in ((2, first), (3, second)):
        item(db, number, 100)
        session.run("BEGIN")
        session.run(f"""SELECT count(hold_acquire(stock_claim({number}, 1), NULL, NULL, 'import {number} ' || n))
                        FROM generate_series(1, 100) AS n""")
    hold_id = first.one("SELECT hold_acquire(stock_claim(1, 1), NULL, NULL, 'key')")
    waiting = second.start("SELECT hold_acquire(stock_claim(1, 1), NULL, NULL, 'key')")
    first.run("COMMIT")
    assert done(waiting) == (hold_id, "00000", "")
    second.run("COMMIT")


def test_retries_under_load(db, race):
    """Requests of a few keys, each retried by everybody at random times, over few resources: one hold a key."""
    rooms(db, 1, 2)
    item(db, 1, 6)
    item(db, 2, 6)
    requests = {f"key {n}": claim for n, claim in enumerate(
        [f"room_claim(1, '{PERIOD}')", f"room_claim(2, '{PERIOD}')"] + ["stock_claim(1, 1)", "stock_claim(2, 1)"] * 6)}
    stop = time.monotonic() + 2

    def customer(session):
        got = {}
        while time.monotonic() < stop:
            for key, claim in requests.items():
                answer = session.attempt(f"SELECT hold_acquire({claim}, NULL, NULL, %s)", key)
                assert answer.ok, answer
                assert got.setdefault(key, answer.value) == answer.value
        return got

    first, *others = race([customer] * 8)
    assert all(got == first for got in others)
    assert states(db) == {hold_id: "held" for hold_id in first.values()}
    assert db.one("SELECT sum(available) FROM inventory") == 0
