"""Where an expired, unpurged document must not show at the Mongo door: every way of looking sees exactly the living half."""

import pymongo
import pytest

from ttl_door import advance, bare, client, collection, mongo, when  # noqa: F401

TOTAL = 10_000
HALF = TOTAL // 2


@pytest.fixture(scope="module", params=["own ttl", "date"])
def half(request, mongo, client):
    """Half of the documents are dead: by a ttl of their own, or by a date."""
    mongo.align()
    name = f"half-{request.param.replace(' ', '-')}"
    collection = client[name].c
    collection.create_index("_ts", expireAfterSeconds=-1)
    collection.create_index("when", expireAfterSeconds=0)
    collection.create_index("n")
    collection.create_index("u", unique=True)
    end = {"ttl": 5} if request.param == "own ttl" else {"when": when(mongo, 5000)}
    for start in range(0, TOTAL, 1000):
        collection.insert_many([{"_id": n, "n": n, "u": n, "odd": n % 2, **(end if n % 2 else {})} for n in range(start, start + 1000)])
    client[name].few.insert_many([{"_id": n} for n in range(10)])
    mongo.advance("4999ms")
    assert collection.count_documents({}) == collection.estimated_document_count() == TOTAL
    mongo.advance("1ms")
    yield collection
    client.drop_database(name)


def only(cursor):
    return next(iter(cursor))


LOOKS = {
    "find": lambda c: len(list(c.find({}, {"_id": 1}))),
    "find by filter": lambda c: len(list(c.find({"n": {"$gte": 0}}, {"_id": 1}))),
    "find by index": lambda c: len(list(c.find({"n": {"$gte": 0}}, {"_id": 1}).hint("n_1"))),
    "find by the TTL index": lambda c: len(list(c.find({}, {"_id": 1}).hint("when_1"))),
    "find backwards": lambda c: len(list(c.find({}, {"_id": 1}).sort("n", -1))),
    "find sorted": lambda c: len(list(c.find({}, {"_id": 1}).sort("odd", 1))),
    "find from the index alone": lambda c: len(list(c.find({"n": {"$gte": 0}}, {"_id": 0, "n": 1}))),
    "countDocuments": lambda c: c.count_documents({}),
    "countDocuments by index": lambda c: c.count_documents({"n": {"$gte": 0}}, hint="n_1"),
    "estimatedDocumentCount": lambda c: c.estimated_document_count(),
    "count": lambda c: c.database.command("count", c.name)["n"],
    "count with a query": lambda c: c.database.command("count", c.name, query={"n": {"$gte": 0}})["n"],
    "distinct": lambda c: len(c.distinct("n")),
    "distinct of _id": lambda c: len(c.distinct("_id")),
    "collStats": lambda c: c.database.command("collStats", c.name)["count"],
    "dbStats": lambda c: c.database.command("dbStats")["objects"] - 10,
    "dataSize": lambda c: c.database.command("dataSize", f"{c.database.name}.{c.name}")["numObjects"],
    "validate": lambda c: c.database.command("validate", c.name)["nrecords"],
    "$collStats": lambda c: only(c.aggregate([{"$collStats": {"count": {}}}]))["count"],
    "$match": lambda c: len(list(c.aggregate([{"$match": {"n": {"$gte": 0}}}, {"$project": {"_id": 1}}]))),
    "$group": lambda c: only(c.aggregate([{"$group": {"_id": None, "n": {"$sum": 1}}}]))["n"],
    "$count": lambda c: only(c.aggregate([{"$count": "n"}]))["n"],
    "$sortByCount": lambda c: only(c.aggregate([{"$sortByCount": "$odd"}]))["count"],
    "$bucketAuto": lambda c: sum(b["count"] for b in c.aggregate([{"$bucketAuto": {"groupBy": "$n", "buckets": 3}}])),
    "$facet": lambda c: only(c.aggregate([{"$facet": {"a": [{"$count": "n"}]}}]))["a"][0]["n"],
    "$unionWith": lambda c: only(c.database.few.aggregate([{"$unionWith": c.name}, {"$count": "n"}]))["n"] - 10,
    "$sample": lambda c: len(list(c.aggregate([{"$sample": {"size": TOTAL}}, {"$project": {"_id": 1}}]))),
    "$lookup from it": lambda c: sum(
        len(one["found"]) for one in c.database.few.aggregate([{"$lookup": {"from": c.name, "pipeline": [{"$match": {"n": {"$lt": HALF / 5}}}], "as": "found"}}])
    ),
    "$lookup of it": lambda c: len(list(c.aggregate([{"$lookup": {"from": "few", "localField": "n", "foreignField": "_id", "as": "found"}}, {"$project": {"_id": 1}}]))),
    "$graphLookup": lambda c: only(
        c.database.few.aggregate([
            {"$limit": 1},
            {"$graphLookup": {"from": c.name, "startWith": {"$range": [0, 20]}, "connectFromField": "none", "connectToField": "n", "as": "found"}},
            {"$project": {"n": {"$multiply": [{"$size": "$found"}, HALF // 10]}}},
        ])
    )["n"],
    "explain": lambda c: c.database.command("explain", {"find": c.name}, verbosity="executionStats")["executionStats"]["nReturned"],
}


@pytest.mark.parametrize("way", LOOKS)
def test_exactly_the_living_are_seen(way, half):
    assert LOOKS[way](half) == HALF


def test_by_id(half):
    assert half.find_one({"_id": 1}) is None and half.find_one({"_id": 2})
    assert [one["_id"] for one in half.find({"_id": {"$in": [1, 2, 3, 4]}})] == [2, 4]
    assert half.find_one({"u": 1}) is None


@pytest.mark.parametrize("stage", ["$out", "$merge"])
def test_what_is_poured_into_another_collection(stage, half):
    half.aggregate([{stage: "poured"}])
    assert half.database.poured.estimated_document_count() == HALF
    half.database.poured.drop()


def test_writes_match_the_living(half):
    assert half.update_many({}, {"$set": {"seen": True}}).matched_count == HALF
    assert half.update_one({"_id": 1}, {"$set": {"seen": True}}).matched_count == 0
    assert half.find_one_and_update({"_id": 1}, {"$set": {"seen": True}}) is None
    assert half.delete_one({"_id": 3}).deleted_count == 0
    assert half.find_one_and_delete({"_id": 5}) is None
    bulk = half.bulk_write([pymongo.UpdateMany({"odd": 1}, {"$set": {"x": 1}}), pymongo.DeleteMany({"odd": 1})])
    assert (bulk.matched_count, bulk.deleted_count) == (0, 0)


def test_ids_and_unique_values_of_the_dead_are_free(half):
    half.insert_one({"_id": 7, "u": 7, "n": -1})
    half.insert_one({"_id": -1, "u": 9, "n": -1})
    with pytest.raises(pymongo.errors.DuplicateKeyError):
        half.insert_one({"_id": -2, "u": 8, "n": -1})
    assert half.delete_many({"n": -1}).deleted_count == 2


def test_the_other_door_sees_the_same(mongo, half):
    status, report = mongo.admin("GET", f"/_lapsedb/dbs/{half.database.name}/colls/{half.name}/ttl")
    assert status == 200 and report["live"]["items"] == HALF, report


def test_a_change_stream_tells_each_end_once(mongo, client):
    mongo.align()
    collection = client["stream-of-ends"].c
    collection.create_index("_ts", expireAfterSeconds=-1)
    collection.create_index("when", expireAfterSeconds=0)
    with collection.watch(max_await_time_ms=1) as stream:
        collection.insert_many([{"_id": n, "ttl": 5} if n % 2 else {"_id": n, "when": when(mongo, 4000)} for n in range(10)])
        assert [stream.next()["operationType"] for _ in range(10)] == ["insert"] * 10
        mongo.advance("3999ms")
        assert stream.try_next() is None
        mongo.advance("1ms")
        told = [stream.next() for _ in range(5)]
        assert {event["operationType"] for event in told} == {"delete"}
        assert sorted(event["documentKey"]["_id"] for event in told) == [0, 2, 4, 6, 8]
        assert stream.try_next() is None
        mongo.advance("1s")
        assert sorted(stream.next()["documentKey"]["_id"] for _ in range(5)) == [1, 3, 5, 7, 9]
        mongo.advance("10d")
        assert stream.try_next() is None
    client.drop_database("stream-of-ends")
