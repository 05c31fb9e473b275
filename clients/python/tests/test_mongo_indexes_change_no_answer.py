"""Documents and questions at random: whatever indexes there are, the answer is the same, in the same order."""

import random

import pytest
from bson import Decimal128, Int64, ObjectId
from pymongo.errors import OperationFailure

from conftest import fresh
from mongo_door import client, mongo  # noqa: F401

ROUNDS = 30
QUESTIONS = 60

SCALARS = [
    None, 0, 1, 2, 2.5, -1, Int64(3), Decimal128("2.5"), float("nan"), float("inf"), "", "a", "ab", "B", "b",
    True, False, ObjectId("00000000000000000000000a"), b"x",
]
PATHS = ["a", "b", "c", "a.x", "a.y", "b.x"]


def value(dice, depth=0):
    kind = dice.random()
    if kind < 0.65 or depth > 2:
        return dice.choice(SCALARS)
    if kind < 0.85:
        return [value(dice, depth + 1) for _ in range(dice.randint(0, 3))]
    return {name: value(dice, depth + 1) for name in dice.sample(["x", "y"], dice.randint(0, 2))}


def document(dice, number):
    fields = dice.sample(["a", "b", "c"], dice.randint(0, 3))
    return {"_id": number, **{name: value(dice) for name in fields}}


def condition(dice):
    kind = dice.choice(["eq", "eq", "range", "range", "both", "in", "exists", "ne", "type", "regex", "elem"])
    if kind == "eq":
        return value(dice, 2)
    if kind == "range":
        return {dice.choice(["$gt", "$gte", "$lt", "$lte"]): value(dice, 3)}
    if kind == "both":
        return {"$gte": dice.choice(SCALARS), "$lt": dice.choice(SCALARS)}
    if kind == "in":
        return {"$in": [value(dice, 2) for _ in range(dice.randint(0, 3))]}
    if kind == "exists":
        return {"$exists": dice.random() < 0.5}
    if kind == "ne":
        return {"$ne": value(dice, 3)}
    if kind == "type":
        return {"$type": dice.choice(["number", "string", "null", "bool", "array"])}
    if kind == "regex":
        return {"$regex": dice.choice(["^a", "^ab", "b", "^"])}
    inner = dice.choice([{"$gt": dice.choice(SCALARS)}, {"x": dice.choice(SCALARS)}, {"x": 1, "y": {"$gte": 0}}])
    return {"$elemMatch": inner}


def question(dice):
    def one():
        return {path: condition(dice) for path in dice.sample(PATHS, dice.randint(1, 2))}

    kind = dice.random()
    if kind < 0.15:
        filter_ = {}
    elif kind < 0.8:
        filter_ = one()
    elif kind < 0.9:
        filter_ = {"$or": [one(), one()]}
    else:
        filter_ = {"$and": [one(), one()]}
    if dice.random() < 0.1:
        filter_["_id"] = {dice.choice(["$gt", "$lt"]): dice.randint(0, 60)}
    sort = None
    if dice.random() < 0.7:
        paths = dice.sample([*PATHS, "_id"], dice.randint(1, 3))
        sort = [(path, dice.choice([1, -1])) for path in paths]
    return {"filter": filter_, "sort": sort, "skip": dice.choice([0, 0, 3]), "limit": dice.choice([0, 1, 5])}


def indexes(dice):
    for number in range(dice.randint(1, 4)):
        kind = dice.random()
        paths = dice.sample(PATHS, dice.randint(1, 3))
        key = [(path, dice.choice([1, -1])) for path in paths]
        options = {"name": f"n{number}"}
        if kind < 0.1:
            key = [("$**", 1)]
        elif kind < 0.2:
            key = [("c", "hashed")]
        elif kind < 0.35:
            options["sparse"] = True
        elif kind < 0.55:
            partial = [{"a": {"$exists": True}}, {"b": {"$gt": 0}}, {"a": {"$lte": 2}}, {"c": "a"}]
            options["partialFilterExpression"] = dice.choice(partial)
        yield key, options


COLLATION = {"locale": "en", "strength": 2}


def ask(collection, question, collation):
    cursor = collection.find(question["filter"], collation=collation, batch_size=question.get("batch", 0))
    if question["sort"]:
        cursor = cursor.sort(question["sort"])
    cursor = cursor.skip(question["skip"]).limit(question["limit"])
    try:
        return [repr(found) for found in cursor]
    except OperationFailure as failure:
        return failure.code


def is_steady(question):
    """Whether the order leaves nothing open: else documents that are equal in it may come in the order of an index."""
    return question["sort"] is None or any(path == "_id" for path, _ in question["sort"])


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_the_same_answer_with_and_without_indexes(client, seed):
    dice = random.Random(seed)
    database = client[fresh("db")]
    plain, indexed = database.plain, database.indexed
    documents = [document(dice, number) for number in range(60)]
    dice.shuffle(documents)
    made = []
    for key, options in indexes(dice):
        if dice.random() < 0.3:
            options["collation"] = COLLATION
        try:
            indexed.create_index(key, **options)
        except OperationFailure as failure:
            assert failure.code == 85, failure  # The same one twice.
            continue
        made.append((key, options))
    for one in documents:
        try:
            indexed.insert_one(one)
        except OperationFailure:
            continue  # Two arrays side by side, or one under a hash: it stands in neither collection.
        plain.insert_one(one)
    for number in range(QUESTIONS):
        asked = question(dice)
        asked["batch"] = dice.choice([0, 2])
        collation = dice.choice([None, None, COLLATION])
        told = (seed, number, made, asked, collation)
        if not is_steady(asked):
            # With the ties broken, the whole order is told.
            asked["sort"] = [*asked["sort"], ("_id", 1)]
        with_, without = ask(indexed, asked, collation), ask(plain, asked, collation)
        assert with_ == without, told
        assert sorted_alike(indexed, plain, asked, collation), told
        count = {"filter": asked["filter"], "collation": collation}
        assert indexed.count_documents(**count) == plain.count_documents(**count), told
    client.drop_database(database.name)


def sorted_alike(indexed, plain, asked, collation):
    """The same with only the first field of the order, where an index is likelier to give it. Documents that are equal in it
    may come in the order of further fields of the index: what they are ordered by is the same."""
    asked = {**asked, "skip": 0, "limit": 0, "sort": (asked["sort"] or [("_id", 1)])[:1]}
    keys = [order_of(collection, asked, collation) for collection in (indexed, plain)]
    return keys[0] == keys[1] and set_of(indexed, asked, collation) == set_of(plain, asked, collation)


def set_of(collection, asked, collation):
    found = ask(collection, asked, collation)
    return found if isinstance(found, int) else sorted(found)


def order_of(collection, asked, collation):
    shown = {"_id": 0, "key": {"$meta": "sortKey"}}
    cursor = collection.find(asked["filter"], shown, collation=collation).sort(asked["sort"])
    try:
        return [repr([bare(key) for key in found["key"]]) for found in cursor]
    except OperationFailure as failure:
        return failure.code


def bare(key):
    """Numbers of all kinds alike."""
    if isinstance(key, bool):
        return key
    if isinstance(key, (int, float, Decimal128)):
        return float(str(key))
    if isinstance(key, list):
        return [bare(one) for one in key]
    if isinstance(key, dict):
        return {name: bare(one) for name, one in key.items()}
    return key


def test_equal_documents_come_in_the_order_of_creation_through_an_index_of_the_same_fields(client):
    dice = random.Random(7)
    collection = client[fresh("db")].c
    collection.insert_many([{"_id": n, "a": dice.choice(SCALARS[:12]), "b": dice.randint(0, 2)} for n in range(300)])
    for sort in ([("a", 1)], [("a", -1)], [("a", 1), ("b", -1)], [("a", -1), ("b", 1)]):
        plain = [d["_id"] for d in collection.find().sort(sort)]
        for key in (sort, [(path, -direction) for path, direction in sort]):
            name = collection.create_index(key)
            for batch in (3, 0):
                assert [d["_id"] for d in collection.find(batch_size=batch).sort(sort)] == plain
            plan = collection.find().sort(sort).explain()["queryPlanner"]["winningPlan"]
            assert plan["inputStage"]["indexName"] == name
            collection.drop_index(name)
    client.drop_database(collection.database.name)
