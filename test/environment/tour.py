"""A tour that calls every function of the extension as its users do and checks the answers.

It is made of the parts that the four roles play, so that each can be played in another session, by another role,
through a pooler, in a renamed schema. Every part may be repeated in one database with another first id.
"""
from server import error, member_functions, rows, sqlstate, value

INTERNAL = {"hold_guard", "hold_truncate_guard", "inventory_guard", "reservation_load", "hold_next_id"}
MORNING = "[2047-01-01 08:00+00, 2047-01-01 12:00+00)"
EVENING = "[2047-01-01 18:00+00, 2047-01-01 22:00+00)"


class Tour:
    def __init__(self, connection, schema="public", first=1):
        self.connection = connection
        self.schema = schema  # as an SQL identifier
        self.first = first    # of the rooms and items that the tour uses: three of each
        self.called = set()
        self.under_review = None

    def call(self, function, arguments="", *parameters):
        return value(self.connection, "SELECT " + self._call(function, arguments, parameters), *parameters)

    def row(self, function, arguments="", *parameters):
        return rows(self.connection, "SELECT * FROM " + self._call(function, arguments, parameters), *parameters)

    def refused(self, function, arguments="", *parameters):
        return sqlstate(self.connection, "SELECT " + self._call(function, arguments, parameters), *parameters)

    def _call(self, function, arguments, parameters):
        """The text of a call; room(...) and stock(...) among the arguments are the constructors of claims."""
        schema = self.schema.replace("%", "%%") if parameters else self.schema
        self.called.add(function)
        for short, constructor in (("room(", "room_claim"), ("stock(", "stock_claim")):
            if short in arguments:
                self.called.add(constructor)
                arguments = arguments.replace(short, f"{schema}.{constructor}(")
        return f"{schema}.{function}({arguments})"

    # The catalogue's part: raw SQL and adjustments.

    def catalogue(self):
        for resource in range(self.first, self.first + 3):
            self.connection.execute(f"INSERT INTO {self.schema}.room VALUES ({resource}, 'Blue')")
            self.connection.execute(f"INSERT INTO {self.schema}.inventory VALUES ({resource}, 8)")
        assert self.call("inventory_adjust", "%s, 4, 'restock'", self.first) == 12
        assert self.call("inventory_adjust", "%s, -2", self.first) == 10
        assert self.refused("inventory_adjust", "%s, -11", self.first) == "23514"

    # The application's part.

    def application(self):
        self._rooms()
        self._items()
        self._carts()
        self._retries()
        self._payments()
        self._overdue()

    def _rooms(self):
        room = self.first
        hold = self.call("hold_acquire", "room(%s, %s), '10 minutes', 'ann'", room, MORNING)
        assert self.call("hold_try_acquire", "room(%s, %s), '10 minutes', 'ben'", room, MORNING) is None
        assert self.refused("hold_acquire", "room(%s, %s)", room, MORNING) == "23P01"
        before = self.row("hold_get", "%s, 'ann'", hold)[0]
        assert before[:3] == (hold, "room", room) and before[5] == "held"
        assert self.call("hold_extend", "%s, '20 minutes'", hold) > before[7]
        assert self.call("hold_confirm", "%s, NULL, 'ann'", hold) == "confirmed"
        assert self.call("hold_try_confirm", "%s", hold) == "confirmed"
        assert self.call("hold_cancel", "%s", hold) == "cancelled"
        assert self.refused("hold_confirm", "%s", hold) == "RV002"
        assert self.refused("hold_confirm", "4294967295") == "P0002"

    def _items(self):
        item = self.first
        hold = self.call("hold_acquire", "stock(%s, 7)", item)
        assert self.refused("hold_acquire", "stock(%s, 4)", item) == "23514"
        assert self.call("hold_try_acquire", "stock(%s, 4)", item) is None
        assert self.call("hold_confirm", "%s", hold) == "confirmed"
        assert self.refused("hold_cancel", "%s", hold) == "RV003"

    def _carts(self):
        both = "ARRAY[stock(%s, 2), room(%s, %s)], '10 minutes', 'cleo'"
        holds = self.call("hold_acquire_all", both, self.first + 1, self.first + 1, MORNING)
        assert self.refused("hold_acquire_all", both, self.first + 1, self.first + 1, MORNING) == "23P01"
        assert self.call("hold_try_acquire_all", both, self.first + 1, self.first + 1, MORNING) is None
        assert len(self.call("hold_extend_all", "%s, '20 minutes', 'cleo'", holds)) == 2
        assert self.call("hold_cancel_all", "%s, 'cleo'", holds) == ["cancelled", "cancelled"]
        holds = self.call("hold_try_acquire_all", both, self.first + 1, self.first + 1, MORNING)
        assert self.call("hold_confirm_all", "%s, 'cleo'", holds) == ["confirmed", "confirmed"]

    def _retries(self):
        keyed = "stock(%s, 1), '10 minutes', 'dan', %s"
        key = f"key {self.first}"
        hold = self.call("hold_acquire", keyed, self.first + 1, key)
        assert self.call("hold_acquire", keyed, self.first + 1, key) == hold
        assert self.call("hold_try_acquire", keyed, self.first + 1, key) == hold
        assert self.call("hold_acquire_all", "ARRAY[stock(%s, 1)], '10 minutes', 'dan', %s", self.first + 1, key) == [hold]
        assert self.refused("hold_acquire", keyed, self.first, key) == "RV006"

    def _payments(self):
        hold = self.call("hold_acquire", "room(%s, %s)", self.first, MORNING)
        version = self.call("hold_begin_payment", "%s, 'payment'", hold)
        assert self.refused("hold_cancel", "%s", hold) == "RV007"
        assert self.call("hold_fail_payment", "%s, 'payment'", hold) == version + 1
        assert self.refused("hold_confirm", "%s, 1", hold) == "RV005"
        assert self.call("hold_cancel", "%s", hold) == "cancelled"

    def _overdue(self):
        room = item = self.first + 2
        late = self.call("hold_acquire", "room(%s, %s), '1 second'", room, MORNING)
        units = self.call("hold_acquire", "stock(%s, 5), '1 second'", item)
        paid = self.call("hold_acquire", "room(%s, %s), '1 second'", room, EVENING)
        self.call("hold_begin_payment", "%s, 'payment'", paid)
        self.connection.execute("SELECT pg_catalog.pg_sleep(1.05)")
        assert self.refused("hold_confirm", "%s", late) == "RV001"
        day = "[2047-01-01 00:00+00, 2047-01-02 00:00+00)"
        free = {str(period[0]) for period in self.row("room_availability", "%s, %s", room, day)}
        assert len(free) == 2  # all but the evening, whose payment is in flight
        assert (room,) in self.row("available_rooms", "%s", MORNING)
        assert self.call("stock_availability", "%s", item) == 8
        self.call("hold_confirm", "%s", self.call("hold_acquire", "room(%s, %s)", room, MORNING))
        self.call("hold_confirm", "%s", self.call("hold_acquire", "stock(%s, 6)", item))
        assert self.row("hold_get", "%s", late)[0][5] == "expired"
        assert self.row("hold_get", "%s", units)[0][5] == "expired"
        assert self.call("hold_try_confirm", "%s", paid) == "pending_review"
        self.under_review = paid

    # The reviewer's part.

    def review(self):
        assert self.refused("hold_resolve", "%s, 'held'", self.under_review) == "22023"
        assert self.call("hold_resolve", "%s, 'cancelled', 'refunded'", self.under_review) == "cancelled"

    # The reaper's part. It leaves no hold of the tour that is not final.

    def upkeep(self):
        self.call("hold_acquire", "stock(%s, 1), '1 millisecond'", self.first)
        self.connection.execute("SELECT pg_catalog.pg_sleep(0.01)")
        run = self.row("hold_reap")[0]
        assert run[1] >= 1 and not run[6], run
        self.called.add("hold_reap_all")
        self.connection.execute(f"CALL {self.schema}.hold_reap_all(100)")
        assert self.row("reservation_status")
        assert self.row("reservation_audit") == []
        assert self.call("hold_purge", "'1 year'") == 0

    def play(self):
        self.catalogue()
        self.application()
        self.review()
        self.upkeep()
        return self

    def left_out(self):
        """What the tour should have called and did not: nothing, or it has to grow."""
        return {name for name, _ in member_functions(self.connection)} - self.called - INTERNAL


def contradictions(connection, schema="public"):
    """What no sequence of calls may ever leave behind: rows that contradict each other, and held locks."""
    return rows(connection, f"""
        SELECT format('units of item %s', i.item_id) FROM {schema}.inventory i
        WHERE i.capacity <> i.available + (SELECT coalesce(sum(quantity), 0) FROM {schema}.stock_hold h
                                           WHERE h.item_id = i.item_id AND state IN ('held', 'pending_review', 'confirmed'))
           OR i.available NOT BETWEEN 0 AND i.capacity
        UNION ALL
        SELECT format('overlap in room %s', a.room_id) FROM {schema}.slot_hold a JOIN {schema}.slot_hold b USING (room_id)
        WHERE a.hold_id < b.hold_id AND a.during && b.during
          AND a.state IN ('held', 'pending_review', 'confirmed') AND b.state IN ('held', 'pending_review', 'confirmed')
        UNION ALL
        SELECT format('request without holds: %s', idempotency_key) FROM {schema}.hold_request r
        WHERE EXISTS (SELECT FROM unnest(r.hold_ids) id WHERE id NOT IN (SELECT hold_id FROM {schema}.hold))
        UNION ALL
        SELECT format('lock left: %s', locktype) FROM pg_locks l
        WHERE locktype IN ('advisory', 'tuple', 'transactionid') AND pid <> pg_backend_pid()
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())""")
