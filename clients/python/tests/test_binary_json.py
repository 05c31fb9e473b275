"""Cosmos binary JSON in both directions, read and written by a codec of this file's own."""

import datetime
import json
import struct
import uuid

import bson
import pymongo
import pytest

from conftest import running
from rest import ask

SYSTEM_STRINGS = (
    "$s $t $v _attachments _etag _rid _self _ts attachments/ coordinates geometry GeometryCollection id url Value "
    "label LineString link MultiLineString MultiPoint MultiPolygon name Name Type Point Polygon properties type value "
    "Feature FeatureCollection _id"
).split()
ONLY_BINARY = {"x-ms-cosmos-supported-serialization-formats": "CosmosBinary"}
BOTH = {"x-ms-cosmos-supported-serialization-formats": "JsonText,CosmosBinary"}
NAMED = {"x-ms-documentdb-content-serialization-format": "CosmosBinary"}
QUERY = {
    "content-type": "application/query+json",
    "x-ms-documentdb-isquery": "True",
    "x-ms-documentdb-query-enablecrosspartition": "True",
}
FIXED = {0xC8: "<B", 0xC9: "<h", 0xCA: "<i", 0xCB: "<q", 0xCC: "<d"}


class Reader:
    """Reads the forms that a server must use at least; any other is a failure."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count):
        taken = self.data[self.at : self.at + count]
        assert len(taken) == count, "the body ends too early"
        self.at += count
        return taken

    def length(self, step):
        return int.from_bytes(self.take(1 << step), "little")

    def value(self):
        marker = self.take(1)[0]
        if marker < 0x20:
            return marker
        if marker in FIXED:
            (number,) = struct.unpack(FIXED[marker], self.take(struct.calcsize(FIXED[marker])))
            return number
        if 0xD0 <= marker <= 0xD2:
            return (None, False, True)[marker - 0xD0]
        if 0xE0 <= marker <= 0xE7:
            return self.entries(marker - 0xE0, self.value)
        if 0xE8 <= marker <= 0xEF:
            pairs = self.entries(marker - 0xE8, lambda: (self.value(), self.value()))
            members = dict(pairs)
            assert len(members) == len(pairs), "a name comes twice"
            return members
        return self.string(marker)

    def string(self, marker):
        if 0x20 <= marker < 0x40:
            return SYSTEM_STRINGS[marker - 0x20]
        if 0x80 <= marker < 0xC0:
            return self.take(marker - 0x80).decode()
        assert 0xC0 <= marker <= 0xC2, hex(marker)
        return self.take(self.length(marker - 0xC0)).decode()

    def entries(self, form, entry):
        if form < 2:
            return [entry() for _ in range(form)]
        step = (form - 2) % 3
        length = self.length(step)
        count = None if form < 5 else self.length(step)
        end = self.at + length
        found = []
        while self.at < end:
            found.append(entry())
        assert self.at == end and count in (None, len(found))
        return found


def decode(body):
    assert body[:1] == b"\x80", body[:40]
    reader = Reader(body)
    reader.at = 1
    value = reader.value()
    assert reader.at == len(body)
    return value


def encode(value):
    """Forms that the server does not write itself, as the .NET SDK may: packed digits, GUIDs, arrays of one number type."""
    if value is None or isinstance(value, bool):
        return bytes([0xD0 if value is None else 0xD1 + value])
    if isinstance(value, int):
        return b"\xdb" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"\xce" + struct.pack("<d", value)
    if isinstance(value, str):
        return encode_text(value)
    if isinstance(value, list) and value and all(type(one) is int and abs(one) < 1 << 15 for one in value):
        return b"\xf1\xd9" + struct.pack(f"<H{len(value)}h", len(value), *value)
    if isinstance(value, list):
        inside = b"".join(encode(one) for one in value)
        return b"\xe4" + struct.pack("<I", len(inside)) + inside
    inside = b"".join(plain(name) + encode(one) for name, one in value.items())
    return b"\xef" + struct.pack("<II", len(inside), len(value)) + inside


def plain(text):
    return b"\xc2" + struct.pack("<I", len(text.encode())) + text.encode()


def encode_text(text):
    if len(text) == 36 and text.count("-") == 4:
        digits = text.replace("-", "")
        # The first digit of a pair is in the low half.
        return b"\x75" + bytes(int(digits[at + 1] + digits[at], 16) for at in range(0, 32, 2))
    if text and len(text) < 256 and set(text) <= set("0123456789abcdef"):
        padded = text + "0" * (len(text) % 2)
        return bytes([0x78, len(text)]) + bytes(int(padded[at + 1] + padded[at], 16) for at in range(0, len(padded), 2))
    return plain(text)


def user_part(item):
    return {name: value for name, value in item.items() if not name.startswith("_")}


ITEM = {
    "id": "a",
    "pk": "p",
    "integers": [0, 31, 32, 255, 256, -1, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63)],
    "small": [1, -2, 32767],
    "doubles": [1.5, -0.1, 1e300, 5e-324],
    "texts": ["", "x" * 63, "x" * 64, "x" * 300, "x" * 70_000, "häß 中 😀", 'quote " \\ \n', *SYSTEM_STRINGS],
    "guid": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "hex": "deadbeef0",
    "empty": [[], {}, [[]], {"": {}}],
    "nothing": None,
    "truths": [True, False],
    "wide": {f"member {n}": n for n in range(500)},
    "name": {"Name": {"value": ["Value"]}},
}


@pytest.fixture
def path(server):
    """The path of a new container."""
    database = f"db-{uuid.uuid4().hex[:12]}"
    assert ask(server, "POST", "dbs", json.dumps({"id": database}).encode())[0] == 201
    container = {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
    status, _, answer = ask(server, "POST", f"dbs/{database}/colls", json.dumps(container).encode())
    assert status == 201, answer
    yield f"dbs/{database}/colls/c"
    ask(server, "DELETE", f"dbs/{database}")


KEY_OF_P = {"x-ms-documentdb-partitionkey": '["p"]'}


def test_an_item_goes_there_and_back(server, path):
    docs = f"{path}/docs"
    status, headers, body = ask(server, "POST", docs, b"\x80" + encode(ITEM), {**KEY_OF_P, **ONLY_BINARY})
    assert status == 201, body
    assert headers["content-type"] == "application/json"
    created = decode(body)
    assert user_part(created) == ITEM
    for wanted in (ONLY_BINARY, BOTH, NAMED):
        status, headers, body = ask(server, "GET", f"{docs}/a", headers={**KEY_OF_P, **wanted})
        assert (status, decode(body)) == (200, created)
        assert headers["etag"] == created["_etag"]
    # What goes back in binary says exactly what goes back as text, system properties and order included.
    status, _, text = ask(server, "GET", f"{docs}/a", headers=KEY_OF_P)
    assert (status, json.loads(text)) == (200, created)
    assert list(json.loads(text)) == list(created)


def test_each_write_answers_as_it_is_asked(server, path):
    docs = f"{path}/docs"
    item = {"id": "a", "pk": "p", "n": 1}
    sent = b"\x80" + encode(item)
    for method, target, extra in (
        ("POST", docs, {}),
        ("POST", docs, {"x-ms-documentdb-is-upsert": "True"}),
        ("PUT", f"{docs}/a", {}),
    ):
        status, _, body = ask(server, method, target, sent, {**KEY_OF_P, **ONLY_BINARY, **extra})
        assert status in (200, 201) and user_part(decode(body)) == item
        if method == "PUT":
            status, _, body = ask(server, method, target, sent, {**KEY_OF_P, **extra})
            assert status == 200 and user_part(json.loads(body)) == item
    minimal = {**KEY_OF_P, **ONLY_BINARY, "prefer": "return=minimal"}
    status, _, body = ask(server, "PUT", f"{docs}/a", sent, minimal)
    assert (status, body) == (200, b"")
    status, _, body = ask(server, "DELETE", f"{docs}/a", headers={**KEY_OF_P, **ONLY_BINARY})
    assert (status, body) == (204, b"")


def test_queries_say_in_binary_what_they_say_as_text(server, path):
    docs = f"{path}/docs"
    for n in range(12):
        item = {**ITEM, "id": f"i{n}", "n": n * 1000, "f": n / 8}
        status, _, body = ask(server, "POST", docs, json.dumps(item).encode(), KEY_OF_P)
        assert status == 201, body
    for query in (
        "SELECT * FROM c ORDER BY c.n",
        "SELECT c.id, c.f, {'id': c.n} AS name FROM c ORDER BY c.n DESC",
        "SELECT VALUE c.n FROM c WHERE c.n > 3000 ORDER BY c.n",
        "SELECT COUNT(1) AS count, AVG(c.f) AS mean, c.nothing FROM c GROUP BY c.nothing",
        "SELECT VALUE [c.id, c.missing, c.texts[5]] FROM c WHERE c.id = 'i7'",
        "SELECT VALUE c.missing FROM c",
        "SELECT * FROM c WHERE false",
    ):
        body = json.dumps({"query": query, "parameters": []}).encode()
        status, headers, text = ask(server, "POST", docs, body, QUERY)
        assert status == 200, text
        for wanted in (BOTH, ONLY_BINARY, NAMED):
            status, again, binary = ask(server, "POST", docs, body, {**QUERY, **wanted})
            assert status == 200, binary
            assert decode(binary) == json.loads(text), query
            for name in ("x-ms-item-count", "x-ms-request-charge", "content-type", "x-ms-continuation"):
                assert again.get(name) == headers.get(name), (query, name)
        # The query itself may come in binary too.
        asked = b"\x80" + encode({"query": query})
        assert ask(server, "POST", docs, asked, {**QUERY, **BOTH})[2] == binary


def test_pages_in_binary_are_all_of_it(server, path):
    docs = f"{path}/docs"
    for n in range(25):
        ask(server, "POST", docs, json.dumps({"id": f"i{n}", "pk": "p", "n": n}).encode(), KEY_OF_P)
    body = json.dumps({"query": "SELECT VALUE c.n FROM c ORDER BY c.n"}).encode()
    found, token = [], None
    while True:
        going_on = {"x-ms-continuation": token} if token else {}
        wanted = {**QUERY, **BOTH, "x-ms-max-item-count": "4", **going_on}
        status, headers, page = ask(server, "POST", docs, body, wanted)
        assert status == 200
        found += decode(page)["Documents"]
        token = headers.get("x-ms-continuation")
        if not token:
            break
    assert found == list(range(25))


def test_documents_of_the_mongodb_api_are_the_same_in_both_forms():
    with running(mongo=True) as server:
        with pymongo.MongoClient(server.mongo_url()) as client:
            client["m"]["c"].insert_one(
                {
                    "_id": bson.ObjectId(),
                    "when": datetime.datetime(2026, 1, 2),
                    "bytes": b"\x00\xff",
                    "amount": bson.Decimal128("1.10"),
                    "whole": 5.0,
                    "no": float("nan"),
                    "pattern": bson.Regex("^a", "i"),
                    "least": bson.MinKey(),
                    "code": bson.Code("f()", {"x": 1}),
                }
            )
        docs = "dbs/m/colls/c/docs"
        body = json.dumps({"query": "SELECT * FROM c"}).encode()
        _, _, text = ask(server, "POST", docs, body, QUERY)
        status, _, binary = ask(server, "POST", docs, body, {**QUERY, **BOTH})
        assert status == 200
        assert decode(binary) == json.loads(text)
        assert decode(binary)["_count"] == 1
        feed = ask(server, "GET", docs)[2]
        assert decode(ask(server, "GET", docs, headers=NAMED)[2]) == json.loads(feed)


def test_errors_are_text(server, path):
    docs = f"{path}/docs"
    for method, target, body, extra in (
        ("GET", f"{docs}/nobody", b"", KEY_OF_P),
        ("POST", docs, b'{"query":"SELECT"}', QUERY),
        ("POST", docs, b'\x80\xe9\x2c\x01', KEY_OF_P),
    ):
        status, _, answer = ask(server, method, target, body, {**extra, **ONLY_BINARY, **NAMED})
        assert status in (400, 404), answer
        assert "message" in json.loads(answer)


@pytest.mark.parametrize(
    "body",
    [
        b"\x80",
        b"\x80\xff",
        b"\x80\x40",
        b"\x80\xe8\xe8",
        b"\x80\xea\x10\x2c\x81a",
        b"\x80\xea\x07\x2c\x81a\x82pk\x81p\x01",
        b"\x80\xea\x05\x2c\x82\xff\xff\x01\x01",
        b"\x80" + b"\xe1" * 10_000,
        b"\x80" + b"\xe9\x81a" * 200 + b"\x01",
        b"\x80\xef\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x80\xe9\x2c\xc6\xff\xff\xff\xff",
        b"\x80\xe9\x2c\xcc\x00\x00\x00\x00\x00\x00\xf0\x7f",
    ],
)
def test_a_body_that_is_not_binary_json_is_refused_and_changes_nothing(server, path, body):
    docs = f"{path}/docs"
    status, _, answer = ask(server, "POST", docs, body, {**KEY_OF_P, **ONLY_BINARY})
    assert status == 400, answer
    assert "request payload is invalid" in json.loads(answer)["message"]
    assert json.loads(ask(server, "GET", docs)[2])["_count"] == 0
