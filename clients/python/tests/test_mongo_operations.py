"""What is under way, what was done, and what the server says of itself."""

import datetime
import threading

import bson
import pymongo
import pytest
from pymongo.errors import OperationFailure

from conftest import fresh
from lapsedb import until
from mongo_door import client, db, mongo  # noqa: F401
from mongo_door import connected, db  # noqa: F401


def listed(client, **filter):
    return client.admin.command("currentOp", 1, **filter)["inprog"]


def test_the_listing_lists_itself(client):
    (own,) = listed(client, **{"command.currentOp": 1})
    assert own["active"] is True
    assert own["op"] == "command"
    assert own["ns"] == "admin.$cmd"
    assert own["opid"] >= 0
    assert own["microsecs_running"] >= 0
    assert own["client"].startswith("127.0.0.1:")
    (staged,) = client.admin.aggregate([{"$currentOp": {}}, {"$match": {"command.aggregate": 1}}])
    assert staged["desc"] == f"conn{staged['connectionId']}"


def test_a_waiting_command_is_seen_and_ended(client, db):
    db.create_collection("tail", capped=True, size=4096)
    db.tail.insert_one({"_id": 1})
    cursor = db.tail.find(cursor_type=pymongo.CursorType.TAILABLE_AWAIT).max_await_time_ms(600_000)
    assert next(cursor)["_id"] == 1
    caught = []

    def wait():
        try:
            next(cursor)
        except OperationFailure as error:
            caught.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    name = f"{db.name}.tail"
    assert until(lambda: listed(client, op="getmore", ns=name), 60)
    (seen,) = listed(client, op="getmore", ns=name)
    assert seen["active"] is True
    assert seen["command"]["collection"] == "tail"
    # A number that nobody has ends nothing.
    assert client.admin.command("killOp", 1, op=seen["opid"] + 1_000_000)["ok"] == 1.0
    assert listed(client, op="getmore", ns=name)
    assert client.admin.command("killOp", 1, op=seen["opid"])["info"] == "attempting to kill op"
    waiting.join(60)
    assert [error.code for error in caught] == [11601]
    assert listed(client, op="getmore", ns=name) == []


def test_a_stream_is_ended_too(client, db):
    db.create_collection("watched")
    caught = []
    with db.watched.watch(max_await_time_ms=600_000) as stream:

        def wait():
            try:
                stream.try_next()
            except OperationFailure as error:
                caught.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        name = f"{db.name}.watched"
        assert until(lambda: listed(client, op="getmore", ns=name), 60)
        (seen,) = listed(client, op="getmore", ns=name)
        client.admin.command("killOp", 1, op=seen["opid"])
        waiting.join(60)
    assert [error.code for error in caught] == [11601]


def test_idle_connections_are_listed_when_asked_for(client):
    assert all(op["active"] for op in listed(client))
    everybody = listed(client, **{"$all": True})
    assert any(not op["active"] for op in everybody)


def test_passwords_are_not_listed(mongo):
    own = pymongo.MongoClient(mongo.mongo_url())
    user = fresh("u")
    own.admin.command("createUser", user, pwd="not to be seen", roles=[])
    assert "not to be seen" not in str(own.admin.command("currentOp", 1, **{"$all": True}))
    own.admin.command("dropUser", user)
    own.close()


def test_an_unknown_option_is_refused(client):
    with pytest.raises(OperationFailure) as caught:
        list(client.admin.aggregate([{"$currentOp": {"everything": True}}]))
    assert caught.value.code == 9


def test_top_tells_of_collections(client, db):
    db.c.insert_many([{"_id": number} for number in range(3)])
    list(db.c.find())
    list(db.c.find({"_id": 1}))
    db.c.update_one({"_id": 1}, {"$set": {"a": 1}})
    db.c.delete_one({"_id": 1})
    totals = client.admin.command("top")["totals"]
    of = totals[f"{db.name}.c"]
    counts = {name: of[name]["count"] for name in ("total", "queries", "insert", "update", "remove")}
    assert counts == {"total": 5, "queries": 2, "insert": 1, "update": 1, "remove": 1}
    assert of["total"]["time"] >= of["queries"]["time"]
    db.c.drop()
    assert f"{db.name}.c" not in client.admin.command("top")["totals"]


def test_operations_are_counted(client, db):
    def counters():
        status = client.admin.command("serverStatus")
        return status["opcounters"], status["network"]

    before, traffic = counters()
    db.c.insert_many([{"_id": number} for number in range(5)])
    db.c.find_one({"_id": 1})
    db.c.delete_many({})
    after, later = counters()
    grown = {name: after[name] - before[name] for name in ("insert", "query", "delete", "update")}
    assert grown == {"insert": 5, "query": 1, "delete": 1, "update": 0}
    assert later["bytesIn"] > traffic["bytesIn"]
    assert later["bytesOut"] > traffic["bytesOut"]
    assert later["numRequests"] >= traffic["numRequests"] + 4


def test_compression_is_counted(mongo):
    with connected(mongo, compressors="zlib") as client:
        client.packed.c.insert_one({"_id": 1, "text": "a" * 10_000})
        client.packed.c.find_one()
        counted = client.admin.command("serverStatus")["network"]["compression"]
        client.drop_database("packed")
    assert list(counted) == ["snappy", "zlib", "zstd"]
    sent, received = counted["zlib"]["compressor"], counted["zlib"]["decompressor"]
    assert sent["bytesIn"] > 10_000 > sent["bytesOut"] > 0
    assert received["bytesOut"] > 10_000 > received["bytesIn"] > 0
    assert counted["snappy"] == {side: {"bytesIn": 0, "bytesOut": 0} for side in ("compressor", "decompressor")}


def test_the_use_of_indexes_is_counted(db):
    db.c.insert_many([{"_id": number, "a": number} for number in range(3)])
    db.c.create_index("a")

    def uses():
        return {index["name"]: index["accesses"]["ops"] for index in db.c.aggregate([{"$indexStats": {}}])}

    assert uses() == {"_id_": 0, "a_1": 0}
    list(db.c.find({"a": 1}))
    list(db.c.find({"a": {"$gt": 1}}))
    db.c.find_one({"_id": 1})
    list(db.c.find({"b": 1}))
    assert uses() == {"_id_": 1, "a_1": 2}
    db.c.drop_index("a_1")
    db.c.create_index("a")
    assert uses() == {"_id_": 1, "a_1": 0}


def test_the_machine_is_told(client, db):
    system = client.admin.command("hostInfo")
    assert system["system"]["memSizeMB"] > 0
    assert system["os"]["type"] == "Linux"
    assert client.admin.command("serverStatus")["mem"]["resident"] > 0
    db.c.insert_one({})
    db.c.create_index("a")
    stats = db.command("dbStats")
    assert stats["indexes"] == 2
    assert 0 < stats["fsUsedSize"] < stats["fsTotalSize"]


def test_a_collection_is_checked(client, db):
    db.c.insert_many([{"_id": number, "a": [number, number + 1], "b": number} for number in range(300)])
    for key in ("a", "b", [("b", -1), ("a", 1)]):
        db.c.create_index(key)
    db.c.create_index("missing", sparse=True)
    db.c.delete_many({"b": {"$lt": 10}})
    found = db.command("validate", "c")
    assert found["valid"] is True and found["errors"] == []
    assert (found["nrecords"], found["nInvalidDocuments"], found["nIndexes"]) == (290, 0, 5)
    # Every index that holds all documents was counted, those of arrays once for each document.
    counted = found["keysPerIndex"]
    assert {name: counted[name] for name in ("a_1", "b_1", "b_-1_a_1")} == {"a_1": 290, "b_1": 290, "b_-1_a_1": 290}
    assert "missing_1" not in counted
    with pytest.raises(OperationFailure) as caught:
        db.command("validate", "nowhere")
    assert caught.value.code == 26


def test_the_dead_are_not_missed_by_a_check(client, mongo, db):
    db.c.create_index([("_ts", 1)], expireAfterSeconds=100)
    db.c.create_index("at", expireAfterSeconds=0)
    db.c.create_index("a")
    at = client.admin.command("hello")["localTime"] + datetime.timedelta(seconds=5)
    db.c.insert_many([{"a": [n, n + 1], **[{"ttl": 5}, {"at": at}, {}][n % 3]} for n in range(30)])
    for span, living in (("0s", 30), ("6s", 10), ("200s", 0)):
        mongo.advance(span)
        found = db.command("validate", "c")
        assert (found["valid"], found["nrecords"], found["keysPerIndex"]["a_1"]) == (True, living, living), found


@pytest.mark.parametrize("name", ["limit", "skip", "batchSize"])
def test_a_find_takes_no_negative_number(db, name):
    db.c.insert_one({})
    with pytest.raises(OperationFailure) as caught:
        db.command("find", "c", **{name: -1})
    assert caught.value.code == 51024


def idle(client, kind, **options):
    return [one for one in client.admin.aggregate([{"$currentOp": options}]) if one["type"] == kind]


def test_open_cursors_are_listed_while_they_wait(client, db):
    db.c.insert_many([{"_id": at} for at in range(10)])
    cursor = db.c.find({"_id": {"$gte": 0}}, batch_size=2)
    next(cursor)
    own = lambda: [one for one in idle(client, "idleCursor", idleCursors=True) if one["ns"] == f"{db.name}.c"]
    (seen,) = own()
    listed = seen["cursor"]
    assert listed["cursorId"] == cursor.cursor_id and listed["nBatchesReturned"] == 1 and listed["nDocsReturned"] == 2
    assert listed["originatingCommand"]["find"] == "c" and listed["originatingCommand"]["filter"] == {"_id": {"$gte": 0}}
    assert (listed["tailable"], listed["awaitData"], listed["noCursorTimeout"]) == (False, False, False)
    assert "id" in seen["lsid"]
    [next(cursor) for _ in range(2)]
    assert own()[0]["cursor"]["nDocsReturned"] == 4 and own()[0]["cursor"]["nBatchesReturned"] == 2
    assert not [one for one in idle(client, "idleCursor") if one["ns"] == f"{db.name}.c"], "only where they are asked for"
    list(cursor)
    assert own() == []


def test_open_transactions_are_listed_while_they_wait(client, db):
    db.c.insert_one({"_id": 0})
    with client.start_session() as session:
        number = session.session_id["id"]
        own = lambda **options: [one for one in idle(client, "idleSession", **options) if one["lsid"]["id"] == number]
        session.start_transaction()
        assert own() == []
        db.c.insert_one({"_id": 1}, session=session)
        (seen,) = own()
        assert seen["desc"] == "inactive transaction" and seen["active"] is False
        assert seen["transaction"]["parameters"]["autocommit"] is False
        assert seen["transaction"]["parameters"]["txnNumber"] >= 1
        assert own(idleSessions=True)[0]["lsid"] == seen["lsid"]
        assert own(idleSessions=False) == []
        session.abort_transaction()
        assert own() == []


@pytest.mark.parametrize("limit", [0, 100])
def test_a_batch_of_a_cursor_that_does_not_wait_has_no_time_limit_of_its_own(db, limit):
    db.c.insert_many([{"_id": at} for at in range(10)])
    cursor = db.command("find", "c", batchSize=2)["cursor"]["id"]
    with pytest.raises(OperationFailure) as refused:
        db.command("getMore", bson.Int64(cursor), collection="c", maxTimeMS=limit)
    assert refused.value.code == 2 and "non-awaitData" in str(refused.value)
    assert db.command("getMore", bson.Int64(cursor), collection="c", batchSize=2)["cursor"]["nextBatch"]
