"""Cursors over several batches: the time they have together, and the place they have in a capped collection. Expected
answers are those of a real mongod."""

import pymongo
import pytest
from bson.int64 import Int64

from mongo_door import client, db, failure, mongo, refused  # noqa: F401

FLAGS = ["--enable-test-commands"]


@pytest.fixture
def session(client):
    """A cursor belongs to the session that opened it."""
    with client.start_session() as session:
        yield session


class Batches:
    """A cursor, batch by batch."""

    def __init__(self, db, session, command, **more):
        self.db, self.session = db, session
        self.cursor = db.command(command, session=session, **more)["cursor"]
        self.id = self.cursor["id"]

    def next(self, size=2, **more):
        _, collection = self.cursor["ns"].split(".", 1)
        command = {"getMore": Int64(self.id), "collection": collection, "batchSize": size, **more}
        return self.db.command(command, session=self.session)["cursor"]["nextBatch"]


@pytest.fixture
def late(client):
    """No command that has a time has any left."""

    class Late:
        def __enter__(self):
            client.admin.command("configureFailPoint", "maxTimeAlwaysTimeOut", mode="alwaysOn")

        def __exit__(self, *_):
            client.admin.command("configureFailPoint", "maxTimeAlwaysTimeOut", mode="off")

    return Late()


@pytest.mark.parametrize(
    "command",
    [
        {"find": "c", "batchSize": 1, "maxTimeMS": 60_000},
        {"find": "c", "batchSize": 1, "maxTimeMS": 60_000, "sort": {"x": 1}},
        {"aggregate": "c", "pipeline": [], "cursor": {"batchSize": 1}, "maxTimeMS": 60_000},
        {"find": "capped", "batchSize": 1, "maxTimeMS": 60_000, "tailable": True},
    ],
    ids=["find", "sorted", "aggregate", "tailable"],
)
def test_the_time_of_a_cursor_is_that_of_all_its_batches(db, session, late, command):
    db.create_collection("capped", capped=True, size=10_000)
    for collection in (db.c, db.capped):
        collection.insert_many([{"_id": n, "x": n} for n in range(10)])
    batches = Batches(db, session, command)
    assert [one["_id"] for one in batches.next()] == [1, 2]
    with late:
        refused(50, batches.next)
    # A cursor that has failed is closed.
    refused(43, batches.next)


def test_a_cursor_without_a_time_or_that_waits_has_no_end(db, session, late):
    db.create_collection("capped", capped=True, size=10_000)
    db.capped.insert_many([{"_id": n} for n in range(10)])
    free = Batches(db, session, {"find": "capped", "batchSize": 1})
    waiting = {"find": "capped", "batchSize": 1, "tailable": True, "awaitData": True, "maxTimeMS": 60_000}
    waiting = Batches(db, session, waiting)
    stream = {"aggregate": "capped", "pipeline": [{"$changeStream": {}}], "cursor": {}, "maxTimeMS": 60_000}
    stream = Batches(db, session, stream)
    db.capped.insert_one({"_id": 10})
    with late:
        assert len(free.next()) == 2 and len(waiting.next()) == 2 and len(stream.next()) == 1
    refused(2, lambda: free.next(maxTimeMS=100))


@pytest.mark.parametrize("more", [{}, {"tailable": True}, {"filter": {"x": {"$exists": False}}}])
def test_a_cursor_dies_with_its_place_in_a_capped_collection(db, session, more):
    def begun(size):
        db.t.drop()
        db.create_collection("t", capped=True, size=10_000, max=3)
        db.t.insert_many([{"_id": n} for n in range(3)])
        return Batches(db, session, "find", value="t", batchSize=size, **more)

    def insert(*ids):
        db.t.insert_many([{"_id": n} for n in ids])

    overwritten = begun(1)
    insert(3)
    said = failure(overwritten.next)
    assert said["code"] == 136 and said["codeName"] == "CappedPositionLost" and "Last seen record id: RecordId(" in said["errmsg"]
    refused(43, overwritten.next)
    deleted = begun(1)
    db.t.delete_one({"_id": 0})
    refused(136, deleted.next)
    at_the_end = begun(3)
    insert(3, 4)
    assert at_the_end.next() == [{"_id": 3}, {"_id": 4}]
    left_behind = begun(3)
    insert(3, 4, 5)
    refused(136, left_behind.next)
    # Who has seen nothing yet has no place to lose.
    unbegun = begun(0)
    insert(3, 4, 5)
    assert unbegun.next() == [{"_id": 3}, {"_id": 4}]


def test_a_place_is_lost_backward_too_but_not_in_an_index(db, session):
    def begun(sort):
        db.t.drop()
        db.create_collection("t", capped=True, size=10_000, max=3)
        db.t.insert_many([{"_id": n} for n in range(3)])
        return Batches(db, session, "find", value="t", batchSize=1, sort=sort)

    backward = begun({"$natural": -1})
    db.t.insert_one({"_id": 3})
    assert backward.next() == [{"_id": 1}]
    backward = begun({"$natural": -1})
    db.t.insert_many([{"_id": n} for n in (3, 4, 5)])
    refused(136, backward.next)
    indexed = begun({"_id": 1})
    db.t.insert_many([{"_id": n} for n in (3, 4, 5)])
    assert indexed.next() == [{"_id": 3}, {"_id": 4}]


def test_lists_come_in_batches(db, session):
    for name in "abcde":
        db[name].insert_one({})
    db.a.create_indexes([pymongo.IndexModel([(field, 1)]) for field in "xyz"])

    def names(batches, *sizes):
        found = [one["name"] for one in batches.cursor["firstBatch"]]
        for size in sizes:
            found += [one["name"] for one in batches.next(size)]
        return found

    collections = Batches(db, session, {"listCollections": 1, "cursor": {"batchSize": 2}})
    assert collections.cursor["ns"] == f"{db.name}.$cmd.listCollections" and len(collections.cursor["firstBatch"]) == 2
    assert sorted(names(collections, 1, 2)) == list("abcde")
    refused(43, collections.next)
    indexes = Batches(db, session, {"listIndexes": "a", "cursor": {"batchSize": 0}})
    assert indexes.cursor["ns"] == f"{db.name}.a" and indexes.cursor["firstBatch"] == []
    assert names(indexes, 3, 3) == ["_id_", "x_1", "y_1", "z_1"]
    for command in ({"listCollections": 1}, {"listIndexes": "a"}):
        assert Batches(db, session, command).id == 0
        assert Batches(db, session, {**command, "cursor": {"batchSize": 100}}).id == 0
        refused(51024, lambda: db.command({**command, "cursor": {"batchSize": -1}}))
        refused(40415, lambda: db.command({**command, "cursor": {"size": 1}}))
    # The driver's own way.
    assert sorted(db.list_collection_names(cursor={"batchSize": 1})) == list("abcde")


def test_a_list_goes_on_when_its_collection_is_gone(db, session):
    db.a.create_index("x")
    indexes = Batches(db, session, {"listIndexes": "a", "cursor": {"batchSize": 1}})
    db.a.drop()
    assert [one["name"] for one in indexes.next()] == ["x_1"]
