"""The database profiler: which commands are recorded, what a record says, and what may be done to the records."""

import json

import pymongo
import pytest
from azure.cosmos import CosmosClient
from azure.cosmos.exceptions import CosmosHttpResponseError

from conftest import fresh, running
from lapsedb import KEY
from mongo_door import SELECTION_MS_MAX, refused
from rest import ask

WAIT = {"serverSelectionTimeoutMS": SELECTION_MS_MAX}
DEFAULT_SLOW_MS = 100


@pytest.fixture(scope="module")
def server():
    with running("--mongo-port", "0") as server:
        yield server


@pytest.fixture(scope="module")
def client(server):
    with pymongo.MongoClient(server.mongo_url(), appname="profiled", **WAIT) as client:
        yield client


@pytest.fixture
def db(client):
    name = fresh("db")
    yield client[name]
    client[name].command("profile", 0, slowms=DEFAULT_SLOW_MS, sampleRate=1.0, filter="unset")
    client.drop_database(name)


def records(db, **filter):
    return list(db["system.profile"].find(filter))


def test_levels_are_of_a_database_and_the_rest_of_the_server(db, client):
    profile = lambda level, on=db, **options: {k: v for k, v in on.command("profile", level, **options).items() if k in ("was", "slowms", "sampleRate")}
    assert profile(-1) == {"was": 0, "slowms": DEFAULT_SLOW_MS, "sampleRate": 1.0}
    assert profile(1, slowms=7, sampleRate=0.5) == {"was": 0, "slowms": DEFAULT_SLOW_MS, "sampleRate": 1.0}
    assert profile(-1) == {"was": 1, "slowms": 7, "sampleRate": 0.5}
    assert profile(-1, on=client.otherdb) == {"was": 0, "slowms": 7, "sampleRate": 0.5}
    assert profile(2)["was"] == 1 and profile(5)["was"] == 2 and profile(0)["was"] == 2 and profile(-1)["was"] == 0
    refused(2, db.command, "profile", 0, sampleRate=2.0)
    refused(14, db.command, "profile", "x")
    refused(14, db.command, "profile", 0, slowms="x")


def test_every_command_is_recorded_at_level_2(db):
    db.command("profile", 2)
    assert "system.profile" in db.list_collection_names()
    options = db.command("listCollections", filter={"name": "system.profile"})["cursor"]["firstBatch"][0]["options"]
    assert options["capped"] is True
    db.c.insert_many([{"_id": at, "a": at} for at in range(20)])
    db.c.create_index("a")
    list(db.c.find({"a": {"$gt": 4}}, batch_size=10).comment("mine"))
    db.c.update_many({"a": {"$lt": 3}}, {"$set": {"b": 1}})
    db.c.delete_one({"a": 5})
    list(db.c.aggregate([{"$match": {"a": 1}}]))
    refused(2, db.command, "find", "c", filter={"$bad": 1})
    (insert,) = records(db, op="insert")
    assert insert["ns"] == f"{db.name}.c" and insert["ninserted"] == 20 and insert["command"]["insert"] == "c"
    assert insert["appName"] == "profiled" and insert["client"] == "127.0.0.1" and insert["user"] == "" and insert["allUsers"] == []
    assert insert["millis"] >= 0 and insert["responseLength"] > 0 and insert["ts"]
    found = records(db, op="query", ns=f"{db.name}.c", ok={"$exists": False})[0]
    assert found["nreturned"] == 10 and found["command"]["comment"] == "mine" and "cursorid" in found
    assert found["planSummary"] == "IXSCAN { a: 1 }" and found["docsExamined"] >= 10 and found["keysExamined"] >= 10
    (more,) = records(db, op="getmore", ns=f"{db.name}.c")
    assert more["nreturned"] == 5 and more["cursorExhausted"] is True
    (update,) = records(db, op="update")
    assert (update["nMatched"], update["nModified"]) == (3, 3)
    (removed,) = records(db, op="remove")
    assert removed["ndeleted"] == 1
    (piped,) = records(db, **{"command.aggregate": "c"})
    assert piped["op"] == "command" and piped["nreturned"] == 1
    (failed,) = records(db, ok=0.0)
    assert failed["errCode"] == 2 and failed["errName"] == "BadValue" and "$bad" in failed["errMsg"]
    db.command("ping")
    assert records(db, **{"command.ping": 1}) == []


def test_slow_commands_are_recorded_at_level_1(db):
    db.command("profile", 1, slowms=3_600_000)
    db.c.insert_one({})
    assert records(db) == []
    db.command("profile", 1, slowms=0)
    db.c.insert_one({})
    assert [record["op"] for record in records(db, ns=f"{db.name}.c")] == ["insert"]
    db.command("profile", 1, slowms=0, sampleRate=0.0)
    db.c.insert_one({})
    assert len(records(db, op="insert")) == 1


def test_a_filter_stands_for_the_time(db):
    reply = db.command("profile", 1, slowms=3_600_000, filter={"op": "insert"})
    assert "note" in reply
    db.c.insert_one({})
    db.c.find_one()
    assert [record["op"] for record in records(db)] == ["insert"]
    assert db.command("profile", -1)["filter"] == {"op": "insert"}
    refused(2, db.command, "profile", 1, filter={"$bad": 1})
    db.command("profile", 1, filter="unset")
    assert "filter" not in db.command("profile", -1)


def test_records_are_for_reading(db):
    db.command("profile", 2)
    for write in [
        {"insert": "system.profile", "documents": [{}]},
        {"update": "system.profile", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]},
        {"delete": "system.profile", "deletes": [{"q": {}, "limit": 0}]},
    ]:
        assert "cannot write" in refused(73, db.command, write)
    assert "turn off profiling" in refused(20, db.drop_collection, "system.profile")
    db.command("profile", 0)
    before = len(records(db))
    db.c.insert_one({})
    assert len(records(db)) == before > 0
    db.drop_collection("system.profile")
    assert "system.profile" not in db.list_collection_names()


def test_a_dropped_database_is_not_profiled_any_more(db, client):
    db.command("profile", 2)
    db.c.insert_one({})
    client.drop_database(db.name)
    assert db.command("profile", -1)["was"] == 0
    db.c.insert_one({})
    assert db.list_collection_names() == ["c"]


def test_records_are_no_events(db):
    with db.watch(max_await_time_ms=50) as stream:
        db.command("profile", 2)
        db.c.insert_one({"_id": 1})
        assert records(db, op="insert")
        seen = []
        while not seen:
            change = stream.try_next()
            seen += [change] if change else []
        assert seen[0]["ns"]["coll"] == "c"
        assert stream.try_next() is None


def test_who_is_logged_in_is_recorded_and_a_restart_ends_it():
    with running("--mongo-port", "0", "--mongo-auth", "on") as server:
        login = lambda: pymongo.MongoClient(server.mongo_url(), username="lapsedb", password=KEY, **WAIT)
        with login() as master:
            master.shop.command("createUser", "ada", pwd="p", roles=["readWrite"])
            master.shop.command("profile", 2)
            with pymongo.MongoClient(server.mongo_url(), username="ada", password="p", authSource="shop", **WAIT) as ada:
                ada.shop.c.insert_one({})
                refused(13, ada.shop["system.profile"].find_one)
                refused(13, ada.shop.command, "profile", 0)
            (record,) = records(master.shop, op="insert")
            assert record["user"] == "ada@shop" and record["allUsers"] == [{"user": "ada", "db": "shop"}]
        server.stop()
        server.start()
        with login() as master:
            assert master.shop.command("profile", -1)["was"] == 0
            assert len(records(master.shop, op="insert")) == 1


def test_a_database_that_was_not_dropped_is_profiled_on(db, client):
    db["c"].insert_one({"_id": 1})
    db.command("profile", 2)
    with client.start_session() as session, session.start_transaction():
        db["c"].insert_one({"_id": 2}, session=session)
        refused(263, db.command, "dropDatabase", 1, session=session)
    assert db.command("profile", -1)["was"] == 2
    refused(40415, db.command, "dropDatabase", 1, none=1)
    assert db.command("profile", -1)["was"] == 2
    db.command("dropDatabase", 1)
    assert db.command("profile", -1)["was"] == 0


def test_records_are_kept_in_a_capped_collection_alone(db, client):
    db["c"].insert_one({"_id": 1})
    name = "system.profile"
    refused(20, client.admin.command, {"renameCollection": f"{db.name}.c", "to": f"{db.name}.{name}"})
    refused(17385, db.command, "aggregate", "c", pipeline=[{"$out": name}], cursor={})
    refused(31319, db.command, "aggregate", "c", pipeline=[{"$merge": name}], cursor={})
    refused(73, db[name].create_index, "a")
    refused(72, db.create_collection, name, capped=True, size=1 << 20, validator={"none": 1})
    db.create_collection(name, capped=True, size=1 << 20)
    refused(2, db.command, "convertToCapped", name, size=4096)
    refused(72, db.command, "collMod", name, validator={"none": 1})
    refused(20, client.admin.command, {"renameCollection": f"{db.name}.{name}", "to": f"{db.name}.x"})
    db.drop_collection(name)
    db.create_collection(name)
    refused(48, db.command, "profile", 1)
    db.drop_collection(name)
    db.command("profile", 2)
    refused(20, db.drop_collection, name)


def test_records_are_not_written_through_the_nosql_api(db, server):
    db.command("profile", 2)
    db["c"].insert_one({"_id": 1})
    db.command("profile", 0)
    before = list(db["system.profile"].find())
    docs = f"dbs/{db.name}/colls/system.profile/docs"
    status, _, body = ask(server, "GET", docs)
    assert status == 200
    (shown,) = json.loads(body)["Documents"]
    item, own = f"{docs}/{shown['id']}", {"x-ms-documentdb-partitionkey": json.dumps([shown["id"]])}
    new = json.dumps({"id": "new"}).encode()
    of_new = {"x-ms-documentdb-partitionkey": '["new"]'}
    patch = json.dumps({"operations": [{"op": "set", "path": "/x", "value": 1}]}).encode()
    batch = json.dumps([{"operationType": "Create", "resourceBody": {"id": "new"}}]).encode()
    is_batch = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "True"}
    assert ask(server, "POST", docs, new, of_new)[0] == 403
    assert ask(server, "POST", docs, new, {**of_new, "x-ms-documentdb-is-upsert": "True"})[0] == 403
    assert ask(server, "PUT", item, json.dumps({**shown, "x": 1}).encode(), own)[0] == 403
    assert ask(server, "PATCH", item, patch, own)[0] == 403
    assert ask(server, "DELETE", item, b"", own)[0] == 403
    _, _, body = ask(server, "POST", docs, batch, {**of_new, **is_batch})
    assert [result["statusCode"] for result in json.loads(body)] == [403]
    with CosmosClient(server.url(), KEY) as nosql, pytest.raises(CosmosHttpResponseError) as caught:
        container = nosql.get_database_client(db.name).get_container_client("system.profile")
        container.delete_all_items_by_partition_key(shown["id"])
    assert caught.value.status_code == 403
    assert list(db["system.profile"].find()) == before
