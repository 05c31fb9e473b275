"""Time series at the MongoDB API; expected answers are those of a real mongod."""

import datetime

from mongo_door import aligned, client, db, ids, mongo, refused  # noqa: F401


def test_a_time_series_wants_a_date_and_expires_by_it(mongo, db):
    db.create_collection("w", timeseries={"timeField": "t", "metaField": "m"}, expireAfterSeconds=100)
    (listed,) = db.list_collections(filter={"name": "w"})
    assert listed["type"] == "timeseries"
    series = {"timeField": "t", "metaField": "m", "granularity": "seconds", "bucketMaxSpanSeconds": 3600}
    assert listed["options"] == {"expireAfterSeconds": 100, "timeseries": series}
    refused(2, db.w.insert_one, {"t": 1})
    now = aligned(mongo)
    db.w.insert_one({"_id": 1, "t": now})
    mongo.advance("99999ms")
    assert ids(db.w.find()) == [1]
    mongo.advance("1ms")
    assert ids(db.w.find()) == []
    refused(40414, lambda: db.command("create", "x", timeseries={"metaField": "m"}))
    refused(72, lambda: db.command("create", "x", timeseries={"timeField": "t", "metaField": "t"}))
    refused(72, lambda: db.command("create", "x", timeseries={"timeField": "t"}, capped=True, size=100))
    refused(72, lambda: db.command("create", "x", expireAfterSeconds=10))


def test_a_time_series_lists_the_indexes_that_were_made_on_it(mongo, db):
    db.create_collection("w", timeseries={"timeField": "t"}, expireAfterSeconds=100)
    assert list(db.w.list_indexes()) == []
    made = db.command("createIndexes", "w", indexes=[{"key": {"x": 1}, "name": "x_1"}])
    assert (made["numIndexesBefore"], made["numIndexesAfter"]) == (0, 1)
    assert list(db.w.list_indexes()) == [{"v": 2, "key": {"x": 1}, "name": "x_1"}]
    refused(27, lambda: db.w.drop_index("t_1"))
    db.w.drop_indexes()
    assert list(db.w.list_indexes()) == []
    # Its documents expire all the same.
    now = aligned(mongo)
    db.w.insert_one({"_id": 1, "t": now})
    mongo.advance("100s")
    assert ids(db.w.find()) == []


def test_a_time_series_holds_several_documents_with_one_id(mongo, client, db):
    db.create_collection("w", timeseries={"timeField": "t", "metaField": "m"}, expireAfterSeconds=100)
    now = aligned(mongo)
    later = now + datetime.timedelta(seconds=50)
    db.w.insert_many([{"_id": 1, "t": now, "m": n} for n in range(3)] + [{"_id": 2, "t": now, "m": 9}])
    db.w.insert_one({"_id": 1, "t": later, "m": 3})

    def metas(query):
        return sorted(found["m"] for found in db.w.find(query))

    for query in ({"_id": 1}, {"_id": {"$in": [1, 7]}}, {"_id": {"$lt": 2}}):
        assert metas(query) == [0, 1, 2, 3]
        assert db.w.count_documents(query) == 4
    assert [found["m"] for found in db.w.find({"_id": 1}, sort=[("_id", 1), ("m", -1)], batch_size=2)] == [3, 2, 1, 0]
    joined = db.w.aggregate([{"$match": {"m": 9}}, {"$lookup": {"from": "w", "pipeline": [{"$match": {"_id": 1}}], "as": "j"}}])
    assert sorted(found["m"] for found in next(joined)["j"]) == [0, 1, 2, 3]
    # Each is changed and deleted by itself.
    assert db.w.update_one({"_id": 1, "m": 2}, {"$set": {"x": 1}}).modified_count == 1
    assert [(found["m"], found.get("x")) for found in db.w.find({"x": 1})] == [(2, 1)]
    assert db.w.find_one_and_update({"m": 1}, {"$set": {"x": 2}})["m"] == 1
    assert db.w.find_one_and_delete({"_id": 1, "x": 2})["m"] == 1
    assert metas({"_id": 1}) == [0, 2, 3]
    assert db.w.delete_one({"_id": 1, "m": 0}).deleted_count == 1
    assert metas({}) == [2, 3, 9]
    # What was the first may be so again.
    db.w.insert_one({"_id": 1, "t": now, "m": 4})
    assert metas({"_id": 1}) == [2, 3, 4]
    assert db.w.update_many({"_id": 1}, {"$set": {"y": 1}}).modified_count == 3
    with client.start_session() as session:
        session.start_transaction()
        refused(263, lambda: db.w.insert_one({"_id": 5, "t": now}, session=session))
    # They expire by their own dates.
    mongo.advance("100s")
    assert metas({}) == [3]
    assert db.command("validate", "w")["valid"]
    assert db.w.delete_many({"_id": 1}).deleted_count == 1
    assert metas({}) == []


def test_out_makes_and_replaces_a_time_series(db):
    when = datetime.datetime(2026, 1, 1)
    db.a.insert_many([{"_id": n, "t": when, "m": n} for n in range(3)])
    series = {"timeField": "t", "metaField": "m"}

    def out(match, **more):
        return list(db.a.aggregate([{"$match": match}, {"$out": {"db": db.name, "coll": "o", **more}}]))

    assert out({}, timeseries=series) == []
    (listed,) = db.list_collections(filter={"name": "o"})
    assert listed["type"] == "timeseries"
    assert listed["options"]["timeseries"] == {**series, "granularity": "seconds", "bucketMaxSpanSeconds": 3600}
    assert sorted(ids(db.o.find())) == [0, 1, 2]
    assert out({"_id": 1}, timeseries=series) == []
    assert ids(db.o.find()) == [1]
    assert out({"_id": 2}) == []
    assert ids(db.o.find()) == [2]
    refused(7406103, lambda: out({}, timeseries={"timeField": "u"}))
    refused(14, lambda: out({}, timeseries=5))
    refused(16994, lambda: out({}, more=1))
    refused(40414, lambda: out({}, timeseries={"metaField": "m"}))
    assert ids(db.o.find()) == [2]
    db.p.insert_one({"_id": 7})
    refused(7268700, lambda: list(db.a.aggregate([{"$out": {"db": db.name, "coll": "p", "timeseries": series}}])))
    assert ids(db.p.find()) == [7]
    # A document without a date leaves what is there.
    db.a.insert_one({"_id": 9})
    refused(2, lambda: out({"_id": 9}))
    assert ids(db.o.find()) == [2]
    assert not [name for name in db.list_collection_names() if name.startswith("tmp.")]
