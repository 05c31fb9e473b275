"""TTL indexes of the Mongo door: what may be one, what listings and changes say, and warnings where a field holds no dates."""

import bson
import pymongo
import pytest
from bson.datetime_ms import DatetimeMS
from bson.int64 import Int64

from conftest import fresh, running
from mongo_door import refused
from ttl_door import advance, bare, client, collection, lives, living, mongo, when  # noqa: F401


def create(collection, key, name="i", **options):
    return collection.database.command("createIndexes", collection.name, indexes=[{"key": key, "name": name, **options}])


def change(collection, **index):
    return collection.database.command("collMod", collection.name, index=index)


class TestOnTs:
    """The index on `_ts` is the collection's default."""

    @pytest.mark.parametrize(("given", "shown"), [(5, 5), (5.0, 5), (Int64(5), 5), (bson.Decimal128("5"), 5), (-1, -1), (-1.0, -1)])
    def test_it_is_listed_with_its_seconds(self, given, shown, bare):
        reply = create(bare, {"_ts": 1}, "_ts_1", expireAfterSeconds=given)
        assert (reply["numIndexesBefore"], reply["numIndexesAfter"]) == (1, 2)
        listed = list(bare.list_indexes())
        assert [dict(index) for index in listed] == [
            {"v": 2, "key": {"_id": 1}, "name": "_id_"},
            {"v": 2, "key": {"_ts": 1}, "name": "_ts_1", "expireAfterSeconds": shown},
        ]

    def test_made_again_it_is_the_same(self, collection):
        reply = create(collection, {"_ts": 1}, "_ts_1", expireAfterSeconds=1000)
        assert (reply["numIndexesBefore"], reply["numIndexesAfter"], reply["note"]) == (2, 2, "all indexes already exist")

    @pytest.mark.parametrize("which", [{"name": "_ts_1"}, {"keyPattern": {"_ts": 1}}])
    def test_it_is_changed_by_name_or_by_key(self, which, collection):
        reply = change(collection, **which, expireAfterSeconds=7)
        assert (reply["expireAfterSeconds_old"], reply["expireAfterSeconds_new"]) == (1000, 7)
        reply = change(collection, **which, expireAfterSeconds=-1)
        assert (reply["expireAfterSeconds_old"], reply["expireAfterSeconds_new"]) == (7, -1)
        for bad in (0, -2, 1.5, float("nan"), Int64(2**31), "5", None, True):
            refused(72, change, collection, **which, expireAfterSeconds=bad)
        assert collection.index_information()["_ts_1"]["expireAfterSeconds"] == -1

    @pytest.mark.parametrize("which", ["_ts_1", "*", {"_ts": 1}, ["_ts_1"]])
    def test_dropped_by_any_name_ttl_is_off(self, which, collection, advance):
        collection.insert_one({"_id": 1, "ttl": 1})
        collection.database.command("dropIndexes", collection.name, index=which)
        assert list(collection.index_information()) == ["_id_"]
        lives(collection, advance, None)

    def test_without_seconds_it_is_an_ordinary_index(self, bare, advance):
        bare.create_index("_ts")
        bare.insert_many([{"_id": 1, "ttl": 1}, {"_id": 2, "_ts": 5}])
        assert bare.find_one({"_ts": 5})["_id"] == 2
        assert bare.find({"_ts": 5}).explain()["queryPlanner"]["winningPlan"]["inputStage"]["indexName"] == "_ts_1"
        lives(bare, advance, None)

    def test_an_ordinary_one_stands_in_its_way_until_it_is_changed(self, bare, advance):
        bare.create_index("_ts")
        refused(85, create, bare, {"_ts": 1}, "_ts_1", expireAfterSeconds=5)
        reply = change(bare, keyPattern={"_ts": 1}, expireAfterSeconds=5)
        assert reply["expireAfterSeconds_new"] == 5 and "expireAfterSeconds_old" not in reply
        assert sorted(bare.index_information()) == ["_id_", "_ts_1"]
        refused(85, create, bare, {"_ts": 1}, "_ts_1")
        refused(86, create, bare, {"x": 1}, "_ts_1")
        bare.insert_one({"_id": 1})
        lives(bare, advance, 5)
        bare.drop_index("_ts_1")
        assert list(bare.index_information()) == ["_id_"]

    def test_ts_is_not_to_be_seen_nor_asked_for(self, collection):
        collection.insert_many([{"_id": 1}, {"_id": 2, "_ts": 7}])
        assert list(collection.find()) == [{"_id": 1}, {"_id": 2, "_ts": 7}]
        assert list(collection.find({}, {"_ts": 1, "_id": 0})) == [{}, {"_ts": 7}]
        assert collection.count_documents({"_ts": {"$exists": True}}) == 1
        assert collection.count_documents({"_ts": {"$gt": 7}}) == 0
        assert [one["_id"] for one in collection.find().sort("_ts", 1)] == [1, 2]
        assert collection.distinct("_ts") == [7]
        with collection.watch(max_await_time_ms=1) as stream:
            collection.insert_one({"_id": 3})
            assert stream.next()["fullDocument"] == {"_id": 3}

    def test_both_doors_set_one_default(self, mongo, collection):
        from azure.cosmos import CosmosClient, PartitionKey

        from lapsedb import KEY

        with CosmosClient(mongo.url(), KEY) as cosmos:
            database = cosmos.get_database_client(collection.database.name)
            container = database.get_container_client(collection.name)
            for seconds in (5, -1, 77):
                database.replace_container(container, PartitionKey(path="/_id"), default_ttl=seconds)
                assert collection.index_information()["_ts_1"]["expireAfterSeconds"] == seconds
                change(collection, name="_ts_1", expireAfterSeconds=seconds + 10)
                assert container.read()["defaultTtl"] == seconds + 10
            database.replace_container(container, PartitionKey(path="/_id"))
            assert list(collection.index_information()) == ["_id_"]
            collection.create_index("_ts", expireAfterSeconds=3)
            assert container.read()["defaultTtl"] == 3


class TestOnDates:
    """An index on any other field ends documents by their dates."""

    @pytest.mark.parametrize(
        ("at", "ends"),
        [
            ({"d": "when"}, True),
            ([{"d": "late"}, {"d": "when"}], True),
            ({"d": ["late", "x", None, 5, "when"]}, True),
            ([{"d": ["late"]}, {"d": ["late", "when"]}], True),
            ([5, None, {"d": "when"}], True),
            ({"d": ["late"]}, False),
            ([[{"d": "when"}]], False),
            ({"d": [["when"]]}, False),
            ({"d": []}, False),
            ({"d": None}, False),
            ({}, False),
            ({"d": 5}, False),
            ({"d": "1970-01-01"}, False),
            ({"d": bson.Timestamp(1, 1)}, False),
            ({"d": {"d": "when"}}, False),
            ("when", False),
        ],
    )
    def test_where_dates_are_looked_for(self, at, ends, mongo, bare, advance):
        names = {"when": when(mongo, 1000), "late": when(mongo, 10**9)}

        def named(value):
            if isinstance(value, dict):
                return {name: named(member) for name, member in value.items()}
            if isinstance(value, list):
                return [named(element) for element in value]
            return names.get(value, value) if isinstance(value, str) else value

        bare.create_index("at.d", expireAfterSeconds=0)
        bare.insert_one({"_id": 1, "at": named(at)})
        advance(999)
        assert living(bare) == [1]
        advance(1)
        assert living(bare) == ([] if ends else [1])

    @pytest.mark.parametrize("direction", [1, -1])
    def test_dates_before_1970_count(self, direction, bare):
        bare.create_index([("d", direction)], expireAfterSeconds=0)
        bare.insert_many([{"_id": n, "d": DatetimeMS(ms)} for n, ms in enumerate([-1, 0, -62135596800000, -(2**63)])])
        assert living(bare) == []

    @pytest.mark.parametrize(("given", "shown"), [(0, 0), (1.9, 1), (0.5, 0), (-0.0, 0), (Int64(7), 7), (bson.Decimal128("8"), 8), (2147483647, 2147483647), (2147483647.5, 2147483647)])
    def test_seconds(self, given, shown, bare):
        create(bare, {"d": 1}, "d_1", expireAfterSeconds=given)
        assert bare.index_information()["d_1"]["expireAfterSeconds"] == shown

    @pytest.mark.parametrize("key", [{"a": 1, "b": 1}, {"$**": 1}, {"a": "hashed", "b": 1}, {"a": "text", "b": 1}])
    def test_keys_that_no_ttl_index_has(self, key, bare):
        bare.insert_one({"_id": 1})
        refused(67, create, bare, key, expireAfterSeconds=5)
        assert list(bare.index_information()) == ["_id_"]

    @pytest.mark.parametrize("options", [{"unique": True}, {"sparse": True}, {"hidden": True}, {"partialFilterExpression": {"_id": {"$lt": 5}}}])
    def test_options_that_go_together(self, options, mongo, bare, advance):
        create(bare, {"d": 1}, "d_1", expireAfterSeconds=1, **options)
        bare.insert_many([{"_id": 1, "d": when(mongo, 0)}, {"_id": 7, "d": when(mongo, 1)}])
        advance(1001)
        assert living(bare) == ([7] if "partialFilterExpression" in options else [])

    def test_a_partial_filter_is_asked_at_each_write(self, mongo, bare, advance):
        create(bare, {"d": 1}, "d_1", expireAfterSeconds=0, partialFilterExpression={"done": True})
        bare.insert_many([{"_id": 1, "d": when(mongo, 1000)}, {"_id": 2, "d": when(mongo, 1000), "done": True}])
        bare.update_one({"_id": 2}, {"$set": {"done": False}})
        advance(1000)
        assert living(bare) == [1, 2]
        bare.update_one({"_id": 1}, {"$set": {"done": True}})
        assert living(bare) == [2]

    def test_several_indexes_and_the_earliest_end(self, mongo, collection, advance):
        collection.create_index("a", expireAfterSeconds=0)
        collection.create_index("b", expireAfterSeconds=1)
        collection.insert_many([
            {"_id": 1, "a": when(mongo, 4000), "b": when(mongo, 1000)},
            {"_id": 2, "a": when(mongo, 3000), "b": when(mongo, 9000)},
            {"_id": 3, "a": when(mongo, 9000), "ttl": 4},
        ])
        for ms, left in ((1999, [1, 2, 3]), (1, [2, 3]), (999, [2, 3]), (1, [3]), (999, [3]), (1, [])):
            advance(ms)
            assert living(collection) == left

    def test_the_same_key_with_other_seconds(self, bare):
        create(bare, {"e": 1}, "e_1", expireAfterSeconds=5)
        refused(85, create, bare, {"e": 1}, "e_1", expireAfterSeconds=6)
        refused(85, create, bare, {"e": 1}, "other", expireAfterSeconds=5)
        create(bare, {"e": -1}, "e_-1", expireAfterSeconds=6)
        assert {name: index.get("expireAfterSeconds") for name, index in bare.index_information().items()} == {"_id_": None, "e_1": 5, "e_-1": 6}

    def test_changes(self, mongo, bare, advance):
        bare.create_index("d")
        bare.create_index([("a", 1), ("b", 1)])
        bare.insert_many([{"_id": 1, "d": when(mongo, 0)}, {"_id": 2, "d": when(mongo, 5000)}])
        reply = change(bare, keyPattern={"d": 1}, expireAfterSeconds=2)
        assert reply["expireAfterSeconds_new"] == 2 and "expireAfterSeconds_old" not in reply and "note" not in reply
        reply = change(bare, name="d_1", expireAfterSeconds=1)
        assert (reply["expireAfterSeconds_old"], reply["expireAfterSeconds_new"]) == (2, 1)
        reply = change(bare, name="d_1", hidden=True)
        assert (reply["hidden_old"], reply["hidden_new"]) == (False, True)
        advance(1000)
        assert living(bare) == [2]
        refused(72, change, bare, name="d_1", keyPattern={"d": 1}, expireAfterSeconds=5)
        refused(72, change, bare, expireAfterSeconds=5)
        refused(72, change, bare, name="a_1_b_1", expireAfterSeconds=5)
        refused(72, change, bare, name="_id_", expireAfterSeconds=5)
        refused(72, change, bare, name="d_1", expireAfterSeconds=-1)
        refused(27, change, bare, name="none", expireAfterSeconds=5)
        refused(26, change, bare.database.none, name="d_1", expireAfterSeconds=5)

    def test_a_collection_takes_no_seconds_unless_it_is_a_time_series(self, bare):
        refused(72, bare.database.command, "create", "plain", expireAfterSeconds=5)


class TestNoDates:
    """A TTL index on a field that holds no dates ends nothing: the reply and the log say so."""

    @pytest.fixture
    def logging(self):
        with running("--virtual-clock", "--mongo-port", "0") as server, pymongo.MongoClient(server.mongo_url()) as client:
            yield server, client[fresh("db")].c

    @pytest.mark.parametrize("value", ["2026-01-01", 5, True, {"d": 1}, [], ["x"]])
    def test_createIndexes_notes_it(self, value, logging):
        server, collection = logging
        collection.insert_one({"_id": 1, "d": value})
        note = create(collection, {"d": 1}, "d_1", expireAfterSeconds=5)["note"]
        assert "d_1" in note and "no document has a date" in note
        assert "a TTL index is on a field that holds no dates" in server.logged()

    def test_collMod_notes_it(self, logging):
        server, collection = logging
        collection.insert_one({"_id": 1, "d": "text"})
        collection.create_index("d")
        assert "d_1" in change(collection, name="d_1", expireAfterSeconds=5)["note"]
        assert "a TTL index is on a field that holds no dates" in server.logged()

    def test_where_there_are_dates_or_no_documents_nothing_is_said(self, logging):
        server, collection = logging
        assert "note" not in create(collection, {"d": 1}, "d_1", expireAfterSeconds=5)
        collection.insert_many([{"_id": 1, "e": "text"}, {"_id": 2, "e": when(server, 5000)}])
        assert "note" not in create(collection, {"e": 1}, "e_1", expireAfterSeconds=5)
        assert "TTL index" not in server.logged()

    def test_a_later_document_without_a_date_is_logged_once(self, logging):
        server, collection = logging
        create(collection, {"d": 1}, "d_1", expireAfterSeconds=5)
        collection.insert_many([{"d": when(server, 0)}, {"d": None}, {}])
        assert "no date" not in server.logged()
        reply = collection.database.command("insert", collection.name, documents=[{"_id": 1, "d": "text"}, {"_id": 2, "d": 5}])
        assert {"n", "ok"} <= reply.keys() and "note" not in reply
        collection.update_one({"_id": 1}, {"$set": {"d": "more"}})
        said = [line for line in server.logged().splitlines() if "no date" in line]
        assert len(said) == 1 and "d_1" in said[0] and collection.name in said[0], said


def test_parameters_stop_purging_and_nothing_else(mongo, client, collection, advance):
    was = client.admin.command("setParameter", 1, ttlMonitorEnabled=False)["was"]
    try:
        collection.insert_one({"_id": 1, "ttl": 1})
        advance(1000)
        assert living(collection) == []
        assert client.admin.command("getParameter", 1, ttlMonitorEnabled=1)["ttlMonitorEnabled"] is False
    finally:
        client.admin.command("setParameter", 1, ttlMonitorEnabled=was)
    assert client.admin.command("setParameter", 1, ttlMonitorSleepSecs=60)["was"] == 1
    assert client.admin.command("setParameter", 1, ttlMonitorSleepSecs=1)["was"] == 60
    refused(2, client.admin.command, "setParameter", 1, ttlMonitorSleepSecs=0)
    refused(2, client.admin.command, "setParameter", 1, ttlMonitorEnabled="x")
    ttl = client.admin.command("serverStatus")["metrics"]["ttl"]
    assert {"deletedDocuments", "passes"} <= ttl.keys()


def test_an_index_made_in_a_transaction_may_end_documents_later(client, bare, mongo, advance):
    with client.start_session() as session, session.start_transaction():
        bare.create_index("d", name="i", session=session)
    bare.insert_one({"_id": 1, "d": when(mongo, 0)})
    change(bare, name="i", expireAfterSeconds=5)
    bare.insert_one({"_id": 2, "d": when(mongo, 0)})
    lives(bare, advance, 5)


def test_the_index_on_ts_keeps_the_name_it_was_given():
    with running("--virtual-clock", "--mongo-port", "0") as server:

        def listed():
            indexes = client.d.c.list_indexes()
            return [(index["name"], index.get("expireAfterSeconds")) for index in indexes][1:]

        with pymongo.MongoClient(server.mongo_url()) as client:
            create(client.d.c, {"_ts": 1}, "mine", expireAfterSeconds=60)
            create(client.d.c, {"_ts": 1}, "mine", expireAfterSeconds=60)
            refused(85, create, client.d.c, {"_ts": 1}, "yours", expireAfterSeconds=60)
            refused(86, create, client.d.c, {"a": 1}, "mine")
            assert listed() == [("mine", 60)]
        server.stop()
        server.start()
        with pymongo.MongoClient(server.mongo_url()) as client:
            assert listed() == [("mine", 60)]
            assert change(client.d.c, name="mine", expireAfterSeconds=70)["expireAfterSeconds_old"] == 60
            assert listed() == [("mine", 70)]
            refused(27, change, client.d.c, name="_ts_1", expireAfterSeconds=80)
            refused(27, client.d.c.drop_index, "_ts_1")
            client.d.c.drop_index("mine")
            assert listed() == []
            # The name went with the index.
            client.d.c.create_index("_ts", expireAfterSeconds=9)
            assert listed() == [("_ts_1", 9)]
