"""Documents like those of a shop, with arrays of objects, dates and numbers of all kinds, and what is asked of them:
stages of pipelines, writes through arrays, writes by the dozen, and collations."""

import datetime
import random

from bson import Decimal128, Int64

DAY = datetime.datetime(2024, 1, 30, 12)
COUNTS = [0, 1, 2, 2, 3, 5, -1, Int64(2), 2.0, 1.5, Decimal128("2"), Decimal128("2.50"), None]
WORDS = ["a", "b", "B", "ab", "á", "c", "a10", "a9", ""]
PATHS = ["k", "n", "s", "d", "t", "r", "r.k", "r.n", "r.s", "o.k", "o.r.k", "o", "p", "r.0.k", "t.1", "zz"]
# Where no array is on the way: what orders or groups by these leaves no choice.
PLAIN = ["k", "n", "s", "d", "zz"]


def line(rng: random.Random) -> dict:
    """An element of an array of objects."""
    made = {"k": rng.choice([1, 2, 3, None, "x"]), "n": rng.choice(COUNTS), "s": rng.choice(WORDS)}
    return {name: made[name] for name in made if rng.random() < 0.8}


def document(rng: random.Random, identity: int) -> dict:
    made = {
        "k": rng.choice([1, 1, 2, 3, 4]),
        "n": rng.choice(COUNTS),
        "s": rng.choice(WORDS),
        "d": DAY + datetime.timedelta(hours=rng.choice([0, 6, 24, 30, 48, 700])),
        "t": [rng.choice([1, 2, "a", "b", None, 2.0]) for _ in range(rng.randrange(4))],
        "r": [line(rng) for _ in range(rng.randrange(4))],
        "o": {"k": rng.choice([1, 2, [1, 2], None]), "r": [line(rng) for _ in range(rng.randrange(3))]},
        "p": rng.choice([None, 0, 1, 2, 3, [1, 2]]),
    }
    return {"_id": identity, **{name: made[name] for name in made if rng.random() < 0.85}}


def field(rng: random.Random) -> str:
    return "$" + rng.choice(PATHS)


ACCUMULATORS = ["$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$mergeObjects", "$count"]


def accumulator(rng: random.Random) -> dict:
    pick = rng.random()
    if pick < 0.15:
        return {rng.choice(["$firstN", "$lastN", "$minN", "$maxN"]): {"input": rng.choice(["$k", "$s", "$d"]), "n": rng.choice([1, 2, 3])}}
    if pick < 0.3:
        name = rng.choice(["$top", "$bottom", "$topN", "$bottomN"])
        inner = {"sortBy": {rng.choice(["k", "s", "d"]): rng.choice([1, -1]), "_id": 1}, "output": rng.choice([field(rng), ["$_id", field(rng)]])}
        return {name: {**inner, "n": 2} if name.endswith("N") else inner}
    name = rng.choice(ACCUMULATORS)
    if name in ("$min", "$max"):
        # Which of two equal numbers of different types is kept is no promise.
        return {name: rng.choice(["$k", "$s", "$d", "$_id"])}
    return {name: {} if name == "$count" else "$o" if name == "$mergeObjects" else field(rng)}


def outputs(rng: random.Random) -> dict:
    return {f"x{at}": accumulator(rng) for at in range(rng.choice([1, 2]))}


def group(rng: random.Random) -> list[dict]:
    plain = "$" + rng.choice(PLAIN)
    key = rng.choice([None, plain, {"k": plain, "s": "$s"}, {"k": plain}, {"$toString": "$k"}, {"$dateTrunc": {"date": "$d", "unit": "day"}}])
    return [{"$group": {"_id": key, **outputs(rng)}}, {"$sort": {"_id": 1}}]


def bucket(rng: random.Random) -> list[dict]:
    stage = {"groupBy": rng.choice(["$k", "$n", "$s", "$d", "$_id"]), "boundaries": rng.choice([[0, 2, 4], [0, 1.5, Int64(5)], ["a", "b", "c"], [DAY, DAY + datetime.timedelta(days=1)], [2, 1], [1], [1, "a"]])}
    if rng.random() < 0.8:
        stage["default"] = rng.choice(["other", -5, 100, 3, None])
    if rng.random() < 0.6:
        stage["output"] = outputs(rng)
    return [{"$bucket": stage}]


def bucket_auto(rng: random.Random) -> list[dict]:
    stage = {"groupBy": rng.choice(["$k", "$n", "$s", "$d", "$_id", "$r.n"]), "buckets": rng.choice([1, 2, 3, 5, 20])}
    if rng.random() < 0.3:
        stage.update(groupBy=rng.choice(["$_id", "$k"]), granularity=rng.choice(["R5", "1-2-5", "POWERSOF2", "E6", "E12"]))
    if rng.random() < 0.5:
        stage["output"] = outputs(rng)
    return [{"$bucketAuto": stage}]


def facet(rng: random.Random) -> list[dict]:
    return [{"$facet": {"one": inner(rng), "two": [{"$count": "n"}]}}]


RANKS = ["$rank", "$denseRank", "$documentNumber"]


def window(rng: random.Random) -> list[dict]:
    made = windowed(rng)
    # MongoDB 6.0 counts and ranks by one field alone.
    orders = [{"_id": 1}, {"_id": -1}] if next(iter(made)) in RANKS else [{"_id": 1}, {"k": 1, "_id": 1}, {"d": 1, "_id": 1}, {"_id": -1}]
    stage = {"sortBy": rng.choice(orders), "output": {"w": made}}
    if rng.random() < 0.3:
        stage = ranged(rng)
    if rng.random() < 0.5:
        stage["partitionBy"] = rng.choice(["$k", "$s", {"$type": "$n"}, {"k": "$k", "s": "$s"}])
    return [{"$setWindowFields": stage}, {"$sort": {"_id": 1}}]


def windowed(rng: random.Random) -> dict:
    pick = rng.random()
    if pick < 0.2:
        return {rng.choice(RANKS): {}}
    if pick < 0.35:
        return {"$shift": {"output": field(rng), "by": rng.choice([-1, 1, 2, 0]), "default": rng.choice([None, "none"])}}
    if pick < 0.45:
        return {"$expMovingAvg": {"input": "$k", **rng.choice([{"N": 2}, {"alpha": 0.5}])}}
    if pick < 0.55:
        return {"$locf": field(rng)}
    made = {rng.choice(["$sum", "$avg", "$min", "$max", "$push", "$first", "$last"]): rng.choice(["$k", "$s", "$_id"])}
    made["window"] = {"documents": [rng.choice([-2, -1, 0, "unbounded", "current"]), rng.choice([0, 1, 2, "unbounded", "current"])]}
    return made


def ranged(rng: random.Random) -> dict:
    """Windows by distance: by a field that all have, and functions that do not ask for the order of equals."""
    by, unit = rng.choice([("_id", {}), ("k", {}), ("d", {"unit": "hour"})])
    # The document itself, where several have its value, is one of an order that is no promise.
    here = "current" if by == "_id" else 0
    bounds = [rng.choice([-30, -2, -1, 0, "unbounded", here]), rng.choice([0, 1, 2, 40, "unbounded", here])]
    pick = rng.random()
    if pick < 0.2 and by == "_id":
        made = {rng.choice(["$derivative", "$integral"]): {"input": "$_id"}, "window": {"documents": [-1, 0]}}
    elif pick < 0.4 and by == "_id":
        made = {"$linearFill": rng.choice(["$k", "$n"])}
    else:
        made = {rng.choice(["$sum", "$min", "$max", "$count"]): "$_id", "window": {"range": bounds, **unit}}
        if "$count" in made:
            made["$count"] = {}
    return {"sortBy": {by: 1}, "output": {"w": made}}


def union(rng: random.Random) -> list[dict]:
    return [{"$unionWith": rng.choice(["c", {"coll": "c", "pipeline": [{"$sort": {"_id": -1}}, *inner(rng)]}, {"coll": "nowhere"}])}]


def graph(rng: random.Random) -> list[dict]:
    stage = {"from": "c", "startWith": rng.choice(["$p", "$_id", "$o.k", "$t"]), "connectFromField": rng.choice(["p", "o.k", "r.k"]), "connectToField": rng.choice(["_id", "k", "p"]), "as": "found"}
    if rng.random() < 0.5:
        stage["maxDepth"] = rng.choice([0, 1, 2])
    if rng.random() < 0.5:
        stage["depthField"] = "depth"
    if rng.random() < 0.3:
        stage["restrictSearchWithMatch"] = {"k": {"$gt": 1}}
    return [{"$graphLookup": stage}, {"$set": {"found": {"$sortArray": {"input": "$found", "sortBy": {"_id": 1}}}}}]


def lookup(rng: random.Random) -> list[dict]:
    pick = rng.random()
    if pick < 0.4:
        stage = {"localField": rng.choice(PATHS), "foreignField": rng.choice(PATHS)}
    elif pick < 0.7:
        stage = {"let": {"v": field(rng)}, "pipeline": [{"$match": {"$expr": {rng.choice(["$eq", "$gt", "$in"]): rng.choice([["$$v", field(rng)], ["$k", "$$v"]])}}}, {"$sort": {"_id": 1}}, {"$project": {"k": 1}}]}
    else:
        stage = {"localField": rng.choice(PATHS), "foreignField": rng.choice(PATHS), "pipeline": inner(rng)}
    joined = {"$lookup": {"from": rng.choice(["c", "c", "c", "nowhere"]), **stage, "as": rng.choice(["found", "o.found", "k"])}}
    return [joined, {"$unwind": "$found"}, {"$project": {"found._id": 1}}] if rng.random() < 0.3 else [joined]


def densify(rng: random.Random) -> list[dict]:
    """Over documents that are there: MongoDB 6.0 makes some up also where there are none."""
    stage = rng.choice([
        {"field": "k", "range": {"step": rng.choice([1, 2, 0.5]), "bounds": rng.choice(["full", [0, 6], [2, 3], [6, 0]])}},
        {"field": "d", "range": {"step": 12, "unit": "hour", "bounds": rng.choice(["full", [DAY, DAY + datetime.timedelta(days=2)]])}},
        {"field": "k", "partitionByFields": ["s"], "range": {"step": 1, "bounds": rng.choice(["full", "partition", [1, 4]])}},
    ])  # fmt: skip
    return [{"$match": {stage["field"]: {"$type": ["number", "date"]}}}, {"$project": {"k": 1, "d": 1, "s": 1}}, {"$densify": stage}, {"$sort": {"d": 1, "k": 1, "s": 1, "_id": 1}}]


def fill(rng: random.Random) -> list[dict]:
    stage = {"sortBy": {"_id": 1}, "output": {rng.choice(["k", "n", "s"]): rng.choice([{"method": "locf"}, {"method": "linear"}, {"value": 7}, {"value": {"$add": ["$_id", 1]}}])}}
    if rng.random() < 0.3:
        stage["partitionByFields"] = ["s"]
    return [{"$fill": stage}, {"$sort": {"_id": 1}}]


def redact(rng: random.Random) -> list[dict]:
    return [{"$redact": {"$cond": [{rng.choice(["$eq", "$gt", "$ne"]): ["$k", rng.choice([1, 2, None])]}, *rng.sample(["$$DESCEND", "$$PRUNE", "$$KEEP"], 2)]}}]


def unwind(rng: random.Random) -> list[dict]:
    return [{"$unwind": rng.choice(["$r", "$t", "$o.r", {"path": "$r", "includeArrayIndex": "r.at"}, {"path": "$t", "preserveNullAndEmptyArrays": True}, {"path": "$k", "includeArrayIndex": "i"}])}]


def project(rng: random.Random) -> list[dict]:
    names = rng.sample(PATHS, 2)
    kinds = [
        {names[0]: 1, "y": {"$size": {"$ifNull": ["$r", []]}}},
        {names[0]: 0, "r.s": 0},
        {"r": {"k": 1, "z": {"$type": "$r.n"}}},
        {"r.z": field(rng), "_id": 0},
        {"o": {"r": {"k": field(rng)}}, "k": 1},
        {"v": {"$map": {"input": {"$ifNull": ["$r", []]}, "in": {"$mergeObjects": ["$$this", {"m": {"$multiply": ["$$this.n", 2]}}]}}}},
        {"v": {"$reduce": {"input": {"$ifNull": ["$r", []]}, "initialValue": 0, "in": {"$add": ["$$value", {"$ifNull": ["$$this.n", 0]}]}}}},
    ]
    return [{rng.choice(["$project", "$project", "$set"]): rng.choice(kinds)}]


def match(rng: random.Random) -> list[dict]:
    return [{"$match": condition(rng)}]


def count(rng: random.Random) -> list[dict]:
    return [{"$sortByCount": "$" + rng.choice(PLAIN)}, {"$sort": {"count": -1, "_id": 1}}]


def ordered(rng: random.Random) -> list[dict]:
    return [{"$sort": {rng.choice(PATHS): rng.choice([1, -1]), "_id": rng.choice([1, -1])}}]


def inner(rng: random.Random) -> list[dict]:
    """A short pipeline inside another."""
    return [{"$sort": {"_id": 1}}, *rng.choice([match, project, unwind, group])(rng), {"$limit": 3}]


def condition(rng: random.Random) -> dict:
    name = rng.choice(PATHS)
    return rng.choice([
        {name: rng.choice([1, 2, None, "a", {"k": 1}])},
        {name: {rng.choice(["$gt", "$lte", "$ne"]): rng.choice([1, 2.0, "a", None, DAY])}},
        {"r": {"$elemMatch": {"k": rng.choice([1, 2]), "n": {rng.choice(["$gt", "$lt"]): 2}}}},
        {name: {"$in": [1, None, "b"]}},
        {"$expr": {rng.choice(["$gt", "$eq", "$lte"]): [field(rng), rng.choice([1, field(rng)])]}},
        {"$or": [{name: 1}, {"k": 3}]},
        {"t": {"$all": [rng.choice([1, "a"])]}},
        {},
    ])  # fmt: skip


STAGES = [group, bucket, bucket_auto, facet, window, window, union, graph, lookup, lookup, fill, redact, unwind, project, project, match, count, ordered]


def pipeline(rng: random.Random) -> list[dict]:
    """One or two stages over documents in order."""
    made = [{"$sort": {"_id": 1}}, *rng.choice([*STAGES, densify])(rng)]
    return made + rng.choice(STAGES)(rng) if rng.random() < 0.3 else made


# Writes.


def change(rng: random.Random) -> dict:
    """An update through arrays of objects, with the filters that it names."""
    kinds = [
        {"u": {"$set": {"r.$[x].s": "new"}}, "arrayFilters": [rng.choice([{"x.k": 1}, {"x.n": {"$gte": 2}}, {"$or": [{"x.k": 1}, {"x.s": "a"}]}])]},
        {"u": {"$inc": {"r.$[].n": rng.choice([1, 2.5, Int64(1)])}}},
        {"u": {"$inc": {"k": 1, "n": rng.choice([1, Decimal128("0.1"), 0.5])}}},
        {"u": {"$mul": {"n": rng.choice([2, 1.5, Int64(3), Decimal128("2")])}}},
        {"u": {"$set": {"r.$.s": "hit"}}},
        {"u": {"$push": {"r": {"$each": [line(rng)], "$sort": {"n": 1}, "$slice": rng.choice([-2, 2])}}}},
        {"u": {"$pull": {"r": rng.choice([{"k": 1}, {"n": {"$gt": 1}}, {"k": {"$in": [2, 3]}}])}}},
        {"u": {"$addToSet": {"t": {"$each": [1, 2.0, "b"]}}}},
        {"u": {"$unset": {rng.choice(["r.0", "r.$[x].n", "o.k"]): ""}}, "arrayFilters": [{"x.k": 2}]},
        {"u": {"$rename": {"k": rng.choice(["kk", "o.kk"])}}},
        {"u": {"$min": {"n": rng.choice([1, "a"])}, "$max": {"d": DAY}}},
        {"u": {"$set": {"o.r.$[y].z.$[w]": 1}}, "arrayFilters": [{"y.k": 1}, {"w": 1}]},
        {"u": {"$currentDate": {"o.r": {"$type": "nothing"}}}},
        {"u": {"$setOnInsert": {"s": "made"}, "$set": {"o.k": 5}}},
        {"u": [{"$set": {"k": {"$add": [{"$ifNull": ["$k", 0]}, 1]}, "r": {"$filter": {"input": {"$ifNull": ["$r", []]}, "cond": {"$gt": ["$$this.n", 1]}}}}}]},
    ]
    made = rng.choice(kinds)
    used = str(made["u"])
    if "arrayFilters" in made and not any(f"$[{next(iter(one)).split('.')[0]}]" in used or "$or" in one for one in made["arrayFilters"]):
        made.pop("arrayFilters")
    return made


def seeds(rng: random.Random) -> dict:
    """A filter of an upsert, with parts it can derive something from."""
    made = {}
    for name, value in (("k", 9), ("o.k", {"$eq": 2}), ("s", {"$in": ["only"]}), ("n", {"$gt": 3}), ("o.r.k", 1), ("t", {"$all": [5]})):
        if rng.random() < 0.4:
            made[name] = value
    if rng.random() < 0.3:
        made["$and"] = [{"q": 1}, {"o.w": {"$eq": 2}}]
    return {"_id": f"new{rng.randrange(3)}", **made}


def updates(rng: random.Random, by_id=False) -> list[dict]:
    """Several updates in one command, in order or not; by `_id` where an index could give another order of those found."""
    statements = []
    for _ in range(rng.randrange(1, 5)):
        statement = {"q": {"_id": rng.randrange(6)} if by_id else condition(rng), **change(rng), "multi": False}
        if rng.random() < 0.3:
            statement.update(q=seeds(rng), upsert=True)
        statements.append(statement)
    return [{"update": "c", "updates": statements, "ordered": rng.random() < 0.5}, {"find": "c", "sort": {"_id": 1}}]


def inserts(rng: random.Random) -> list[dict]:
    """A unique index, and inserts of which some clash."""
    index = {"key": rng.choice([{"k": 1, "s": 1}, {"r.k": 1}, {"t": 1}, {"o.k": 1, "_id": 1}, {"n": 1}]), "name": "u", "unique": True}
    if rng.random() < 0.3:
        index["sparse"] = True
    if rng.random() < 0.3:
        index["partialFilterExpression"] = {"k": {"$gt": 1}}
    made = [document(rng, rng.choice([at, at + 100])) for at in range(rng.randrange(2, 6))]
    return [
        {"delete": "c", "deletes": [{"q": {"_id": {"$gte": rng.choice([0, 1, 3])}}, "limit": 0}]},
        {"createIndexes": "c", "indexes": [index]},
        {"insert": "c", "documents": made, "ordered": rng.random() < 0.5},
        *updates(rng, by_id=True),
    ]


def deletes(rng: random.Random) -> list[dict]:
    statements = [{"q": condition(rng), "limit": rng.choice([0, 1])} for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.2:
        statements.insert(rng.randrange(len(statements)), {"q": {"k": {"$bad": 1}}, "limit": 1})
    return [{"delete": "c", "deletes": statements, "ordered": rng.random() < 0.5}, {"find": "c", "sort": {"_id": 1}}]


def modify(rng: random.Random) -> list[dict]:
    command = {"findAndModify": "c", "query": condition(rng), "sort": {rng.choice(PATHS): rng.choice([1, -1]), "_id": 1}, "new": rng.random() < 0.5}
    made = change(rng)
    command["update"] = made["u"]
    if "arrayFilters" in made:
        command["arrayFilters"] = made["arrayFilters"]
    if rng.random() < 0.3:
        command.update(query=seeds(rng), upsert=True)
    if rng.random() < 0.4:
        command["fields"] = rng.choice([{"r": {"$slice": 1}}, {"k": 1, "r.k": 1}, {"o": 0}, {"r": {"$elemMatch": {"k": 1}}}, {"x": {"$add": ["$k", 1]}}])
    return [command, {"find": "c", "sort": {"_id": 1}}]


COLLATIONS = [{"locale": "en", "strength": 1}, {"locale": "en", "strength": 2}, {"locale": "en"}, {"locale": "en", "numericOrdering": True}, {"locale": "simple"}, {"locale": "fr", "strength": 2, "caseLevel": True}]


def collated(rng: random.Random) -> list[dict]:
    """Texts compared by a collation, with an index of it, of another, or none."""
    collation = rng.choice(COLLATIONS)
    word = rng.choice(WORDS)
    filters = [{"s": word}, {"s": {"$gte": word}}, {"s": {"$in": [word, "A"]}}, {"r.s": {"$lt": word}}, {"r": {"$elemMatch": {"s": word}}}, {"s": {"$ne": word}}]
    commands = [
        {"find": "c", "filter": rng.choice(filters), "sort": {rng.choice(["s", "r.s"]): rng.choice([1, -1]), "_id": 1}, "collation": collation},
        {"distinct": "c", "key": rng.choice(["k", "o.k"]), "query": rng.choice(filters), "collation": collation},
        {"count": "c", "query": rng.choice(filters), "collation": collation},
        {"aggregate": "c", "pipeline": [{"$sort": {"_id": 1}}, {"$group": {"_id": "$s", "n": {"$sum": 1}}}, {"$group": {"_id": "$n", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}], "cursor": {}, "collation": collation},
        {"aggregate": "c", "pipeline": [{"$sort": {"_id": 1}}, {"$project": {"x": {"$cmp": ["$s", word]}, "y": {"$eq": ["$s", word]}, "z": {"$in": [word, {"$ifNull": ["$r.s", []]}]}}}], "cursor": {}, "collation": collation},
        {"update": "c", "updates": [{"q": rng.choice(filters), "u": {"$set": {"seen": 1}}, "multi": True, "collation": collation}]},
        {"delete": "c", "deletes": [{"q": rng.choice(filters), "limit": 0, "collation": collation}]},
    ]  # fmt: skip
    made = rng.sample(commands, 3)
    if rng.random() < 0.6:
        made.insert(0, {"createIndexes": "c", "indexes": [{"key": {rng.choice(["s", "r.s"]): 1}, "name": "s", "collation": rng.choice(COLLATIONS[:4])}]})
    return [*made, {"find": "c", "sort": {"_id": 1}}]
