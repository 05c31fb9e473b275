"""The Mongo door with pymongo: connecting, writing, finding, expiring, and what both doors show."""

import datetime
import uuid

import bson
import pymongo
import pytest
from azure.cosmos import CosmosClient
from azure.cosmos.exceptions import CosmosHttpResponseError
from bson.int64 import Int64
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure

from conftest import fresh, running
from lapsedb import KEY, READ_ONLY_KEY
from mongo_door import SELECTION_MS_MAX, client, collection, connected, db, mongo  # noqa: F401

FLAGS = ["--read-only-key", READ_ONLY_KEY]


def test_numbers_of_any_type_are_one_id_and_text_is_another(collection):
    collection.insert_one({"_id": 1})
    for same in (1.0, Int64(1), bson.Decimal128("1")):
        with pytest.raises(DuplicateKeyError) as caught:
            collection.insert_one({"_id": same})
        assert caught.value.details["keyPattern"] == {"_id": 1}
    oid = bson.ObjectId()
    collection.insert_many([{"_id": "1"}, {"_id": oid}, {"_id": str(oid)}])
    assert collection.count_documents({}) == 4


def test_documents_come_in_the_order_of_insertion_and_updates_do_not_move_them(collection):
    collection.insert_many([{"_id": n, "x": n % 3} for n in (5, 3, 9, 1)])
    collection.update_one({"_id": 3}, {"$set": {"big": "x" * 1000}})
    assert [d["_id"] for d in collection.find()] == [5, 3, 9, 1]
    collection.create_index("x")
    assert [d["_id"] for d in collection.find({"x": {"$gte": 0}})] == [5, 3, 9, 1]


def test_an_unordered_bulk_names_what_failed(collection):
    collection.insert_one({"_id": 2})
    with pytest.raises(BulkWriteError) as caught:
        collection.insert_many([{"_id": n} for n in (1, 2, 3)], ordered=False)
    assert [e["index"] for e in caught.value.details["writeErrors"]] == [1]
    assert caught.value.details["nInserted"] == 2


def test_a_unique_index_holds_and_says_which_key(collection):
    collection.create_index("a.b", unique=True)
    collection.insert_one({"a": {"b": 5}})
    with pytest.raises(DuplicateKeyError) as caught:
        collection.insert_one({"a": {"b": 5}})
    assert caught.value.details["keyValue"] == {"a.b": 5}
    assert "index: a.b_1 dup key: { a.b: 5 }" in str(caught.value)


def test_an_index_is_used_and_explain_says_so(collection):
    collection.insert_many([{"x": n} for n in range(100)])
    collection.create_index("x")
    plan = collection.find({"x": 7}).explain()
    assert plan["queryPlanner"]["winningPlan"]["inputStage"]["indexName"] == "x_1"
    assert plan["executionStats"]["totalDocsExamined"] == 1


def test_a_transaction_is_seen_whole_or_not_at_all(client, collection):
    collection.insert_one({"_id": 0})
    with client.start_session() as session:
        with session.start_transaction():
            collection.insert_one({"_id": 1}, session=session)
            collection.update_one({"_id": 0}, {"$set": {"x": 1}}, session=session)
            assert collection.count_documents({}, session=session) == 2
            assert collection.count_documents({}) == 1
        assert collection.count_documents({"x": 1}) == 1
        session.start_transaction()
        collection.delete_many({}, session=session)
        session.abort_transaction()
    assert collection.count_documents({}) == 2


def test_the_second_of_two_transactions_on_a_document_may_try_again(client, collection):
    collection.insert_one({"_id": 0, "n": 0})
    with client.start_session() as one, client.start_session() as two:
        one.start_transaction()
        two.start_transaction()
        collection.update_one({"_id": 0}, {"$inc": {"n": 1}}, session=one)
        with pytest.raises(OperationFailure) as caught:
            collection.update_one({"_id": 0}, {"$inc": {"n": 1}}, session=two)
        assert caught.value.has_error_label("TransientTransactionError")
        one.commit_transaction()
        two.abort_transaction()
    assert collection.find_one()["n"] == 1


class TestTtl:
    """The scenario of the door's TTL: the index on `_ts` is the container's default."""

    def test_values_of_ttl(self, mongo, collection):
        mongo.align()
        collection.create_index("_ts", expireAfterSeconds=10)
        values = {"double": 20.0, "int": 20, "long": Int64(20), "half": 20.5, "huge": Int64(2147483649), "text": "20", "never": -1}
        collection.insert_many([{"_id": name, "ttl": ttl} for name, ttl in values.items()] + [{"_id": "none"}])
        mongo.advance("9s")
        assert collection.count_documents({}) == 8
        mongo.advance("1s")
        assert {d["_id"] for d in collection.find()} == {"double", "int", "long", "never"}
        assert collection.estimated_document_count() == 4
        mongo.advance("10s")
        assert [d["_id"] for d in collection.find()] == ["never"]
        collection.insert_one({"_id": "int"})

    def test_the_default_is_the_containers(self, mongo, collection):
        collection.create_index("_ts", expireAfterSeconds=10)
        assert collection.index_information()["_ts_1"]["expireAfterSeconds"] == 10
        changed = collection.database.command("collMod", "c", index={"keyPattern": {"_ts": 1}, "expireAfterSeconds": 30})
        assert (changed["expireAfterSeconds_old"], changed["expireAfterSeconds_new"]) == (10, 30)
        collection.drop_index("_ts_1")
        assert "_ts_1" not in collection.index_information()

    def test_an_update_that_changes_nothing_does_not_renew(self, mongo, collection):
        mongo.align()
        collection.create_index("_ts", expireAfterSeconds=10)
        collection.insert_many([{"_id": "same", "x": 1}, {"_id": "other", "x": 1}])
        mongo.advance("5s")
        assert collection.update_one({"_id": "same"}, {"$set": {"x": 1}}).modified_count == 0
        assert collection.update_one({"_id": "other"}, {"$set": {"x": 2}}).modified_count == 1
        mongo.advance("5s")
        assert [d["_id"] for d in collection.find()] == ["other"]

    def test_a_date_index_ends_documents_to_the_millisecond(self, mongo, client, collection):
        now = client.admin.command("hello")["localTime"]
        collection.create_index("at", expireAfterSeconds=5)
        collection.insert_one({"_id": 1, "at": [now, now + datetime.timedelta(days=1)]})
        mongo.advance("4999ms")
        assert collection.count_documents({"_id": 1}) == 1
        mongo.advance("1ms")
        assert collection.count_documents({"_id": 1}) == 0

    def test_the_dead_are_not_in_the_next_batch(self, mongo, collection):
        mongo.align()
        collection.create_index("_ts", expireAfterSeconds=1000)
        collection.insert_many([{"_id": n, "ttl": 5 if n % 2 else -1} for n in range(20)])
        for cursor in (collection.find(batch_size=4), collection.find(batch_size=4).sort("_id", 1)):
            seen = [next(cursor)["_id"] for _ in range(4)]
            assert seen == [0, 1, 2, 3]
            if collection.count_documents({}) == 20:
                mongo.advance("5s")
                assert [d["_id"] for d in cursor] == list(range(4, 20, 2))
                return


def test_both_doors_show_the_same(mongo, client, collection):
    oid = bson.ObjectId()
    collection.insert_many([{"_id": "a", "x": 1, "ttl": 0}, {"_id": oid, "x": 2, "ttl": 0}])
    collection.create_index("_ts", expireAfterSeconds=1000)
    cosmos = CosmosClient(mongo.url(), KEY)
    container = cosmos.get_database_client(collection.database.name).get_container_client("c")
    assert container.read()["defaultTtl"] == 1000
    read = container.read_item(str(oid), partition_key=str(oid))
    assert read["id"] == str(oid) and read["_id"] == {"$oid": str(oid)} and read["ttl"] == 0
    ids = container.query_items("SELECT VALUE c.id FROM c", enable_cross_partition_query=True)
    assert sorted(ids) == sorted(["a", str(oid)])
    container.upsert_item({"id": "b", "_id": "b", "x": 3})
    assert collection.find_one({"_id": "b"}) == {"_id": "b", "x": 3}
    # V34: what the Mongo door lets pass, this one does not.
    with pytest.raises(CosmosHttpResponseError) as caught:
        container.replace_item("a", container.read_item("a", partition_key="a"))
    assert caught.value.status_code == 400


def test_change_streams_tell_what_happens(collection):
    with collection.watch(full_document="updateLookup", max_await_time_ms=500) as stream:
        collection.insert_one({"_id": 1, "x": 1})
        collection.update_one({"_id": 1}, {"$set": {"x": 2}})
        collection.delete_one({"_id": 1})
        told = [stream.next() for _ in range(3)]
        assert [t["operationType"] for t in told] == ["insert", "update", "delete"]
        assert told[1]["updateDescription"]["updatedFields"] == {"x": 2}
        token = told[0]["_id"]
    with collection.watch(resume_after=token, max_await_time_ms=500) as stream:
        assert stream.next()["operationType"] == "update"


def test_a_login_is_asked_where_it_was_wanted():
    with running("--read-only-key", READ_ONLY_KEY, "--mongo-port", "0", "--mongo-auth", "on") as server:
        with connected(server) as nobody:
            with pytest.raises(OperationFailure) as caught:
                nobody.db.c.find_one()
            assert caught.value.code == 13
        for mechanism in ("SCRAM-SHA-1", "SCRAM-SHA-256"):
            options = {"authMechanism": mechanism, "serverSelectionTimeoutMS": SELECTION_MS_MAX}
            with pymongo.MongoClient(server.mongo_url(), username="lapsedb", password=KEY, **options) as master:
                master.db.c.insert_one({})
            with pymongo.MongoClient(server.mongo_url(), username="lapsedb-reader", password=READ_ONLY_KEY, **options) as reader:
                assert reader.db.c.find_one()
                with pytest.raises(OperationFailure):
                    reader.db.c.insert_one({})
            with pymongo.MongoClient(server.mongo_url(), username="lapsedb", password="wrong", **options) as wrong:
                with pytest.raises(OperationFailure) as caught:
                    wrong.db.c.find_one()
                assert caught.value.code == 18


@pytest.mark.parametrize("compressor", ["snappy", "zlib", "zstd"])
def test_messages_may_be_compressed(mongo, compressor):
    with pymongo.MongoClient(mongo.mongo_url(), compressors=compressor) as client:
        collection = client[fresh("db")].c
        collection.insert_one({"x": "y" * 100_000})
        assert len(collection.find_one()["x"]) == 100_000


def test_a_write_that_is_sent_again_after_a_restart_is_executed_once(own_server_mongo):
    server = own_server_mongo
    number = {"id": bson.Binary.from_uuid(uuid.uuid4())}
    command = {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}, "upsert": True}], "txnNumber": Int64(1)}
    for attempt in range(2):
        with connected(server) as client:
            with client.start_session() as session:
                # The driver would number its sessions anew; a client that was cut off sends the same again.
                session._server_session = client._topology.get_server_session(30)
                session._server_session.session_id = number
                reply = client.db.command(dict(command), session=session)
            assert reply["n"] == 1 and ("retriedStmtIds" in reply) == (attempt == 1)
            assert client.db.c.find_one()["n"] == 1
        server.stop()
        server.start()


@pytest.fixture
def own_server_mongo():
    with running("--mongo-port", "0") as server:
        yield server


def test_the_read_only_key_opens_no_first_change_stream():
    """Changes are kept from the first stream on, which makes writes cost more: that is not for who may only read."""
    options = {"serverSelectionTimeoutMS": SELECTION_MS_MAX}
    with running("--read-only-key", READ_ONLY_KEY, "--mongo-port", "0", "--mongo-auth", "on") as server:
        master = pymongo.MongoClient(server.mongo_url(), username="lapsedb", password=KEY, **options)
        reader = pymongo.MongoClient(server.mongo_url(), username="lapsedb-reader", password=READ_ONLY_KEY, **options)
        with master, reader:
            master.db.c.insert_one({"_id": 1})
            for source in (reader.db.c, reader.db, reader):
                with pytest.raises(OperationFailure) as caught:
                    source.watch()
                assert caught.value.code == 13
            with master.db.watch():
                pass
            # What is kept of a database is kept of its collections.
            for source in (reader.db.c, reader.db):
                with source.watch(max_await_time_ms=500) as stream:
                    master.db.c.update_one({"_id": 1}, {"$inc": {"n": 1}})
                    assert stream.next()["operationType"] == "update"
