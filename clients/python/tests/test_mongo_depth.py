"""Documents nested as deep as may be: every way that goes through them, at both doors, ends in an answer."""

import pytest
from azure.cosmos import CosmosClient

from lapsedb import KEY
from mongo_door import client, db, mongo, refused  # noqa: F401
from test_mongo_change_streams import told, watch

# Levels of a stored document at most, as in MongoDB.
LEVELS = 180
OPERATORS = 60


def value(levels, array=False):
    """A value of so many levels, the last of which is an object."""
    deep = {"x": 1}
    for level in range(levels - 1):
        deep = [deep] if array and level % 2 else {"a": deep}
    return deep


def nested(levels, array=False, **more):
    return {**more, "a": value(levels - 1, array)}


def path(levels):
    return ".".join("a" * levels)


@pytest.mark.parametrize("array", [False, True])
def test_a_document_may_have_180_levels(db, array):
    db.c.insert_one(nested(LEVELS, array, _id=1))
    assert db.c.find_one({"_id": 1}) == nested(LEVELS, array, _id=1)
    refused(15, lambda: db.c.insert_one(nested(LEVELS + 1, array)))
    refused(15, lambda: db.c.replace_one({"_id": 1}, nested(LEVELS + 1, array)))
    refused(15, lambda: db.c.update_one({"_id": 1}, {"$set": {"a": {"b": value(LEVELS - 1, array)}}}))
    db.c.update_one({"_id": 2}, {"$set": {path(LEVELS): 1}}, upsert=True)
    refused(15, lambda: db.c.update_one({"_id": 2}, {"$set": {"b." + path(LEVELS): 1}}))


@pytest.mark.parametrize("array", [False, True])
def test_every_way_goes_through_the_deepest_document(client, db, array):
    db.create_collection("c", changeStreamPreAndPostImages={"enabled": True}, validator={"$expr": {"$ne": ["$a", 1]}})
    deep = value(LEVELS - 1, array)
    with watch(db.c, full_document_before_change="required") as stream:
        for name in ("a_1", "x_1"):
            db.c.create_index([(name[0], 1)], name=name)
        db.c.create_index([("$**", 1)])
        db.c.insert_many([nested(LEVELS, array, _id=n, x=n) for n in range(3)])
        assert db.c.count_documents({"a": deep}) == 3
        assert db.c.count_documents({"a": {"$gt": deep}}) == 0
        assert db.c.count_documents({"$expr": {"$eq": ["$a", {"$literal": deep}]}}) == 3
        assert [one["_id"] for one in db.c.find({}, {"a": 0}).sort([("a", 1), ("x", -1)])] == [2, 1, 0]
        assert db.c.find_one({}, {path(170): 1})["_id"] == 0
        assert db.c.find_one({path(80): {"$exists": True}})["_id"] == 0
        assert len(db.c.distinct("a")) == 1
        group = [{"$group": {"_id": "$a", "n": {"$sum": 1}}}]
        assert list(db.c.aggregate(group)) == [{"_id": deep, "n": 3}]
        stages = [
            {"$set": {"b": "$a", "c": {"$mergeObjects": [{"y": 1}, {"z": 1}]}, "k": {"$type": "$a"}}},
            {"$unset": path(170)},
            {"$lookup": {"from": "c", "localField": "a", "foreignField": "a", "as": "same"}},
            {"$project": {"n": {"$size": "$same"}, path(150): 1}},
            {"$redact": "$$DESCEND"},
        ]
        assert [one["_id"] for one in db.c.aggregate(stages)] == [0, 1, 2]
        operators = "$x"
        for _ in range(OPERATORS):
            operators = {"$not": [operators]}
        assert len(list(db.c.aggregate([{"$project": {"y": operators}}]))) == 3
        db.c.update_one({"_id": 0}, {"$unset": {"a" if array else path(90): 1}})
        db.c.update_one({"_id": 1}, {"$rename": {"a": "b"}})
        db.c.update_one({"_id": 1}, [{"$set": {"a": "$b"}}, {"$unset": "b"}])
        db.c.find_one_and_replace({"_id": 2}, nested(LEVELS, array, x=9))
        with client.start_session() as session, session.start_transaction():
            db.c.update_one({"_id": 2}, {"$set": {"x": 10}}, session=session)
            assert db.c.count_documents({"a": deep}, session=session) == 2
        db.c.delete_many({"a": deep})
        kinds = [event["operationType"] for event in told(stream)]
    # What a pipeline has made is told as the shorter of the two.
    pipeline = kinds.pop(5)
    assert pipeline in ("update", "replace")
    assert kinds == ["insert"] * 3 + ["update"] * 2 + ["replace", "update", "delete", "delete"]


def test_the_nosql_door_shows_the_deepest_document(mongo, db):
    db.c.insert_one(nested(LEVELS, _id="one"))
    container = CosmosClient(mongo.url(), KEY).get_database_client(db.name).get_container_client("c")
    query = lambda text: list(container.query_items(text, enable_cross_partition_query=True))  # noqa: E731
    (item,) = query("SELECT * FROM c")
    for _ in range(LEVELS - 1):
        item = item["a"]
    assert item == {"x": 1}
    assert query("SELECT VALUE COUNT(1) FROM c WHERE IS_OBJECT(c.a)") == [1]
    assert query("SELECT VALUE c.a.a.a.b FROM c") == []
    assert query("SELECT VALUE COUNT(1) FROM c WHERE c.a = c.a") == [1]
    assert len(query("SELECT DISTINCT c.a FROM c ORDER BY c.id")) == 1
    assert len(list(container.query_items_change_feed(start_time="Beginning"))) == 1
