"""Random documents and commands on a real mongod and on LapseDB, side by side: both give the same answers."""

import os
import random

import pytest

from differential import cases
from differential.servers import ours, theirs  # noqa: F401

# All kinds together; `make soak` asks for more.
CASES = int(os.environ.get("LAPSEDB_DIFFERENTIAL_CASES", "500"))
SEED = int(os.environ.get("LAPSEDB_DIFFERENTIAL_SEED", "1"))
# Reads that share one set of documents.
READS_EACH = 25


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", cases.KINDS)
def test_both_servers_answer_alike(kind, theirs, ours):
    rng = random.Random(f"{SEED} {kind}")
    each = READS_EACH if kind in cases.READS else 1
    left = -(-CASES // len(cases.KINDS))
    while left > 0:
        documents = cases.documents(rng, kind)
        cases.fill(theirs, documents)
        cases.fill(ours, documents)
        for _ in range(min(each, left)):
            left -= 1
            commands = cases.KINDS[kind](rng)
            expected, given = cases.answer(theirs, commands), cases.answer(ours, commands)
            assert cases.alike(commands, expected, given), f"{commands}\non {documents}\nmongod: {expected}\nLapseDB: {given}"
