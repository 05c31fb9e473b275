"""Random documents and commands on a real mongod and on LapseDB, side by side: both give the same answers."""

import os
import random

import pymongo
import pytest

from conftest import running
from differential import cases
from differential.mongod import Mongod, binary

# All kinds together; `make soak` asks for more.
CASES = int(os.environ.get("LAPSEDB_DIFFERENTIAL_CASES", "500"))
SEED = int(os.environ.get("LAPSEDB_DIFFERENTIAL_SEED", "1"))
# Reads that share one set of documents.
READS_EACH = 25


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
    with running(mongo=True) as server:
        yield pymongo.MongoClient("127.0.0.1", server.mongo_port, directConnection=True).differential


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", cases.KINDS)
def test_both_servers_answer_alike(kind, theirs, ours):
    rng = random.Random(f"{SEED} {kind}")
    each = READS_EACH if kind in cases.READS else 1
    left = max(1, CASES // len(cases.KINDS))
    while left > 0:
        documents = cases.documents(rng, kind)
        cases.fill(theirs, documents)
        cases.fill(ours, documents)
        for _ in range(min(each, left)):
            left -= 1
            commands = cases.KINDS[kind](rng)
            expected, given = cases.answer(theirs, commands), cases.answer(ours, commands)
            assert cases.alike(commands, expected, given), f"{commands}\non {documents}\nmongod: {expected}\nLapseDB: {given}"
