"""What the availability functions call free, acquire gets, and what they do not, acquire refuses.

Hypothesis makes up rooms and items with holds in every situation; in a quiet database the two must agree on each of
them. The holds of an example are rolled back with it.
"""
import contextlib
from datetime import datetime, timedelta, timezone

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from conftest import EMPTY, item, rooms

ROOMS = (1, 2, 3)
HOURS = 24
START = datetime(2100, 1, 1, tzinfo=timezone.utc)

# Situation: state, deadline in hours from now (the grace is one hour), payment reference.
SITUATIONS = {
    "live": ("held", 1, None),
    "live, in flight": ("held", 1, "pay-1"),
    "late": ("held", -0.5, None),
    "late, in flight": ("held", -0.5, "pay-1"),
    "overdue": ("held", -2, None),
    "overdue, in flight": ("held", -2, "pay-1"),
    "pending_review": ("pending_review", -2, "pay-1"),
    "confirmed": ("confirmed", -2, None),
    "cancelled": ("cancelled", 1, None),
    "expired": ("expired", -2, None),
}
OCCUPYING = ("held", "pending_review", "confirmed")

situations = st.sampled_from(sorted(SITUATIONS))
periods = st.tuples(st.integers(0, HOURS - 1), st.integers(1, 8)).map(lambda p: (p[0], min(HOURS, sum(p))))
slots = st.lists(st.tuples(st.sampled_from(ROOMS), periods, situations), max_size=20)
stocks = st.lists(st.tuples(st.integers(1, 5), situations), max_size=12)
quickly = settings(max_examples=100, deadline=None, database=None,
                   suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def during(period):
    lower, upper = (START + timedelta(hours=hour) for hour in period)
    return psycopg.types.range.Range(lower, upper, "[)")


def insert(session, table, columns, values, situation):
    state, hours, reference = SITUATIONS[situation]
    session.run(f"""
        INSERT INTO {table} ({columns}, state, expires_at, payment_reference)
        VALUES ({", ".join(["%s"] * len(values))}, %s, clock_timestamp() + %s * interval '1 hour', %s)
        ON CONFLICT DO NOTHING""", *values, state, hours, reference)


# Whether acquire gets the claim; what it did is undone.
CAN_ACQUIRE = """
    CREATE OR REPLACE FUNCTION pg_temp.can_acquire(claim hold_claim) RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE
        got boolean;
    BEGIN
        got := hold_try_acquire(claim) IS NOT NULL;
        RAISE EXCEPTION 'undo' USING ERRCODE = 'ZZZZZ';
    EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
        RETURN got;
    END
    $$"""


@pytest.fixture
def quiet(db):
    db.run("SET reservation.expiry_grace = '1h'")
    db.run(CAN_ACQUIRE)
    return db


@contextlib.contextmanager
def example(session):
    """One transaction, rolled back at its end."""
    session.run("BEGIN")
    try:
        yield
    finally:
        session.run("ROLLBACK")


def can_have(session, pairs):
    """For each pair of a room and a period whether acquire gets it."""
    rooms_, periods_ = ([pair[i] for pair in pairs] for i in (0, 1))
    return session.one("""
        SELECT array_agg(pg_temp.can_acquire(room_claim(r, p)) ORDER BY n)
        FROM unnest(%s::bigint[], %s::tstzrange[]) WITH ORDINALITY AS v (r, p, n)""", rooms_, periods_) or []


def contains(gap, period):
    return gap.lower <= period.lower and period.upper <= gap.upper


@quickly
@given(slots=slots, whole=periods, wanted=periods)
def test_rooms(quiet, slots, whole, wanted):
    with example(quiet):
        rooms(quiet, *ROOMS)
        for room_id, period, situation in slots:
            insert(quiet, "slot_hold", "room_id, during", (room_id, during(period)), situation)

        free = [row[0] for row in quiet.rows("SELECT available_rooms(%s)", during(wanted))]
        can = can_have(quiet, [(room_id, during(wanted)) for room_id in ROOMS])
        assert free == [room_id for room_id, got in zip(ROOMS, can) if got]

        for room_id in ROOMS:
            gaps = [row[0] for row in quiet.rows("SELECT room_availability(%s, %s)", room_id, during(whole))]
            assert all(contains(during(whole), gap) for gap in gaps)
            assert all(earlier.upper < later.lower for earlier, later in zip(gaps, gaps[1:]))
            assert all(can_have(quiet, [(room_id, gap) for gap in gaps]))
            hours = [during((hour, hour + 1)) for hour in range(*whole)]
            is_free = [any(contains(gap, hour) for gap in gaps) for hour in hours]
            assert can_have(quiet, [(room_id, hour) for hour in hours]) == is_free
            if contains(during(whole), during(wanted)):
                assert (room_id in free) == any(contains(gap, during(wanted)) for gap in gaps)


@quickly
@given(available=st.integers(0, 6), stocks=stocks)
def test_stock(quiet, available, stocks):
    with example(quiet):
        occupied = sum(units for units, situation in stocks if SITUATIONS[situation][0] in OCCUPYING)
        quiet.run("INSERT INTO inventory VALUES (1, %s, %s), (2, 1, 1)", available, available + occupied)
        for units, situation in stocks:
            insert(quiet, "stock_hold", "item_id, quantity", (1, units), situation)

        units = quiet.one("SELECT stock_availability(1)")
        assert units >= available
        if units > 0:
            assert quiet.one("SELECT pg_temp.can_acquire(stock_claim(1, %s))", units)
        assert not quiet.one("SELECT pg_temp.can_acquire(stock_claim(1, %s))", units + 1)


# One room with a live, a late and an overdue hold, the last also with a payment in flight; one item likewise.
SCENE = """
    INSERT INTO slot_hold (room_id, during, state, expires_at, payment_reference)
    SELECT 1, tstzrange(timestamptz '2100-01-01' + n * interval '1 hour',
                        timestamptz '2100-01-01' + (n + 1) * interval '1 hour'), 'held', now() + after, reference
    FROM (VALUES (0, interval '1 hour', NULL), (1, '-10 s', NULL), (2, '-1 hour', NULL), (3, '-1 hour', 'pay'))
        AS v (n, after, reference);
    INSERT INTO stock_hold (item_id, quantity, state, expires_at, payment_reference)
    SELECT 1, quantity, 'held', now() + after, reference
    FROM (VALUES (1, interval '1 hour', NULL), (2, '-10 s', NULL), (4, '-1 hour', NULL), (8, '-1 hour', 'pay'))
        AS v (quantity, after, reference);
"""
DAY = "[2100-01-01 00:00+00, 2100-01-01 05:00+00)"


@pytest.fixture
def scene(db):
    db.run("SET timezone = 'UTC'")
    rooms(db, 1, 2)
    db.run("INSERT INTO inventory VALUES (1, 0, 15)")
    db.run(SCENE)
    yield db
    db.run(f"SET reservation.time_source = ''; DROP SCHEMA IF EXISTS wrong CASCADE")


def free(session):
    """Hours of room 1 that are free, and units of item 1."""
    gaps = [row[0] for row in session.rows("SELECT room_availability(1, %s)", DAY)]
    return [(gap.lower.hour, gap.upper.hour) for gap in gaps], session.one("SELECT stock_availability(1)")


def test_grace(scene):
    assert free(scene) == ([(1, 3), (4, 5)], 6)
    scene.run("SET reservation.expiry_grace = '1min'")
    assert free(scene) == ([(2, 3), (4, 5)], 4)
    scene.run("SET reservation.expiry_grace = '2h'")
    assert free(scene) == ([(4, 5)], 0)
    assert scene.rows("SELECT available_rooms('[2100-01-01 02:00+00, 2100-01-01 03:00+00)')") == [(2,)]


def test_time_source(scene):
    scene.run("""
        CREATE SCHEMA wrong;
        CREATE FUNCTION wrong.later() RETURNS timestamptz LANGUAGE sql AS 'SELECT clock_timestamp() + interval ''1 day''';
        CREATE FUNCTION wrong.never() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz';
    """)
    scene.run("SET reservation.time_source = 'wrong.later'")
    assert free(scene) == ([(0, 3), (4, 5)], 7)
    scene.run("SET reservation.time_source = 'wrong.never'")
    for call in (f"room_availability(1, '{DAY}')", f"available_rooms('{DAY}')", "stock_availability(1)"):
        assert scene.attempt(f"SELECT {call}").code == "RV010"


def test_it_reads_under_the_callers_snapshot(scene, connect):
    scene.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    before = free(scene)
    other = connect()
    other.run("SELECT hold_acquire_all(ARRAY[room_claim(1, '[2100-01-01 04:00+00, 2100-01-01 05:00+00)'),"
              " stock_claim(1, 1)])")
    assert free(scene) == before
    scene.run("COMMIT")
    assert free(scene) == ([(1, 3)], 5)


def test_nothing_grows_with_holds_elsewhere(db):
    """Pages that are read with plans that were made when the tables were empty, and with 20,000 holds elsewhere."""
    rooms(db, *range(1, 102))
    for room_id in (1, 2):
        db.run("SELECT hold_acquire(room_claim(%s, '[2100-01-01 00:00+00, 2100-01-01 01:00+00)'))", room_id)
    item(db, 1, 5)
    db.run("INSERT INTO inventory VALUES (2, 0, 21000)")
    calls = (f"SELECT room_availability(1, '{DAY}')", f"SELECT available_rooms('{DAY}')",
             "SELECT stock_availability(1)")
    for call in calls:
        db.run(call)
    for year, state, deadline in (2101, "held", "1 hour"), (2102, "held", "-1 hour"), (2103, "confirmed", "1 hour"):
        db.run("""
            INSERT INTO slot_hold (room_id, during, state, expires_at)
            SELECT 3 + n %% 90, tstzrange(t + n * interval '1 hour', t + (n + 1) * interval '1 hour'), %s,
                   now() + %s::interval
            FROM generate_series(1, 7000) AS n, make_timestamptz(%s, 1, 1, 0, 0, 0) AS t""", state, deadline, year)
        db.run("""
            INSERT INTO stock_hold (item_id, quantity, state, expires_at)
            SELECT 2, 1, %s, now() + %s::interval FROM generate_series(1, 7000)""", state, deadline)
    for call, most in zip(calls, (20, 101 * 10, 20)):
        for _ in range(2):  # the first call may have to plan again
            plan = db.one(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {call}")
        pages = plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"]
        assert pages <= most, call
    db.run(EMPTY)  # the checks after every test would take long here
