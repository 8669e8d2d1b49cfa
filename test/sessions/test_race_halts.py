"""Each reason for which a run halts: it says so, keeps what it did before, and a run after it goes on."""
import pytest

from conftest import codes, done, item, log, rooms, slot, states, stock


@pytest.fixture
def patient(system):
    system("reservation.reaper_lock_wait", "'20s'")


def halted_run(db, session, counts, words):
    """What every halt leaves: the row, a WARNING with the reason, and the same in hold_run."""
    assert counts["halted"] and words in counts["reason"]
    assert counts["examined"] == sum(counts[c] for c in ("released", "skipped", "pending_review", "failed"))
    warning, = session.warnings
    assert counts["reason"] in warning
    session.warnings.clear()
    columns = "examined, released, skipped, pending_review, failed, busy, halted, reason"
    assert db.row(f"SELECT {columns} FROM hold_run ORDER BY run_id DESC LIMIT 1") == tuple(counts.values())


def start_run(session, arguments=""):
    """A run that is expected to wait; afterwards its row is in the last of hold_run."""
    return session.start(f"SELECT hold_reap({arguments})")


def last_run(db):
    columns = ("examined", "released", "skipped", "pending_review", "failed", "busy", "halted", "reason")
    return dict(zip(columns, db.row(f"SELECT {', '.join(columns)} FROM hold_run ORDER BY run_id DESC LIMIT 1")))


def one_of_each(db, last=6):
    """Item 1 has one hold that nobody wants, the oldest of all, and five more; item 2 has another."""
    item(db, 1, last)
    item(db, 2, 1)
    stock(db, 1, 1, 1, expires="clock.at(9)")
    for hold_id in range(2, last + 1):
        stock(db, hold_id, 1, 1, expires="clock.at(10)")
    stock(db, 7, 2, 1, expires="clock.at(10)")


def test_too_many_had_changed(db, clock, patient):
    one_of_each(db)
    customer, run = clock.session(), clock.session()
    customer.run("BEGIN")
    customer.run("SELECT hold_confirm_all('{2,3,4,5,6}')")
    clock.set(20)
    waiting = start_run(run, "max_skipped_share => 0.5, min_sample => 3")
    customer.run("COMMIT")
    assert done(waiting).ok
    counts = last_run(db)
    halted_run(db, run, counts, "2 of 3")
    assert (counts["released"], counts["skipped"]) == (1, 2)
    assert states(db) == {1: "expired", 7: "held"} | {n: "confirmed" for n in range(2, 7)}
    assert sorted(log(db)) == [(1, "released", 1), (2, "skipped", 1), (3, "skipped", 1)]
    assert db.one("SELECT available FROM inventory WHERE item_id = 1") == 1
    assert run.reap("max_skipped_share => 0.5, min_sample => 3")["released"] == 1
    assert run.warnings == []


@pytest.mark.parametrize("share, sample, halts", [(0.5, 20, False), (0.9, 3, False), (0.8, 3, True), (0, 7, True), (0, 8, False)])
def test_the_limits_are_the_limits(db, clock, patient, share, sample, halts):
    """Five of seven have changed; the share counts above its limit, and only once there is a sample."""
    one_of_each(db)
    customer, run = clock.session(), clock.session()
    customer.run("BEGIN")
    customer.run("SELECT hold_confirm_all('{2,3,4,5,6}')")
    clock.set(20)
    waiting = start_run(run, f"max_skipped_share => {share}, min_sample => {sample}")
    customer.run("COMMIT")
    assert done(waiting).ok
    assert last_run(db)["halted"] == halts
    if not halts:
        assert states(db)[7] == "expired"


def test_too_many_had_a_payment_in_flight(db, clock):
    one_of_each(db)
    for hold_id in range(2, 7):
        db.run("SELECT hold_begin_payment(%s, 'call')", hold_id)
    clock.set(20)
    run = clock.session()
    counts = run.reap("max_review_share => 0.5, min_sample => 3")
    halted_run(db, run, counts, "2 of 3")
    assert (counts["released"], counts["pending_review"]) == (1, 2)
    after = states(db)
    assert after[1] == "expired" and after[7] == "held" and list(after.values()).count("pending_review") == 2
    counts = run.reap("max_review_share => 1")
    assert (counts["halted"], counts["released"], counts["pending_review"]) == (False, 1, 3)
    assert run.warnings == []


SOURCES = {
    "raises": ("LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the clock is away'; END $$", "the clock is away"),
    "null": ("LANGUAGE sql RETURN NULL::timestamptz", "null"),
    "infinite": ("LANGUAGE sql RETURN timestamptz 'infinity'", "infinite"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_time_source_fails(db, clock, source):
    body, words = SOURCES[source]
    one_of_each(db)
    clock.set(20)
    db.run(f"CREATE FUNCTION clock.broken() RETURNS timestamptz {body}")
    run = clock.session()
    run.run("SET reservation.time_source = 'clock.broken'")
    halted_run(db, run, run.reap(), words)
    assert set(states(db).values()) == {"held"} and log(db) == []
    # Everywhere else it is an error.
    for call in ("hold_acquire(stock_claim(2, 1))", "hold_confirm(7)", "hold_try_confirm(7)", "hold_extend(7)"):
        assert run.attempt(f"SELECT {call}").code == "RV010", call
    run.run("SET reservation.time_source = 'clock.now'")
    assert run.reap()["released"] == 7


def test_time_source_is_missing(db, clock):
    one_of_each(db)
    clock.set(20)
    run = clock.session()
    run.run("SET reservation.time_source = 'clock.gone'")
    halted_run(db, run, run.reap(), "clock.gone")
    run.run("SET reservation.time_source = ''")  # the server's clock is long before these deadlines
    assert run.reap()["released"] == 0


@pytest.mark.parametrize("works", range(12))
def test_time_source_fails_in_the_middle(db, clock, works):
    """However far it got: the run halts, and nothing that it could not judge has failed or changed."""
    one_of_each(db)
    clock.set(20)
    db.run("""
        CREATE SEQUENCE clock.calls;
        CREATE FUNCTION clock.dying() RETURNS timestamptz LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('clock.calls') > current_setting('clock.works')::bigint THEN
                RAISE EXCEPTION 'the clock stopped';
            END IF;
            RETURN clock.now();
        END
        $$""")
    run = clock.session()
    run.run("SET reservation.time_source = 'clock.dying'")
    run.run(f"SET clock.works = {works}")
    counts = run.reap()
    assert counts["failed"] == 0
    if counts["released"] < 7:
        halted_run(db, run, counts, "the clock stopped")
    assert list(states(db).values()).count("expired") == counts["released"] == len(log(db))
    run.run("SET reservation.time_source = 'clock.now'")
    assert run.reap()["released"] == 7 - counts["released"]


def test_clock_behind_the_last_change(db, clock):
    """A hold was changed at minute 8; the clock stands at 5 when its deadline is said to have passed."""
    item(db, 1, 2)
    stock(db, 1, 1, 1, expires="clock.at(4)")
    db.run("INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, created_at, changed_at) "
           "VALUES (2, 1, 1, 'held', clock.at(4), clock.at(0), clock.at(8))")
    db.run("UPDATE inventory SET available = 0")
    clock.set(5)
    run = clock.session()
    halted_run(db, run, run.reap(), "behind")
    assert set(states(db).values()) == {"held"}
    clock.set(8)
    assert run.reap()["released"] == 2


@pytest.mark.parametrize("grace, minute, halts", [("0", 7, True), ("59s", 7, False), ("58s", 7, True)])
def test_behind_by_more_than_the_grace_and_a_second(db, clock, grace, minute, halts):
    item(db, 1, 1)
    db.run("INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at, created_at, changed_at) "
           "VALUES (1, 1, 1, 'held', clock.at(4), clock.at(0), clock.at(8))")
    db.run("UPDATE inventory SET available = 0")
    clock.set(minute)
    run = clock.session()
    run.run(f"SET reservation.expiry_grace = '{grace}'")
    assert run.reap()["halted"] == halts
    assert states(db) == {1: "held" if halts else "expired"}


def test_clock_behind_the_end_of_the_last_run(db, clock):
    item(db, 1, 2)
    stock(db, 1, 1, 1, expires="clock.at(3)")
    stock(db, 2, 1, 1, expires="clock.at(4)")
    clock.set(3)
    run = clock.session()
    assert run.reap()["released"] == 1
    db.run("UPDATE hold_run SET finished_at = clock.at(9)")
    clock.set(5)
    halted_run(db, run, run.reap(), "behind")
    assert states(db) == {1: "expired", 2: "held"}
    clock.set(9)
    assert run.reap()["released"] == 1


@pytest.mark.parametrize("kind", ["room", "item"])
def test_a_writer_goes_around_the_triggers(db, clock, patient, kind):
    """The version is the one that was seen, the state is another. The older hold of the resource is released before."""
    rooms(db, 1)
    item(db, 1, 2)
    for hold_id, minute in ((1, 9), (2, 10)):
        if kind == "room":
            slot(db, hold_id, 1, f"[2100-01-0{hold_id} 10:00+00, 2100-01-0{hold_id} 11:00+00)", f"clock.at({minute})")
        else:
            stock(db, hold_id, 1, 1, f"clock.at({minute})")
    table, lock = ("slot_hold", "room") if kind == "room" else ("stock_hold", "inventory")
    writer, run = clock.session(), clock.session()
    clock.set(20)
    writer.run("BEGIN")
    writer.run(f"SELECT * FROM {lock} FOR UPDATE")
    waiting = start_run(run)
    writer.run("SET LOCAL session_replication_role = replica")
    writer.run(f"UPDATE {table} SET state = 'confirmed' WHERE hold_id = 2")
    writer.run("COMMIT")
    assert done(waiting).ok
    counts = last_run(db)
    halted_run(db, run, counts, "hold 2")
    assert counts["released"] == 1
    assert states(db) == {1: "expired", 2: "confirmed"}
    db.run("SET session_replication_role = replica")
    db.run(f"UPDATE {table} SET changed_at = created_at WHERE hold_id = 2")
    db.run("RESET session_replication_role")
    assert run.reap()["examined"] == 0
