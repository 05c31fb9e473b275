"""Random pipelines and expressions, of aggregations and of updates."""

import random

from .filters import filter_document
from .projections import small_filter
from .values import FIELDS, path, scalar, value

COMPARE = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$cmp"]
ARITHMETIC = ["$add", "$subtract", "$multiply"]
OF_ONE = ["$abs", "$ceil", "$floor", "$type", "$isArray", "$isNumber", "$not", "$toBool", "$size", "$toString", "$strLenBytes", "$reverseArray", "$objectToArray"]
OF_TWO = ["$concat", "$concatArrays", "$setUnion", "$setIntersection", "$in", "$arrayElemAt", "$ifNull", "$and", "$or", "$mergeObjects", "$min", "$max"]


def expression(rng: random.Random, depth: int = 2):
    """An expression; often one that fails, because types do not fit, and then both servers fail alike."""
    pick = rng.random()
    if depth == 0 or pick < 0.35:
        return "$" + rng.choice([path(rng), rng.choice(FIELDS[:3]), "_id"])
    if pick < 0.5:
        return {"$literal": value(rng, 1)}
    if pick < 0.6:
        return {rng.choice(COMPARE): [expression(rng, depth - 1), expression(rng, depth - 1)]}
    if pick < 0.68:
        return {rng.choice(ARITHMETIC): [expression(rng, depth - 1), {"$literal": rng.choice([0, 1, 2, 1.5])}]}
    if pick < 0.78:
        return {rng.choice(OF_ONE): expression(rng, depth - 1)}
    if pick < 0.86:
        return {rng.choice(OF_TWO): [expression(rng, depth - 1), expression(rng, depth - 1)]}
    if pick < 0.92:
        return {"$cond": [expression(rng, depth - 1), expression(rng, depth - 1), expression(rng, depth - 1)]}
    if pick < 0.96:
        condition = {rng.choice(COMPARE[:6]): ["$$this", {"$literal": scalar(rng)}]}
        return {"$filter": {"input": expression(rng, depth - 1), "cond": condition}}
    return {"$map": {"input": expression(rng, depth - 1), "in": {rng.choice(["$type", "$isArray"]): "$$this"}}}


def target(rng: random.Random) -> str:
    """A field that an expression is put into."""
    return rng.choice(["x", "y", "a", "b", "a.b", "b.c", "x.y"])


def accumulator(rng: random.Random) -> dict:
    name = rng.choice(["$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$count", "$sum"])
    return {name: {} if name == "$count" else "$" + path(rng)}


def match(rng: random.Random) -> dict:
    return {"$match": small_filter(rng) if rng.random() < 0.5 else filter_document(rng, 1)}


def project(rng: random.Random) -> dict:
    return {"$project": {target(rng): expression(rng) for _ in range(rng.choice([1, 2]))}}


def add_fields(rng: random.Random) -> dict:
    return {rng.choice(["$addFields", "$set"]): {target(rng): expression(rng) for _ in range(rng.choice([1, 2]))}}


def unset(rng: random.Random) -> dict:
    return {"$unset": rng.choice([path(rng), [path(rng)]])}


def unwind(rng: random.Random) -> dict:
    stage = {"path": "$" + path(rng)}
    if rng.random() < 0.5:
        stage["preserveNullAndEmptyArrays"] = True
    if rng.random() < 0.3:
        stage["includeArrayIndex"] = "at"
    return {"$unwind": stage}


def group(rng: random.Random) -> dict:
    key = rng.choice([None, "$" + path(rng), expression(rng, 1), {"k": "$" + path(rng)}])
    return {"$group": {"_id": key, "n": {"$sum": 1}, "v": accumulator(rng)}}


def sort(rng: random.Random) -> dict:
    return {"$sort": {path(rng): rng.choice([1, -1]), "_id": 1}}


def part(rng: random.Random) -> dict:
    return rng.choice([{"$limit": rng.randrange(1, 8)}, {"$skip": rng.randrange(4)}])


def lookup(rng: random.Random) -> dict:
    return {"$lookup": {"from": "c", "localField": path(rng), "foreignField": path(rng), "as": "found"}}


def root(rng: random.Random) -> dict:
    return {"$replaceRoot": {"newRoot": rng.choice([{"$mergeObjects": [{"_id": "$_id"}, "$a"]}, {"_id": "$_id", "v": expression(rng, 1)}, "$" + rng.choice(FIELDS[:2])])}}


STAGES = [match, match, project, add_fields, add_fields, unset, unwind, sort, part, lookup, root]


def pipeline(rng: random.Random) -> list[dict]:
    """Some stages in an order that leaves no choice; groups come sorted, at the end."""
    stages = [{"$sort": {"_id": 1}}, *(rng.choice(STAGES)(rng) for _ in range(rng.choice([1, 2, 2, 3])))]
    if rng.random() < 0.3:
        stages += [group(rng), {"$sort": {"_id": 1}}]
    elif rng.random() < 0.1:
        stages.append({"$count": "n"})
    return stages


def update_pipeline(rng: random.Random) -> list[dict]:
    """An update that is a pipeline."""
    stages = [add_fields, add_fields, unset]
    result = [rng.choice(stages)(rng) for _ in range(rng.choice([1, 1, 2]))]
    if rng.random() < 0.15:
        result.append({"$replaceWith": {"$mergeObjects": ["$$ROOT", {"x": expression(rng, 1)}]}})
    return result
