import os
import shutil

import pytest

from paths import SETUP
from server import Cluster, member_functions, numbers


@pytest.fixture(scope="session")
def cluster():
    """The cluster that the harness started."""
    return Cluster(os.environ["PGHOST"])


@pytest.fixture
def database(cluster):
    """The name of a fresh database with the extension in public."""
    with cluster.database() as name:
        yield name


@pytest.fixture
def connection(cluster, database):
    with cluster.connect(database) as opened:
        yield opened


@pytest.fixture(scope="module")
def prepared(cluster):
    """The name of a database in which every statement of paths.py does what it is there for."""
    with cluster.database() as name:
        with cluster.connect(name) as opened:
            opened.execute(SETUP)
        yield name


@pytest.fixture
def make_cluster():
    """Makes clusters that are stopped and removed with the test."""
    made = []

    def make(name, *settings, **options):
        made.append(Cluster.create(name, *settings, **options))
        return made[-1]

    yield make
    for one in made:
        one.stop("immediate")
        shutil.rmtree(one.directory)


@pytest.fixture(scope="session")
def make_role(cluster):
    """Makes roles that are dropped in the end, when no database has anything of theirs."""
    made = []

    def make(options="LOGIN"):
        made.append(f"role_{os.getpid()}_{next(numbers)}")
        with cluster.connect() as admin:
            admin.execute(f"CREATE ROLE {made[-1]} {options}")
        return made[-1]

    yield make
    with cluster.connect() as admin:
        for role in made:
            admin.execute(f"DROP ROLE {role}")


@pytest.fixture
def stranger(make_role, connection):
    """A role that may call every function of the extension, and nothing else."""
    role = make_role()
    for _, signature in member_functions(connection):
        connection.execute(f"GRANT EXECUTE ON ROUTINE {signature} TO {role}")
    return role
