"""Mongo queries and indexes: what is read, in which order, and that no index changes an answer."""

import pytest
from bson import SON, Decimal128, Int64
from pymongo.errors import DuplicateKeyError, OperationFailure

from mongo_door import client, collection, db, mongo  # noqa: F401



def explain(collection, command, verbosity="executionStats"):
    return collection.database.command({"explain": SON(command), "verbosity": verbosity})


def stages(plan):
    """The stages of a plan by name, outermost first."""
    found = {}
    open_ = [plan]
    while open_:
        stage = open_.pop(0)
        found[stage["stage"]] = stage
        open_ += [stage["inputStage"]] if "inputStage" in stage else stage.get("inputStages", [])
    return found


def find_plan(collection, **find):
    reply = explain(collection, [("find", collection.name), *find.items()])
    return stages(reply["queryPlanner"]["winningPlan"]), reply["executionStats"]


def test_a_sort_with_a_limit_reads_only_what_it_needs(collection):
    collection.insert_many([{"_id": n, "a": n % 10, "b": n} for n in range(1000)])
    collection.create_index([("a", 1), ("b", 1)])
    plan, took = find_plan(collection, filter={"a": 3}, sort={"b": -1}, limit=5)
    assert "SORT" not in plan and plan["IXSCAN"]["direction"] == "backward"
    assert plan["IXSCAN"]["indexBounds"] == {"a": ["[3, 3]"], "b": ["[MaxKey, MinKey]"]}
    assert (took["totalKeysExamined"], took["totalDocsExamined"], took["nReturned"]) == (5, 5, 5)
    found = collection.find({"a": 3}).sort("b", -1).limit(5)
    assert [d["b"] for d in found] == [993, 983, 973, 963, 953]
    plan, took = find_plan(collection, sort={"a": 1, "b": 1}, limit=7)
    assert "SORT" not in plan and took["totalDocsExamined"] == 7
    plan, took = find_plan(collection, sort={"a": 1, "b": -1}, limit=7)
    assert "SORT" in plan and took["totalDocsExamined"] == 1000


def test_ids_come_in_order_and_a_page_reads_its_own_documents(collection):
    collection.insert_many([{"_id": n} for n in reversed(range(500))])
    plan, took = find_plan(collection, filter={"_id": {"$gt": 100}}, sort={"_id": 1}, limit=10)
    assert plan["IXSCAN"]["indexName"] == "_id_" and "SORT" not in plan
    assert plan["IXSCAN"]["indexBounds"] == {"_id": ["(100, inf.0]"]}
    assert took["totalKeysExamined"] == 10
    found = collection.find({"_id": {"$gt": 100}}).sort("_id", 1).limit(10)
    assert [d["_id"] for d in found] == list(range(101, 111))
    assert [d["_id"] for d in collection.find().sort("_id", -1)] == list(reversed(range(500)))
    plan, took = find_plan(collection, filter={"_id": 7})
    assert set(plan) == {"IDHACK"} and took["totalKeysExamined"] == took["totalDocsExamined"] == 1


def test_several_values_are_merged_into_one_order(collection):
    collection.insert_many([{"a": n % 5, "b": n * 7 % 100} for n in range(100)])
    collection.create_index([("a", 1), ("b", 1)])
    query = {"filter": {"a": {"$in": [1, 3]}}, "sort": {"b": 1}, "limit": 4}
    plan, took = find_plan(collection, **query)
    assert "SORT_MERGE" in plan and "SORT" not in plan and took["totalDocsExamined"] == 4
    expected = sorted(n * 7 % 100 for n in range(100) if n % 5 in (1, 3))[:4]
    assert [d["b"] for d in collection.find(**query)] == expected


def test_arrays_are_sorted_by_all_their_elements_whatever_the_bounds(collection):
    collection.insert_many([{"_id": 1, "a": [1, 9]}, {"_id": 2, "a": 5}, {"_id": 3, "a": [7]}])
    collection.create_index("a")
    plan, _ = find_plan(collection, sort={"a": 1})
    assert "SORT" not in plan and plan["IXSCAN"]["isMultiKey"]
    assert plan["IXSCAN"]["multiKeyPaths"] == {"a": ["a"]}
    assert [d["_id"] for d in collection.find().sort("a", 1)] == [1, 2, 3]
    assert [d["_id"] for d in collection.find().sort("a", -1)] == [1, 3, 2]
    plan, _ = find_plan(collection, filter={"a": {"$gt": 4}}, sort={"a": 1})
    assert "SORT" in plan
    assert [d["_id"] for d in collection.find({"a": {"$gt": 4}}).sort("a", 1)] == [1, 2, 3]


def test_fields_below_one_array_are_not_bound_together(collection):
    collection.insert_one({"_id": 1, "a": [{"x": 1, "y": 5}, {"x": 3, "y": 2}]})
    collection.create_index([("a.x", 1), ("a.y", 1)])
    assert collection.count_documents({"a.x": 1, "a.y": 2}) == 1
    assert collection.count_documents({"a": {"$elemMatch": {"x": 1, "y": 2}}}) == 0


def test_a_partial_index_serves_what_implies_it(collection):
    collection.insert_many([{"_id": n, "a": n, "live": n % 2 == 0} for n in range(100)])
    collection.create_index("a", partialFilterExpression={"live": True}, name="part")
    plan, took = find_plan(collection, filter={"a": {"$gte": 90}, "live": True})
    assert plan["IXSCAN"]["indexName"] == "part" and plan["IXSCAN"]["isPartial"]
    assert took["totalKeysExamined"] == took["nReturned"] == 5
    plan, _ = find_plan(collection, filter={"a": {"$gte": 90}})
    assert "COLLSCAN" in plan
    assert collection.count_documents({"a": {"$gte": 90}}) == 10
    # A client that insists gets what the index holds.
    assert len(list(collection.find({"a": {"$gte": 90}}).hint("part"))) == 5


def test_a_sparse_index_serves_what_excludes_the_missing(collection):
    collection.insert_many([{"_id": n, **({"a": n} if n % 4 else {})} for n in range(20)])
    collection.create_index("a", sparse=True, name="sparse")
    for query in ({"a": {"$gt": 3}}, {"a": {"$exists": True}}, {"a": {"$ne": None}}):
        plan, _ = find_plan(collection, filter=query, sort={"a": -1})
        assert plan["IXSCAN"]["isSparse"] and "SORT" not in plan, query
    for query in ({}, {"a": None}, {"a": {"$exists": False}}):
        plan, _ = find_plan(collection, filter=query, sort={"a": 1})
        assert "COLLSCAN" in plan, query
    assert collection.count_documents({"a": None}) == 5
    assert len(list(collection.find().hint("sparse"))) == 15


INSENSITIVE = {"locale": "en", "strength": 2}


def test_a_collated_index_serves_its_collation_and_keeps_texts_unique(collection):
    collection.create_index("name", unique=True, collation=INSENSITIVE)
    collection.insert_many([{"_id": n, "name": name} for n, name in enumerate(["bob", "Alice", "CAROL", 5])])
    with pytest.raises(DuplicateKeyError) as caught:
        collection.insert_one({"name": "ALICE"})
    details = caught.value.details
    assert details["code"] == 11000 and details["keyPattern"] == {"name": 1}
    assert details["collation"]["strength"] == 2
    assert f'dup key: {{ name: "0x{details["keyValue"]["name"]}" }}' in details["errmsg"]
    query = {"filter": {"name": "aLiCe"}, "collation": INSENSITIVE}
    plan, took = find_plan(collection, **query)
    assert plan["IXSCAN"]["indexName"] == "name_1" and took["totalKeysExamined"] == 1
    assert [d["_id"] for d in collection.find({"name": "aLiCe"}, collation=INSENSITIVE)] == [1]
    plan, _ = find_plan(collection, sort={"name": 1}, collation=INSENSITIVE)
    assert "SORT" not in plan
    names = [d["name"] for d in collection.find(collation=INSENSITIVE).sort("name", 1)]
    assert names == [5, "Alice", "bob", "CAROL"]
    # By bytes it says nothing of texts, but numbers are numbers.
    assert "COLLSCAN" in find_plan(collection, filter={"name": "bob"})[0]
    assert "IXSCAN" in find_plan(collection, filter={"name": 5})[0]
    assert collection.index_information()["name_1"]["collation"]["strength"] == 2


def document(hint):
    return hint if isinstance(hint, str) else SON(hint)


def test_hints_are_followed_or_refused_everywhere(collection):
    collection.insert_many([{"_id": n, "a": -n, "b": n} for n in range(5)])
    collection.create_index("a", name="by_a")
    assert [d["_id"] for d in collection.find().hint("by_a")] == [4, 3, 2, 1, 0]
    assert [d["_id"] for d in collection.find().hint([("a", 1)])] == [4, 3, 2, 1, 0]
    assert [d["_id"] for d in collection.find().hint([("$natural", -1)])] == [4, 3, 2, 1, 0]
    assert [d["_id"] for d in collection.find().hint([("$natural", 1)])] == [0, 1, 2, 3, 4]
    assert [d["_id"] for d in collection.find().sort("$natural", -1).limit(2)] == [4, 3]
    assert collection.update_one({"b": {"$gt": 0}}, {"$set": {"hit": 1}}, hint="by_a").modified_count == 1
    assert collection.find_one({"hit": 1})["_id"] == 4
    for ask in (
        lambda hint: list(collection.find().hint(hint)),
        lambda hint: collection.count_documents({}, hint=hint),
        lambda hint: collection.database.command("count", "c", query={"a": 1}, hint=document(hint)),
        lambda hint: list(collection.aggregate([{"$match": {"a": 1}}], hint=document(hint))),
        lambda hint: list(collection.aggregate([], hint=document(hint))),
        lambda hint: collection.update_one({"a": 1}, {"$set": {"z": 1}}, hint=hint),
        lambda hint: collection.delete_one({"a": 1}, hint=hint),
        lambda hint: collection.find_one_and_update({"a": 1}, {"$set": {"z": 1}}, hint=hint),
    ):
        for hint in ("nothing", [("nothing", 1)]):
            with pytest.raises(OperationFailure) as caught:
                ask(hint)
            assert caught.value.code == 2
            assert "hint provided does not correspond to an existing index" in str(caught.value)


def test_min_and_max_are_edges_of_the_hinted_index(collection):
    collection.insert_many([{"_id": n, "a": n % 3, "b": n} for n in range(10)])
    collection.create_index([("a", 1), ("b", -1)])
    key = [("a", 1), ("b", -1)]
    found = collection.find().min([("a", 1), ("b", 4)]).max([("a", 2), ("b", 5)]).hint(key)
    assert [d["_id"] for d in found] == [4, 1, 8]
    for min_, max_, code in (
        ([("a", 1)], None, 51174),
        ([("b", 1), ("a", 1)], None, 51174),
        ([("a", 2), ("b", 1)], [("a", 1), ("b", 1)], 51175),
        ([("a", 2), ("b", 1)], [("a", 1)], 51176),
    ):
        cursor = collection.find().min(min_).hint(key)
        with pytest.raises(OperationFailure) as caught:
            list(cursor.max(max_) if max_ else cursor)
        assert caught.value.code == code
    with pytest.raises(OperationFailure) as caught:
        collection.database.command("find", "c", min={"a": 1, "b": 1})
    assert caught.value.code == 51173


def test_keys_and_record_ids_are_shown_when_asked_for(collection):
    collection.insert_many([{"_id": n, "a": n % 2, "t": [n, n + 1]} for n in range(4)])
    collection.create_index([("a", 1), ("t", -1)])
    assert list(collection.find({"a": 1}, return_key=True)) == [
        {"a": 1, "t": 4}, {"a": 1, "t": 2},
    ]
    assert list(collection.find({"_id": 2}, return_key=True)) == [{"_id": 2}]
    assert list(collection.find({"z": None}, return_key=True).limit(1)) == [{}]
    shown = list(collection.find({}, {"a": 1}, show_record_id=True))
    assert all(set(d) == {"_id", "a", "$recordId"} and isinstance(d["$recordId"], Int64) for d in shown)
    assert sorted(d["$recordId"] for d in shown) == [d["$recordId"] for d in shown]


def test_wildcard_and_hashed_indexes_serve_what_they_can(collection):
    collection.insert_many([{"_id": n, "p": {"x": n, "l": [n, {"y": n}]}, "h": n % 7} for n in range(50)])
    collection.create_index([("$**", 1)], name="wild")
    collection.create_index([("h", "hashed")])
    for query, name, n in (
        ({"p.x": 7}, "wild", 1),
        ({"p.x": {"$gte": 45}}, "wild", 5),
        ({"p.l.y": 3}, "wild", 1),
        ({"p.l": 3}, "wild", 1),
    ):
        plan, took = find_plan(collection, filter=query)
        assert plan["IXSCAN"]["indexName"] == name and took["totalKeysExamined"] == n, query
        assert collection.count_documents(query) == n
    collection.drop_index("wild")
    plan, took = find_plan(collection, filter={"h": 3})
    assert plan["IXSCAN"]["keyPattern"] == {"h": "hashed"} and took["nReturned"] == 7
    assert "COLLSCAN" in find_plan(collection, filter={"h": {"$gt": 3}})[0]
    with pytest.raises(OperationFailure) as caught:
        collection.insert_one({"h": [1]})
    assert caught.value.code == 16766


def test_counting_looks_at_no_document_where_the_index_knows(collection):
    collection.insert_many([{"a": n % 10, "b": str(n)} for n in range(200)])
    collection.create_index("a")
    reply = explain(collection, [("count", "c"), ("query", {"a": {"$gte": 7}})])
    assert "COUNT_SCAN" in stages(reply["queryPlanner"]["winningPlan"])
    took = reply["executionStats"]
    assert (took["totalKeysExamined"], took["totalDocsExamined"]) == (60, 0)
    assert collection.count_documents({"a": {"$gte": 7}}) == 60
    assert collection.database.command("count", "c", query={"a": 3}, skip=5, limit=7)["n"] == 7
    reply = explain(collection, [("count", "c"), ("query", {})])
    assert reply["queryPlanner"]["winningPlan"]["stage"] == "RECORD_STORE_FAST_COUNT"


def test_the_beginning_of_a_pipeline_is_planned_as_a_find_is(collection):
    collection.insert_many([{"a": n % 10, "b": n} for n in range(300)])
    collection.create_index([("a", 1), ("b", 1)])
    pipeline = [{"$sort": {"b": -1}}, {"$match": {"a": 4}}, {"$limit": 3}]
    assert [d["b"] for d in collection.aggregate(pipeline)] == [294, 284, 274]
    reply = explain(collection, [("aggregate", "c"), ("pipeline", pipeline), ("cursor", {})])
    plan = stages(reply["queryPlanner"]["winningPlan"])
    assert "SORT" not in plan and plan["IXSCAN"]["direction"] == "backward"
    assert reply["executionStats"]["totalDocsExamined"] == 3
    pipeline = [{"$match": {"a": 4}}, {"$group": {"_id": "$a", "n": {"$sum": 1}}}]
    reply = explain(collection, [("aggregate", "c"), ("pipeline", pipeline), ("cursor", {})])
    cursor = reply["stages"][0]["$cursor"]
    assert stages(cursor["queryPlanner"]["winningPlan"])["IXSCAN"]["indexName"] == "a_1_b_1"
    assert cursor["executionStats"]["totalDocsExamined"] == 30
    assert reply["stages"][1] == pipeline[1]


def test_writes_explain_what_they_would_touch(collection):
    collection.insert_many([{"a": n} for n in range(20)])
    collection.create_index("a")
    update = [("update", "c"), ("updates", [{"q": {"a": 5}, "u": {"$set": {"z": 1}}}])]
    reply = explain(collection, update)
    plan = stages(reply["queryPlanner"]["winningPlan"])
    assert "UPDATE" in plan and plan["IXSCAN"]["indexBounds"] == {"a": ["[5, 5]"]}
    assert reply["executionStats"]["executionStages"]["nMatched"] == 1
    assert collection.count_documents({"z": 1}) == 0
    reply = explain(collection, [("delete", "c"), ("deletes", [{"q": {"a": {"$lt": 5}}, "limit": 0}])])
    assert reply["executionStats"]["executionStages"]["nWouldDelete"] == 5
    assert collection.count_documents({}) == 20


def test_a_change_while_an_index_is_read_changes_every_document_once(collection):
    collection.insert_many([{"_id": n, "a": n} for n in range(2000)])
    collection.create_index("a")
    result = collection.update_many({"a": {"$gte": 0}}, {"$inc": {"a": 10_000}}, hint="a_1")
    assert result.modified_count == 2000
    assert {d["a"] - d["_id"] for d in collection.find()} == {10_000}


def test_equal_documents_come_as_they_were_made_in_either_direction(collection):
    collection.insert_many([{"_id": n, "a": n % 3} for n in range(600)])
    collection.create_index("a")
    for direction in (1, -1):
        plain = sorted(range(600), key=lambda n: (n % 3) * direction)
        for batch in (7, 101, 1000):
            found = collection.find(batch_size=batch).sort("a", direction)
            assert [d["_id"] for d in found] == plain, (direction, batch)


def test_the_dead_are_seen_through_no_index(collection, mongo):
    collection.create_index("_ts", expireAfterSeconds=10, name="life")
    collection.create_index("a")
    collection.create_index([("$**", 1)])
    collection.create_index([("h", "hashed")])
    collection.insert_many([{"_id": n, "a": n, "h": n} for n in range(5)])
    mongo.advance("5s")
    collection.insert_many([{"_id": n, "a": n, "h": n} for n in range(5, 10)])
    cursor = collection.find(batch_size=2).sort("a", -1)
    first = [next(cursor)["_id"], next(cursor)["_id"]]
    mongo.advance("6s")
    assert first + [d["_id"] for d in cursor] == [9, 8, 7, 6, 5]
    assert [d["_id"] for d in collection.find().sort("_id", 1)] == [5, 6, 7, 8, 9]
    assert [d["_id"] for d in collection.find().sort("$natural", -1)] == [9, 8, 7, 6, 5]
    for query in ({"a": 3}, {"h": 3}, {"_id": 3}, {"a": {"$lt": 4}}):
        assert list(collection.find(query)) == []
        assert collection.database.command("count", "c", query=query)["n"] == 0
        assert collection.distinct("_id", query) == []
    assert list(collection.find().min([("a", 0)]).hint("a_1"))[0]["_id"] == 5


def test_the_ttl_index_on_ts_keeps_its_name(collection):
    collection.create_index("_ts", expireAfterSeconds=100, name="life")
    assert set(collection.index_information()) == {"_id_", "life"}
    change = {"name": "life", "expireAfterSeconds": 50}
    reply = collection.database.command("collMod", "c", index=change)
    assert (reply["expireAfterSeconds_old"], reply["expireAfterSeconds_new"]) == (100, 50)
    assert collection.index_information()["life"]["expireAfterSeconds"] == 50
    collection.create_index("_ts", expireAfterSeconds=50, name="life")
    with pytest.raises(OperationFailure) as caught:
        collection.create_index("_ts", expireAfterSeconds=50, name="other")
    assert caught.value.code == 85
    with pytest.raises(OperationFailure) as caught:
        collection.drop_index("_ts_1")
    assert caught.value.code == 27
    collection.drop_index("life")
    assert set(collection.index_information()) == {"_id_"}
    collection.create_index("_ts", expireAfterSeconds=7)
    assert set(collection.index_information()) == {"_id_", "_ts_1"}


def test_directions_may_be_decimals_and_are_shown_as_they_were_given(collection):
    def create(name, *key, **options):
        index = {"key": SON((field, Decimal128(direction)) for field, direction in key), "name": name, **options}
        return collection.database.command("createIndexes", "c", indexes=[index])

    collection.create_index([("a", 1), ("b", -1)], name="i")
    again = create("i", ("a", "1.0"), ("b", "-1"))
    assert (again["numIndexesAfter"], again["note"]) == (2, "all indexes already exist")
    create("d", ("d", "-1.0"), unique=Decimal128("1"))
    assert collection.index_information()["d"]["key"] == [("d", Decimal128("-1.0"))]
    collection.insert_many([{"_id": 1, "d": 1}, {"_id": 2, "d": 3}, {"_id": 3, "d": 2}])
    assert [d["_id"] for d in collection.find().sort("d", 1).hint([("d", -1)])] == [1, 3, 2]
    with pytest.raises(DuplicateKeyError):
        collection.insert_one({"d": 3})
    collection.database.command("dropIndexes", "c", index={"d": -1})
    for none in ("0", "NaN"):
        with pytest.raises(OperationFailure) as refused:
            create("none", ("a", none))
        assert refused.value.code == 67
