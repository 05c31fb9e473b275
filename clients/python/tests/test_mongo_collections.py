"""Views, validators and capped collections of the MongoDB API; expected answers are those of a real mongod."""

import concurrent.futures
import threading
import uuid

import pymongo
import pytest
from azure.cosmos import CosmosClient
from azure.cosmos.exceptions import CosmosHttpResponseError
from bson.int64 import Int64
from pymongo.cursor import CursorType
from pymongo.errors import BulkWriteError, OperationFailure

from conftest import fresh, running
from lapsedb import KEY
from mongo_door import client, db, failure, ids, mongo, options_of, refused  # noqa: F401


@pytest.fixture
def numbers(db):
    """Ten documents, and a view of those from five on."""
    db.a.insert_many([{"_id": n, "x": n, "s": "abc"[n % 3]} for n in range(10)])
    db.create_collection("v", viewOn="a", pipeline=[{"$match": {"x": {"$gte": 5}}}])
    return db


# Views


def test_a_view_is_found_counted_and_aggregated_as_a_collection(numbers):
    v = numbers.v
    assert ids(v.find()) == [5, 6, 7, 8, 9]
    found = v.find({"x": {"$lt": 9}}, {"x": 1}, sort=[("x", -1)], skip=1, limit=2)
    assert list(found) == [{"_id": 7, "x": 7}, {"_id": 6, "x": 6}]
    assert ids(v.find(batch_size=2)) == [5, 6, 7, 8, 9]
    assert v.estimated_document_count() == v.count_documents({}) == 5
    assert numbers.command("count", "v", query={"x": {"$gt": 5}}, skip=1, limit=2)["n"] == 2
    assert sorted(v.distinct("s")) == ["a", "b", "c"]
    assert sorted(v.distinct("s", {"x": {"$gt": 7}})) == ["a", "c"]
    grouped = v.aggregate([{"$group": {"_id": "$s", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}])
    assert list(grouped) == [{"_id": "a", "n": 2}, {"_id": "b", "n": 1}, {"_id": "c", "n": 2}]


def test_create_of_what_is_there_names_its_options(db):
    db.create_collection("k", capped=True, size=4096, max=5)
    db.command("create", "k", capped=True, size=4096, max=5)
    with pytest.raises(OperationFailure) as caught:
        db.command("create", "k", capped=True, size=4096)
    (shown,) = db.command("listCollections", filter={"name": "k"})["cursor"]["firstBatch"]
    assert caught.value.code == 48
    assert caught.value.details["errmsg"] == (
        f"namespace {db.name}.k already exists, but with different options: "
        f'{{ uuid: UUID("{uuid.UUID(bytes=shown["info"]["uuid"])}"), capped: true, size: 4096, max: 5 }}'
    )


def test_views_stand_on_views_and_are_joined(numbers):
    numbers.create_collection("w", viewOn="v", pipeline=[{"$project": {"x": 1}}])
    assert list(numbers.w.find({"x": 5})) == [{"_id": 5, "x": 5}]
    joined = numbers.a.aggregate([
        {"$match": {"_id": {"$in": [1, 7]}}},
        {"$lookup": {"from": "w", "localField": "x", "foreignField": "x", "as": "j"}},
    ])
    assert [d["j"] for d in joined] == [[], [{"_id": 7, "x": 7}]]
    united = numbers.a.aggregate([{"$limit": 1}, {"$unionWith": {"coll": "w", "pipeline": [{"$match": {"x": 9}}]}}])
    assert ids(united) == [0, 9]
    numbers.edges.insert_many([{"_id": n, "next": n + 1} for n in range(5)])
    numbers.create_collection("short", viewOn="edges", pipeline=[{"$match": {"_id": {"$lt": 3}}}])
    graph = {"from": "short", "startWith": "$_id", "connectFromField": "next", "connectToField": "_id", "as": "way"}
    (reached,) = numbers.edges.aggregate([{"$match": {"_id": 0}}, {"$graphLookup": graph}])
    assert sorted(ids(reached["way"])) == [0, 1, 2]
    assert list(numbers.w.aggregate([{"$out": "copy"}])) == []
    assert ids(numbers.copy.find()) == [5, 6, 7, 8, 9]


def test_what_views_refuse_is_refused_with_mongods_codes(numbers):
    v = numbers.v
    for write in (
        lambda: v.insert_one({"_id": 1}),
        lambda: v.update_one({}, {"$set": {"a": 1}}),
        lambda: v.delete_many({}),
        lambda: v.find_one_and_delete({}),
        lambda: v.create_index("a"),
        lambda: list(v.list_indexes()),
        lambda: v.drop_indexes(),
        lambda: v.rename("elsewhere"),
        lambda: numbers.command("collStats", "v"),
        lambda: list(numbers.a.aggregate([{"$merge": "v"}])),
        lambda: list(numbers.a.aggregate([{"$out": "v"}])),
        lambda: numbers.command("convertToCapped", "v", size=1000),
        lambda: v.watch(),
    ):
        refused(166, write)
    assert ids(numbers.a.find()) == list(range(10))
    refused(48, lambda: numbers.a.rename("v"))
    refused(48, lambda: numbers.a.rename("v", dropTarget=True))
    refused(48, lambda: numbers.command("create", "v", viewOn="a", pipeline=[]))
    refused(48, lambda: numbers.command("create", "v"))
    refused(48, lambda: numbers.command("create", "a", viewOn="b", pipeline=[]))
    refused(167, lambda: list(v.find(collation={"locale": "fr"})))
    refused(168, lambda: list(v.find(cursor_type=CursorType.TAILABLE)))
    for stage in ({"$out": "z"}, {"$merge": "z"}, {"$changeStream": {}}):
        refused(167, lambda stage=stage: numbers.command("create", "n", viewOn="a", pipeline=[stage]))
    refused(40324, lambda: numbers.command("create", "n", viewOn="a", pipeline=[{"$nope": {}}]))
    refused(2, lambda: numbers.command("create", "n", viewOn=""))
    refused(72, lambda: numbers.command("create", "n", pipeline=[]))
    refused(72, lambda: numbers.command("create", "n", viewOn="a", capped=True, size=100))
    refused(73, lambda: numbers["system.views"].insert_one({"_id": "x"}))


def test_views_are_listed_changed_and_dropped(numbers):
    pipeline = [{"$match": {"x": {"$gte": 5}}}]
    listed = {c["name"]: c for c in numbers.list_collections()}
    assert sorted(listed) == ["a", "system.views", "v"]
    assert listed["v"] == {
        "name": "v", "type": "view", "options": {"viewOn": "a", "pipeline": pipeline}, "info": {"readOnly": True},
    }
    name = numbers.name
    assert list(numbers["system.views"].find()) == [{"_id": f"{name}.v", "viewOn": "a", "pipeline": pipeline}]
    assert numbers.command("dbStats")["views"] == 1
    numbers.command("collMod", "v", viewOn="a", pipeline=[{"$match": {"x": 9}}])
    assert ids(numbers.v.find()) == [9]
    refused(72, lambda: numbers.command("collMod", "v", validator={}))
    refused(72, lambda: numbers.command("collMod", "a", viewOn="b", pipeline=[]))
    dropped = numbers.command("drop", "v")
    assert dropped["ns"] == f"{name}.v" and "nIndexesWas" not in dropped
    assert numbers.list_collection_names() == ["a"]
    assert ids(numbers.v.find()) == []
    numbers.v.insert_one({"_id": 1})
    assert ids(numbers.v.find()) == [1]


def test_a_database_of_views_alone_is_listed_and_goes_with_the_last(client):
    db = client[fresh("views")]
    db.create_collection("only", viewOn="nothing", pipeline=[])
    assert db.name in client.list_database_names()
    assert list(db.only.find()) == []
    db.drop_collection("only")
    assert db.name not in client.list_database_names()


def test_no_view_stands_on_itself_nor_too_many_on_one_another(db):
    refused(5, lambda: db.command("create", "x", viewOn="x", pipeline=[]))
    lookup = [{"$lookup": {"from": "v2", "pipeline": [], "as": "c"}}]
    db.create_collection("v1", viewOn="a", pipeline=lookup)
    refused(5, lambda: db.command("create", "v2", viewOn="v1", pipeline=[]))
    db.create_collection("b", viewOn="a", pipeline=[])
    refused(5, lambda: db.command("collMod", "b", viewOn="b", pipeline=[]))
    db.base.insert_one({"_id": 1})
    for n in range(20):
        db.create_collection(f"d{n}", viewOn="base" if n == 0 else f"d{n - 1}", pipeline=[])
    assert ids(db.d19.find()) == [1]
    refused(165, lambda: db.command("create", "d20", viewOn="d19", pipeline=[]))
    refused(165, lambda: db.command("collMod", "b", viewOn="d19", pipeline=[]))


def test_a_view_has_its_own_collation(numbers):
    numbers.create_collection("folded", viewOn="a", pipeline=[], collation={"locale": "en", "strength": 1})
    assert numbers.folded.count_documents({"s": "A"}) == 4
    assert numbers.folded.distinct("s", {"s": "A"}) == ["a"]
    refused(167, lambda: numbers.command("create", "on", viewOn="folded", pipeline=[]))
    refused(167, lambda: list(numbers.a.aggregate([{"$unionWith": "folded"}])))


def test_nothing_dead_is_seen_through_a_view(mongo, db):
    mongo.align()
    db.create_collection("v", viewOn="a", pipeline=[{"$match": {"x": 1}}])
    db.a.create_index("_ts", expireAfterSeconds=100)
    db.a.insert_many([{"_id": 1, "x": 1}, {"_id": 2, "x": 1, "ttl": 10}, {"_id": 3, "x": 1}])
    cursor = db.v.find(batch_size=1)
    assert next(cursor)["_id"] == 1
    mongo.advance("10s")
    assert ids(cursor) == [3]
    assert ids(db.v.find()) == [1, 3]
    assert db.v.count_documents({}) == db.v.estimated_document_count() == 2
    assert db.v.distinct("_id") == [1, 3]
    union = db.b.aggregate([{"$unionWith": "v"}])
    assert ids(union) == [1, 3]
    mongo.advance("90s")
    assert ids(db.v.find()) == []


def test_views_outlive_a_restart():
    with running("--mongo-port", "0") as server:
        with pymongo.MongoClient(server.mongo_url()) as client:
            client.d.a.insert_many([{"_id": n} for n in range(3)])
            client.d.create_collection("v", viewOn="a", pipeline=[{"$match": {"_id": {"$gt": 0}}}])
            client.d.create_collection("c", capped=True, size=4096, max=2)
            client.d.c.insert_many([{"_id": n} for n in range(5)])
        server.stop()
        server.start()
        with pymongo.MongoClient(server.mongo_url()) as client:
            assert ids(client.d.v.find()) == [1, 2]
            client.d.c.insert_one({"_id": 9})
            assert ids(client.d.c.find()) == [4, 9]


# Validators


def invalid(write):
    """Holds a write to the validator's refusal, and gives its reason."""
    details = failure(write)
    assert details["code"] == 121, details
    assert details["errmsg"] == "Document failed validation"
    return details["errInfo"]


def test_documents_are_held_to_a_validator(db):
    db.create_collection("t", validator={"a": {"$gt": 5}})
    assert options_of(db, "t") == {"validator": {"a": {"$gt": 5}}}
    db.t.insert_one({"_id": 1, "a": 6})
    assert invalid(lambda: db.t.insert_one({"_id": 2, "a": 3})) == {
        "failingDocumentId": 2,
        "details": {
            "operatorName": "$gt", "specifiedAs": {"a": {"$gt": 5}}, "reason": "comparison failed", "consideredValue": 3,
        },
    }
    for write in (
        lambda: db.t.update_one({"_id": 1}, {"$set": {"a": 1}}),
        lambda: db.t.replace_one({"_id": 1}, {}),
        lambda: db.t.update_one({"_id": 9}, {"$set": {"a": 1}}, upsert=True),
        lambda: db.t.find_one_and_update({"_id": 1}, {"$unset": {"a": 1}}),
    ):
        invalid(write)
    db.b.insert_one({"_id": 7, "a": 0})
    invalid(lambda: list(db.b.aggregate([{"$merge": "t"}])))
    invalid(lambda: list(db.b.aggregate([{"$out": "t"}])))
    assert list(db.t.find()) == [{"_id": 1, "a": 6}]
    with pytest.raises(BulkWriteError) as caught:
        db.t.insert_many([{"_id": 3, "a": 9}, {"_id": 4}, {"_id": 5, "a": 9}], ordered=False)
    assert [e["index"] for e in caught.value.details["writeErrors"]] == [1]
    assert ids(db.t.find()) == [1, 3, 5]


def test_a_validator_may_be_bypassed_moderate_off_or_only_warn(db):
    db.create_collection("t", validator={"a": 1})
    db.t.insert_one({"_id": 1, "a": 2}, bypass_document_validation=True)
    db.t.update_one({"_id": 1}, {"$set": {"b": 1}}, bypass_document_validation=True)
    db.t.find_one_and_update({"_id": 1}, {"$set": {"b": 2}}, bypassDocumentValidation=True)
    db.b.insert_one({"_id": 2, "a": 3})
    db.b.aggregate([{"$merge": "t"}], bypassDocumentValidation=True)
    assert db.t.count_documents({}) == 2
    invalid(lambda: db.t.update_one({"_id": 1}, {"$set": {"b": 3}}))
    db.command("collMod", "t", validationLevel="moderate")
    db.t.update_one({"_id": 1}, {"$set": {"b": 3}})
    invalid(lambda: db.t.insert_one({"_id": 3}))
    db.t.insert_one({"_id": 4, "a": 1})
    invalid(lambda: db.t.update_one({"_id": 4}, {"$set": {"a": 2}}))
    db.command("collMod", "t", validationAction="warn")
    db.t.insert_one({"_id": 5})
    db.command("collMod", "t", validationAction="error", validationLevel="off")
    db.t.insert_one({"_id": 6})
    db.command("collMod", "t", validator={"a": 9}, validationLevel="strict")
    invalid(lambda: db.t.update_one({"_id": 1}, {"$set": {"b": 4}}))
    db.command("collMod", "t", validator={})
    db.t.insert_one({"_id": 7})
    assert options_of(db, "t") == {"validationLevel": "strict", "validationAction": "error"}
    refused(2, lambda: db.command("collMod", "t", validationLevel="some"))
    refused(2, lambda: db.command("collMod", "t", validator={"$foo": 1}))
    refused(5626500, lambda: db.command("create", "u", validator={"a": {"$near": [0, 0]}}))
    refused(9, lambda: db.command("create", "u", validator={"$jsonSchema": {"foo": 1}}))
    refused(14, lambda: db.command("create", "u", validator=1))


def leaf(operator, argument, reason, **more):
    return {"operatorName": operator, "specifiedAs": {"a": {operator: argument}}, "reason": reason, **more}


def rule(name, argument, reason, **more):
    return {"operatorName": name, "specifiedAs": {name: argument}, "reason": reason, **more}


def of_a(*rules):
    return [{"operatorName": "properties", "propertiesNotSatisfied": [{"propertyName": "a", "details": list(rules)}]}]


NO_MATCH = "type did not match"
FILTERS = [
    ({"a": {"$gt": 5}}, {}, leaf("$gt", 5, "field was missing")),
    ({"a": {"$gt": 5}}, {"a": [1, 2]}, leaf("$gt", 5, "comparison failed", consideredValues=[1, 2])),
    ({"a": {"$ne": 5}}, {"a": 5}, leaf("$ne", 5, "comparison succeeded", consideredValue=5)),
    ({"a": {"$in": [1, 2]}}, {"a": 5}, leaf("$in", [1, 2], "no matching value found in array", consideredValue=5)),
    ({"a": {"$nin": [1]}}, {"a": 1}, leaf("$nin", [1], "matching value found in array", consideredValue=1)),
    ({"a": {"$exists": True}}, {}, leaf("$exists", True, "path does not exist")),
    ({"a": {"$type": "string"}}, {"a": 1}, leaf("$type", "string", NO_MATCH, consideredValue=1, consideredType="int")),
    ({"a": {"$size": 2}}, {"a": [1]}, leaf("$size", 2, "array length was not equal to given size", consideredValue=[1])),
    (
        {"a": {"$size": 2}}, {"a": 1},
        leaf("$size", 2, NO_MATCH, consideredType="int", expectedType="array", consideredValue=1),
    ),
    (
        {"a": {"$mod": [2, 0]}}, {"a": 1},
        leaf("$mod", [2, 0], "$mod did not evaluate to expected remainder", consideredValue=1),
    ),
    (
        {"a": {"$not": {"$gt": 5}}}, {"a": 7},
        {"operatorName": "$not", "details": leaf("$gt", 5, "comparison succeeded", consideredValue=7)},
    ),
    (
        {"$expr": {"$gt": ["$a", "$b"]}}, {"a": 1, "b": 2},
        {
            "operatorName": "$expr", "specifiedAs": {"$expr": {"$gt": ["$a", "$b"]}}, "reason": "expression did not match",
            "expressionResult": False,
        },
    ),
    (
        {"a": {"$gt": 5, "$lt": 10}, "b": "x"}, {"a": 3, "b": "y"},
        {
            "operatorName": "$and",
            "clausesNotSatisfied": [
                {"index": 0, "details": leaf("$gt", 5, "comparison failed", consideredValue=3)},
                {
                    "index": 2,
                    "details": {
                        "operatorName": "$eq", "specifiedAs": {"b": "x"}, "reason": "comparison failed", "consideredValue": "y",
                    },
                },
            ],
        },
    ),
    (
        {"$nor": [{"a": {"$gt": 0}}, {"b": 2}]}, {"a": 1},
        {
            "operatorName": "$nor",
            "clausesSatisfied": [{"index": 0, "details": leaf("$gt", 0, "comparison succeeded", consideredValue=1)}],
        },
    ),
]
INT_WANTED = rule("bsonType", "int", NO_MATCH, consideredValue="x", consideredType="string")
SCHEMAS = [
    (
        {"required": ["a", "b"]}, {"a": 1},
        [{"operatorName": "required", "specifiedAs": {"required": ["a", "b"]}, "missingProperties": ["b"]}],
    ),
    ({"properties": {"a": {"bsonType": "int"}}}, {"a": "x"}, of_a(INT_WANTED)),
    (
        {"properties": {"a": {"enum": ["x", "y"]}}}, {"a": "z"},
        of_a(rule("enum", ["x", "y"], "value was not found in enum", consideredValue="z")),
    ),
    (
        {"properties": {"a": {"minLength": 3, "pattern": "^z"}}}, {"a": "a"},
        of_a(
            rule("pattern", "^z", "regular expression did not match", consideredValue="a"),
            rule("minLength", 3, "specified string length was not satisfied", consideredValue="a"),
        ),
    ),
    (
        {"properties": {"a": {"minItems": 2, "items": {"bsonType": "int"}}}}, {"a": ["x"]},
        of_a(
            rule("minItems", 2, "array did not match specified length", consideredValue=["x"], numberOfItems=1),
            {
                "operatorName": "items", "reason": "At least one item did not match the sub-schema", "itemIndex": 0,
                "details": [INT_WANTED],
            },
        ),
    ),
    (
        {"properties": {"_id": {}, "a": {}}, "additionalProperties": False}, {"b": 1, "c": 2},
        [
            {
                "operatorName": "additionalProperties", "specifiedAs": {"additionalProperties": False},
                "additionalProperties": ["b", "c"],
            }
        ],
    ),
    (
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1},
        [{"operatorName": "oneOf", "reason": "more than one subschema matched", "matchingSchemaIndexes": [0, 1]}],
    ),
    (
        {"dependencies": {"a": ["b"]}}, {"a": 1},
        [{"operatorName": "dependencies", "failingDependencies": [{"conditionalProperty": "a", "missingProperties": ["b"]}]}],
    ),
    ({"not": {"required": ["a"]}}, {"a": 1}, [{"operatorName": "not", "reason": "child expression matched"}]),
    (
        {"properties": {"a": {"minimum": 3, "exclusiveMinimum": True}}}, {"a": 3},
        of_a(
            {
                "operatorName": "minimum", "specifiedAs": {"minimum": 3, "exclusiveMinimum": True},
                "reason": "comparison failed", "consideredValue": 3,
            }
        ),
    ),
]
CASES = FILTERS + [
    ({"$jsonSchema": schema}, document, {"operatorName": "$jsonSchema", "schemaRulesNotSatisfied": rules})
    for schema, document, rules in SCHEMAS
]


@pytest.mark.parametrize("validator, document, details", CASES, ids=[str(n) for n in range(len(CASES))])
def test_a_failed_validation_says_why(db, validator, document, details):
    db.create_collection("t", validator=validator)
    told = invalid(lambda: db.t.insert_one({"_id": 1, **document}))
    assert told == {"failingDocumentId": 1, "details": details}


def test_the_nosql_door_is_held_to_the_validator(mongo, db):
    db.create_collection("t", validator={"$jsonSchema": {"required": ["a"]}})
    cosmos = CosmosClient(mongo.url(), KEY)
    container = cosmos.get_database_client(db.name).get_container_client("t")
    container.create_item({"id": "x", "_id": "x", "a": 1})
    for write in (
        lambda: container.create_item({"id": "y", "_id": "y"}),
        lambda: container.upsert_item({"id": "x", "_id": "x"}),
        lambda: container.patch_item("x", "x", [{"op": "remove", "path": "/a"}]),
    ):
        with pytest.raises(CosmosHttpResponseError) as caught:
            write()
        assert caught.value.status_code == 400
        assert "Document failed validation" in caught.value.message and "missingProperties" in caught.value.message
    assert list(db.t.find()) == [{"_id": "x", "a": 1}]


def test_the_dead_trip_no_validator(mongo, db):
    mongo.align()
    db.create_collection("t", validator={"a": 1}, validationLevel="moderate")
    db.t.create_index("_ts", expireAfterSeconds=10)
    db.t.insert_one({"_id": 1, "a": 2}, bypass_document_validation=True)
    mongo.advance("10s")
    # What stood there is gone: a new document of the same id is a new document, and is no excuse for it.
    invalid(lambda: db.t.update_one({"_id": 1}, {"$set": {"a": 3}}, upsert=True))
    assert db.t.update_many({}, {"$set": {"b": 1}}).matched_count == 0
    db.t.insert_one({"_id": 1, "a": 1})


# Capped collections


def test_a_capped_collection_keeps_the_newest(db):
    db.create_collection("t", capped=True, size=4096, max=3)
    assert options_of(db, "t") == {"capped": True, "size": 4096, "max": 3}
    db.t.insert_many([{"_id": n} for n in range(5)])
    assert ids(db.t.find()) == [2, 3, 4]
    assert ids(db.t.find(sort=[("$natural", -1)])) == [4, 3, 2]
    db.t.insert_one({"_id": 9})
    assert ids(db.t.find()) == [3, 4, 9]
    stats = db.command("collStats", "t")
    assert (stats["capped"], stats["max"], stats["maxSize"], stats["count"]) == (True, 3, 4096, 3)
    db.t.update_one({"_id": 4}, {"$set": {"x": "y" * 100}})
    assert ids(db.t.find()) == [3, 4, 9]
    assert db.t.delete_one({"_id": 3}).deleted_count == 1
    db.t.insert_one({"_id": 10})
    assert ids(db.t.find()) == [4, 9, 10]
    db.t.update_one({"_id": 11}, {"$set": {"a": 1}}, upsert=True)
    assert ids(db.t.find()) == [9, 10, 11]
    db.command("collMod", "t", cappedMax=2)
    db.t.insert_one({"_id": 12})
    assert ids(db.t.find()) == [11, 12]


def test_a_capped_collection_is_bound_by_its_bytes(db):
    db.create_collection("s", capped=True, size=1000)
    assert options_of(db, "s")["size"] == 1024
    db.s.insert_many([{"_id": n, "p": "x" * 80} for n in range(20)])
    assert ids(db.s.find()) == list(range(10, 20))
    db.s.insert_one({"_id": 99, "p": "z" * 2000})
    assert ids(db.s.find()) == [99]
    db.command("collMod", "s", cappedSize=10000)
    db.s.insert_one({"_id": 100})
    assert ids(db.s.find()) == [99, 100]


def test_a_collection_can_be_capped_later(db):
    db.q.insert_many([{"_id": n, "p": "x" * 80} for n in range(20)])
    db.q.create_index("p")
    db.command("convertToCapped", "q", size=1000)
    assert ids(db.q.find()) == list(range(10, 20))
    assert options_of(db, "q") == {"capped": True, "size": 1024}
    assert list(db.q.index_information()) == ["_id_"]
    db.q.insert_one({"_id": 20, "p": "x" * 80})
    assert ids(db.q.find()) == list(range(11, 21))
    refused(51024, lambda: db.command("convertToCapped", "q", size=-1))
    refused(26, lambda: db.command("convertToCapped", "nothing", size=1000))


def test_options_of_capped_collections_are_checked(db):
    refused(72, lambda: db.command("create", "t", capped=True))
    refused(72, lambda: db.command("create", "t", size=100))
    refused(72, lambda: db.command("create", "t", capped=False, max=1))
    for size in (0, -5, 1 << 51):
        refused(51024, lambda size=size: db.command("create", "t", capped=True, size=size))
    refused(14, lambda: db.command("create", "t", capped=True, size="x"))
    db.create_collection("t", capped=True, size=1)
    assert options_of(db, "t") == {"capped": True, "size": 256}
    refused(67, lambda: db.t.create_index("a", expireAfterSeconds=5))
    refused(67, lambda: db.t.create_index("_ts", expireAfterSeconds=5))
    db.t.create_index("a")
    refused(72, lambda: db.command("collMod", "t", index={"name": "a_1", "expireAfterSeconds": 5}))
    db.plain.insert_one({})
    refused(72, lambda: db.command("collMod", "plain", cappedSize=100))
    refused(17152, lambda: list(db.plain.aggregate([{"$out": "t"}])))
    with db.client.start_session() as session:
        with pytest.raises(OperationFailure) as caught, session.start_transaction():
            db.t.insert_one({}, session=session)
    assert caught.value.code == 263


def test_many_writers_leave_no_more_than_fits(db):
    db.create_collection("t", capped=True, size=1 << 20, max=7)

    def write(writer):
        for n in range(20):
            db.t.insert_one({"_id": f"{writer}-{n}"})
            assert db.t.count_documents({}) <= 7

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    assert db.t.count_documents({}) == len(list(db.t.find())) == 7


def test_the_dead_take_no_room_in_a_capped_collection(mongo, db):
    mongo.align()
    db.create_collection("t", capped=True, size=4096, max=3)
    container = CosmosClient(mongo.url(), KEY).get_database_client(db.name).get_container_client("t")
    properties = container.read()
    CosmosClient(mongo.url(), KEY).get_database_client(db.name).replace_container(
        container, properties["partitionKey"], default_ttl=-1, indexing_policy=properties["indexingPolicy"]
    )
    db.t.insert_many([{"_id": 1}, {"_id": 2, "ttl": 10}, {"_id": 3}])
    mongo.advance("10s")
    db.t.insert_one({"_id": 4})
    assert ids(db.t.find()) == [1, 3, 4]
    container.create_item({"id": "5", "_id": "5"})
    assert ids(db.t.find()) == [3, 4, "5"]


def test_a_tailable_cursor_goes_on_where_it_ended(db):
    db.create_collection("t", capped=True, size=10000)
    assert db.command("find", "t", tailable=True)["cursor"] == {"firstBatch": [], "id": 0, "ns": f"{db.name}.t"}
    db.t.insert_many([{"_id": n} for n in range(3)])
    assert db.command("find", "t", filter={"_id": 77}, tailable=True)["cursor"]["id"] != 0
    cursor = db.t.find(cursor_type=CursorType.TAILABLE)
    assert ids(cursor) == [0, 1, 2]
    assert cursor.alive and ids(cursor) == []
    db.t.insert_many([{"_id": 3}, {"_id": 4}])
    assert ids(cursor) == [3, 4] and cursor.alive
    assert list(db.plain.find(cursor_type=CursorType.TAILABLE)) == []
    refused(9, lambda: db.command("find", "t", awaitData=True))
    db.plain.insert_one({})
    refused(2, lambda: db.command("find", "plain", tailable=True))
    refused(2, lambda: db.command("find", "t", tailable=True, sort={"a": 1}))
    refused(2, lambda: db.command("find", "t", tailable=True, sort={"$natural": -1}))
    refused(2, lambda: db.command("getMore", Int64(cursor.cursor_id), collection="t", maxTimeMS=100))
    db.t.drop()
    # The driver takes the end of a tailed collection for the end of the cursor.
    assert ids(cursor) == [] and not cursor.alive
    with db.client.start_session() as session:
        db.create_collection("t", capped=True, size=10000, session=session)
        db.t.insert_one({"_id": 0}, session=session)
        found = db.command("find", "t", tailable=True, session=session)["cursor"]["id"]
        db.t.drop(session=session)
        refused(175, lambda: db.command("getMore", Int64(found), collection="t", session=session))


def test_a_cursor_that_awaits_is_woken_by_an_insert(db):
    db.create_collection("t", capped=True, size=10000)
    db.t.insert_one({"_id": 0})
    # A cursor belongs to the session that opened it, and two commands of a pool may come in two.
    with db.client.start_session() as session:
        found = db.command("find", "t", tailable=True, awaitData=True, session=session)["cursor"]
        more = {"getMore": Int64(found["id"]), "collection": "t", "maxTimeMS": 20_000}
        writer = threading.Timer(0.2, lambda: db.t.insert_one({"_id": 1}))
        writer.start()
        # The batch comes with the insert, long before its time is over.
        assert db.command(more, session=session)["cursor"]["nextBatch"] == [{"_id": 1}]
        writer.join()
        assert db.command({**more, "maxTimeMS": 1}, session=session)["cursor"]["nextBatch"] == []


# Clustered collections


def test_a_clustered_collection_is_listed_as_such(db):
    db.create_collection("c", clusteredIndex={"key": {"_id": 1}, "unique": True})
    assert options_of(db, "c") == {"clusteredIndex": {"v": 2, "key": {"_id": 1}, "name": "_id_", "unique": True}}
    assert list(db.c.list_indexes()) == [{"v": 2, "key": {"_id": 1}, "name": "_id_", "unique": True, "clustered": True}]
    refused(197, lambda: db.command("create", "d", clusteredIndex={"key": {"a": 1}, "unique": True}))
    refused(5979700, lambda: db.command("create", "d", clusteredIndex={"key": {"_id": 1}, "unique": False}))


# Further commands


def test_small_commands_answer_and_refuse_by_name(client, db):
    db.a.insert_many([{"_id": n} for n in range(3)])
    db.a.create_index("x")
    admin = client.admin
    assert db.command("compact", "a")["bytesFreed"] == 0
    refused(26, lambda: db.command("compact", "nothing"))
    reindexed = db.command("reIndex", "a")
    assert (reindexed["nIndexesWas"], [i["name"] for i in reindexed["indexes"]]) == (2, ["_id_", "x_1"])
    assert "oidMachine" in db.command("features")
    assert admin.command("killOp", 1, op=7)["info"] == "attempting to kill op"
    refused(13, lambda: db.command("killOp", 1, op=7))
    refused(4, lambda: admin.command("killOp", 1))
    refused(14, lambda: admin.command("killOp", 1, op="x"))
    assert db.command("planCacheClear", "a")["ok"] == db.command("planCacheClearFilters", "a")["ok"] == 1
    assert db.command("planCacheListFilters", "a")["filters"] == []
    refused(115, lambda: db.command("planCacheSetFilter", "a", query={}, indexes=["x_1"]))
    refused(115, lambda: db.command("mapReduce", "a", map="x", reduce="y", out={"inline": 1}))
    refused(59, lambda: admin.command("bulkWrite", 1, ops=[], nsInfo=[]))
    refused(59, lambda: db.command("eval", "1"))
    assert admin.command("enableSharding", db.name)["ok"] == 1
    made = admin.command("shardCollection", f"{db.name}.sharded", key={"user": "hashed"})
    assert made["collectionsharded"] == f"{db.name}.sharded" and "sharded" in db.list_collection_names()
    refused(2, lambda: admin.command("shardCollection", f"{db.name}.b", key={"user": 5}))


def test_what_would_change_the_answer_is_never_ignored(client, db):
    db.a.insert_one({"_id": 1})
    admin = client.admin
    for code, call in (
        (115, lambda: admin.command("fsync", 1, lock=True)),
        (13, lambda: db.command("fsync", 1)),
        (13, lambda: db.command("currentOp", 1)),
        (115, lambda: admin.command("setDefaultRWConcern", 1, defaultReadConcern={"level": "majority"})),
        (2, lambda: db.command("dbStats", 1, scale=0)),
        (5255100, lambda: db.command("dropDatabase", 2)),
        (72, lambda: db.command("validate", "a", full=True, background=True)),
        (115, lambda: db.command("validate", "a", repair=True)),
        (40415, lambda: db.command("aggregate", "a", pipeline=[], cursor={}, exchange={"policy": "x"})),
        (278, lambda: db.command("createIndexes", "a", indexes=[{"key": {"z": 1}, "name": "z"}], commitQuorum=5)),
        (40415, lambda: db.command("hostInfo", 1, foo=1)),
        (40415, lambda: db.command("endSessions", [], foo=1)),
        (14, lambda: db.command("endSessions", 1)),
        (73, lambda: db.command("create", "system.foo")),
        (73, lambda: db["system.foo"].insert_one({})),
        (73, lambda: db.command("aggregate", 1, pipeline=[{"$currentOp": {}}], cursor={})),
        (4890500, lambda: list(db.a.aggregate([], let={"v": "$a"}))),
    ):
        refused(code, call)
    assert db.a.count_documents({}) == 1
    computed = db.a.aggregate([{"$project": {"x": "$$w"}}], let={"v": {"$add": [1, 2]}, "w": "$$v"})
    assert list(computed) == [{"_id": 1, "x": 3}]
    assert len(list(client.admin.aggregate([{"$currentOp": {}}]))) == 1


def test_a_view_is_explained_by_what_is_under_it(numbers):
    numbers.a.create_index("x")
    explained = numbers.command("explain", {"find": "v", "filter": {"s": "a"}}, verbosity="executionStats")
    assert explained["queryPlanner"]["namespace"] == f"{numbers.name}.a"
    assert explained["executionStats"]["nReturned"] == 2
    assert explained["executionStats"]["totalDocsExamined"] == 5


def test_sessions_that_end_take_their_cursors_and_transactions(client, db):
    db.a.insert_many([{"_id": n} for n in range(10)])
    for ending in ("endSessions", "killSessions", "killAllSessions"):
        with client.start_session() as session:
            other = db.a.find(batch_size=2)
            next(other)
            cursor = db.a.find(batch_size=2, session=session)
            next(cursor)
            client.admin.command(ending, [] if ending == "killAllSessions" else [session.session_id])
            with pytest.raises(OperationFailure) as caught:
                list(cursor)
            assert caught.value.code == 43
            if ending != "killAllSessions":
                assert len(list(other)) == 9
            session.start_transaction()
            db.a.update_one({"_id": 1}, {"$set": {ending: 1}}, session=session)
            client.admin.command(ending, [] if ending == "killAllSessions" else [session.session_id])
            with pytest.raises(OperationFailure) as caught:
                session.commit_transaction()
            assert caught.value.code == 251
        db.a.update_one({"_id": 1}, {"$set": {"free": ending}})
    assert db.a.find_one({"_id": 1}) == {"_id": 1, "free": "killAllSessions"}


def test_throughput_is_asked_for_as_at_cosmos_and_is_the_other_doors(mongo, client):
    db = client[fresh("db")]
    db.command({"customAction": "CreateDatabase", "offerThroughput": 1000})
    told = db.command({"customAction": "GetDatabase"})
    assert (told["database"], told["provisionedThroughput"]) == (db.name, 1000)
    db.command({"customAction": "UpdateDatabase", "autoScaleSettings": {"maxThroughput": 4000}})
    assert db.command({"customAction": "GetDatabase"})["autoScaleSettings"] == {"maxThroughput": 4000}
    index = {"key": {"a": 1}, "name": "a_1"}
    db.command({"customAction": "CreateCollection", "collection": "c", "offerThroughput": 500, "shardKey": "a", "indexes": [index]})
    told = db.command({"customAction": "GetCollection", "collection": "c"})
    assert (told["collection"], told["provisionedThroughput"]) == ("c", 500)
    assert list(db.c.index_information()) == ["_id_", "a_1"]
    container = CosmosClient(mongo.url(), KEY).get_database_client(db.name).get_container_client("c")
    assert container.get_throughput().offer_throughput == 500
    container.replace_throughput(800)
    assert db.command({"customAction": "GetCollection", "collection": "c"})["provisionedThroughput"] == 800
    db.command({"customAction": "UpdateCollection", "collection": "c", "offerThroughput": 600})
    assert container.get_throughput().offer_throughput == 600
    refused(48, lambda: db.command({"customAction": "CreateCollection", "collection": "c"}))
    refused(26, lambda: db.command({"customAction": "GetCollection", "collection": "nothing"}))
    refused(2, lambda: db.command({"customAction": "UpdateCollection", "collection": "c", "offerThroughput": 7}))
    refused(59, lambda: db.command({"customAction": "Dance"}))
    client.drop_database(db.name)


def test_a_collection_that_nobody_asked_throughput_for_has_the_standard_offer(mongo, client):
    db = client[fresh("db")]
    db.c.insert_one({"_id": 1})
    assert "provisionedThroughput" not in db.command({"customAction": "GetDatabase"})
    assert db.command({"customAction": "GetCollection", "collection": "c"})["provisionedThroughput"] == 400
    container = CosmosClient(mongo.url(), KEY).get_database_client(db.name).get_container_client("c")
    offer = container.get_throughput().properties
    assert offer["content"]["offerThroughput"] == 400
    db.command({"customAction": "UpdateCollection", "collection": "c", "offerThroughput": 600})
    replaced = container.get_throughput().properties
    assert (replaced["_rid"], replaced["content"]["offerThroughput"]) == (offer["_rid"], 600)
    client.drop_database(db.name)


def test_an_unordered_insert_names_each_document_that_was_throttled(client):
    db = client[fresh("d")]
    db.command({"customAction": "CreateCollection", "collection": "c", "offerThroughput": 400})
    count = 6_000
    reply = db.command({"insert": "c", "ordered": False, "documents": [{"_id": n} for n in range(count)]})
    failed = [error["index"] for error in reply.get("writeErrors", [])]
    assert reply["n"] + len(failed) == count
    assert len(set(failed)) == len(failed)
    assert failed, "nothing was throttled"
