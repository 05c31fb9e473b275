"""Change streams: what is told of views, indexes and changes that change nothing, from which time on, and which failures
may be resumed. Expected answers are those of a real mongod."""

import pymongo
import pytest
from bson import Timestamp
from bson.int64 import Int64
from pymongo.errors import NotPrimaryError, OperationFailure

from test_mongo_change_streams import told, watch

from mongo_door import client, db, mongo  # noqa: F401

FLAGS = ["--enable-test-commands"]

RESUMABLE = "ResumableChangeStreamError"
STREAM = [{"$changeStream": {}}]


def shown(event):
    """An event without its time and place."""
    return {name: value for name, value in event.items() if name not in ("_id", "clusterTime", "wallTime", "collectionUUID")}


def change_views(db):
    db.command("create", "v", viewOn="c", pipeline=[{"$match": {"x": 1}}])
    db.command("collMod", "v", viewOn="c", pipeline=[{"$match": {"x": 2}}])
    db.command("collMod", "v", viewOn="c", pipeline=[{"$match": {"x": 2}}])
    db.create_collection("w", viewOn="c", collation={"locale": "de"})
    db.v.drop()
    db.w.drop()


@pytest.mark.parametrize("whole", [False, True])
def test_views_are_told_where_more_is_wanted(client, db, whole):
    scope = client if whole else db
    db.create_collection("c")
    with watch(scope) as plain, watch(scope, show_expanded_events=True) as expanded:
        change_views(db)
        assert told(plain) == []
        events = [event for event in told(expanded) if event["ns"]["db"] == db.name]
    assert [(event["operationType"], event["ns"]["coll"]) for event in events] == [
        ("create", "v"),
        ("modify", "v"),
        ("modify", "v"),
        ("create", "w"),
        ("drop", "v"),
        ("drop", "w"),
    ]
    assert not any("collectionUUID" in event for event in events)
    create, modify, _, collated, drop, _ = map(shown, events)
    assert create["operationDescription"] == {"viewOn": "c", "pipeline": [{"$match": {"x": 1}}]}
    assert modify["operationDescription"] == {"viewOn": "c", "pipeline": [{"$match": {"x": 2}}]}
    assert collated["operationDescription"]["collation"]["locale"] == "de"
    assert drop == {"operationType": "drop", "ns": {"db": db.name, "coll": "v"}}


def test_the_events_of_views_can_be_resumed_behind(db):
    with watch(db, show_expanded_events=True) as stream:
        change_views(db)
        events = told(stream)
    for at, event in enumerate(events):
        with watch(db, show_expanded_events=True, resume_after=event["_id"]) as stream:
            assert told(stream) == events[at + 1 :]


def test_a_change_that_changes_nothing_is_told(db):
    db.create_collection("c")
    with watch(db.c, show_expanded_events=True) as stream:
        db.command("collMod", "c")
        db.command("collMod", "c", changeStreamPreAndPostImages={"enabled": False})
        nothing, images = map(shown, told(stream))
    assert nothing["operationType"] == images["operationType"] == "modify"
    assert nothing["operationDescription"] == {}
    assert images["operationDescription"] == {"changeStreamPreAndPostImages": {"enabled": False}}
    assert list(nothing["stateBeforeChange"]["collectionOptions"]) == ["uuid"]


def later(client):
    """The time behind everything that was done."""
    now = client.admin.command("ping")["operationTime"]
    return Timestamp(now.time, now.inc + 1)


def test_a_stream_begins_at_a_time_though_its_collections_are_kept_since_different_ones(client, db):
    for name in "abc":
        db[name].insert_one({"_id": 0})
    for scope in (db.a, db, db.b):
        watch(scope).close()
    db.a.insert_one({"_id": 1})
    begin = later(client)
    db.b.insert_one({"_id": 2})
    with watch(db, start_at_operation_time=begin) as stream:
        assert [event["documentKey"] for event in told(stream)] == [{"_id": 2}]


@pytest.mark.parametrize(
    "change",
    [
        lambda db: db.gone.drop(),
        lambda db: db.gone.rename("here"),
        lambda db: db.command("create", "v", viewOn="gone", pipeline=[]),
        lambda db: db.gone.create_index("x"),
        lambda db: db.gone.drop_index("y_1"),
        lambda db: db.command("collMod", "gone", index={"name": "y_1", "hidden": True}),
        lambda db: db.command("collMod", "gone"),
    ],
    ids=["drop", "rename", "view", "create_index", "drop_index", "hide", "modify"],
)
def test_the_time_that_is_told_is_behind_what_was_done(client, db, change):
    db.gone.create_index("y")
    watch(db).close()
    change(db)
    begin = later(client)
    db.c.insert_one({"_id": 1})
    with watch(db, start_at_operation_time=begin) as stream:
        assert [event["operationType"] for event in told(stream)] == ["insert"]


@pytest.mark.parametrize("level", ["local", "available", "linearizable", "snapshot"])
def test_a_stream_reads_what_the_majority_has(client, db, level):
    for database, target, stage in (
        (db, "c", {}),
        (db, 1, {}),
        (client.admin, 1, {"allChangesForCluster": True}),
    ):
        command = {"aggregate": target, "pipeline": [{"$changeStream": stage}], "cursor": {}}
        with pytest.raises(OperationFailure) as caught:
            database.command({**command, "readConcern": {"level": level}})
        assert caught.value.code == 72
        assert f"other than 'majority'. Current readConcern: {level}" in caught.value.details["errmsg"]
        assert database.command({**command, "readConcern": {"level": "majority"}})["ok"] == 1
        assert database.command({**command, "readConcern": {}})["ok"] == 1


@pytest.mark.parametrize("code", [6, 91, 133, 150, 234, 10107])
def test_failures_of_streams_say_that_they_may_be_resumed(client, db, code):
    db.c.insert_many([{} for _ in range(5)])

    def failing(point, command, **data):
        data = {"errorCode": code, "closeConnection": False, **data}
        client.admin.command("configureFailPoint", point, mode={"times": 1}, data=data)
        try:
            with pytest.raises((OperationFailure, NotPrimaryError)) as caught:
                db.command(command, session=session)
        finally:
            client.admin.command("configureFailPoint", point, mode="off")
        assert caught.value.details["code"] == code
        return caught.value.details.get("errorLabels", [])

    with client.start_session() as session:
        begin = {"aggregate": "c", "pipeline": STREAM, "cursor": {}}
        stream = db.command(begin, session=session)["cursor"]["id"]
        plain = db.command("find", "c", batchSize=1, session=session)["cursor"]["id"]
        more = {"collection": "c"}
        assert failing("failGetMoreAfterCursorCheckout", {"getMore": Int64(stream), **more}) == [RESUMABLE]
        assert failing("failGetMoreAfterCursorCheckout", {"getMore": Int64(plain), **more}) == []
        # Before the cursor is found nobody knows what it is of.
        assert failing("failCommand", {"getMore": Int64(stream), **more}, failCommands=["getMore"]) == []
        assert failing("failCommand", begin, failCommands=["aggregate"]) == [RESUMABLE]
        assert failing("failCommand", {**begin, "pipeline": []}, failCommands=["aggregate"]) == []


def names(event):
    return event["operationType"], [index["name"] for index in event["operationDescription"]["indexes"]]


def test_indexes_that_are_made_together_are_told_together(db):
    def make(*fields):
        db.c.create_indexes([pymongo.IndexModel([(field, 1)]) for field in fields])

    db.create_collection("c")
    with watch(db.c, show_expanded_events=True) as stream:
        make("a", "b")
        # Where nothing has to be built, each is there at once.
        assert list(map(names, told(stream))) == [("createIndexes", ["a_1"]), ("createIndexes", ["b_1"])]
        db.c.insert_one({})
        make("c", "a", "d")
        _, made = told(stream)
        assert names(made) == ("createIndexes", ["c_1", "d_1"])
        make("c", "d")
        assert told(stream) == []


def test_indexes_are_made_together_or_not_at_all(db):
    db.c.insert_many([{"x": 1}, {"x": 1}])
    indexes = [pymongo.IndexModel([("y", 1)]), pymongo.IndexModel([("x", 1)], unique=True), pymongo.IndexModel([("z", 1)])]
    with watch(db.c, show_expanded_events=True) as stream:
        with pytest.raises(OperationFailure) as caught:
            db.c.create_indexes(indexes)
        assert caught.value.code == 11000
        assert list(db.c.index_information()) == ["_id_"]
        clash = [pymongo.IndexModel([("y", 1)]), pymongo.IndexModel([("y", 1)], name="other")]
        with pytest.raises(OperationFailure) as caught:
            db.c.create_indexes(clash)
        assert caught.value.code == 85
        assert list(db.c.index_information()) == ["_id_"] and told(stream) == []
    db.c.delete_one({})
    db.c.create_indexes(indexes)
    assert list(db.c.index_information()) == ["_id_", "y_1", "x_1", "z_1"]


SPLIT = [{"$changeStreamSplitLargeEvent": {}}]
MANY = 10 * 1024 * 1024


def test_events_too_large_for_a_document_are_told_in_parts(db):
    db.create_collection("c", changeStreamPreAndPostImages={"enabled": True})
    db.c.insert_one({"_id": 1, "x": "q" * MANY})
    images = {"full_document": "required", "full_document_before_change": "required"}
    with watch(db.c) as stream:
        begin = stream.resume_token
        db.c.update_one({"_id": 1}, {"$set": {"x": "z" * MANY}})
        db.c.insert_one({"_id": 2})
        # Without its images the event is small enough, and stays whole.
        (whole, _) = told(stream)
    with watch(db.c, SPLIT, resume_after=begin) as stream:
        assert "splitEvent" not in stream.next()
    with pytest.raises(OperationFailure) as caught:
        with watch(db.c, resume_after=begin, **images) as stream:
            stream.next()
    assert caught.value.code == 10334
    with watch(db.c, SPLIT, resume_after=begin, **images) as stream:
        *parts, last = told(stream)
    assert last["documentKey"] == {"_id": 2} and "splitEvent" not in last
    assert [part["splitEvent"] for part in parts] == [{"fragment": n, "of": 3} for n in (1, 2, 3)]
    event = {name: value for part in parts for name, value in part.items() if name not in ("_id", "splitEvent")}
    assert len(event["fullDocumentBeforeChange"]["x"]) == len(event["fullDocument"]["x"]) == MANY
    assert event["updateDescription"] == whole["updateDescription"] and event["documentKey"] == {"_id": 1}
    for at, part in enumerate(parts):
        with watch(db.c, SPLIT, resume_after=part["_id"], **images) as stream:
            assert [event["_id"] for event in told(stream)] == [event["_id"] for event in [*parts, last][at + 1 :]]
    # Who splits otherwise, or not at all, cannot go on within.
    for pipeline, options in ((SPLIT, {}), ([], images), ([{"$project": {"fullDocument": 0}}, *SPLIT], images)):
        with pytest.raises(OperationFailure) as caught:
            with watch(db.c, pipeline, resume_after=parts[2]["_id"], **options) as stream:
                stream.next()
        assert caught.value.code == 280


@pytest.mark.parametrize(
    ("pipeline", "code"),
    [
        (SPLIT, 20),
        ([*STREAM, *SPLIT, *SPLIT], 7182802),
        ([*STREAM, *SPLIT, {"$project": {"fullDocument": 0}}], 7182802),
        ([*STREAM, {"$changeStreamSplitLargeEvent": {"a": 1}}], 7182800),
    ],
)
def test_parts_are_asked_for_at_the_end_of_a_stream(db, pipeline, code):
    db.create_collection("c")
    with pytest.raises(OperationFailure) as caught:
        db.command("aggregate", "c", pipeline=pipeline, cursor={})
    assert caught.value.code == code
