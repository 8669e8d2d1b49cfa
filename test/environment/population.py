"""A database with everything that the extension can hold, and what must be equal wherever that is taken."""
from server import member_functions, member_relations, quoted, rows, value
from tour import MORNING, Tour, contradictions

SCHEMA = "Booking Desk"
HOME = quoted(SCHEMA)
DAY = "[2047-02-{0:02} 00:00+00, 2047-02-{0:02} 12:00+00)"


def populate(connection):
    """Holds of both kinds in every state, with events, requests, runs, and a gap in each sequence."""
    connection.execute("SET reservation.log_events = 'all'")
    tour = Tour(connection, HOME).play()
    connection.execute(f"INSERT INTO {HOME}.inventory VALUES (99, 100)")
    for day in range(1, 21):
        tour.call("hold_acquire", "room(%s, %s), '1 day', %s, %s", 1, DAY.format(day), f"holder \\{day}\t'\n", f"kept {day}")
        tour.call("hold_acquire", "stock(%s, %s), %s", 99, 1 + day % 3, "1 day" if day % 2 else "1 millisecond")
    confirmed = tour.call("hold_acquire", "room(%s, %s), '1 day'", 2, DAY.format(1))
    tour.call("hold_confirm", "%s", confirmed)
    # Rows that only an import can make: past deadlines, high versions, small ids, times before the epoch.
    connection.execute(f"""
        INSERT INTO {HOME}.slot_hold VALUES (1, 3, '[2000-01-01, 2000-01-02)', 'held', '2000-01-01', 7);
        INSERT INTO {HOME}.slot_hold VALUES (2, 3, '[2000-01-02, 2000-01-03)', 'pending_review', '1999-01-01', 2147483000,
            'x', 'payment', '1968-01-01', clock_timestamp());
        INSERT INTO {HOME}.slot_hold VALUES (3, 3, '[2000-01-01, 2000-01-02)', 'expired', '2000-01-01')""")
    connection.execute(f"SELECT nextval('{HOME}.hold_id_seq'), nextval('{HOME}.hold_event_id_seq'), nextval('{HOME}.hold_run_id_seq')")
    states = rows(connection, f"SELECT kind, state FROM {HOME}.hold GROUP BY 1, 2")
    assert len(states) >= 9, states


def content(connection, schema=HOME):
    """All rows of all tables, all sequences, and what is configured about them."""
    found = {}
    for name, kind in member_relations(connection):
        if kind != "v":
            found[name] = rows(connection, f"SELECT t::text FROM {schema}.{name} t ORDER BY 1" if kind == "r" else
                               f"SELECT last_value, is_called FROM {schema}.{name}")
            assert found[name], name  # an empty table would prove nothing
    found["triggers"] = rows(connection, """
        SELECT tgrelid::regclass::text, tgname, tgenabled::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2""")
    found["event triggers"] = rows(connection, "SELECT evtname, evtenabled::text FROM pg_event_trigger")
    found["grants"] = [(signature, value(connection, "SELECT proacl::text FROM pg_proc WHERE oid = %s::regprocedure", signature))
                       for _, signature in member_functions(connection)]
    found["version"] = rows(connection, "SELECT extname, extversion, nspname FROM pg_extension e JOIN pg_namespace n"
                                        " ON n.oid = extnamespace WHERE extname = 'reservation'")
    return found


def works(connection, schema=HOME, first=1000):
    """The next acquire works, and so does everything else."""
    before = value(connection, f"SELECT max(hold_id) FROM {schema}.hold")
    connection.execute(f"INSERT INTO {schema}.room VALUES ({first + 98}, 'New')")
    after = value(connection, f"SELECT {schema}.hold_acquire({schema}.room_claim({first + 98}, %s))", MORNING)
    assert after > before
    Tour(connection, schema, first).play()
    assert contradictions(connection, schema) == []
