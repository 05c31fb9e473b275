"""Transactions at the Mongo door: what they see, whom they meet, what they may make, and how they end."""

import threading

import pymongo
import pytest
from pymongo.errors import AutoReconnect, CollectionInvalid, DuplicateKeyError, OperationFailure
from pymongo.read_concern import ReadConcern

from conftest import running
from mongo_door import SELECTION_MS_MAX, client, db, mongo, wire  # noqa: F401
from sessions import Wire, session, within


def transient(caught, code):
    assert caught.value.code == code, caught.value.details
    assert caught.value.has_error_label("TransientTransactionError")


def test_what_a_transaction_makes_is_seen_by_others_once_it_commits(client, db):
    db.old.insert_one({"_id": 0})
    with client.start_session() as s:
        s.start_transaction()
        db.create_collection("explicit", session=s)
        db.explicit.create_index("u", unique=True, session=s)
        db.implicit.insert_one({"_id": 1}, session=s)
        db.explicit.insert_one({"_id": 1, "u": 1}, session=s)
        db.old.update_one({"_id": 0}, {"$set": {"x": 1}}, session=s)
        assert db.implicit.find_one({}, session=s) == {"_id": 1}
        joined = db.implicit.aggregate(
            [{"$lookup": {"from": "explicit", "localField": "_id", "foreignField": "_id", "as": "j"}}], session=s
        )
        assert next(joined)["j"] == [{"_id": 1, "u": 1}]
        assert db.list_collection_names() == ["old"]
        assert db.implicit.find_one({}) is None
        s.commit_transaction()
    assert sorted(db.list_collection_names()) == ["explicit", "implicit", "old"]
    assert set(db.explicit.index_information()) == {"_id_", "u_1"}
    with pytest.raises(DuplicateKeyError):
        db.explicit.insert_one({"_id": 2, "u": 1})
    assert db.old.find_one() == {"_id": 0, "x": 1}


def test_nothing_of_what_an_aborted_transaction_made_remains(client, db):
    with client.start_session() as s:
        s.start_transaction()
        db.create_collection("a", session=s)
        db.b.insert_one({}, session=s)
        db.c.create_index("x", session=s)
        s.abort_transaction()
    assert db.list_collection_names() == []
    assert db.name not in client.list_database_names()


def test_a_ttl_index_made_in_a_transaction_ends_documents(client, mongo, db):
    mongo.align()
    with client.start_session() as s:
        s.start_transaction()
        db.c.create_index("_ts", expireAfterSeconds=10, session=s)
        db.c.insert_one({"_id": 1}, session=s)
        s.commit_transaction()
    mongo.advance("9s")
    assert db.c.find_one() == {"_id": 1}
    mongo.advance("1s")
    assert db.c.find_one() is None


def test_indexes_of_collections_that_were_there_are_not_for_transactions(client, db):
    db.c.insert_one({})
    db.c.create_index("x")
    with client.start_session() as s:
        s.start_transaction()
        assert db.c.create_index("x", session=s) == "x_1"
        with pytest.raises(OperationFailure) as caught:
            db.c.create_index("y", session=s)
        assert caught.value.code == 263
    with client.start_session() as s:
        s.start_transaction()
        db.n.insert_one({}, session=s)
        with pytest.raises(OperationFailure) as caught:
            db.n.create_index("y", session=s)
        assert caught.value.code == 263
    with client.start_session() as s:
        s.start_transaction()
        with pytest.raises((OperationFailure, CollectionInvalid)):
            db.create_collection("c", check_exists=False, session=s)


@pytest.mark.parametrize("stage", [{"$out": "z"}, {"$merge": "z"}, {"$collStats": {"count": {}}}, {"$indexStats": {}}])
def test_stages_that_are_not_for_transactions(client, db, stage):
    db.c.insert_one({})
    with client.start_session() as s:
        s.start_transaction()
        with pytest.raises(OperationFailure) as caught:
            list(db.c.aggregate([stage], session=s))
        assert caught.value.code == 263


def test_two_transactions_make_the_same_collection_and_one_may_try_again(client, db):
    with client.start_session() as one, client.start_session() as two:
        one.start_transaction()
        two.start_transaction()
        db.c.insert_one({"_id": 1}, session=one)
        db.c.insert_one({"_id": 2}, session=two)
        one.commit_transaction()
        with pytest.raises(OperationFailure) as caught:
            two.commit_transaction()
        transient(caught, 112)
    assert [d["_id"] for d in db.c.find()] == [1]


def test_another_collection_made_meanwhile_is_no_conflict(client, db):
    with client.start_session() as s:
        s.start_transaction()
        db.mine.insert_one({"_id": 1}, session=s)
        db.other.insert_one({"_id": 1})
        s.commit_transaction()
    assert sorted(db.list_collection_names()) == ["mine", "other"]


def test_the_second_of_two_transactions_conflicts_at_its_statement(client, db):
    db.c.create_index("u", unique=True)
    db.c.insert_many([{"_id": n, "u": n} for n in range(3)])
    with client.start_session() as one:
        one.start_transaction()
        db.c.update_one({"_id": 0}, {"$set": {"x": 1}}, session=one)
        db.c.insert_one({"_id": 9, "u": 9}, session=one)
        db.c.delete_one({"_id": 2}, session=one)
        conflicts = [
            lambda s: db.c.update_one({"_id": 0}, {"$set": {"x": 2}}, session=s),
            lambda s: db.c.delete_one({"_id": 0}, session=s),
            lambda s: db.c.insert_one({"_id": 9}, session=s),
            lambda s: db.c.insert_one({"_id": 10, "u": 9}, session=s),
            lambda s: db.c.insert_one({"_id": 2, "u": 2}, session=s),
        ]
        for conflict in conflicts:
            with client.start_session() as two:
                two.start_transaction()
                with pytest.raises(OperationFailure) as caught:
                    conflict(two)
                transient(caught, 112)
        one.commit_transaction()
    assert [(d["_id"], d.get("x")) for d in db.c.find()] == [(0, 1), (1, None), (9, None)]


def test_a_document_changed_since_the_snapshot_conflicts_at_the_statement(client, db):
    db.c.insert_one({"_id": 0, "n": 0})
    with client.start_session() as s:
        s.start_transaction(read_concern=ReadConcern("snapshot"))
        assert db.c.find_one({}, session=s)["n"] == 0
        db.c.update_one({"_id": 0}, {"$inc": {"n": 1}})
        assert db.c.find_one({}, session=s)["n"] == 0
        with pytest.raises(OperationFailure) as caught:
            db.c.update_one({"_id": 0}, {"$inc": {"n": 10}}, session=s)
        transient(caught, 112)
    assert db.c.find_one()["n"] == 1


@pytest.mark.parametrize("ends", ["commit_transaction", "abort_transaction"])
def test_a_single_write_waits_for_a_transaction_and_is_decided_anew(client, db, ends):
    db.c.insert_many([{"_id": 0, "n": 0}, {"_id": 1}])
    with client.start_session() as s:
        s.start_transaction()
        db.c.update_one({"_id": 0}, {"$set": {"n": 100}}, session=s)
        db.c.delete_one({"_id": 1}, session=s)
        db.c.insert_one({"_id": 2}, session=s)
        results = {}

        def write(name, does):
            try:
                results[name] = does()
            except OperationFailure as failure:
                results[name] = failure.code

        writers = {
            "update": lambda: db.c.update_one({"_id": 0}, {"$inc": {"n": 1}}).modified_count,
            "modify": lambda: db.c.find_one_and_update({"_id": 0}, {"$inc": {"m": 1}})["_id"],
            "delete": lambda: db.c.delete_one({"_id": 1}).deleted_count,
            "insert": lambda: db.c.insert_one({"_id": 2}).inserted_id,
        }
        threads = [threading.Thread(target=write, args=item) for item in writers.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(0.3)
            assert thread.is_alive(), results
        # What is not claimed is not held up.
        assert db.c.insert_one({"_id": 3}).inserted_id == 3
        getattr(s, ends)()
        for thread in threads:
            thread.join(10)
    committed = ends == "commit_transaction"
    assert results == {"update": 1, "modify": 0, "delete": 0 if committed else 1, "insert": 11000 if committed else 2}
    assert db.c.find_one({"_id": 0}) == {"_id": 0, "n": 101 if committed else 1, "m": 1}


def test_a_waiting_write_ends_with_its_time(client, db):
    db.c.insert_one({"_id": 0})
    with client.start_session() as s:
        s.start_transaction()
        db.c.update_one({"_id": 0}, {"$set": {"n": 1}}, session=s)
        for command in (
            {"update": "c", "updates": [{"q": {"_id": 0}, "u": {"$set": {"n": 2}}}], "maxTimeMS": 200},
            {"findAndModify": "c", "query": {"_id": 0}, "remove": True, "maxTimeMS": 200},
        ):
            with pytest.raises(OperationFailure) as caught:
                reply = db.command(command)
                raise OperationFailure("", reply["writeErrors"][0]["code"])
            assert caught.value.code == 50
        s.commit_transaction()
    assert db.c.find_one() == {"_id": 0, "n": 1}


def test_the_other_door_waits_for_a_transaction_too(client, mongo, db):
    from azure.cosmos import CosmosClient

    from lapsedb import KEY

    db.c.insert_one({"_id": "a", "n": 0})
    container = CosmosClient(mongo.url(), KEY).get_database_client(db.name).get_container_client("c")
    with client.start_session() as s:
        s.start_transaction()
        db.c.update_one({"_id": "a"}, {"$set": {"n": 1}}, session=s)
        writer = threading.Thread(target=lambda: container.upsert_item({"id": "a", "_id": "a", "n": 2}))
        writer.start()
        writer.join(0.3)
        assert writer.is_alive()
        s.commit_transaction()
        writer.join(10)
    assert db.c.find_one()["n"] == 2


def test_a_dead_document_is_not_revived_by_a_commit(client, mongo, db):
    mongo.align()
    db.c.create_index("_ts", expireAfterSeconds=5)
    db.c.insert_one({"_id": 1, "n": 0})
    with client.start_session() as s:
        s.start_transaction()
        db.c.update_one({"_id": 1}, {"$set": {"n": 1}}, session=s)
        mongo.advance("5s")
        with pytest.raises(OperationFailure) as caught:
            s.commit_transaction()
        transient(caught, 112)
    assert db.c.find_one() is None


def test_each_statement_of_a_transaction_judges_by_its_own_time(client, mongo, db):
    mongo.align()
    db.c.create_index("_ts", expireAfterSeconds=5)
    db.c.insert_one({"_id": 1})
    with client.start_session() as s:
        s.start_transaction()
        assert db.c.count_documents({}, session=s) == 1
        mongo.advance("5s")
        assert db.c.count_documents({}, session=s) == 0
        db.c.insert_one({"_id": 1, "again": True}, session=s)
        s.commit_transaction()
    assert db.c.find_one() == {"_id": 1, "again": True}


def test_a_transaction_ends_with_its_lifetime(client, mongo, db):
    db.c.insert_one({"_id": 0})
    with client.start_session() as s:
        s.start_transaction()
        db.c.update_one({"_id": 0}, {"$set": {"n": 1}}, session=s)
        mongo.advance("59s")
        db.c.find_one({}, session=s)
        mongo.advance("1s")
        with pytest.raises(OperationFailure) as caught:
            db.c.find_one({}, session=s)
        transient(caught, 251)
    # Its claims are gone with it, even if nobody comes back to it.
    with client.start_session() as s:
        s.start_transaction()
        db.c.update_one({"_id": 0}, {"$set": {"n": 1}}, session=s)
        mongo.advance("60s")
        assert db.c.update_one({"_id": 0}, {"$set": {"n": 2}}).modified_count == 1
    assert client.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=5)["was"] == 60
    try:
        with client.start_session() as s:
            s.start_transaction()
            db.c.find_one({}, session=s)
            mongo.advance("5s")
            with pytest.raises(OperationFailure) as caught:
                s.commit_transaction()
            transient(caught, 251)
        with pytest.raises(OperationFailure):
            client.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=0)
    finally:
        client.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=60)


@pytest.mark.parametrize("kill", ["killSessions", "killAllSessions", "killAllSessionsByPattern", "endSessions"])
def test_killing_a_session_ends_its_transaction(wire, db, kill):
    lsid = session()
    db.c.insert_one({"_id": 0})
    assert wire.command(db.name, {"update": "c", "updates": [{"q": {}, "u": {"$set": {"n": 1}}}], **within(lsid, 1, True)})["n"] == 1
    named = {"killSessions": [lsid], "endSessions": [lsid], "killAllSessions": [], "killAllSessionsByPattern": [{"lsid": lsid}]}[kill]
    assert wire.command("admin", {kill: named})["ok"] == 1
    assert db.c.update_one({"_id": 0}, {"$set": {"n": 2}}).modified_count == 1
    reply = wire.command("admin", {"commitTransaction": 1, **within(lsid, 1)})
    assert (reply["code"], reply["errorLabels"]) == (251, ["TransientTransactionError"])
    assert db.c.find_one()["n"] == 2


def test_a_transaction_of_many_documents(client, db):
    many = 5000
    with client.start_session() as s:
        s.start_transaction()
        db.c.insert_many([{"_id": n, "x": "x" * 50} for n in range(many)], session=s)
        db.d.insert_many([{"_id": n} for n in range(1500)], session=s)
        db.c.update_many({"_id": {"$lt": 100}}, {"$set": {"y": 1}}, session=s)
        s.commit_transaction()
    assert db.c.count_documents({}) == many and db.d.count_documents({}) == 1500
    assert [d["_id"] for d in db.c.find()] == list(range(many))
    assert db.c.count_documents({"y": 1}) == 100
    db.c.insert_one({"_id": many})
    assert [d["_id"] for d in db.c.find().skip(many - 1)] == [many - 1, many]


def test_a_transaction_has_a_limit_and_names_it(client, db):
    with client.start_session() as s:
        s.start_transaction()
        with pytest.raises(OperationFailure) as caught:
            for begin in range(6):
                db.c.insert_many([{"_id": begin * 10_000 + n} for n in range(10_000)], session=s)
        assert caught.value.code == 257 and "50000 documents" in str(caught.value)
    assert db.list_collection_names() == []


def test_a_wrong_command_ends_its_transaction(wire, db):
    db.c.insert_one({"_id": 0})
    lsid = session()
    for number, wrong in enumerate(
        [
            {"find": "c", "filter": 5},
            {"find": "c", "filter": {"$no": 1}},
            {"update": "c", "updates": [{"q": {}, "u": {"$no": 1}}]},
            {"insert": "c", "documents": [{"_id": 0}]},
            {"getMore": bson_long(77), "collection": "c"},
        ]
    ):
        assert wire.command(db.name, {"find": "c", **within(lsid, number, True)})["ok"] == 1
        wire.command(db.name, {**wrong, **within(lsid, number)})
        reply = wire.command("admin", {"commitTransaction": 1, **within(lsid, number)})
        assert reply["code"] == 251, (wrong, reply)


def bson_long(number):
    from bson.int64 import Int64

    return Int64(number)


def test_the_states_of_a_transaction(wire, db):
    db.c.insert_one({"_id": 0})
    lsid = session()
    read = lambda number, start=False: wire.command(db.name, {"find": "c", **within(lsid, number, start)})
    end = lambda how, number: wire.command("admin", {how: 1, **within(lsid, number)})
    assert read(3)["code"] == 251
    assert read(3, True)["ok"] == 1
    assert read(3, True)["code"] == 117
    assert read(2, True)["code"] == 225
    assert end("commitTransaction", 4)["code"] == 251
    assert end("commitTransaction", 3)["ok"] == 1
    assert end("commitTransaction", 3)["ok"] == 1
    assert read(3)["code"] == 256
    assert end("abortTransaction", 3)["code"] == 256
    insert = {"insert": "c", "documents": [{}], "lsid": lsid, "txnNumber": bson_long(3)}
    assert wire.command(db.name, insert)["code"] == 217
    assert read(5, True)["ok"] == 1
    assert end("abortTransaction", 5)["ok"] == 1
    assert end("abortTransaction", 5)["code"] == 251
    assert wire.command("admin", {"commitTransaction": 1})["code"] == 125
    assert wire.command("x", {"commitTransaction": 1, **within(lsid, 5)})["code"] == 13


def test_a_cursor_belongs_to_its_session_and_transaction(wire, db):
    db.c.insert_many([{} for _ in range(10)])
    one, two = session(), session()
    opened = wire.command(db.name, {"find": "c", "batchSize": 2, "lsid": one})["cursor"]["id"]
    more = {"getMore": bson_long(opened), "collection": "c", "batchSize": 2}
    assert wire.command(db.name, {**more, "lsid": two})["code"] == 50738
    assert wire.command(db.name, more)["code"] == 50737
    assert len(wire.command(db.name, {**more, "lsid": one})["cursor"]["nextBatch"]) == 2
    assert wire.command("admin", {"killSessions": [one]})["ok"] == 1
    assert wire.command(db.name, {**more, "lsid": one})["code"] == 43


def test_a_committed_transaction_is_remembered_over_a_crash():
    with running("--mongo-port", "0") as server:
        wire, lsid = Wire(server.mongo_port), session()
        wire.command("db", {"insert": "c", "documents": [{"_id": 1}], **within(lsid, 7, True)})
        wire.command("db", {"insert": "made", "documents": [{"_id": 1}], **within(lsid, 7)})
        assert wire.command("admin", {"commitTransaction": 1, **within(lsid, 7)})["ok"] == 1
        other = session()
        wire.command("db", {"insert": "lost", "documents": [{"_id": 2}], **within(other, 1, True)})
        server.process.kill()
        server.process.wait()
        server.start()
        wire = Wire(server.mongo_port)
        assert wire.command("admin", {"commitTransaction": 1, **within(lsid, 7)})["ok"] == 1
        assert wire.command("db", {"find": "c", **within(lsid, 7)})["code"] == 256
        assert wire.command("db", {"find": "c", **within(lsid, 6, True)})["code"] == 225
        reply = wire.command("admin", {"commitTransaction": 1, **within(other, 1)})
        assert (reply["code"], reply["errorLabels"]) == (251, ["TransientTransactionError"])
        names = [c["name"] for c in wire.command("db", {"listCollections": 1})["cursor"]["firstBatch"]]
        assert sorted(names) == ["c", "made"]


def test_a_statement_that_fails_in_the_middle_keeps_what_it_did(client, db):
    db.m.insert_many([{"_id": n, "v": "x" if n == 700 else 1} for n in range(1000)])
    reply = db.command("update", "m", updates=[{"q": {}, "u": {"$inc": {"v": 1}}, "multi": True}])
    assert (reply["n"], reply["nModified"], reply["writeErrors"][0]["code"]) == (0, 0, 14)
    assert db.m.count_documents({"v": 2}) == 700
    db.m.create_index("u", unique=True, sparse=True)
    reply = db.command("update", "m", updates=[{"q": {}, "u": {"$set": {"u": 1}}, "multi": True}])
    assert reply["writeErrors"][0]["code"] == 11000 and db.m.count_documents({"u": 1}) == 1
    broken = {"$expr": {"$gt": [{"$divide": [1, {"$subtract": ["$_id", 3]}]}, -5]}}
    reply = db.command("delete", "m", deletes=[{"q": broken, "limit": 0}])
    assert reply["n"] == 0 and reply["writeErrors"] and db.m.find_one({})["_id"] == 3
    with client.start_session() as s:
        s.start_transaction()
        with pytest.raises(OperationFailure):
            db.m.update_many({}, {"$inc": {"v": 1}}, session=s)
    assert db.m.count_documents({"v": 2}) == 697


def test_sessions_of_two_users_with_one_number_are_two():
    from lapsedb import KEY, READ_ONLY_KEY

    flags = ("--mongo-auth", "on", "--key", KEY, "--read-only-key", READ_ONLY_KEY, "--mongo-port", "0")
    with running(*flags) as server:
        login = dict(host="127.0.0.1", port=server.mongo_port, serverSelectionTimeoutMS=SELECTION_MS_MAX)
        with pymongo.MongoClient(username="lapsedb", password=KEY, **login) as master:
            with pymongo.MongoClient(username="lapsedb-reader", password=READ_ONLY_KEY, **login) as reader:
                master.db.c.insert_one({"_id": 1})
                with master.start_session() as one, reader.start_session() as two:
                    one.start_transaction()
                    master.db.c.update_one({}, {"$set": {"n": 1}}, session=one)
                    two._server_session = reader._topology.get_server_session(30)
                    two._server_session.session_id = one._server_session.session_id
                    two._server_session._transaction_id = one._server_session._transaction_id
                    two._transaction.state = one._transaction.state
                    two._transaction.opts = one._transaction.opts
                    with pytest.raises((OperationFailure, AutoReconnect)) as caught:
                        reader.db.c.find_one({}, session=two)
                    assert caught.value.code == 251
                    one.commit_transaction()
                assert reader.db.c.find_one() == {"_id": 1, "n": 1}


def test_sessions_are_listed_prolonged_and_forgotten(mongo, wire, db):
    lsid = session()
    known = lambda: [
        s["_id"]["id"]
        for s in wire.command("admin", {"aggregate": 1, "pipeline": [{"$listLocalSessions": {"allUsers": True}}], "cursor": {"batchSize": 100_000}})[
            "cursor"
        ]["firstBatch"]
    ]
    assert lsid["id"] not in known()
    wire.command(db.name, {"find": "c", "lsid": lsid})
    assert lsid["id"] in known()
    for _ in range(2):
        mongo.advance("29m")
        assert wire.command("admin", {"refreshSessions": [lsid]})["ok"] == 1
    assert lsid["id"] in known()
    assert wire.command("admin", {"endSessions": [lsid]})["ok"] == 1
    assert lsid["id"] not in known()


def test_a_claimed_id_is_not_purged_away_from_its_transaction(client, mongo, db):
    """A dead document's place is claimed by a transaction while the purger is at work."""
    mongo.align()
    db.c.create_index("e", expireAfterSeconds=0)
    import datetime

    soon = datetime.datetime.fromtimestamp(mongo.advance("1ms") / 1000 + 2, datetime.timezone.utc)
    db.c.insert_many([{"_id": n, "e": soon} for n in range(20)])
    with client.start_session() as s:
        s.start_transaction()
        mongo.advance("5s")
        db.c.insert_many([{"_id": n, "again": True} for n in range(20)], session=s)
        s.commit_transaction()
    assert db.c.count_documents({"again": True}) == 20


def test_what_is_made_in_a_transaction_has_its_options_there(client, db):
    with client.start_session() as s:
        s.start_transaction()
        db.create_collection("c", collation={"locale": "en", "strength": 2}, validator={"n": {"$gt": 0}}, session=s)
        db.c.insert_one({"_id": "A", "n": 1}, session=s)
        assert db.c.find_one({"_id": "a"}, session=s) == {"_id": "A", "n": 1}
        s.commit_transaction()
    assert db.c.find_one({"_id": "a"}) == {"_id": "A", "n": 1}
    with client.start_session() as s:
        s.start_transaction()
        with pytest.raises(OperationFailure) as caught:
            db.c.insert_one({"n": 0}, session=s)
        assert caught.value.code == 121
    with client.start_session() as s:
        s.start_transaction()
        with pytest.raises(OperationFailure) as caught:
            db.create_collection("v", viewOn="c", pipeline=[], check_exists=False, session=s)
        assert caught.value.code == 263


@pytest.mark.parametrize("change", ["drop", "index", "ttl"])
def test_a_transaction_whose_collection_changes_may_try_again(client, db, change):
    """What changes a collection does not wait for transactions; they notice it."""
    db.c.create_index("_ts", expireAfterSeconds=1000)
    db.c.insert_one({"_id": 0})
    with client.start_session() as s:
        s.start_transaction()
        db.c.update_one({"_id": 0}, {"$set": {"n": 1}}, session=s)
        {
            "drop": lambda: db.c.drop(),
            "index": lambda: db.c.create_index("x"),
            "ttl": lambda: db.command("collMod", "c", index={"name": "_ts_1", "expireAfterSeconds": 10}),
        }[change]()
        with pytest.raises(OperationFailure) as caught:
            db.c.update_one({"_id": 0}, {"$set": {"n": 2}}, session=s)
        transient(caught, 112 if change == "index" else 246)
    assert db.c.count_documents({"n": {"$exists": True}}) == 0
