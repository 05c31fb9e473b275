"""Random updates."""

import random

from bson import Decimal128, Int64

from .filters import filter_document, operators
from .values import FIELDS, NUMBERS, path, scalar, value


def target(rng: random.Random) -> str:
    """A path of an update; now and then through elements of arrays."""
    names = path(rng).split(".")
    pick = rng.random()
    if pick < 0.08:
        names.insert(rng.randrange(1, len(names) + 1), "$[]")
    elif pick < 0.16:
        names.insert(rng.randrange(1, len(names) + 1), "$[x]")
    elif pick < 0.22:
        names.insert(rng.randrange(1, len(names) + 1), "$")
    return ".".join(names)


def push(rng: random.Random):
    """The argument of $push."""
    if rng.random() < 0.4:
        return value(rng)
    clauses = {"$each": [value(rng, 1) for _ in range(rng.randrange(4))]}
    if rng.random() < 0.5:
        clauses["$position"] = rng.choice([0, 1, 2, -1, -5, 100])
    if rng.random() < 0.5:
        clauses["$slice"] = rng.choice([0, 1, 2, -1, -2, 3, 50, 2.0])
    if rng.random() < 0.5:
        clauses["$sort"] = rng.choice([1, -1, {"a": 1}, {"a": -1, "b": 1}, {"a.b": 1}])
    return clauses


def pull(rng: random.Random):
    """The argument of $pull."""
    pick = rng.random()
    if pick < 0.4:
        return value(rng, 1)
    return operators(rng, 1) if pick < 0.7 else filter_document(rng, 1)


ARGUMENTS = {
    "$set": lambda rng: value(rng),
    "$unset": lambda rng: 1,
    "$inc": lambda rng: rng.choice(NUMBERS),
    "$mul": lambda rng: rng.choice(NUMBERS),
    "$min": lambda rng: value(rng, 1),
    "$max": lambda rng: value(rng, 1),
    "$push": push,
    "$addToSet": lambda rng: value(rng) if rng.random() < 0.5 else {"$each": [value(rng, 1) for _ in range(3)]},
    "$pull": pull,
    "$pullAll": lambda rng: [value(rng, 1) for _ in range(3)],
    "$pop": lambda rng: rng.choice([1, -1, 1.0]),
    "$bit": lambda rng: {rng.choice(["and", "or", "xor"]): rng.choice([0, 1, 5, Int64(6), -1])},
    "$rename": lambda rng: path(rng),
    "$setOnInsert": lambda rng: scalar(rng),
}


def update_document(rng: random.Random) -> dict:
    """An update of operators."""
    result: dict = {}
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        name = rng.choice(list(ARGUMENTS))
        result.setdefault(name, {})[target(rng)] = ARGUMENTS[name](rng)
    return result


def array_filters(rng: random.Random, update: dict) -> list:
    """The array filters that an update needs."""
    needed = any("$[x]" in name for fields in update.values() for name in fields)
    if not needed:
        return []
    inner = rng.choice(["x", "x.a", "x.b", "x.0"])
    condition = rng.choice([scalar(rng), operators(rng, 1)])
    # MongoDB forgets the name of a filter that can match nothing.
    empty = isinstance(condition, dict) and condition.get("$all") == []
    return [{inner: 1 if empty else condition}]


def replacement(rng: random.Random) -> dict:
    """A whole new document."""
    return {name: value(rng) for name in rng.sample(FIELDS, 2)}


def equality_filter(rng: random.Random) -> dict:
    """A filter from which an upsert can derive something."""
    result: dict = {}
    for _ in range(rng.choice([1, 1, 2, 3])):
        plain = value(rng, 1)
        wrapped = rng.choice([plain, plain, {"$eq": plain}, {"$in": [plain]}, {"$all": [plain]}, {"$gt": 1}])
        if rng.random() < 0.2:
            result[rng.choice(["$and", "$or"])] = [{path(rng): wrapped}]
        else:
            result[path(rng)] = wrapped
    if rng.random() < 0.3:
        result["_id"] = rng.choice([7, 7.0, Decimal128("7"), "x"])
    return result
