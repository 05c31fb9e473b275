"""Random writes, settings, moves of the clock and restarts through both doors, held to a model of the rule."""

import os

import pytest

from torture.world import World

# `make soak` asks for more of both.
STEPS = int(os.environ.get("LAPSEDB_TORTURE_STEPS", "300"))
SEEDS = int(os.environ.get("LAPSEDB_TORTURE_SEEDS", "4"))
FIRST = int(os.environ.get("LAPSEDB_TORTURE_FIRST", "1"))


@pytest.mark.timeout(120 + 2 * STEPS)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_who_lives_is_as_the_model_says(seed):
    with World(seed) as world:
        world.run(STEPS)
