"""Change streams at the Mongo door: what is told, of expiries too, by which images, from which place on, and for how long."""

import threading

import pytest
from azure.cosmos import CosmosClient
from bson.datetime_ms import DatetimeMS

from conftest import fresh, running
from lapsedb import KEY
from mongo_door import connected, failure, mongo, refused  # noqa: F401
from ttl_door import advance, when  # noqa: F401

FLAGS = ["--purge", "off"]

# How long a batch may wait where a test says that there is nothing; what has happened is told without waiting.
QUIET_MS = 20
# How long a batch may wait for what is sure to come.
WAIT_MS = 20_000
RETENTION_SECONDS = 3600
# More than are told in one commit.
MANY = 100
IMAGES = {"changeStreamPreAndPostImages": {"enabled": True}}
SCOPES = {
    "collection": lambda collection: collection,
    "database": lambda collection: collection.database,
    "deployment": lambda collection: collection.database.client,
}


@pytest.fixture(scope="module")
def client(mongo):
    with connect(mongo) as client:
        yield client


@pytest.fixture
def collection(mongo, client):
    name = fresh("db")
    mongo.align()
    yield client[name].c
    client.drop_database(name)


@pytest.fixture(params=SCOPES)
def scope(request, collection):
    return SCOPES[request.param](collection)


@pytest.fixture
def own():
    """A server for one test alone, which may stop or kill it."""
    with running("--virtual-clock", "--change-streams-retention", str(RETENTION_SECONDS), "--mongo-port", "0") as server:
        server.align()
        yield server


def connect(server):
    return connected(server, retryWrites=False)


def watch(scope, pipeline=None, **options):
    return scope.watch(pipeline, max_await_time_ms=QUIET_MS, **options)


def told(stream):
    """All events that there are by now."""
    events = []
    while stream.alive and (event := stream.try_next()) is not None:
        events.append(event)
    return events


def short(events):
    """What happened to which document; an expiry has a mark."""

    def one(event):
        expired = event.get("operationDescription") == {"reason": "expired"}
        kind = event["operationType"] + ("!" if expired else "")
        return (kind, event["documentKey"]["_id"]) if "documentKey" in event else kind

    return [one(event) for event in events]


def now(server):
    return server.admin("GET", "/_lapsedb/clock")[1]["nowMillis"]


def test_what_happens_to_documents_is_told(scope, collection):
    with watch(scope) as stream:
        collection.insert_one({"_id": 1, "a": {"b": 1, "c": 2}, "list": [1, 2, 3]})
        collection.update_one({"_id": 1}, {"$set": {"a.b": 5, "n": 1}, "$unset": {"a.c": 1}})
        collection.update_one({"_id": 1}, [{"$set": {"list": {"$slice": ["$list", 2]}}}])
        collection.update_one({"_id": 1}, {"$set": {"n": 1}})
        collection.replace_one({"_id": 1}, {"r": True})
        collection.find_one_and_update({"_id": 2}, {"$set": {"u": 1}}, upsert=True)
        collection.delete_one({"_id": 1})
        events = told(stream)
    # An update that changes nothing is no event.
    assert short(events) == [("insert", 1), ("update", 1), ("update", 1), ("replace", 1), ("insert", 2), ("delete", 1)]
    assert all(event["ns"] == {"db": collection.database.name, "coll": "c"} for event in events)
    insert, update, cut, replace, upsert, delete = events
    assert insert["fullDocument"] == {"_id": 1, "a": {"b": 1, "c": 2}, "list": [1, 2, 3]}
    assert update["updateDescription"] == {"updatedFields": {"a.b": 5, "n": 1}, "removedFields": ["a.c"], "truncatedArrays": []}
    assert cut["updateDescription"] == {
        "updatedFields": {},
        "removedFields": [],
        "truncatedArrays": [{"field": "list", "newSize": 2}],
    }
    assert replace["fullDocument"] == {"_id": 1, "r": True} and "updateDescription" not in replace
    assert upsert["fullDocument"] == {"_id": 2, "u": 1}
    for event in (update, cut, delete):
        assert "fullDocument" not in event
    times = [event["clusterTime"] for event in events]
    assert times == sorted(set(times))
    tokens = [event["_id"]["_data"] for event in events]
    assert tokens == sorted(set(tokens))


def test_a_collection_that_is_made_later_is_followed_from_its_beginning(client, collection):
    with watch(collection) as one, watch(collection.database) as whole, watch(client) as everything:
        collection.insert_one({"_id": 1})
        collection.database.later.insert_one({"_id": 2})
        collection.database.other.insert_one({"_id": 3})
        collection.database.other.aggregate([{"$out": "poured"}])
        assert short(told(one)) == [("insert", 1)]
        for stream in (whole, everything):
            assert short(told(stream))[:3] == [("insert", 1), ("insert", 2), ("insert", 3)]


def test_what_pipelines_write_is_told(collection):
    other = collection.database.other
    other.insert_many([{"_id": 1, "a": {"x": 1}}, {"_id": 2, "a": {"x": 1}, "same": 1}])
    with watch(other) as stream:
        collection.insert_many([{"_id": 1, "a": {"x": 1, "y": 2}}, {"_id": 2, "a": {"x": 1}}, {"_id": 3}])
        collection.aggregate([{"$merge": "other"}])
        events = told(stream)
        # Merged members are told as a whole, and what stays as it is not at all.
        assert short(events) == [("update", 1), ("insert", 3)]
        assert events[0]["updateDescription"]["updatedFields"] == {"a": {"x": 1, "y": 2}}
        collection.aggregate([{"$merge": {"into": "other", "whenMatched": "replace"}}])
        assert short(told(stream)) == [("replace", 2)]
        collection.aggregate([{"$out": "other"}])
        assert short(told(stream)) == ["rename", "invalidate"]


def test_the_index_on_id_is_told_with_its_collation(collection):
    with watch(collection.database, show_expanded_events=True) as stream:
        collection.database.create_collection("c", collation={"locale": "de"})
        [event] = told(stream)
    index = event["operationDescription"]["idIndex"]
    assert index["collation"]["locale"] == "de" and index["key"] == {"_id": 1}
    assert [dict(shown) for shown in collection.list_indexes()] == [index]


def test_what_others_do_is_not_told(client, collection):
    with watch(collection) as one, watch(collection.database) as whole:
        collection.database.other.insert_one({"_id": 1})
        client[collection.database.name + "x"].c.insert_one({"_id": 2})
        collection.insert_one({"_id": 3})
        assert short(told(one)) == [("insert", 3)]
        assert short(told(whole)) == [("insert", 1), ("insert", 3)]
    client.drop_database(collection.database.name + "x")


def test_the_document_now_or_as_it_was_then(collection):
    collection.database.create_collection("c", **IMAGES)
    collection.insert_one({"_id": 1, "n": 0})
    kinds = ["updateLookup", "whenAvailable", "required"]
    streams = [watch(collection, full_document=kind, full_document_before_change="whenAvailable") for kind in kinds]
    collection.update_one({"_id": 1}, {"$inc": {"n": 1}})
    collection.update_one({"_id": 1}, {"$inc": {"n": 1}})
    for stream, kind in zip(streams, kinds):
        first, second = told(stream)
        assert first["fullDocument"] == {"_id": 1, "n": 2 if kind == "updateLookup" else 1}
        assert second["fullDocument"] == {"_id": 1, "n": 2}
        assert [first["fullDocumentBeforeChange"]["n"], second["fullDocumentBeforeChange"]["n"]] == [0, 1]
    collection.update_one({"_id": 1}, {"$inc": {"n": 1}})
    collection.delete_one({"_id": 1})
    for stream, kind in zip(streams, kinds):
        with stream:
            update, delete = told(stream)
        assert update["fullDocument"] == (None if kind == "updateLookup" else {"_id": 1, "n": 3})
        assert delete["fullDocumentBeforeChange"] == {"_id": 1, "n": 3}


@pytest.mark.parametrize("side", ["full_document", "full_document_before_change"])
def test_images_that_are_not_kept(side, collection):
    collection.insert_one({"_id": 1})
    with watch(collection, **{side: "whenAvailable"}) as lenient, watch(collection, **{side: "required"}) as strict:
        collection.update_one({"_id": 1}, {"$set": {"n": 1}})
        field = {"full_document": "fullDocument", "full_document_before_change": "fullDocumentBeforeChange"}[side]
        assert [event[field] for event in told(lenient)] == [None]
        refused(47, strict.try_next)
        # From the moment on that they are kept, they are shown.
        collection.database.command("collMod", "c", **IMAGES)
        collection.update_one({"_id": 1}, {"$set": {"n": 2}})
        assert [event[field]["n"] for event in told(lenient)] == [2 if side == "full_document" else 1]


def test_a_drop_ends_the_stream_and_it_begins_again_behind(collection):
    collection.insert_one({"_id": 1})
    with watch(collection) as stream:
        collection.delete_one({"_id": 1})
        collection.drop()
        events = told(stream)
        assert short(events) == [("delete", 1), "drop", "invalidate"] and not stream.alive
    collection.insert_one({"_id": 2})
    end = events[-1]["_id"]
    refused(260, lambda: watch(collection, resume_after=end))
    with watch(collection, start_after=end) as stream:
        assert short(told(stream)) == [("insert", 2)]
    with watch(collection, resume_after=events[0]["_id"]) as stream:
        assert short(told(stream)) == ["drop", "invalidate"]
    with watch(collection, resume_after=events[1]["_id"]) as stream:
        assert short(told(stream)) == ["invalidate"]


def test_a_rename_ends_the_stream_of_a_collection_alone(collection):
    db = collection.database
    collection.insert_one({"_id": 1})
    with watch(collection) as one, watch(db) as whole, watch(db.d) as other:
        collection.insert_one({"_id": 2})
        collection.rename("d")
        db.d.insert_one({"_id": 3})
        events = told(one)
        assert short(events) == [("insert", 2), "rename", "invalidate"]
        assert events[1]["ns"] == {"db": db.name, "coll": "c"} and events[1]["to"] == {"db": db.name, "coll": "d"}
        assert short(told(other)) == ["rename", "invalidate"]
        everything = told(whole)
        assert short(everything) == [("insert", 2), "rename", ("insert", 3)]
        assert [event["ns"]["coll"] for event in everything] == ["c", "c", "d"]
    collection.insert_one({"_id": 4})
    with watch(collection, start_after=events[-1]["_id"]) as stream:
        assert short(told(stream)) == [("insert", 4)]
    # Names are told as they were then.
    with watch(db, resume_after=everything[0]["_id"]) as stream:
        assert [event["ns"]["coll"] for event in told(stream)] == ["c", "d", "c"]


def test_a_database_that_is_dropped(client, collection):
    db = collection.database
    collection.insert_one({"_id": 1})
    with watch(db) as whole, watch(client) as everything:
        client.drop_database(db.name)
        assert short(told(whole)) == ["drop", "dropDatabase", "invalidate"]
        assert short(told(everything)) == ["drop", "dropDatabase"] and everything.alive
        collection.insert_one({"_id": 2})
        assert short(told(everything)) == [("insert", 2)]


def test_what_happens_to_collections_is_told_where_it_is_wanted(collection):
    with watch(collection.database) as plain, watch(collection.database, show_expanded_events=True) as expanded:
        collection.database.create_collection("c")
        collection.create_index("x")
        collection.drop_index("x_1")
        collection.database.command("collMod", "c", **IMAGES)
        collection.drop()
        assert short(told(plain)) == ["drop"]
        assert [event["operationType"] for event in told(expanded)] == ["create", "createIndexes", "dropIndexes", "modify", "drop"]


ENDINGS = {
    "_ts": ({"_ts": 1}, 10, lambda mongo: {}),
    "own ttl": ({"_ts": 1}, 1000, lambda mongo: {"ttl": 10}),
    "date": ({"at": 1}, 4, lambda mongo: {"at": when(mongo, 6000)}),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_expiry_is_one_event_at_its_moment(ending, mongo, scope, collection, advance):  # noqa: F811
    keys, seconds, document = ENDINGS[ending]
    collection.database.create_collection("c", **IMAGES)
    collection.create_index(list(keys.items()), expireAfterSeconds=seconds)
    with watch(scope, full_document_before_change="whenAvailable") as stream:
        collection.insert_one({"_id": 1, **document(mongo)})
        collection.insert_one({"_id": 2, "x": "stays", "ttl": -1})
        assert short(told(stream)) == [("insert", 1), ("insert", 2)]
        advance(9999)
        assert told(stream) == []
        advance(1)
        [event] = told(stream)
        assert short([event]) == [("delete!", 1)]
        assert int(DatetimeMS(event["wallTime"])) == now(mongo)
        assert event["fullDocumentBeforeChange"]["_id"] == 1 and "fullDocument" not in event
        advance(100_000)
        assert told(stream) == []
        # The id is free: what comes after is another document.
        collection.insert_one({"_id": 1, "new": True, "ttl": -1})
        collection.delete_one({"_id": 1})
        assert short(told(stream)) == [("insert", 1), ("delete", 1)]


def test_an_expiry_is_told_before_its_id_is_used_again(mongo, collection, advance):  # noqa: F811
    collection.create_index("_ts", expireAfterSeconds=10)
    with watch(collection) as stream:
        collection.insert_many([{"_id": n, "ttl": n} for n in (3, 1, 2)])
        start = now(mongo)
        advance(2000)
        # Written over what nobody has seen dying.
        collection.insert_one({"_id": 1})
        collection.delete_one({"_id": 3})
        events = told(stream)
    assert short(events)[:3] == [("insert", 3), ("insert", 1), ("insert", 2)]
    # Each once, with its own moment; what is told of one id is in order.
    assert [event for event in short(events) if event[1] == 1] == [("insert", 1), ("delete!", 1), ("insert", 1)]
    assert [event for event in short(events) if event[1] == 2] == [("insert", 2), ("delete!", 2)]
    assert [event for event in short(events) if event[1] == 3] == [("insert", 3), ("delete", 3)]
    moments = {event["documentKey"]["_id"]: int(DatetimeMS(event["wallTime"])) - start for event in events if "operationDescription" in event}
    assert moments == {1: 1000, 2: 2000}


def test_who_waits_is_woken_by_a_write_and_by_an_expiry(collection, advance):  # noqa: F811
    collection.create_index("_ts", expireAfterSeconds=10)
    with collection.watch(max_await_time_ms=WAIT_MS) as stream:
        found = []
        for act, expected in [
            (lambda: collection.insert_one({"_id": 1}), ("insert", 1)),
            (lambda: advance(10_000), ("delete!", 1)),
        ]:
            waiting = threading.Thread(target=lambda: found.append(stream.next()))
            waiting.start()
            act()
            waiting.join(WAIT_MS / 1000)
            assert not waiting.is_alive()
            assert short(found[-1:]) == [expected]
        assert len(found) == 2


def test_an_expiry_is_not_told_again_after_purge_and_restart(own):
    with connect(own) as client:
        collection = client.db.c
        collection.create_index("_ts", expireAfterSeconds=10)
        collection.create_index("at", expireAfterSeconds=0)
        with watch(collection) as stream:
            start = stream.resume_token
            collection.insert_many([{"_id": 1}, {"_id": 2, "ttl": -1, "at": when(own, 5000)}])
            own.advance("10s")
            events = told(stream)
            assert short(events)[:2] == [("insert", 1), ("insert", 2)]
            assert sorted(short(events)[2:]) == [("delete!", 1), ("delete!", 2)]
            own.advance("10m")
            status, purged = own.admin("POST", "/_lapsedb/dbs/db/colls/c/ttl/purge")
            assert status == 200, purged
            assert told(stream) == []
    own.stop()
    own.start()
    with connect(own) as client:
        with watch(client.db.c, resume_after=start) as stream:
            assert told(stream) == events
        with watch(client.db.c, resume_after=events[-1]["_id"]) as stream:
            assert told(stream) == []
            own.admin("POST", "/_lapsedb/dbs/db/colls/c/ttl/purge")
            assert told(stream) == []


def test_many_that_expire_at_once_are_each_told_once_wherever_one_resumes(own):
    with connect(own) as client:
        collection = client.db.c
        collection.create_index("_ts", expireAfterSeconds=10)
        collection.create_index("at", expireAfterSeconds=0)
        with watch(collection, [{"$match": {"operationType": "delete"}}]) as stream:
            start = stream.resume_token
            collection.insert_many([{"_id": n} if n % 2 else {"_id": n, "ttl": -1, "at": when(own, 10_000)} for n in range(MANY)])
            own.advance("10s")
            # Told to the first, while nobody has read to the end, the server dies.
            first = stream.next()
    own.kill()
    own.start()
    with connect(own) as client:
        for options in ({}, {"batch_size": 7}):
            with watch(client.db.c, [{"$match": {"operationType": "delete"}}], resume_after=start, **options) as stream:
                events = told(stream)
            assert sorted(short(events)) == [("delete!", n) for n in range(MANY)]
            assert events[0] == first
        for at in range(0, MANY, 9):
            with watch(client.db.c, resume_after=events[at]["_id"]) as stream:
                assert told(stream) == events[at + 1 :]


@pytest.mark.parametrize("scope_name", SCOPES)
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_tokens_and_watches_outlive_the_server(end, scope_name, own):
    with connect(own) as client:
        collection = client.db.c
        with watch(SCOPES[scope_name](collection)) as stream:
            collection.insert_one({"_id": 1})
            [event] = told(stream)
        collection.insert_one({"_id": 2})
        collection.update_one({"_id": 2}, {"$set": {"n": 1}})
    getattr(own, end)()
    own.start()
    with connect(own) as client:
        # Nobody watches, yet it is told.
        client.db.c.delete_one({"_id": 2})
        client.db.c.insert_one({"_id": 3, "ttl": 10})
        client.db.c.create_index("_ts", expireAfterSeconds=1000)
        own.advance("20s")
    getattr(own, end)()
    own.start()
    with connect(own) as client, watch(SCOPES[scope_name](client.db.c), resume_after=event["_id"]) as stream:
        events = told(stream)
        assert short(events) == [("insert", 2), ("update", 2), ("delete", 2), ("insert", 3), ("delete!", 3)]
        assert events[1]["updateDescription"]["updatedFields"] == {"n": 1}


def test_a_transaction_is_told_step_by_step_and_resumed_within(scope, client, collection):
    collection.insert_one({"_id": 0})
    others = collection if scope is collection else collection.database.other
    others.insert_one({"_id": 1})
    with watch(scope) as stream, client.start_session() as session:
        with session.start_transaction():
            collection.insert_one({"_id": 2}, session=session)
            others.update_one({"_id": 1}, {"$set": {"n": 1}}, session=session)
            collection.update_one({"_id": 2}, {"$set": {"n": 2}}, session=session)
            collection.delete_one({"_id": 0}, session=session)
            assert told(stream) == []
        events = told(stream)
        steps = [("insert", 2), ("update", 1), ("update", 2), ("delete", 0)]
        assert short(events) == steps
        assert len({event["clusterTime"] for event in events}) == 1
        assert all(event["txnNumber"] == events[0]["txnNumber"] and event["lsid"]["id"] == session.session_id["id"] for event in events)
        with pytest.raises(ZeroDivisionError), session.start_transaction():
            collection.insert_one({"_id": 9}, session=session)
            raise ZeroDivisionError
        assert told(stream) == []
    for passed in range(len(steps)):
        with watch(scope, resume_after=events[passed]["_id"]) as stream:
            assert told(stream) == events[passed + 1 :]


def test_a_stream_begins_at_a_time(scope, collection):
    with watch(scope) as stream:
        collection.insert_many([{"_id": n} for n in range(3)])
        collection.insert_one({"_id": 3})
        collection.delete_one({"_id": 0})
        events = told(stream)
    for event in events:
        at = event["clusterTime"]
        with watch(scope, start_at_operation_time=at) as stream:
            assert told(stream) == [other for other in events if other["clusterTime"] >= at]


def test_behind_the_retention_nothing_is_resumed(own):
    with connect(own) as client:
        collection = client.db.c
        with watch(collection) as stream:
            collection.insert_many([{"_id": 1}, {"_id": 2}])
            token = told(stream)[0]["_id"]
        own.advance(f"{RETENTION_SECONDS // 2}s")
        with watch(collection, resume_after=token) as stream:
            assert short(told(stream)) == [("insert", 2)]
        own.advance(f"{RETENTION_SECONDS + 60}s")
        own.stop()
        own.start()
    with connect(own) as client:
        lost = failure(lambda: told(watch(client.db.c, resume_after=token)))
        assert lost["code"] == 286 and "NonResumableChangeStreamError" in lost["errorLabels"]
        # A new one begins at once.
        with watch(client.db.c) as stream:
            client.db.c.insert_one({"_id": 3})
            assert short(told(stream)) == [("insert", 3)]


def test_before_the_first_watch_nothing_is_kept_unless_that_is_wanted(own):
    def begun(server):
        with connect(server) as client:
            at = client.db.c.database.command("insert", "c", documents=[{"_id": 1}])["operationTime"]
            client.db.c.insert_one({"_id": 2})
            with watch(client.db.c, start_at_operation_time=at) as stream:
                return short(told(stream))

    refused(286, lambda: begun(own))
    with running("--virtual-clock", "--change-streams-from-start", "--mongo-port", "0") as server:
        assert begun(server) == [("insert", 1), ("insert", 2)]


def test_what_the_nosql_door_does_is_told(mongo, scope, collection):
    collection.insert_one({"_id": "a", "n": 1})
    container = CosmosClient(mongo.url(), KEY).get_database_client(collection.database.name).get_container_client("c")
    with watch(scope) as stream:
        container.upsert_item({"id": "b", "_id": "b", "n": 1})
        container.replace_item("a", {"id": "a", "_id": "a", "n": 2})
        container.patch_item("a", "a", [{"op": "incr", "path": "/n", "value": 1}])
        container.delete_item("a", "a")
        events = told(stream)
    assert short(events) == [("insert", "b"), ("replace", "a"), ("update", "a"), ("delete", "a")]
    assert events[1]["fullDocument"] == {"_id": "a", "n": 2}
    assert events[2]["updateDescription"]["updatedFields"] == {"n": 3}


def test_stages_choose_and_shape(collection):
    shape = [{"$match": {"operationType": "insert", "fullDocument.n": {"$gte": 2}}}, {"$project": {"n": "$fullDocument.n"}}]
    with watch(collection, shape) as stream:
        collection.insert_many([{"_id": n, "n": n} for n in range(4)])
        collection.delete_one({"_id": 3})
        events = told(stream)
    assert [{**event, "_id": None} for event in events] == [{"_id": None, "n": 2}, {"_id": None, "n": 3}]
    with watch(collection, shape, resume_after=events[0]["_id"]) as stream:
        assert told(stream) == events[1:]


def test_stages_that_no_stream_may_have(collection):
    collection.insert_one({"_id": 1})
    refused_stages = [
        {"$group": {"_id": 1}},
        {"$sort": {"_id": 1}},
        {"$limit": 1},
        {"$skip": 1},
        {"$unwind": "$a"},
        {"$lookup": {"from": "c", "localField": "a", "foreignField": "b", "as": "x"}},
        {"$unionWith": "c"},
        {"$facet": {"a": [{"$match": {}}]}},
        {"$sample": {"size": 1}},
        {"$out": "x"},
        {"$merge": "x"},
    ]
    for stage in refused_stages:
        said = refused(20, lambda: watch(collection, [{"$match": {}}, stage]))
        assert f"{next(iter(stage))} is not permitted in a $changeStream pipeline" in said
    refused(40324, lambda: watch(collection, [{"$nothing": {}}]))
    refused(40602, lambda: collection.aggregate([{"$match": {}}, {"$changeStream": {}}]))
    with watch(collection, [{"$project": {"_id": 0}}]) as stream:
        collection.insert_one({"_id": 2})
        refused(280, stream.try_next)


def test_what_cannot_be_watched(client, collection):
    collection.insert_one({"_id": 1})
    collection.database.create_collection("v", viewOn="c", pipeline=[])
    refused(166, lambda: watch(collection.database.v))
    refused(73, lambda: watch(client.admin))
    refused(73, lambda: watch(collection.database["system.views"]))
    refused(40415, lambda: collection.aggregate([{"$changeStream": {"whatever": 1}}]))
    with client.start_session() as session:
        session.start_transaction()
        refused(263, lambda: watch(collection, session=session))
        session.abort_transaction()
