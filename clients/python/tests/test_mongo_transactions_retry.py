"""Retryable writes: executed once, however often they are sent, over lost answers, reconnects and crashes."""

import time

import pytest

from conftest import fresh, running
from mongo_door import connected, mongo, wire  # noqa: F401
from sessions import Wire, retryable, session, within

FLAGS = ["--enable-test-commands"]

# Each write changes something that a second execution would change again, or refuse.
WRITES = {
    "insert": {"insert": "c", "documents": [{"_id": 10}, {"_id": 11}]},
    "update": {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}, {"q": {"_id": 5}, "u": {"$inc": {"n": 1}}, "upsert": True}]},
    "delete": {"delete": "c", "deletes": [{"q": {"k": 1}, "limit": 1}, {"q": {"k": 1}, "limit": 1}]},
    "before": {"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}},
    "after": {"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": True},
    "upsert": {"findAndModify": "c", "query": {"_id": 6}, "update": {"$inc": {"n": 1}}, "upsert": True, "new": True},
    "remove": {"findAndModify": "c", "query": {"k": 1}, "remove": True},
}
DOCUMENTS = [{"_id": 1, "n": 0}, {"_id": 2, "k": 1}, {"_id": 3, "k": 1}, {"_id": 4, "k": 1}]


def prepared(wire):
    name = fresh("db")
    wire.command(name, {"insert": "c", "documents": DOCUMENTS})
    return name


def contents(wire, name):
    return wire.command(name, {"find": "c"})["cursor"]["firstBatch"]


def told(reply):
    """What a reply says of the write; whether it was a repeated one; nothing of the time."""
    reply = {key: value for key, value in reply.items() if not key.startswith("$") and key != "operationTime"}
    again = [reply.pop(key) for key in ("retriedStmtIds", "retriedStmtId") if key in reply]
    return reply, again


@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_executed_once(wire, write):
    name, lsid = prepared(wire), session()
    first, again = told(wire.command(name, {**WRITES[write], **retryable(lsid, 1)}))
    assert first["ok"] == 1 and not again
    after = contents(wire, name)
    assert after != DOCUMENTS
    for _ in range(2):
        second, again = told(wire.command(name, {**WRITES[write], **retryable(lsid, 1)}))
        assert second == first and again
        assert contents(wire, name) == after
    # The next number is another write.
    third, again = told(wire.command(name, {**WRITES[write], **retryable(lsid, 2)}))
    assert not again
    assert wire.command(name, {**WRITES[write], **retryable(lsid, 1)})["code"] == 225


@pytest.mark.parametrize("write", WRITES)
def test_a_lost_answer_is_given_again_over_another_connection(mongo, wire, write):
    name, lsid = prepared(wire), session()
    lost = Wire(mongo.mongo_port)
    wire.command("admin", {"configureFailPoint": "onPrimaryTransactionalWrite", "mode": {"times": 1}, "data": {}})
    with pytest.raises(ConnectionError):
        lost.command(name, {**WRITES[write], **retryable(lsid, 1)})
    after = contents(wire, name)
    assert after != DOCUMENTS, "it was executed"
    reply, again = told(wire.command(name, {**WRITES[write], **retryable(lsid, 1)}))
    assert reply["ok"] == 1 and again
    assert contents(wire, name) == after


def test_statements_are_known_by_their_numbers(wire):
    name, lsid = prepared(wire), session()
    insert = lambda ids, statements: wire.command(
        name, {"insert": "c", "documents": [{"_id": n} for n in ids], "stmtIds": statements, **retryable(lsid, 1)}
    )
    assert insert([20, 21], [5, 7])["n"] == 2
    reply = insert([20, 21, 22], [5, 7, 8])
    assert (reply["n"], reply["retriedStmtIds"]) == (3, [5, 7])
    first = wire.command(name, {"insert": "c", "documents": [{"_id": 99}], "stmtId": 8, **retryable(lsid, 1)})
    assert first["retriedStmtIds"] == [8] and {"_id": 99} not in contents(wire, name)


def test_a_long_bulk_is_remembered_in_little_room(wire):
    name, lsid = prepared(wire), session()
    many = 2000
    updates = [{"q": {"_id": 1000 + n}, "u": {"$inc": {"n": 1}}, "upsert": True} for n in range(many)]
    first, again = told(wire.command(name, {"update": "c", "updates": updates, **retryable(lsid, 1)}))
    assert first["n"] == many and len(first["upserted"]) == many and not again
    second, again = told(wire.command(name, {"update": "c", "updates": updates, **retryable(lsid, 1)}))
    assert second == first and again == [list(range(many))]
    assert wire.command(name, {"find": "c", "filter": {"n": 2}})["cursor"]["firstBatch"] == []


@pytest.mark.parametrize(
    ("write", "code"),
    [
        ({"update": "c", "updates": [{"q": {}, "u": {"$set": {"x": 1}}, "multi": True}]}, 72),
        ({"delete": "c", "deletes": [{"q": {}, "limit": 0}]}, 72),
    ],
)
def test_writes_of_many_documents_are_not_retryable(wire, write, code):
    name = prepared(wire)
    reply = wire.command(name, {**write, **retryable(session(), 1)})
    assert reply["ok"] == 1 and reply["writeErrors"][0]["code"] == code
    assert contents(wire, name) == DOCUMENTS


def test_numbers_that_are_refused(wire):
    name, lsid = prepared(wire), session()
    insert = {"insert": "c", "documents": [{"_id": 50}]}
    from bson.int64 import Int64

    for members, code in [
        ({"txnNumber": Int64(1)}, 72),
        ({"lsid": lsid, "txnNumber": 1}, 14),
        ({"lsid": lsid, "txnNumber": Int64(-1)}, 72),
        ({"lsid": lsid, "txnNumber": Int64(1), "autocommit": True}, 72),
        ({"lsid": lsid, "autocommit": False}, 72),
        ({"lsid": lsid, "txnNumber": Int64(1), "startTransaction": True}, 72),
        ({"lsid": 5}, 14),
        ({"lsid": {"id": 5}}, 14),
        ({"lsid": {**lsid, "x": 1}}, 40415),
    ]:
        assert wire.command(name, {**insert, **members})["code"] == code, members
    assert wire.command(name, {"find": "c", **retryable(lsid, 1)})["code"] == 50768
    assert contents(wire, name) == DOCUMENTS


def test_what_a_statement_did_is_not_repeated_as_another(wire):
    name, lsid = prepared(wire), session()
    wire.command(name, {**WRITES["remove"], **retryable(lsid, 1)})
    assert wire.command(name, {**WRITES["before"], **retryable(lsid, 1)})["code"] == 40606


def test_a_session_is_forgotten_after_half_an_hour(mongo, wire):
    name, lsid = prepared(wire), session()
    write = {**WRITES["update"], **retryable(lsid, 1)}
    wire.command(name, write)
    mongo.advance("29m")
    assert "retriedStmtIds" in wire.command(name, write)
    for _ in range(200):
        # The server looks about once a second; whoever asks in vain has used the session again.
        mongo.advance("31m")
        time.sleep(1)
        if "retriedStmtIds" not in wire.command(name, write):
            break
    assert contents(wire, name)[0]["n"] == 2, "the server knows nothing of it any more"


@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_executed_once_over_a_crash(write):
    with running("--mongo-port", "0") as server:
        wire, lsid = Wire(server.mongo_port), session()
        name = prepared(wire)
        first, _ = told(wire.command(name, {**WRITES[write], **retryable(lsid, 1)}))
        after = contents(wire, name)
        crash(server)
        wire = Wire(server.mongo_port)
        assert contents(wire, name) == after
        second, again = told(wire.command(name, {**WRITES[write], **retryable(lsid, 1)}))
        assert second == first and again
        assert contents(wire, name) == after
        assert wire.command(name, {**WRITES[write], **retryable(lsid, 0)})["code"] == 225


def test_crashes_between_write_and_answer_lose_and_double_nothing():
    """The server is killed while writes are on their way; each is sent again until it is answered."""
    with running("--mongo-port", "0") as server:
        lsid, number, crashes = session(), 0, 5
        wire = Wire(server.mongo_port)
        wire.command("db", {"insert": "c", "documents": [{"_id": 0, "n": 0}]})
        for round_ in range(crashes):
            for _ in range(20):
                number += 1
                write = {"update": "c", "updates": [{"q": {"_id": 0}, "u": {"$inc": {"n": 1}}}], **retryable(lsid, number)}
                wire.send("db", write)
                if number % 20 == round_ * 4:
                    crash(server)
                    wire = Wire(server.mongo_port)
                    wire.send("db", write)
                assert wire.receive()["nModified"] == 1
        assert wire.command("db", {"find": "c"})["cursor"]["firstBatch"] == [{"_id": 0, "n": number}]


def test_a_commit_whose_answer_is_lost_in_a_crash_is_all_or_nothing():
    with running("--mongo-port", "0") as server:
        wire = Wire(server.mongo_port)
        wire.command("db", {"insert": "c", "documents": [{"_id": n, "n": 0} for n in range(3)]})
        done = 0
        for attempt in range(6):
            lsid = session()
            for n in range(3):
                update = {"update": "c", "updates": [{"q": {"_id": n}, "u": {"$inc": {"n": 1}}}]}
                assert wire.command("db", {**update, **within(lsid, 1, n == 0)})["nModified"] == 1
            wire.send("admin", {"commitTransaction": 1, **within(lsid, 1)})
            time.sleep(0.002 * attempt)
            crash(server)
            wire = Wire(server.mongo_port)
            reply = wire.command("admin", {"commitTransaction": 1, **within(lsid, 1)})
            assert reply["ok"] == 1 or reply["code"] == 251
            done += int(reply["ok"])
            values = {d["n"] for d in wire.command("db", {"find": "c"})["cursor"]["firstBatch"]}
            assert values == {done}


def crash(server):
    server.process.kill()
    server.process.wait()
    server.process.stdout.close()
    server.start()


def test_the_driver_retries_by_itself(mongo):
    with connected(mongo) as client:
        collection = client[fresh("db")].c
        collection.insert_one({"_id": 0, "n": 0})
        for point in (
            {"configureFailPoint": "onPrimaryTransactionalWrite", "mode": {"times": 1}, "data": {}},
            {"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": {"failCommands": ["update"], "closeConnection": True}},
            {"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": {"failCommands": ["update"], "errorCode": 91}},
        ):
            client.admin.command(point)
            assert collection.update_one({"_id": 0}, {"$inc": {"n": 1}}).modified_count == 1
        assert collection.find_one()["n"] == 3
