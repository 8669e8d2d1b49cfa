"""Release machinery: an update gives what a fresh installation gives, old SQL works with the new library, and released
scripts stay as they are. The next version is made up here, in the private installation of the tests."""
import re
import shutil
import subprocess

import pytest

from population import HOME, content, populate, works
from server import EXTENSION_DIR, member_relations, rows, value

CONTROL = EXTENSION_DIR / "reservation.control"
VERSION = re.search(r"default_version = '(.*)'", CONTROL.read_text()).group(1)
NEXT, FULL = "99.1", "99.2"  # 99.1 is reached by an update, 99.2 says the same in one script

HEAD = '\\echo Use "ALTER EXTENSION reservation UPDATE" to load this file. \\quit\n'
DELTA = HEAD + """
DO $$ BEGIN EXECUTE 'ALTER TABLE @extschema@.slot_hold ADD COLUMN IF NOT EXISTS channel text'; END $$;
DO $$ BEGIN EXECUTE 'ALTER TABLE @extschema@.stock_hold ADD COLUMN IF NOT EXISTS channel text DEFAULT ''web'' NOT NULL'; END $$;
DO $$ BEGIN EXECUTE 'CREATE INDEX IF NOT EXISTS stock_hold_channel ON @extschema@.stock_hold (channel)'; END $$;
COMMENT ON COLUMN @extschema@.slot_hold.channel IS 'Where the customer came from';
CREATE FUNCTION @extschema@.hold_channels() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'SELECT pg_catalog.count(DISTINCT channel) FROM @extschema@.stock_hold';
REVOKE ALL ON FUNCTION @extschema@.hold_channels() FROM PUBLIC;
CREATE SEQUENCE @extschema@.hold_channel_seq;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.hold_channel_seq', '');
"""
# What a careless author of the full script might write instead: each must be seen.
MISTAKES = {
    "a column is left out": (r"DO [^\n]*slot_hold ADD[^\n]*\n|COMMENT ON COLUMN[^\n]*\n", ""),
    "a default differs": ("''web''", "''desk''"),
    "a column may be null": (" NOT NULL'; END", "'; END"),
    "an index is missing": (r"DO [^\n]*CREATE INDEX[^\n]*\n", ""),
    "an index has another column": (r"stock_hold \(channel\)", "stock_hold (item_id)"),
    "a comment is missing": (r"COMMENT ON COLUMN[^\n]*\n", ""),
    "another volatility": ("STABLE", "VOLATILE"),
    "another body": (r"count\(DISTINCT channel\)", "count(channel)"),
    "no search path": (" SET search_path = pg_catalog, pg_temp", ""),
    "open to everybody": (r"REVOKE[^\n]*\n", ""),
    "not in the dump": (r"SELECT pg_catalog.pg_extension_config_dump[^\n]*\n", ""),
    "a trigger is off": (r"\Z", "ALTER TABLE @extschema@.room DISABLE TRIGGER ALL;"
                               " ALTER TABLE @extschema@.inventory DISABLE TRIGGER zz_inventory_guard;"),
    "an event trigger in the ordinary way": (r"\Z", "ALTER EVENT TRIGGER reservation_drop_guard ENABLE;"),
    "a sequence begins elsewhere": ("hold_channel_seq;", "hold_channel_seq START 7;"),
    "an option": (r"\Z", "ALTER TABLE @extschema@.hold_event SET (fillfactor = 50);"),
    "a table is open": (r"\Z", "GRANT SELECT ON @extschema@.hold_run TO PUBLIC;"),
    "a type has another field": (r"\Z", "ALTER TYPE @extschema@.hold_claim ADD ATTRIBUTE more text CASCADE;"),
    "another view": (r"\Z", "ALTER VIEW @extschema@.hold RENAME COLUMN holder TO owner;"),
}


@pytest.fixture(autouse=True)
def no_leftovers():
    control = CONTROL.read_text()
    yield
    CONTROL.write_text(control)
    for script in EXTENSION_DIR.glob("reservation--*99.*.sql"):
        script.unlink()


def script(name, text):
    (EXTENSION_DIR / f"reservation--{name}.sql").write_text(text)


def offer():
    """Installs the next version as a delta, and again as a full script."""
    script(f"{VERSION}--{NEXT}", DELTA)
    base = "".join((EXTENSION_DIR / f"reservation--{part}.sql").read_text() for part in chain(VERSION))
    script(FULL, base + DELTA.replace(HEAD, ""))


def chain(version):
    """The scripts that make a version, from the last base script on."""
    if (EXTENSION_DIR / f"reservation--{version}.sql").exists():
        return [version]
    (last,) = EXTENSION_DIR.glob(f"reservation--*--{version}.sql")
    before = last.name.removeprefix("reservation--").split("--")[0]
    return chain(before) + [f"{before}--{version}"]


def probe(cluster, database):
    """What test/upgrade/catalog.sql says about a database."""
    done = cluster.run("psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-d", database, "-f", "test/upgrade/catalog.sql",
                       environment={"PGOPTIONS": "-c search_path=home,pg_catalog"})
    facts = done.stdout.splitlines()
    assert len(facts) > 250
    return facts


def facts_of(cluster, *statements):
    with cluster.empty_database() as name:
        with cluster.connect(name) as connection:
            connection.execute("CREATE EXTENSION btree_gist; CREATE SCHEMA home")
            for statement in statements:
                connection.execute(statement)
        return probe(cluster, name)


def test_a_fresh_installation_equals_an_update(cluster):
    offer()
    updated = facts_of(cluster, f"CREATE EXTENSION reservation SCHEMA home VERSION '{VERSION}'",
                       f"ALTER EXTENSION reservation UPDATE TO '{NEXT}'")
    by_chain = facts_of(cluster, f"CREATE EXTENSION reservation SCHEMA home VERSION '{NEXT}'")
    by_full_script = facts_of(cluster, f"CREATE EXTENSION reservation SCHEMA home VERSION '{FULL}'")
    assert updated == by_chain == by_full_script
    assert updated != facts_of(cluster, f"CREATE EXTENSION reservation SCHEMA home VERSION '{VERSION}'")


def test_every_released_version_reaches_this_one(cluster):
    """By a path, to the same facts. Versions are those whose scripts the installation has."""
    with cluster.connect() as connection:
        versions = [version for (version,) in rows(connection, "SELECT version FROM pg_available_extension_versions"
                                                               " WHERE name = 'reservation'")]
    assert VERSION in versions
    fresh = facts_of(cluster, f"CREATE EXTENSION reservation SCHEMA home VERSION '{VERSION}'")
    for version in versions:
        assert facts_of(cluster, f"CREATE EXTENSION reservation SCHEMA home VERSION '{version}'",
                        f"ALTER EXTENSION reservation UPDATE TO '{VERSION}'") == fresh, version


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_probe_sees(cluster, mistake):
    pattern, replacement = MISTAKES[mistake]
    wrong = re.sub(pattern, replacement, DELTA.replace(HEAD, ""))
    assert wrong != DELTA.replace(HEAD, "")
    offer()
    base = (EXTENSION_DIR / f"reservation--{FULL}.sql").read_text().replace(DELTA.replace(HEAD, ""), "")
    script("99.3", base + wrong)
    assert facts_of(cluster, "CREATE EXTENSION reservation SCHEMA home VERSION '99.3'") != \
        facts_of(cluster, f"CREATE EXTENSION reservation SCHEMA home VERSION '{NEXT}'")


def test_an_update_is_repeatable_where_it_changes_tables(cluster):
    """A table that has the column already, as a shard may, is no obstacle."""
    offer()
    with cluster.database("home") as name, cluster.connect(name) as connection:
        connection.execute("ALTER TABLE home.slot_hold ADD COLUMN channel text")
        connection.execute(f"ALTER EXTENSION reservation UPDATE TO '{NEXT}'")


def test_old_sql_with_this_library_before_and_after_an_update(cluster, tmp_path):
    """A library is newer than the SQL until somebody updates, under sessions that go on; a dump of either restores."""
    offer()
    with cluster.empty_database() as name:
        with cluster.connect(name) as session, cluster.connect(name) as admin:
            admin.execute(f"CREATE EXTENSION btree_gist; CREATE SCHEMA {HOME};"
                          f" CREATE EXTENSION reservation SCHEMA {HOME} VERSION '{VERSION}'")
            populate(session)
            before = content(admin)
            admin.execute(f"ALTER EXTENSION reservation UPDATE TO '{NEXT}'")
            for table, kind in member_relations(admin):
                if kind == "r":
                    assert value(admin, f"SELECT count(*) FROM {HOME}.{table}") == len(before[table])
            works(session)  # with plans that were made before the update
            works(admin, first=3000)
            assert value(admin, f"SELECT {HOME}.hold_channels()") == 1

        # A dump does not name the version: the one that the target installs by default has to fit.
        CONTROL.write_text(re.sub("default_version = .*", f"default_version = '{NEXT}'", CONTROL.read_text()))
        cluster.run("pg_dump", "-Fc", "-f", tmp_path / "dump", name)
        with cluster.empty_database() as target:
            cluster.run("pg_restore", "--exit-on-error", "-d", target, tmp_path / "dump")
            with cluster.connect(name) as original, cluster.connect(target) as restored:
                def rows_of(connection):
                    return {table: rows(connection, f"SELECT to_jsonb(t) - 'log_cnt' FROM (SELECT * FROM {HOME}.{table}) t ORDER BY 1")
                            for table, _ in member_relations(connection)}
                assert rows_of(restored) == rows_of(original)
                works(restored, first=5000)


# The check on released scripts, on a copy of the tree.

@pytest.fixture
def tree(tmp_path):
    for part in ("sql", "test/upgrade", "test/checks"):
        shutil.copytree(part, tmp_path / part)
    shutil.copy("CHANGELOG.md", tmp_path)
    return tmp_path


def check(tree):
    return subprocess.run(["bash", "test/checks/released"], cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)


def release(tree):
    """What a release does, according to CONTRIBUTING.md."""
    log = tree / "CHANGELOG.md"
    log.write_text(log.read_text().replace(" (unreleased)", ""))
    scripts = sorted(str(path.relative_to(tree)) for path in tree.glob("sql/reservation--*.sql"))
    sums = subprocess.check_output(["sha256sum", *scripts], cwd=tree, text=True)
    (tree / "test/upgrade/released.sha256").write_text(sums)


def test_released_scripts_are_frozen(tree):
    assert check(tree).returncode == 0, check(tree).stdout
    release(tree)
    assert check(tree).returncode == 0, check(tree).stdout
    base = tree / f"sql/reservation--{chain(VERSION)[0]}.sql"
    base.write_text(base.read_text() + "-- one more line\n")
    assert check(tree).returncode != 0


def test_a_released_script_stays(tree):
    release(tree)
    (tree / f"sql/reservation--{chain(VERSION)[0]}.sql").unlink()
    assert check(tree).returncode != 0


def test_a_release_without_its_sum(tree):
    log = tree / "CHANGELOG.md"
    log.write_text(re.sub(r"\A(.*?)^## ", r"\1## " + VERSION + "\n\n## ", log.read_text(), flags=re.DOTALL | re.MULTILINE))
    (tree / "test/upgrade/released.sha256").write_text("")
    assert "is not in" in check(tree).stdout and check(tree).returncode != 0


@pytest.mark.parametrize("line", ["ALTER TABLE @extschema@.room ADD COLUMN x int;", "CREATE INDEX i ON @extschema@.room (name);",
                                  "UPDATE @extschema@.room SET name = '';", "INSERT INTO @extschema@.room VALUES (1, '');"])
def test_an_upgrade_script_that_shards_could_not_run(tree, line):
    (tree / f"sql/reservation--{VERSION}--{NEXT}.sql").write_text(DELTA)
    assert check(tree).returncode == 0, check(tree).stdout
    (tree / f"sql/reservation--{VERSION}--{NEXT}.sql").write_text(DELTA + line + "\n")
    assert check(tree).returncode != 0


def test_a_base_script_that_adopts(tree):
    (tree / "sql/reservation--99.0.sql").write_text(HEAD + "CREATE OR REPLACE VIEW @extschema@.hold AS SELECT 1;\n")
    assert check(tree).returncode != 0
