"""Random filters."""

import random

from bson import Binary, Regex

from .values import path, scalar, value

PATTERNS = ["a", "^a", "b$", "^$", "A", "[ab]", "x.y", "a|b", "\\d", "^ab?"]

TYPES = [1, 2, 3, 4, 8, 10, 16, 18, 19, -1, 127]
ALIASES = ["double", "string", "object", "array", "bool", "null", "int", "long", "decimal", "number", "date", "regex"]


def comparison(rng: random.Random):
    """One operator that compares."""
    name = rng.choice(["$eq", "$gt", "$gte", "$lt", "$lte", "$ne"])
    return {name: value(rng) if rng.random() < 0.4 else scalar(rng)}


def operator(rng: random.Random, depth: int) -> dict:
    """One operator of a field."""
    pick = rng.random()
    if pick < 0.45:
        return comparison(rng)
    if pick < 0.55:
        return {rng.choice(["$in", "$nin"]): [value(rng, 1) for _ in range(rng.randrange(4))]}
    if pick < 0.62:
        return {"$exists": rng.choice([True, False, 1, 0, None])}
    if pick < 0.69:
        wanted = rng.choice(TYPES + ALIASES)
        return {"$type": wanted if rng.random() < 0.7 else [wanted, rng.choice(ALIASES)]}
    if pick < 0.74:
        return {"$size": rng.choice([0, 1, 2, 2.0, 3])}
    if pick < 0.79:
        return {"$mod": [rng.choice([1, 2, 3, -2, 2.5]), rng.choice([0, 1, -1])]}
    if pick < 0.84:
        return {"$regex": rng.choice(PATTERNS), "$options": rng.choice(["", "i", "m", "s", "x"])}
    if pick < 0.89:
        return {"$all": alternatives(rng, depth)}
    if pick < 0.92:
        return bits(rng)
    if depth == 0:
        return comparison(rng)
    if pick < 0.97:
        return {"$elemMatch": element(rng, depth - 1)}
    inner = operators(rng, depth - 1)
    return {"$not": inner if rng.random() < 0.8 else Regex(rng.choice(PATTERNS))}


def alternatives(rng: random.Random, depth: int) -> list:
    """The argument of $all."""
    if depth > 0 and rng.random() < 0.3:
        return [{"$elemMatch": element(rng, depth - 1)} for _ in range(rng.randrange(1, 3))]
    return [value(rng, 2) for _ in range(rng.randrange(3))]


def element(rng: random.Random, depth: int) -> dict:
    """The argument of $elemMatch."""
    return operators(rng, depth) if rng.random() < 0.5 else filter_document(rng, depth)


def bits(rng: random.Random) -> dict:
    """A question to single bits."""
    name = rng.choice(["$bitsAllSet", "$bitsAnySet", "$bitsAllClear", "$bitsAnyClear"])
    return {name: rng.choice([0, 1, 2, 3, 5.0, [0], [1, 2], [0, 63, 70], [], Binary(b"\x01"), Binary(b"\x05\x02")])}


def operators(rng: random.Random, depth: int) -> dict:
    """One or two operators of a field."""
    result = operator(rng, depth)
    if rng.random() < 0.25:
        result.update(operator(rng, depth))
    return result


def condition(rng: random.Random, depth: int):
    """What stands behind a field's name."""
    pick = rng.random()
    if pick < 0.3:
        return value(rng) if rng.random() < 0.5 else scalar(rng)
    if pick < 0.33:
        return Regex(rng.choice(PATTERNS), rng.choice(["", "i"]))
    return operators(rng, depth)


def filter_document(rng: random.Random, depth: int = 2) -> dict:
    """A whole filter."""
    if depth > 0 and rng.random() < 0.15:
        name = rng.choice(["$and", "$or", "$nor"])
        return {name: [filter_document(rng, depth - 1) for _ in range(rng.randrange(1, 3))]}
    result = {path(rng): condition(rng, depth)}
    if rng.random() < 0.3:
        result[path(rng)] = condition(rng, depth)
    return result
