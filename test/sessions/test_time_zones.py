"""Sessions in different time zones, with different styles of dates and intervals: an instant is an instant.

Times of single sessions are tested in test/pgtap/time_zones.sql.
"""
import pytest

from conftest import codes, item, rooms

PLACES = (
    "SET timezone = 'Pacific/Auckland'; SET datestyle = 'SQL, DMY'",
    "SET timezone = 'America/St_Johns'; SET datestyle = 'German'; SET intervalstyle = sql_standard",
    "SET timezone = 'Asia/Kathmandu'; SET intervalstyle = iso_8601",
    "SET timezone = 'Europe/Berlin'; SET datestyle = 'Postgres, MDY'; SET intervalstyle = postgres_verbose",
)


@pytest.fixture
def places(connect):
    sessions = [connect() for _ in PLACES]
    for session, place in zip(sessions, PLACES):
        session.run(place)
    return sessions


def words(session, instant):
    """The instant as this session writes it, without a time zone."""
    return session.one("SELECT (%s::timestamptz)::timestamp::text", instant)


def claim(session):
    """A room claim in the local words of the session, that the server has to read in its time zone."""
    lower, upper = (words(session, instant) for instant in ("2100-07-01 10:00+00", "2100-07-01 11:00+00"))
    return f"room_claim(1, tstzrange('{lower}', '{upper}'))"


def test_one_hour_in_many_words(db, places):
    rooms(db, 1)
    assert len({claim(session) for session in places}) == len(PLACES)
    answers = [session.attempt(f"SELECT hold_acquire({claim(session)})") for session in places]
    assert codes(answers) == {"00000": 1, "23P01": len(PLACES) - 1}
    free = [session.one("""SELECT extract(epoch FROM sum(upper(gap) - lower(gap)))
                           FROM room_availability(1, '[2100-07-01 00:00+00, 2100-07-02 00:00+00)') AS gap""")
            for session in places]
    assert free == [23 * 3600] * len(PLACES)


def test_one_request_in_many_words(db, places):
    rooms(db, 1)
    ttl = {session: session.one("SELECT (interval '1 day')::text") for session in places}
    ids = {session.one(f"SELECT hold_acquire({claim(session)}, '{ttl[session]}', 'ann', 'key')") for session in places}
    assert len(ids) == 1 and len(set(ttl.values())) == len(PLACES)
    assert db.one("SELECT count(*) FROM hold") == 1
    assert db.one("SELECT expires_at - created_at = interval '24:00' FROM hold")


def test_a_deadline_is_the_same_everywhere(db, places):
    item(db, 1, 10)
    first, *others = places
    hold = first.one("SELECT hold_acquire(stock_claim(1, 1), '1 hour')")
    deadlines = {session.one("SELECT extract(epoch FROM (hold_get(%s)).expires_at)", hold) for session in places}
    assert len(deadlines) == 1
    for hours, session in enumerate(others, 2):
        session.run("SELECT hold_extend(%s, %s::interval)", hold, f"{hours} hours")
    assert db.one("SELECT expires_at - changed_at FROM hold").total_seconds() == 4 * 3600
    assert places[2].one("SELECT hold_confirm(%s)", hold) == "confirmed"
