"""Each way to fail and to succeed once: short enough for a server under valgrind."""
from paths import REFUSALS, SUCCESSES, parts
from server import sqlstate
from tour import Tour


def test_each_refusal_is_the_one_that_it_is_named_for(cluster, prepared):
    with cluster.connect(prepared) as connection:
        for state, text in REFUSALS:
            before, statement, after = parts(text)
            connection.execute(before)
            assert sqlstate(connection, statement) == state, statement
            connection.execute(after)


def test_each_success_is_one(cluster, prepared):
    with cluster.connect(prepared) as connection:
        for text in SUCCESSES:
            connection.execute(text)


def test_every_function(connection):
    Tour(connection).play()
