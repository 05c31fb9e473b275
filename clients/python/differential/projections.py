"""Random projections and sort orders of find."""

import random

from .filters import filter_document, operators
from .values import path, scalar

FLAGS = [1, 1, 1, True, 2.5, 0, 0, False]


def projection(rng: random.Random) -> dict:
    """A projection; mostly one whose fields do not contradict each other."""
    keep = rng.random() < 0.6
    result: dict = {}
    for _ in range(rng.choice([1, 1, 2, 3])):
        pick = rng.random()
        if pick < 0.62:
            flag = rng.choice([1, True, 3]) if keep else rng.choice([0, False])
            result[path(rng)] = flag if rng.random() < 0.95 else rng.choice(FLAGS)
        elif pick < 0.72:
            result[path(rng)] = {"$slice": rng.choice([0, 1, 2, -1, -2, 1.5, [0, 1], [1, 2], [-1, 1], [-5, 2], [5, 1]])}
        elif pick < 0.82:
            condition = operators(rng, 1) if rng.random() < 0.5 else filter_document(rng, 1)
            result[path(rng).split(".")[0]] = {"$elemMatch": condition}
        elif pick < 0.88:
            result[path(rng) + ".$"] = 1
        elif pick < 0.94:
            result[path(rng)] = rng.choice(["$a", "$b.c", "$a.b", "text", "$$ROOT.a", None])
        else:
            result[path(rng).split(".")[0]] = {path(rng): 1 if keep else 0}
    if rng.random() < 0.3:
        result["_id"] = rng.choice([0, 1])
    return result


def sort(rng: random.Random) -> dict:
    """A sort order that ends with the id, so that it leaves no choice."""
    result = {path(rng): rng.choice([1, -1]) for _ in range(rng.choice([1, 1, 2, 2, 3]))}
    result["_id"] = 1
    return result


def distinct_key(rng: random.Random) -> str:
    """A path whose distinct values are asked for."""
    return path(rng)


def small_filter(rng: random.Random) -> dict:
    """A filter that often finds something, and by elements of arrays."""
    if rng.random() < 0.3:
        return {}
    name = path(rng)
    return {name: rng.choice([scalar(rng), {"$exists": True}, {"$gte": 0}, {"$gt": ""}, {"$elemMatch": {"$exists": True}}])}
