"""Reads of one state of the store by several commands, outside of transactions."""

import pytest
from bson import Timestamp
from bson.int64 import Int64
from pymongo.errors import OperationFailure

from mongo_door import client, db, mongo, wire  # noqa: F401
from sessions import session

SNAPSHOT = {"level": "snapshot"}


def test_a_snapshot_session_reads_one_state(client, db):
    db.c.insert_many([{"_id": n, "x": n} for n in range(5)])
    db.d.insert_one({"_id": 0})
    with client.start_session(snapshot=True) as s:
        assert db.c.count_documents({}, session=s) == 5
        db.c.insert_one({"_id": 9, "x": 9})
        db.c.update_one({"_id": 0}, {"$set": {"x": 100}})
        db.c.delete_one({"_id": 1})
        db.d.delete_many({})
        assert [d["_id"] for d in db.c.find({}, session=s)] == [0, 1, 2, 3, 4]
        assert db.c.distinct("x", session=s) == [0, 1, 2, 3, 4]
        assert next(db.c.aggregate([{"$group": {"_id": None, "sum": {"$sum": "$x"}}}], session=s))["sum"] == 10
        joined = [{"$lookup": {"from": "d", "localField": "_id", "foreignField": "_id", "as": "j"}}, {"$match": {"_id": 0}}]
        assert next(db.c.aggregate(joined, session=s))["j"] == [{"_id": 0}]
    assert sorted(db.c.distinct("x")) == [2, 3, 4, 9, 100]


def test_every_batch_of_a_snapshot_cursor_is_of_its_state(client, db):
    db.c.insert_many([{"_id": n} for n in range(10)])
    with client.start_session(snapshot=True) as s:
        found = db.c.find({}, session=s, batch_size=2)
        first = next(found)
        db.c.delete_many({})
        assert [first["_id"], *[d["_id"] for d in found]] == list(range(10))


def test_an_index_is_read_in_its_state_too(client, db):
    db.c.create_index("x")
    db.c.insert_many([{"_id": n, "x": n % 3} for n in range(9)])
    with client.start_session(snapshot=True) as s:
        assert db.c.count_documents({"x": 1}, session=s) == 3
        db.c.update_many({}, {"$set": {"x": 1}})
        assert db.c.count_documents({"x": 1}, session=s) == 3


def test_what_has_died_is_in_no_snapshot(client, mongo, db):
    """A snapshot fixes what documents there are and what they say; it does not stop time."""
    mongo.align()
    db.c.create_index("_ts", expireAfterSeconds=10)
    db.c.insert_many([{"_id": 1}, {"_id": 2, "ttl": -1}])
    with client.start_session(snapshot=True) as s:
        assert db.c.count_documents({}, session=s) == 2
        mongo.advance("10s")
        assert [d["_id"] for d in db.c.find({}, session=s)] == [2]
        # A document that is there again is another one: not of this state.
        db.c.insert_one({"_id": 1, "again": True})
        assert [d["_id"] for d in db.c.find({}, session=s)] == [2]


def test_a_change_of_the_rule_makes_older_states_unavailable(client, db):
    db.c.create_index("_ts", expireAfterSeconds=1000)
    db.c.insert_one({"_id": 1})
    for change in (
        lambda: db.command("collMod", "c", index={"name": "_ts_1", "expireAfterSeconds": 500}),
        lambda: db.c.drop(),
    ):
        with client.start_session(snapshot=True) as s:
            assert db.c.find_one({}, session=s) == {"_id": 1}
            change()
            with pytest.raises(OperationFailure) as caught:
                db.c.find_one({}, session=s)
            assert caught.value.code == 246


def test_a_state_is_kept_for_five_minutes_after_its_last_use(wire, mongo, db):
    db.c.insert_one({"_id": 1})
    found = wire.command(db.name, {"find": "c", "readConcern": SNAPSHOT, "lsid": session()})
    at = {**SNAPSHOT, "atClusterTime": found["cursor"]["atClusterTime"]}
    db.c.insert_one({"_id": 2})
    read = lambda: wire.command(db.name, {"find": "c", "readConcern": at})
    mongo.advance("4m59s")
    assert read()["cursor"]["firstBatch"] == [{"_id": 1}]
    mongo.advance("4m59s")
    assert read()["cursor"]["firstBatch"] == [{"_id": 1}]
    mongo.advance("5m")
    reply = read()
    assert (reply["code"], reply["codeName"]) == (239, "SnapshotTooOld")


def test_a_transaction_may_begin_at_a_kept_state(wire, db):
    db.c.insert_one({"_id": 1})
    at = wire.command(db.name, {"find": "c", "readConcern": SNAPSHOT})["cursor"]["atClusterTime"]
    db.c.insert_one({"_id": 2})
    begun = {"lsid": session(), "txnNumber": Int64(1), "autocommit": False}
    reply = wire.command(
        db.name, {"find": "c", "readConcern": {**SNAPSHOT, "atClusterTime": at}, **begun, "startTransaction": True}
    )
    assert reply["cursor"]["firstBatch"] == [{"_id": 1}]
    reply = wire.command(db.name, {"insert": "c", "documents": [{"_id": 2}], **begun})
    assert reply["code"] == 112 and reply["errorLabels"] == ["TransientTransactionError"]


@pytest.mark.parametrize(
    ("command", "concern", "code"),
    [
        ({"find": "c"}, {"level": "snapshot", "atClusterTime": Timestamp(1, 1)}, 239),
        ({"find": "c"}, {"level": "snapshot", "atClusterTime": Timestamp(4_000_000_000, 1)}, 72),
        ({"find": "c"}, {"level": "majority", "atClusterTime": Timestamp(1, 1)}, 72),
        ({"find": "c"}, {"level": "snapshot", "atClusterTime": Timestamp(0, 0)}, 72),
        ({"find": "c"}, {"level": "snapshot", "atClusterTime": 5}, 14),
        ({"find": "c"}, {"level": "nonsense"}, 9),
        ({"find": "c"}, {"level": 5}, 14),
        ({"find": "c"}, {"nonsense": 5}, 72),
        ({"find": "c"}, 5, 9),
        ({"find": "c"}, {"level": "available", "afterClusterTime": Timestamp(1, 1)}, 72),
        ({"find": "c"}, {"afterClusterTime": Timestamp(4_000_000_000, 1)}, 72),
        ({"find": "c"}, {"afterClusterTime": Timestamp(1, 1)}, None),
        ({"find": "c"}, {"level": "linearizable"}, None),
        ({"count": "c"}, {"level": "snapshot"}, 72),
        ({"count": "c"}, {"level": "majority"}, None),
        ({"insert": "c", "documents": [{}]}, {"level": "majority"}, 72),
        ({"insert": "c", "documents": [{}]}, {"level": "local"}, None),
    ],
)
def test_read_concerns_that_are_refused(wire, db, command, concern, code):
    db.d.insert_one({})
    assert wire.command(db.name, {**command, "readConcern": concern}).get("code") == code


@pytest.mark.parametrize(
    ("concern", "code", "error"),
    [
        ({"w": 1}, None, None),
        ({"w": "majority", "wtimeout": 10}, None, None),
        ({"w": 2}, None, 100),
        ({"w": 2, "wtimeout": 1}, None, 100),
        ({"w": "other"}, None, 79),
        ({"w": {"tag": 1}}, None, 4),
        ({"w": -1}, 9, None),
        ({"w": 51}, 9, None),
        ({"j": "x"}, 14, None),
        ({"fsync": True, "j": True}, 9, None),
        ({"nonsense": 1}, 40415, None),
        (5, 14, None),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        {"insert": "c", "documents": [{}]},
        {"update": "c", "updates": [{"q": {}, "u": {"$set": {"x": 1}}}]},
        {"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]},
        {"findAndModify": "c", "query": {"_id": 1}, "update": {"x": 2}, "upsert": True},
        {"aggregate": "c", "pipeline": [{"$out": "o"}], "cursor": {}},
        {"create": "n"},
        {"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]},
        {"drop": "c"},
    ],
    ids=lambda command: next(iter(command)),
)
def test_write_concerns(wire, db, command, concern, code, error):
    db.c.insert_one({})
    reply = wire.command(db.name, {**command, "writeConcern": concern})
    assert (reply.get("code"), reply.get("writeConcernError", {}).get("code")) == (code, error), reply


def test_a_write_that_fails_tells_of_its_concern_too(wire, db):
    db.a.insert_one({})
    db.b.insert_one({})
    rename = {"renameCollection": f"{db.name}.a", "to": f"{db.name}.b"}
    for database, command, code in (
        (db.name, {"create": "a", "capped": True, "size": 4096}, 48),
        ("admin", rename, 48),
        (db.name, {"dropIndexes": "a", "index": "x"}, 27),
    ):
        reply = wire.command(database, {**command, "writeConcern": {"w": 2}})
        assert (reply["code"], reply["writeConcernError"]["code"]) == (code, 100)


def test_reading_takes_no_write_concern(wire, db):
    assert wire.command(db.name, {"find": "c", "writeConcern": {"w": 1}})["code"] == 72
    pipeline = {"aggregate": "c", "pipeline": [], "cursor": {}, "writeConcern": {"w": 2}}
    assert "writeConcernError" not in wire.command(db.name, pipeline)


def test_time_stamps_grow_with_what_is_written(client, db):
    with client.start_session(causal_consistency=True) as s:
        seen = []
        for n in range(5):
            db.c.insert_one({"_id": n}, session=s)
            seen.append((s.operation_time, s.cluster_time["clusterTime"]))
            assert db.c.find_one({"_id": n}, session=s)
        assert seen == sorted(set(seen))
