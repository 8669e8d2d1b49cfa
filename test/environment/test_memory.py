"""Every way to fail, and every way to succeed, thousands of times in one session whose memory does not grow."""
import re
import subprocess

import psycopg

from paths import REFUSALS, SUCCESSES, parts

WARM_UP, REPEATS = 300, 2000
BYTES_BY_CONTEXTS = 40 * REPEATS      # what a palloc'd leftover of 40 bytes a call would be
BYTES_BY_PROCESS = 300 * REPEATS      # the allocator of C++ and the noise of a process


MEASURE = """SELECT 'measured ' || (SELECT sum(total_bytes) FROM pg_backend_memory_contexts) || ' '
    || (regexp_match(pg_read_file('/proc/self/status'), 'RssAnon:\\s+(\\d+)'))[1];
"""


def growth(cluster, database, statements):
    """Runs each statement many times in one session of psql; yields by how many bytes it grew over the later ones."""
    script = []
    for text in statements:
        before, statement, after = (f"{part};\n" for part in parts(text))
        script += [before, statement * WARM_UP, after, MEASURE, before, statement * REPEATS, after, MEASURE]
    done = subprocess.run([cluster.binaries / "psql", "-qXAt", "-d", database], input="".join(script), text=True,
                          env={**cluster.environment(), "PGOPTIONS": "-c log_min_messages=panic"},
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=600, check=True)
    measured = [(int(a), int(b) * 1024) for a, b in re.findall(r"^measured (\d+) (\d+)$", done.stdout, re.MULTILINE)]
    assert len(measured) == 2 * len(statements)
    for statement, first, second in zip(statements, measured[::2], measured[1::2]):
        yield statement, second[0] - first[0], second[1] - first[1]


def assert_no_growth(grown):
    print(*grown, sep="\n")
    assert [one for one in grown if one[1] > BYTES_BY_CONTEXTS or one[2] > BYTES_BY_PROCESS] == []


def test_the_measure_sees_a_leak(cluster, prepared):
    """What a session keeps for every call does show: here, a prepared statement each."""
    leak = "SELECT format('PREPARE p%s AS SELECT 1', n) FROM nextval('leaked') n \\gexec"
    with cluster.connect(prepared) as connection:
        connection.execute("CREATE SEQUENCE leaked")
    (_, contexts, _), = growth(cluster, prepared, [leak + "\nSELECT 1"])
    assert contexts > BYTES_BY_CONTEXTS


def test_refusals_do_not_grow_a_session(cluster, prepared):
    assert_no_growth(list(growth(cluster, prepared, [statement for _, statement in REFUSALS])))


def test_refusals_in_subtransactions_do_not_grow_a_session(cluster, prepared):
    """The same where a function of the user catches each: what an error leaves goes with its subtransaction."""
    with cluster.connect(prepared) as connection:
        connection.execute("""
            CREATE FUNCTION caught(statement text) RETURNS text LANGUAGE plpgsql AS $$
            BEGIN EXECUTE statement; RETURN 'ok'; EXCEPTION WHEN OTHERS THEN RETURN sqlstate; END $$""")
    chosen = [statement for state, statement in REFUSALS if "|" not in statement and state not in ("2BP01", "39P01")]
    assert_no_growth(list(growth(cluster, prepared, [f"SELECT caught({psycopg.sql.quote(statement)})" for statement in chosen])))


def test_successes_do_not_grow_a_session(cluster, prepared):
    assert_no_growth(list(growth(cluster, prepared, SUCCESSES)))
