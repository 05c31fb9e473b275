"""Searches of texts and places, side by side: what stands in the collection, and what both servers are asked."""

import math

import bson
from pymongo.errors import OperationFailure

COLLECTION = "searched"
# Relative difference of two scores or distances that are the same.
CLOSE = 1e-9


def fill(database, indexes, documents):
    """A fresh collection; says how each index and each document was taken."""
    database.drop_collection(COLLECTION)
    taken = [answer(database, {"createIndexes": COLLECTION, "indexes": [index]}) for index in indexes]
    for document in documents:
        taken.append(answer(database, {"insert": COLLECTION, "documents": [document]}))
    return taken


def answer(database, command):
    """What a server says: what it found, or by which code it refuses."""
    try:
        reply = database.command(command)
    except OperationFailure as refused:
        return {"code": refused.code}
    if reply.get("writeErrors"):
        return {"code": reply["writeErrors"][0]["code"]}
    for name in ("values", "value", "n", "nModified"):
        if name in reply and "cursor" not in reply:
            return {name: reply[name]}
    if "cursor" not in reply:
        return {}
    found = reply["cursor"]["firstBatch"]
    return {"found": found if in_order(command) else sorted(found, key=lambda document: bson.encode(document))}


def in_order(command):
    """Whether the order of what is found was asked for."""
    if "listIndexes" in command or command.get("sort"):
        return True
    near = any(name in str(command) for name in ("$near", "$geoNear"))
    return near or any("$sort" in stage for stage in command.get("pipeline", []))


def alike(one, other):
    """Whether two answers are the same but for the last digits of numbers."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=1e-6)
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return type(one) is type(other) and one == other


def find(filter, projection=None, **more):
    command = {"find": COLLECTION, "filter": filter, **more}
    return command if projection is None else {**command, "projection": projection}


def aggregate(*pipeline):
    return {"aggregate": COLLECTION, "pipeline": list(pipeline), "cursor": {}}
