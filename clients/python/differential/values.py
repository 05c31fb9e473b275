"""Random values and documents, small enough that they often meet."""

import datetime
import random

from bson import Binary, Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp

FIELDS = ["a", "b", "c", "0", "1"]

EPOCH = datetime.datetime(2020, 1, 1)

NUMBERS = [
    0,
    1,
    2,
    3,
    -1,
    0.0,
    -0.0,
    1.0,
    1.5,
    2.5,
    Int64(1),
    Int64(2),
    Int64(2**53 + 1),
    float(2**53),
    2**31 - 1,
    Int64(2**63 - 1),
    float("nan"),
    float("inf"),
    Decimal128("1"),
    Decimal128("1.50"),
    Decimal128("NaN"),
    Decimal128("0.1"),
    0.1,
]

TEXTS = ["", "a", "b", "ab", "A", "abc", "1", "\u00e4", "x y"]

RARE = [
    MinKey(),
    MaxKey(),
    ObjectId(b"\0" * 12),
    ObjectId(b"\1" * 12),
    EPOCH,
    EPOCH + datetime.timedelta(seconds=1),
    Timestamp(1, 1),
    Timestamp(2, 0),
    Binary(b"\x01", 0),
    Binary(b"\x05\x02", 5),
    Regex("a", "i"),
    Code("f"),
]


def scalar(rng: random.Random):
    """A value without members."""
    pick = rng.random()
    if pick < 0.12:
        return None
    if pick < 0.2:
        return rng.random() < 0.5
    if pick < 0.62:
        return rng.choice(NUMBERS[:6]) if rng.random() < 0.6 else rng.choice(NUMBERS)
    if pick < 0.88:
        return rng.choice(TEXTS)
    return rng.choice(RARE)


def value(rng: random.Random, depth: int = 2):
    """Any value, nested at most so deeply."""
    pick = rng.random()
    if depth == 0 or pick < 0.5:
        return scalar(rng)
    if pick < 0.78:
        return [value(rng, depth - 1) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))]
    return members(rng, depth - 1)


def members(rng: random.Random, depth: int) -> dict:
    """An object with some of the usual fields."""
    names = rng.sample(FIELDS, rng.choice([0, 1, 1, 2, 2, 3]))
    return {name: value(rng, depth) for name in names}


def document(rng: random.Random, identity) -> dict:
    """A document of a collection."""
    return {"_id": identity, **members(rng, 3)}


def path(rng: random.Random) -> str:
    """A dotted path of one to three names."""
    count = rng.choice([1, 1, 1, 2, 2, 3])
    return ".".join(rng.choice(FIELDS) for _ in range(count))
