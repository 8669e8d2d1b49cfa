"""Every call against every other on one hold, in every state.

The second call waits for the first one's transaction. It must say and do what it says and does on a twin of the hold when
it comes after the first one has committed, or, if that rolled back, when it comes alone. Times are the only difference.
"""
import itertools
import time

import pytest

from conftest import done, in_thread

CALLS = {
    "confirm": "SELECT hold_confirm({hold})",
    "confirm v1": "SELECT hold_confirm({hold}, 1)",
    "try_confirm": "SELECT hold_try_confirm({hold})",
    "cancel": "SELECT hold_cancel({hold})",
    "extend": "SELECT hold_extend({hold}, '2 hours') > now()",
    "begin x": "SELECT hold_begin_payment({hold}, 'x')",
    "begin y": "SELECT hold_begin_payment({hold}, 'y', 1)",
    "fail x": "SELECT hold_fail_payment({hold}, 'x')",
    "resolve confirmed": "SELECT hold_resolve({hold}, 'confirmed')",
    "resolve cancelled": "SELECT hold_resolve({hold}, 'cancelled')",
    "take": "SELECT {acquire} > 0",
    "confirm all": "SELECT hold_confirm_all('{{{hold},{hold}}}')",
    "raw expire": "{expire}",
}
RAW_EXPIRE = {
    "room": "UPDATE slot_hold SET state = 'expired' WHERE hold_id = {0} AND state = 'held' RETURNING state",
    "item": """
        WITH released AS (
            UPDATE stock_hold SET state = 'expired' WHERE hold_id = {0} AND state = 'held' RETURNING item_id, quantity)
        UPDATE inventory AS i SET available = i.available + r.quantity
        FROM released AS r WHERE i.item_id = r.item_id RETURNING i.available""",
}
STATES = {  # state, deadline, reference
    "live": ("held", "1 hour", None),
    "live, in flight": ("held", "1 hour", "x"),
    "overdue": ("held", "-1 second", None),
    "overdue, in flight": ("held", "-1 second", "x"),
    "confirmed": ("confirmed", "1 hour", None),
    "pending_review": ("pending_review", "-1 second", "x"),
}


def make(db, kind, state, count):
    """Holds 1 to count, each with a room or an item of its own that has the same number."""
    name, deadline, reference = STATES[state]
    if kind == "room":
        db.run("INSERT INTO room SELECT n, 'Room' FROM generate_series(1, %s) AS n", count)
        db.run("""INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, payment_reference)
                  SELECT n, n, '[2100-01-01, 2100-01-02)', %s, now() + %s::interval, %s FROM generate_series(1, %s) AS n""",
               name, deadline, reference, count)
    else:
        db.run("INSERT INTO inventory (item_id, available, capacity) SELECT n, 0, 1 FROM generate_series(1, %s) AS n", count)
        db.run("""INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, payment_reference)
                  SELECT n, n, 1, %s, now() + %s::interval, %s FROM generate_series(1, %s) AS n""",
               name, deadline, reference, count)


class Hold:
    def __init__(self, number, kind):
        self.number, self.kind = number, kind
        claim = f"room_claim({number}, '[2100-01-01, 2100-01-02)')" if kind == "room" else f"stock_claim({number}, 1)"
        self.acquire = f"hold_acquire({claim})"

    def call(self, session, name):
        return session.attempt(CALLS[name].format(
            hold=self.number, acquire=self.acquire, expire=RAW_EXPIRE[self.kind].format(self.number)))

    def outcome(self, db):
        """All that is left of it, without ids and times."""
        return (
            db.rows("SELECT state, version, payment_reference, deadline_moved FROM (SELECT *, expires_at > now() + '90 minutes'"
                    " AS deadline_moved FROM hold WHERE resource_id = %s AND kind = %s ORDER BY hold_id) AS h",
                    self.number, self.kind),
            db.rows("SELECT outcome, version_seen, state_before, state_after, units FROM hold_event"
                    " WHERE resource_id = %s AND kind = %s ORDER BY event_id", self.number, self.kind),
            db.one("SELECT available FROM inventory WHERE item_id = %s", self.number) if self.kind == "item" else None)


def said(answer):
    return (answer.code, answer.value)


@pytest.mark.parametrize("kind", ["room", "item"])
@pytest.mark.parametrize("state", STATES)
def test_pairs(db, connect, kind, state):
    first, second, watch = connect(), connect(), connect()
    for session in (db, first, second):
        session.run("SET reservation.log_events = 'all'")
    # Half of the pairs with either kind: this is not where they differ.
    pairs = list(itertools.product(CALLS, CALLS))[kind == "item"::2]
    make(db, kind, state, 2 * len(pairs))
    waited = 0
    for n, (one, other) in enumerate(pairs):
        commits = n % 3 != 0
        hold, twin = Hold(2 * n + 1, kind), Hold(2 * n + 2, kind)
        expected = [said(twin.call(db, one))] if commits else []
        expected.append(said(twin.call(db, other)))

        first.run("BEGIN")
        answers = [said(hold.call(first, one))]
        future = in_thread(hold.call, second, other)
        while not future.done() and not watch.one("SELECT cardinality(pg_blocking_pids(%s)) > 0", second.pid):
            time.sleep(0.0005)
        waited += not future.done()
        first.run("COMMIT" if commits else "ROLLBACK")
        answers.append(said(done(future)))
        scene = f"{one} {'and' if commits else 'rolled back, and'} {other}"
        assert (answers if commits else answers[1:]) == expected, scene
        assert hold.outcome(db) == twin.outcome(db), scene
    assert waited > 10
