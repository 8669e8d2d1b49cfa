"""Dump and restore lose nothing: every row, version, event and sequence is equal, and the next acquire works."""
import threading

import pytest

from population import HOME, SCHEMA, content, populate, works
from server import VERSION, install, member_relations, rows, value
from tour import Tour

@pytest.fixture(scope="module")
def original(cluster, make_role):
    with cluster.database(SCHEMA) as name:
        with cluster.connect(name) as connection:
            application = make_role()
            connection.execute(f"GRANT USAGE ON SCHEMA {HOME} TO {application}")
            connection.execute(f"GRANT EXECUTE ON FUNCTION {HOME}.hold_confirm TO {application}")
            populate(connection)
        yield name


def restore(cluster, target, form, path, *options):
    if form == "plain":
        cluster.run("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", target, *options, "-f", path)
    else:
        cluster.run("pg_restore", "--exit-on-error", "-d", target, *options, path)


@pytest.mark.parametrize("form, dump, load", [
    ("plain", [], []),
    ("plain", [], ["--single-transaction"]),
    ("plain", ["--inserts"], []),
    ("plain", ["--column-inserts", "--rows-per-insert=3"], []),
    ("custom", [], []),
    ("custom", ["--no-owner", "--no-comments"], ["--no-owner"]),
    ("tar", [], []),
    ("directory", ["-j", "4"], []),
    ("custom", ["--serializable-deferrable"], []),
], ids=lambda options: " ".join(options) if isinstance(options, list) else options)
def test_round_trip(cluster, original, tmp_path, form, dump, load):
    path = tmp_path / "dump"
    cluster.run("pg_dump", "--format", form, *dump, "-f", path, original)
    with cluster.empty_database() as target, cluster.connect(original) as before, cluster.connect(target) as after:
        restore(cluster, target, form, path, *load)
        assert content(after) == content(before)
        works(after)


PARALLEL = (["--section=pre-data"], ["--data-only", "--disable-triggers", "-j", "4"], ["--section=post-data", "-j", "4"])


def test_restored_in_parallel(cluster, tmp_path):
    """pg_restore -j does not know that the holds of an extension's table follow their rooms, and loads the largest table
    first. In three steps, with the triggers of foreign keys off while data is loaded, the order does not matter."""
    with cluster.database(SCHEMA) as name, cluster.connect(name) as before:
        populate(before)
        before.execute(f"""
            INSERT INTO {HOME}.inventory SELECT g, 0, 100 FROM generate_series(2001, 2020) g;
            INSERT INTO {HOME}.stock_hold (item_id, quantity, state, expires_at)
            SELECT 2001 + g % 20, 1, 'confirmed', '2007-01-01' FROM generate_series(1, 2000) g;
            CREATE TABLE other AS SELECT g, repeat('x', 100) FROM generate_series(1, 200000) g""")
        cluster.run("pg_dump", "-Fd", "-j", "4", "-f", tmp_path / "dump", name)
        with cluster.empty_database() as target:
            for step in PARALLEL:
                cluster.run("pg_restore", "--exit-on-error", "-d", target, *step, tmp_path / "dump")
            with cluster.connect(target) as after:
                assert content(after) == content(before)
                works(after)
        # One step fails, and says so. (The other table is the largest and keeps the second job busy meanwhile.)
        with cluster.empty_database() as target:
            done = cluster.run("pg_restore", "--exit-on-error", "-j", "2", "-d", target, tmp_path / "dump", check=False)
            assert done.returncode != 0 and "violates foreign key constraint" in done.stdout


def test_in_three_sections(cluster, original, tmp_path):
    with cluster.empty_database() as target, cluster.connect(original) as before, cluster.connect(target) as after:
        for section in ("pre-data", "data", "post-data"):
            cluster.run("pg_dump", "--section", section, "-f", tmp_path / section, original)
            restore(cluster, target, "plain", tmp_path / section)
        assert content(after) == content(before)
        works(after)


def test_of_one_schema(cluster, original, tmp_path):
    """-n leaves CREATE EXTENSION out, and what was granted on its members: the data goes into a database that has the
    extension, in the same schema."""
    cluster.run("pg_dump", "-n", HOME, "-f", tmp_path / "dump", original)
    with cluster.empty_database() as target, cluster.connect(original) as before, cluster.connect(target) as after:
        assert "CREATE EXTENSION" not in (tmp_path / "dump").read_text()
        after.execute("CREATE EXTENSION btree_gist")
        install(after, SCHEMA)
        text = (tmp_path / "dump").read_text().replace(f"CREATE SCHEMA {HOME};", "")
        (tmp_path / "dump").write_text(text)
        restore(cluster, target, "plain", tmp_path / "dump")
        assert {**content(after), "grants": None} == {**content(before), "grants": None}
        works(after)


def test_with_the_extension_named(cluster, original, tmp_path):
    cluster.run("pg_dump", "-n", HOME, "-e", "btree_gist", "-e", "reservation", "-f", tmp_path / "dump", original)
    with cluster.empty_database() as target, cluster.connect(original) as before, cluster.connect(target) as after:
        restore(cluster, target, "plain", tmp_path / "dump")
        assert content(after) == content(before)


def test_schema_only(cluster, original, tmp_path):
    """Gives the extension without a row, ready for use; --data-only brings the rest."""
    cluster.run("pg_dump", "--schema-only", "-f", tmp_path / "schema", original)
    cluster.run("pg_dump", "--data-only", "-f", tmp_path / "data", original)
    with cluster.empty_database() as target, cluster.connect(original) as before, cluster.connect(target) as after:
        restore(cluster, target, "plain", tmp_path / "schema")
        for name, kind in member_relations(after):
            assert kind != "r" or value(after, f"SELECT count(*) FROM {HOME}.{name}") == 0
        restore(cluster, target, "plain", tmp_path / "data")
        assert content(after) == content(before)
        works(after)
    with cluster.empty_database() as target, cluster.connect(target) as after:
        restore(cluster, target, "plain", tmp_path / "schema")
        after.execute("SET search_path = pg_catalog")
        Tour(after, HOME).play()


def test_clean_over_a_live_database(cluster, original, tmp_path):
    """The dump begins with DROP EXTENSION, which drop protection refuses; with allow_drop it replaces everything."""
    cluster.run("pg_dump", "--clean", "--if-exists", "-f", tmp_path / "dump", original)
    with cluster.empty_database() as target, cluster.connect(original) as before, cluster.connect(target) as after:
        restore(cluster, target, "plain", tmp_path / "dump")
        after.execute(f"INSERT INTO {HOME}.room VALUES (500, 'Only here')")
        live = content(after)
        refused = cluster.run("psql", "-qX1", "-v", "ON_ERROR_STOP=1", "-d", target, "-f", tmp_path / "dump", check=False)
        assert refused.returncode == 3 and "cannot drop extension reservation while holds occupy capacity" in refused.stdout
        assert content(after) == live

        cluster.run("psql", "-qX1", "-v", "ON_ERROR_STOP=1", "-d", target, "-f", tmp_path / "dump",
                    environment={"PGOPTIONS": "-c reservation.allow_drop=on"})
        assert content(after) == content(before)
        works(after)


def test_by_a_role_that_may_only_read(cluster, original, make_role, tmp_path):
    reader = make_role()
    refused = cluster.run("pg_dump", "-U", reader, "-f", tmp_path / "dump", original, check=False)
    assert refused.returncode != 0 and ("permission denied" in refused.stdout or "lack SELECT privilege" in refused.stdout)
    with cluster.connect() as admin:
        admin.execute(f"GRANT pg_read_all_data TO {reader}")
    cluster.run("pg_dump", "-U", reader, "-f", tmp_path / "dump", original)
    with cluster.empty_database() as target, cluster.connect(original) as before, cluster.connect(target) as after:
        restore(cluster, target, "plain", tmp_path / "dump")
        assert content(after) == content(before)


def test_what_was_added_to_the_tables(cluster, tmp_path):
    """The rows of an extension's tables are dumped, not their definitions. So what others hung on them is not there after
    a restore, until its statements are run again; and a column that was added lets the restore fail."""
    added = (f"CREATE TRIGGER mine BEFORE INSERT ON {HOME}.slot_hold FOR EACH ROW EXECUTE FUNCTION mine()",
             f"CREATE INDEX mine ON {HOME}.slot_hold (holder)",
             f"ALTER TABLE {HOME}.slot_hold ADD CONSTRAINT mine CHECK (holder <> '')",
             f"CREATE POLICY mine ON {HOME}.slot_hold USING (true)",
             f"COMMENT ON TABLE {HOME}.slot_hold IS 'mine'")
    published = f"ALTER PUBLICATION mine ADD TABLE {HOME}.slot_hold"  # dumped from 18 on
    found = f"""
        SELECT 'trigger' FROM pg_trigger WHERE tgname = 'mine' UNION ALL SELECT 'index' FROM pg_class WHERE relname = 'mine'
        UNION ALL SELECT 'check' FROM pg_constraint WHERE conname = 'mine' UNION ALL SELECT 'policy' FROM pg_policy
        UNION ALL SELECT 'comment' WHERE obj_description('{HOME}.slot_hold'::regclass, 'pg_class') = 'mine'"""
    with cluster.database(SCHEMA) as name, cluster.connect(name) as before:
        populate(before)
        ours = content(before)
        before.execute("CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
        before.execute("CREATE PUBLICATION mine")
        before.execute(f"CREATE TABLE detail (room_id bigint PRIMARY KEY REFERENCES {HOME}.room, floor integer)")
        before.execute(f"INSERT INTO detail SELECT room_id, 3 FROM {HOME}.room")
        for statement in (*added, published):
            before.execute(statement)
        cluster.run("pg_dump", "-Fc", "-f", tmp_path / "dump", name)
        with cluster.empty_database() as target, cluster.connect(target) as after:
            restore(cluster, target, "custom", tmp_path / "dump")
            assert content(after) == ours
            assert rows(after, "TABLE detail") == rows(before, "TABLE detail")
            assert len(rows(before, found)) == len(added) and rows(after, found) == []
            assert value(after, "SELECT count(*) FROM pg_publication_rel") == (1 if VERSION >= 18 else 0)
            for statement in added:
                after.execute(statement)
            assert rows(after, found) == rows(before, found)
            works(after)

        before.execute(f"ALTER TABLE {HOME}.room ADD floor integer")
        cluster.run("pg_dump", "-Fc", "-f", tmp_path / "dump", name)
        with cluster.empty_database() as target, cluster.connect(target) as after:
            done = cluster.run("pg_restore", "-d", target, tmp_path / "dump", check=False)
            assert done.returncode == 1 and 'column "floor" of relation "room" does not exist' in done.stdout
            for table in ("room", "slot_hold"):
                assert value(after, f"SELECT count(*) FROM {HOME}.{table}") == 0
            assert value(after, f"SELECT count(*) FROM {HOME}.stock_hold") > 0


def test_under_load(cluster, tmp_path):
    """A dump is one snapshot: counters and holds agree in it, and the sequences are not behind the ids."""
    with cluster.database(SCHEMA) as name, cluster.empty_database() as target:
        with cluster.connect(name) as connection:
            connection.execute(f"INSERT INTO {HOME}.room SELECT g, 'Blue' FROM generate_series(1, 50) g")
            connection.execute(f"INSERT INTO {HOME}.inventory SELECT g, 1000000 FROM generate_series(1, 5) g")
        stop = threading.Event()

        def work(number):
            with cluster.connect(name) as session:
                turn = 0
                while not stop.is_set():
                    turn += 1
                    hold = value(session, f"SELECT {HOME}.hold_acquire({HOME}.stock_claim(%s, %s))", 1 + turn % 5, 1 + turn % 7)
                    if turn % 2:
                        session.execute(f"SELECT {HOME}.hold_cancel(%s)", (hold,))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        try:
            for turn in range(3):
                cluster.run("pg_dump", "-Fd", "-j", "2", "-f", tmp_path / f"dump{turn}", name)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        cluster.run("pg_restore", "--exit-on-error", "-d", target, tmp_path / "dump2")
        with cluster.connect(target) as after:
            assert value(after, f"SELECT count(*) FROM {HOME}.stock_hold") > 20
            assert value(after, f"SELECT max(hold_id) <= (SELECT last_value FROM {HOME}.hold_id_seq) FROM {HOME}.hold")
            works(after)


def test_of_a_whole_cluster(cluster, original, make_cluster, tmp_path):
    """pg_dumpall, with a setting of ours that is stored for the database."""
    with cluster.connect() as admin:
        admin.execute(f"ALTER DATABASE {original} SET reservation.default_ttl = '3min'")
    cluster.run("pg_dumpall", "-f", tmp_path / "dump")
    other = make_cluster("restored").start()
    done = other.run("psql", "-qX", "-f", tmp_path / "dump")
    errors = [line for line in done.stdout.splitlines() if "ERROR" in line and 'role "postgres" already exists' not in line]
    assert errors == []
    with cluster.connect(original) as before, other.connect(original) as after:
        assert content(after) == content(before)
        after.execute(f"SELECT {HOME}.hold_get(1)")
        assert value(after, "SHOW reservation.default_ttl") == "3min"
        works(after)
