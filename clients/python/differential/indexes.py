"""Random indexes: unique, sparse and partial ones over documents that clash, and reads that may use them."""

import random

from .values import FIELDS, document, path, scalar

PARTS = [
    {"a": {"$exists": True}},
    {"a": {"$gt": 0}},
    {"b": {"$type": "string"}},
    {"a": 1},
    {"$and": [{"a": {"$gte": 0}}, {"b": {"$exists": True}}]},
    {"a": {"$ne": 1}},
    {"a": {"$exists": False}},
]


def key(rng: random.Random) -> dict:
    names = [path(rng) if rng.random() < 0.3 else rng.choice(FIELDS[:3]) for _ in range(rng.choice([1, 1, 2]))]
    return {name: rng.choice([1, -1]) for name in names}


def definition(rng: random.Random) -> dict:
    """An index, now and then one that cannot be made."""
    index = {"key": key(rng), "name": "i"}
    if rng.random() < 0.6:
        index["unique"] = True
    if rng.random() < 0.3:
        index["sparse"] = True
    if rng.random() < 0.3:
        index["partialFilterExpression"] = rng.choice(PARTS)
    return index


def newcomers(rng: random.Random) -> list[dict]:
    """Documents that may clash with those that are there."""
    return [document(rng, f"new{number}") for number in range(3)]


def change(rng: random.Random) -> dict:
    return {"$set": {rng.choice(FIELDS[:3]): scalar(rng)}}
