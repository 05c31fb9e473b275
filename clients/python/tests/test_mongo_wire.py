"""Frames that no driver sends: what is no message closes the connection with one line in the log, and nothing else happens."""

import socket
import struct
import threading
import time

import bson
import pymongo
import pytest
from pymongo.cursor import CursorType
from pymongo.errors import DocumentTooLarge, OperationFailure

import wire
from conftest import fresh, running
from lapsedb import KEY, until
from mongo_door import SELECTION_MS_MAX, connected
from wire import OP_COMPRESSED, OP_MSG, OP_QUERY, OP_REPLY, Raw, body, command, compressed, frame, msg, query, sequence

PING = {"ping": 1, "$db": "admin"}
INNER = msg(body(PING))
CLOSED = "a Mongo connection is closed"
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def server():
    with running("--mongo-port", "0") as server:
        yield server


@pytest.fixture(scope="module")
def guarded():
    with running("--mongo-port", "0", "--mongo-auth", "on") as server:
        yield server


@pytest.fixture(scope="module")
def client(server):
    with connected(server) as client:
        yield client


def lines(server):
    server.log.flush()
    with open(server.log.name) as log:
        return [line for line in log.read().splitlines() if "ready nosql" not in line]


def nested(levels):
    document = bson.encode({"x": 1})
    for _ in range(levels - 1):
        document = struct.pack("<i", len(document) + 8) + b"\3a\0" + document + b"\0"
    return document


def checked(payload, wrong=0):
    head = wire.HEADER.pack(16 + len(payload) + 4, 7, 0, OP_MSG)
    return head + payload + struct.pack("<I", wire.crc32c(head + payload) ^ wrong)


MALFORMED = {
    **{f"length {length}": frame(INNER, length=length) for length in (-(2**31), -1, 0, 15, 48_000_001, 2**31 - 1)},
    **{f"flag {bit}": frame(msg(body(PING), flags=1 << bit)) for bit in range(2, 16)},
    "wrong checksum": checked(msg(body(PING), flags=1), wrong=1),
    **{f"operation {op}": frame(INNER, op) for op in (0, 1, 1000, 2001, 2002, 2005, 2006, 2007, 2010, 2011, 9999)},
    "two bodies": frame(msg(body(PING), body(PING))),
    "no body": frame(msg()),
    "only a sequence": frame(msg(sequence("documents", [{}]))),
    "section of kind 7": frame(msg(b"\7" + bson.encode({}))),
    "sequence too long": frame(msg(body(PING), b"\1" + struct.pack("<i", 500) + b"documents\0")),
    "sequence without end": frame(msg(body(PING), b"\1" + struct.pack("<i", 7) + b"abc")),
    "sequence of negative length": frame(msg(body(PING), b"\1" + struct.pack("<i", -1) + b"a\0")),
    "body cut off": frame(INNER[:-1]),
    "BSON without its end": frame(msg(body(bson.encode(PING)[:-1] + b"\1"))),
    "BSON of an unknown type": frame(msg(body(bson.encode(PING).replace(b"\x10ping", b"\x55ping")))),
    **{f"claims to unpack to {claim}": compressed(INNER, claim=claim) for claim in (-1, 0, 1, len(INNER) - 1, len(INNER) + 1, 47_999_984, 48_000_000, 2**31 - 1)},
    "unknown compressor": compressed(INNER, 9),
    "rubbish instead of zlib": compressed(INNER, packed=b"rubbish"),
    "rubbish instead of snappy": compressed(INNER, 1, packed=b"\xff\xff\xff\xff\x0frubbish"),
    "rubbish instead of zstd": compressed(INNER, 3, packed=b"rubbish"),
    "compressed twice": compressed(compressed(INNER)[16:], op=OP_COMPRESSED),
    "compressed removed operation": compressed(INNER, op=2002),
    "compressed header alone": frame(b"\0" * 8, OP_COMPRESSED),
    "query without a document": frame(b"\0" * 4 + b"admin.$cmd\0" + b"\0" * 8, 2004),
    "query without a name": frame(b"\0" * 4 + b"admin", 2004),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_message_closes_the_connection_with_one_line(server, name):
    before = len(lines(server))
    with Raw(server.mongo_port) as raw:
        assert raw.ask({"ping": 1})["ok"] == 1
        raw.send(MALFORMED[name])
        assert raw.is_closed()
    assert until(lambda: len(lines(server)) > before, 5)
    written = lines(server)[before:]
    assert len(written) == 1 and CLOSED in written[0] and "WARN" in written[0], written
    with Raw(server.mongo_port) as raw:
        assert raw.ask({"ping": 1})["ok"] == 1


def broken(document):
    """A document whose text is not UTF-8."""
    return bson.encode(document).replace(b"aXb", b"a\xffb")


def test_a_text_that_is_not_utf8_fails_its_command_alone(server):
    before = len(lines(server))
    insert = {"insert": "broken", "$db": "utf8"}
    large = [{"_id": n, "t": "x" * 100_000} for n in range(4)]
    with Raw(server.mongo_port) as raw:
        for bad in (
            msg(body(broken({"ping": "aXb", "$db": "admin"}))),
            msg(body(broken({"ping": 1, "aXb": 1, "$db": "admin"}))),
            msg(body(broken({**insert, "documents": [{"_id": 1}, {"t": "aXb"}]}))),
            msg(body(insert), sequence("documents", [{"_id": 1}, broken({"t": "aXb"})])),
            msg(body(insert), sequence("documents", [*large, broken({"t": "aXb"})])),
            msg(body(broken({"ping": 1, "$db": "aXb"}))),
            msg(body(broken({"hello": 1, "client": {"application": {"name": "aXb"}}, "$db": "admin"}))),
            msg(body(broken({"isMaster": 1, "client": {"aXb": 1}, "$db": "admin"}))),
            msg(body(PING), sequence(b"a\xffb", [{"_id": 1}])),
            msg(body(insert), sequence(b"a\xffb", []), sequence("documents", [{"_id": 1}])),
        ):
            for sent in (frame(bad), compressed(bad)):
                reply = raw.send(sent).reply()
                assert (reply["ok"], reply["code"]) == (0, 22), reply
            reply = raw.send(frame(bad)).reply()
            assert (reply["ok"], reply["code"], reply["codeName"]) == (0, 22, "InvalidBSON"), reply
            assert "not valid UTF-8" in reply["errmsg"]
            assert raw.ask({"count": "broken"}, db="utf8")["n"] == 0
        # An old query is answered in the old form.
        for bad in (
            query(broken({"isMaster": 1, "client": {"application": {"name": "aXb"}}})),
            query(broken({"isMaster": 1, "aXb": 1})),
            query(broken({"$query": {"hello": "aXb"}})),
            query({"isMaster": 1}, b"a\xffb.$cmd"),
            query({"isMaster": 1}, b"t.a\xffb"),
        ):
            for sent in (bad, compressed(bad[16:], op=OP_QUERY)):
                _, _, op, payload = raw.send(sent).frame()
                reply = bson.decode(payload[20:])
                assert (op, reply["ok"], reply["code"], reply["codeName"]) == (OP_REPLY, 0, 22, "InvalidBSON"), reply
                assert raw.ask({"ping": 1})["ok"] == 1
        # One that wants no answer gets none.
        raw.send(frame(msg(body(PING), sequence(b"a\xffb", []), flags=2)))
        raw.send(frame(msg(body(broken({"ping": "aXb", "$db": "admin"})), flags=2)))
        assert raw.ask({"ping": 1})["ok"] == 1
    assert lines(server)[before:] == []


def test_a_client_that_goes_away_writes_no_line(server):
    before = len(lines(server))
    for part in (b"", frame(INNER)[:10], frame(INNER)[:20]):
        with Raw(server.mongo_port) as raw:
            assert raw.ask({"ping": 1})["ok"] == 1
            raw.send(part)
    with Raw(server.mongo_port) as raw:
        assert raw.ask({"ping": 1})["ok"] == 1
    assert lines(server)[before:] == []


def test_what_is_a_message_is_answered(server):
    with Raw(server.mongo_port) as raw:
        for good in (
            frame(INNER),
            checked(msg(body(PING), flags=1)),
            *[frame(msg(body(PING), flags=1 << bit)) for bit in range(16, 32)],
            compressed(INNER),
            compressed(INNER, 0),
            query({"isMaster": 1}),
            query({"$query": {"ismaster": 1}}),
            query({"hello": 1}),
        ):
            assert raw.send(good).reply()["ok"] == 1
        assert raw.send(query({"ping": 1})).reply()["code"] == 352
        old = raw.send(query({"x": 1}, "t.c")).reply()
        assert old["code"] == 5739101 and old["ok"] == 0


def test_the_old_greeting_is_answered_in_the_old_form(server):
    with Raw(server.mongo_port) as raw:
        _, answers, op, payload = raw.send(query({"isMaster": 1, "helloOk": True})).frame()
        flags, cursor, start, count = struct.unpack("<iqii", payload[:20])
        assert (op, flags, cursor, start, count) == (1, 8, 0, 0, 1) and answers > 0
        hello = bson.decode(payload[20:])
        assert hello["ismaster"] and hello["helloOk"] and hello["maxWireVersion"] == 21
        assert (hello["maxBsonObjectSize"], hello["maxMessageSizeBytes"], hello["maxWriteBatchSize"]) == (16 * MIB, 48_000_000, 100_000)


def test_an_answer_comes_as_the_question_was_packed(server):
    with Raw(server.mongo_port) as raw:
        for compressor in (0, 2):
            raw.send(compressed(msg(body({"hello": 1, "compression": ["zstd", "foo", "zlib"], "$db": "admin"})), compressor))
            _, _, op, payload = raw.frame()
            assert op == OP_COMPRESSED and payload[8] == compressor
        assert raw.ask({"hello": 1, "compression": ["zstd", "foo", "zlib"]})["compression"] == ["zstd", "zlib"]
        assert "compression" not in raw.ask({"hello": 1, "compression": ["foo"]})


def test_wrong_commands_are_answered_and_the_connection_stays(server):
    with Raw(server.mongo_port) as raw:
        for document, code in (({"nothing": 1}, 59), ({"find": 5}, 73), ({"PING": 1}, 59)):
            assert raw.ask(document)["code"] == code
        twice = frame(msg(body({"insert": "c", "documents": [{}], "$db": "t"}), sequence("documents", [{}])))
        assert raw.send(twice).reply()["code"] == 40433
        assert raw.send(frame(msg(body({"ping": 1})))).reply()["code"] == 40571
        assert raw.send(frame(msg(body({"ping": 1, "$db": 5})))).reply()["ok"] == 0
        again = frame(msg(body({"insert": "c", "$db": "t"}), sequence("documents", [{}]), sequence("documents", [{}])))
        assert raw.send(again).reply()["ok"] == 0
        assert raw.ask({"ping": 1})["ok"] == 1


def test_a_document_may_be_nested_so_deep(server):
    with Raw(server.mongo_port) as raw:
        def insert(levels):
            return raw.send(frame(msg(body({"insert": "deep", "$db": "t"}), sequence("documents", [nested(levels)])))).reply()

        assert insert(180)["n"] == 1
        for levels in (181, 200, 255):
            assert insert(levels)["writeErrors"][0]["code"] == 15
        for levels in (257, 1000, 20_000):
            refused = insert(levels)
            assert refused["code"] == 15 and refused["codeName"] == "Overflow"
        assert raw.ask({"ping": 1})["ok"] == 1


def test_a_document_may_have_sixteen_mebibytes(server):
    with Raw(server.mongo_port, timeout=60) as raw:
        def insert(size):
            document = {"_id": size, "x": b"x" * (size - 22)}
            return raw.send(frame(msg(body({"insert": "big", "$db": "t"}), sequence("documents", [document])))).reply()

        assert insert(16 * MIB)["n"] == 1
        assert insert(16 * MIB + 1)["writeErrors"][0]["code"] == 10334
        refused = insert(16 * MIB + 20_000)
        assert refused["ok"] == 0 and refused["code"] == 10334 and refused["codeName"] == "BSONObjectTooLarge"
        assert raw.ask({"insert": "big", "documents": [{"x": b"x" * (17 * MIB)}]}, db="t")["code"] == 10334
        assert raw.ask({"ping": 1})["ok"] == 1


def test_a_message_may_have_48_megabytes(server, client):
    with Raw(server.mongo_port, timeout=60) as raw:
        documents = [{"x": b"x" * 15_900_000} for _ in range(3)]
        assert raw.send(frame(msg(body({"insert": "many", "$db": "t"}), sequence("documents", documents)))).reply()["n"] == 3
    client.t.many.drop()
    with pytest.raises(DocumentTooLarge):
        client.t.many.insert_one({"x": b"x" * (17 * MIB)})


def test_what_wants_no_answer_gets_none(server, client):
    name = fresh("c")
    with Raw(server.mongo_port) as raw:
        for document in ({"insert": name, "documents": [{"_id": 1}]}, {"insert": name, "documents": [{"_id": 1}]}, {"nothing": 1}):
            raw.send(command({**document, "writeConcern": {"w": 0}}, flags=2, db="t"))
        raw.send(frame(msg(body({"insert": name, "$db": "t"}), sequence("documents", [nested(1000)]), flags=2)))
        assert raw.ask({"count": name}, db="t")["n"] == 1
    client.t[name].with_options(write_concern=pymongo.WriteConcern(w=0)).insert_one({"_id": 2})
    assert until(lambda: client.t[name].count_documents({}) == 2, 5)


class TestBeforeLogin:
    """Where a login is asked, a stranger gets little of the server."""

    def test_at_most_16_kib_are_read(self, guarded):
        with Raw(guarded.mongo_port) as raw:
            fits = command({"hello": 1, "x": "x" * 16_000})
            assert len(fits) < 16 * 1024 and raw.send(fits).reply()["ok"] == 1
            assert raw.send(command({"find": "c"}, db="t")).reply()["code"] == 13
            # The header alone is refused: nothing behind it is waited for.
            raw.send(wire.HEADER.pack(16 * 1024 + 1, 1, 0, OP_MSG))
            assert raw.is_closed()
        assert "16385 bytes; allowed: 16 to 16384" in lines(guarded)[-1]

    def test_a_small_frame_does_not_unpack_to_a_large_one(self, guarded):
        with Raw(guarded.mongo_port) as raw:
            raw.send(compressed(msg(body({"hello": 1, "x": "x" * 1_000_000, "$db": "admin"}))))
            assert raw.is_closed()

    def test_a_message_must_come_in_time(self, guarded):
        start = time.monotonic()
        with Raw(guarded.mongo_port, timeout=60) as raw, Raw(guarded.mongo_port, timeout=60) as idle:
            assert idle.ask({"ping": 1})["ok"] == 1
            assert raw.ask({"ping": 1})["ok"] == 1
            raw.send(command({"ping": 1})[:20])
            assert raw.is_closed()
            assert time.monotonic() - start > 8
            # Who says nothing at all is not hurried.
            assert idle.ask({"ping": 1})["ok"] == 1
        assert "a message came too slowly: after 10 seconds" in lines(guarded)[-1]

    def test_every_step_of_a_login_may_fail(self, guarded):
        payload = lambda text: bson.Binary(text.encode())
        with Raw(guarded.mongo_port) as raw:
            start = {"saslStart": 1, "mechanism": "SCRAM-SHA-256"}
            for first in ("", "n,,", "n,,n=lapsedb", "n,,r=x,n=lapsedb", "p=tls-unique,,n=lapsedb,r=x", "n,,n=lapsedb,r=", "\xff"):
                assert raw.ask({**start, "payload": payload(first)})["code"] == 18
            for last in ("", "c=biws", "c=biws,r=x,p=", "c=biws,r=x,p=AAAA", "c=xxxx,r=x,p=AAAA", ",p="):
                begun = raw.ask({**start, "payload": payload("n,,n=lapsedb,r=x")})
                assert not begun["done"]
                assert raw.ask({"saslContinue": 1, "conversationId": 1, "payload": payload(last)})["code"] == 18
                assert raw.ask({"saslContinue": 1, "conversationId": 1, "payload": payload(last)})["code"] == 17
            assert raw.ask({"find": "c"}, db="t")["code"] == 13
            assert raw.ask({**start, "mechanism": "GSSAPI", "payload": payload("x")})["code"] == 334


def test_many_connections_at_once(server):
    sockets = []
    try:
        for _ in range(600):
            sockets.append(Raw(server.mongo_port))
        for raw in sockets:
            raw.send(command({"ping": 1}))
        assert all(raw.reply()["ok"] == 1 for raw in sockets)
    finally:
        for raw in sockets:
            raw.socket.close()


def test_a_server_with_open_connections_stops():
    with running("--mongo-port", "0") as server:
        with Raw(server.mongo_port) as raw:
            raw.ask({"ping": 1})
            server.stop()
            assert raw.is_closed()


class TestExhaust:
    """A client that asks once for all batches."""

    def test_batches_come_one_after_the_other(self, server, client):
        name = fresh("c")
        client.t[name].insert_many([{"_id": n} for n in range(25)])
        with Raw(server.mongo_port) as raw:
            cursor = raw.ask({"find": name, "batchSize": 5}, db="t")["cursor"]["id"]
            raw.send(command({"getMore": bson.Int64(cursor), "collection": name, "batchSize": 5}, flags=1 << 16, db="t"))
            seen, last = [], None
            while True:
                number, answers, _, payload = raw.frame()
                flags = struct.unpack("<I", payload[:4])[0]
                reply = bson.decode(payload[5:])
                assert last is None or answers == last
                seen += [d["_id"] for d in reply["cursor"]["nextBatch"]]
                last = number
                assert (flags == 2) == (reply["cursor"]["id"] != 0)
                if flags == 0:
                    break
            assert seen == list(range(5, 25))
            assert raw.ask({"ping": 1})["ok"] == 1
            failed = raw.send(command({"getMore": bson.Int64(cursor), "collection": name}, flags=1 << 16, db="t")).reply()
            assert failed["code"] == 43

    def test_with_the_driver(self, client):
        name = fresh("c")
        client.t[name].insert_many([{"_id": n} for n in range(1000)])
        for options in ({}, {"batch_size": 10}, {"batch_size": 10, "limit": 500}):
            if "limit" in options:
                with pytest.raises(pymongo.errors.InvalidOperation):
                    client.t[name].find(cursor_type=CursorType.EXHAUST, **options)
                continue
            found = client.t[name].find(cursor_type=CursorType.EXHAUST, **options)
            assert [d["_id"] for d in found] == list(range(1000))
        # One that is left in the middle does not hurt the next.
        cursor = client.t[name].find(cursor_type=CursorType.EXHAUST, batch_size=2)
        next(cursor)
        cursor.close()
        assert client.t[name].count_documents({}) == 1000
        for compressor in ("zlib", "snappy", "zstd"):
            with pymongo.MongoClient(client.address[0], client.address[1], compressors=compressor) as packed:
                found = packed.t[name].find(cursor_type=CursorType.EXHAUST, batch_size=100)
                assert len(list(found)) == 1000


class TestPatterns:
    """No pattern takes the server's time: one that did would take longer than any test may."""

    text = "a" * 1_000 + "!"

    @pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a*)*b", "(?=(a+)+$)x", "(?!a)(a+)+b", r"(a+)\1+$", "(?<=a)(a+)+$"])
    def test_a_pattern_that_explodes_elsewhere(self, client, pattern):
        collection = client.t[fresh("c")]
        collection.insert_one({"x": self.text})
        assert collection.count_documents({"x": {"$regex": pattern}}) in (0, 1)
        match = {"$expr": {"$regexMatch": {"input": "$x", "regex": pattern}}}
        try:
            collection.count_documents(match)
        except OperationFailure as error:
            assert error.code not in (1, None)

    @pytest.mark.parametrize("pattern", ["(a{1000}){1000}", "((a{100}){100}){100}", "(" * 300 + "a" + ")" * 300, "a" * 40_000, "[", "(?<n", "\\"])
    def test_a_pattern_that_is_too_large_is_refused(self, client, pattern):
        try:
            client.t.c.count_documents({"x": {"$regex": pattern}})
        except OperationFailure as error:
            assert error.code not in (1, None), error


def test_clients_do_not_wait_for_each_other(server):
    """A slow client in the middle of a message holds up nobody."""
    slow = [socket.create_connection(("127.0.0.1", server.mongo_port)) for _ in range(50)]
    try:
        for one in slow:
            one.sendall(frame(INNER)[:17])
        done = threading.Event()

        def ask():
            with Raw(server.mongo_port) as raw:
                assert raw.ask({"ping": 1})["ok"] == 1
            done.set()

        threading.Thread(target=ask, daemon=True).start()
        assert done.wait(5)
    finally:
        for one in slow:
            one.close()


def test_the_key_is_never_written(guarded):
    options = {"username": "lapsedb", "password": KEY, "serverSelectionTimeoutMS": SELECTION_MS_MAX}
    with pymongo.MongoClient(guarded.mongo_url(), **options) as client:
        client.t.c.find_one()
    assert KEY not in "".join(lines(guarded))


@pytest.mark.parametrize("length", [0x116, 0x216, 0x316, 0x1016])
@pytest.mark.parametrize("at_once", [True, False])
def test_the_length_of_a_first_message_is_not_taken_for_tls(length, at_once, server):
    hello = {"hello": 1, "comment": ""}
    hello["comment"] = "a" * (length - len(command(hello)))
    sent = command(hello)
    assert len(sent) == length
    with Raw(server.mongo_port) as raw:
        for part in [sent] if at_once else [sent[:1], sent[1:2], sent[2:]]:
            raw.send(part)
        assert raw.reply()["ok"] == 1
