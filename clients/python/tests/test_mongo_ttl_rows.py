"""Rows of docs/ttl-cases.md at the MongoDB API, by their ids: the values of `ttl`, updates of it, and TTL indexes."""

import datetime

import bson
import bson.raw_bson
import pymongo
import pytest
from azure.cosmos import CosmosClient
from bson.int64 import Int64
from pymongo.errors import OperationFailure

from conftest import refused, running
from lapsedb import KEY
from ttl_door import DEFAULT, NEVER, advance, bare, client, collection, lives, living, mongo, when  # noqa: F401

INT_MAX = 2147483647
NAN, INFINITY = float("nan"), float("inf")

# What each row stores, and how long it then lives: a number of seconds, DEFAULT, or never.
ROWS = [
    ("V1", [...], DEFAULT),
    ("V2", [1, Int64(1), 1.0], 1),
    ("V3", [60], 60),
    ("V3", [999], 999),
    ("V3", [1001], 1001),
    ("V4", [INT_MAX, Int64(INT_MAX)], INT_MAX),
    ("V5", [-1, Int64(-1)], NEVER),
    ("V6", [0, Int64(0)], DEFAULT),
    ("V7", [-2, -60, -2147483648], DEFAULT),
    ("V8", [Int64(n) for n in (2147483648, 4294967295, 4294967296, 4294967297)], DEFAULT),
    ("V9", [Int64(9223372036854775807)], DEFAULT),
    ("V10", [60.0], 60),
    ("V10", [2147483647.0], INT_MAX),
    ("V11", [-1.0], NEVER),
    ("V12", [0.0, -0.0], DEFAULT),
    ("V13", [1.5, 0.5, -1.5, 59.999999, 2147483647.5], DEFAULT),
    ("V15", [1e10, 1e308, 2147483648.0], DEFAULT),
    ("V16", [INFINITY], DEFAULT),
    ("V17", [0.0], DEFAULT),
    ("V18", ["60", "-1", "", "1h", "NaN"], DEFAULT),
    ("V19", [None], DEFAULT),
    ("V20", [True, False], DEFAULT),
    ("V21", [[], [60]], DEFAULT),
    ("V22", [{}, {"ttl": 60}], DEFAULT),
    ("V23", [NAN, INFINITY, -INFINITY], DEFAULT),
    (
        "V25",
        [
            bson.Decimal128("60"), bson.Decimal128("NaN"), datetime.datetime(1970, 1, 1), bson.Timestamp(60, 1), bson.ObjectId(),
            bson.Binary(b"60"), bson.Regex("60"), bson.Code("60"), bson.MinKey(), bson.MaxKey(),
        ],
        DEFAULT,
    ),
]


def document(number, ttl):
    return {"_id": number} if ttl is ... else {"_id": number, "ttl": ttl}


@pytest.mark.parametrize(("row", "values", "seconds"), ROWS, ids=[row for row, _, _ in ROWS])
def test_value(row, values, seconds, collection, advance):
    collection.insert_many([document(number, ttl) for number, ttl in enumerate(values)])
    for number, ttl in enumerate(values):
        # To the byte: the type of a number is part of it.
        assert bson.encode(collection.find_one({"_id": number})) == bson.encode(document(number, ttl)), row
    lives(collection, advance, seconds)


@pytest.mark.parametrize("pair", [(10, -1), (-1, 10), (10, 10), (10, "x")], ids=str)
def test_V26_two_values_mean_nothing(pair, collection, advance):
    # Each member of a BSON document without the length in front and the zero behind.
    members = [bson.encode(member)[4:-1] for member in [{"_id": 1}, {"ttl": pair[0]}, {"ttl": pair[1]}]]
    members = b"".join(members)
    twice = (len(members) + 5).to_bytes(4, "little") + members + b"\0"
    collection.insert_one(bson.raw_bson.RawBSONDocument(twice))
    lives(collection, advance, DEFAULT)


@pytest.mark.parametrize("name", ["TTL", "Ttl", "ttl ", "_ttl", "timeToLive"], ids=lambda name: f"V28 {name}")
def test_V28_another_name_means_nothing(name, collection, advance):
    collection.insert_one({"_id": 1, name: 1})
    lives(collection, advance, DEFAULT)


def test_V29_a_nested_ttl_means_nothing(collection, advance):
    collection.insert_many([{"_id": 1, "a": {"ttl": 1}}, {"_id": 2, "a": [{"ttl": 0}]}])
    lives(collection, advance, DEFAULT)


def test_V30_without_a_default_ttl_is_inert(bare, advance):
    bare.insert_many([{"_id": 1, "ttl": 1}, {"_id": 2, "ttl": "abc"}])
    lives(bare, advance, NEVER)


def test_V31_V32_on_without_default_only_what_means_something_ends(bare, advance):
    bare.create_index("_ts", expireAfterSeconds=-1)
    bare.insert_many([{"_id": 1}, {"_id": 2, "ttl": -1}, {"_id": 3, "ttl": "5"}, {"_id": 4, "ttl": 5}])
    advance(4999)
    assert living(bare) == [1, 2, 3, 4]
    advance(1)
    assert living(bare) == [1, 2, 3]


def test_V35_what_meant_nothing_follows_a_default_set_later(bare, advance):
    bare.insert_one({"_id": 1, "ttl": "abc"})
    bare.create_index("_ts", expireAfterSeconds=5)
    lives(bare, advance, 5)


def test_V36_a_clients_own_ts_is_plain_data(collection, advance):
    collection.insert_one({"_id": 1, "_ts": 1})
    assert collection.find_one() == {"_id": 1, "_ts": 1}
    lives(collection, advance, DEFAULT)


def test_P1_P3_setting_and_unsetting_renews(collection, advance):
    collection.insert_one({"_id": 1})
    advance(900_000)
    collection.update_one({"_id": 1}, {"$set": {"ttl": 60}})
    advance(59_999)
    assert living(collection) == [1]
    collection.update_one({"_id": 1}, {"$unset": {"ttl": 1}})
    written = 59_999 % 1000
    advance(DEFAULT * 1000 - written - 1)
    assert living(collection) == [1]
    advance(1)
    assert living(collection) == []


@pytest.mark.parametrize("ttl", [0, "x", None])
def test_P2_what_means_nothing_is_stored_and_ignored(ttl, collection, advance):
    collection.insert_one({"_id": 1, "ttl": 5})
    collection.update_one({"_id": 1}, {"$set": {"ttl": ttl}})
    assert collection.find_one() == {"_id": 1, "ttl": ttl}
    lives(collection, advance, DEFAULT)


def test_P4_a_sum_that_leaves_the_range_is_widened_and_ignored(collection, advance):
    collection.insert_many([{"_id": 1, "ttl": 5}, {"_id": 2, "ttl": INT_MAX}, {"_id": 3, "ttl": 5}])
    collection.update_one({"_id": 1}, {"$inc": {"ttl": -5}})
    collection.update_one({"_id": 2}, {"$inc": {"ttl": 1}})
    collection.update_one({"_id": 3}, {"$mul": {"ttl": 0.3}})
    assert [one["ttl"] for one in collection.find()] == [0, INT_MAX + 1, 1.5]
    lives(collection, advance, DEFAULT)


def test_P5_a_sum_that_begins_at_nothing(collection, advance):
    collection.insert_one({"_id": 1})
    collection.update_one({"_id": 1}, {"$inc": {"ttl": 60}})
    lives(collection, advance, 60)


def test_P6_a_renamed_field_counts_from_now_on(collection, advance):
    collection.insert_one({"_id": 1, "life": 60})
    collection.update_one({"_id": 1}, {"$rename": {"life": "ttl"}})
    lives(collection, advance, 60)


def test_P7_a_date_means_nothing(collection, advance):
    collection.insert_one({"_id": 1})
    collection.update_one({"_id": 1}, {"$currentDate": {"ttl": True}})
    lives(collection, advance, DEFAULT)


def test_P8_and_a_change_of_nothing_renew_nothing(collection, advance):
    collection.insert_one({"_id": 1, "ttl": 60})
    advance(30_000)
    assert collection.update_one({"_id": 2}, {"$set": {"x": 1}}).matched_count == 0
    assert collection.update_one({"_id": 1}, {"$set": {"ttl": 60}}).modified_count == 0
    lives(collection, advance, 30)


@pytest.mark.parametrize("seconds", [1, INT_MAX, -1])
def test_M1_the_index_on_ts_is_the_default(seconds, bare):
    bare.create_index("_ts", expireAfterSeconds=seconds)
    assert bare.index_information()["_ts_1"]["expireAfterSeconds"] == seconds


@pytest.mark.parametrize("seconds", [0, -2, Int64(2147483648), 1.5, NAN, INFINITY, -INFINITY, "60", True, None, datetime.datetime(1970, 1, 1)])
def test_M2_M3_a_bad_default_is_refused_and_changes_nothing(seconds, bare):
    bare.insert_one({"_id": 1})
    index = {"key": {"_ts": 1}, "name": "_ts_1", "expireAfterSeconds": seconds}
    with pytest.raises(OperationFailure) as caught:
        bare.database.command("createIndexes", bare.name, indexes=[index])
    assert caught.value.code == 67
    assert list(bare.index_information()) == ["_id_"]


def test_M4_another_default_is_a_conflict_that_collmod_settles(collection, advance):
    with pytest.raises(OperationFailure) as caught:
        collection.create_index("_ts", expireAfterSeconds=5)
    assert caught.value.code == 85
    collection.insert_one({"_id": 1})
    collection.database.command("collMod", collection.name, index={"keyPattern": {"_ts": 1}, "expireAfterSeconds": 5})
    lives(collection, advance, 5)
    collection.database.command("collMod", collection.name, index={"keyPattern": {"_ts": 1}, "expireAfterSeconds": 5000})
    assert living(collection) == []


def test_M5_dropping_it_switches_ttl_off_and_revives_nobody(collection, advance):
    collection.insert_one({"_id": 1})
    advance(DEFAULT * 1000)
    collection.drop_index("_ts_1")
    collection.insert_one({"_id": 2, "ttl": 1})
    lives(collection, advance, NEVER)


@pytest.mark.parametrize("seconds", [0, 2])
def test_M6_M8_M9_dates_end_documents_to_the_millisecond(seconds, mongo, bare, advance):
    bare.create_index("at.when", expireAfterSeconds=seconds)
    early, late = when(mongo, 1500), when(mongo, 9500)
    bare.insert_many([
        {"_id": 1, "at": {"when": early}}, {"_id": 2, "at": [{"when": late}, {"when": early}]}, {"_id": 3, "at": {"when": [late, "x", early]}},
        {"_id": 4}, {"_id": 5, "at": {"when": None}}, {"_id": 6, "at": {"when": 5}}, {"_id": 7, "at": {"when": "1970-01-01"}}, {"_id": 8, "at": {"when": ["x"]}},
    ])
    advance(1499 + 1000 * seconds)
    assert living(bare) == [1, 2, 3, 4, 5, 6, 7, 8]
    advance(1)
    assert living(bare) == [4, 5, 6, 7, 8]


@pytest.mark.parametrize("seconds", [-1, NAN, Int64(2147483648), "5", None, True])
def test_M7_a_bad_time_after_a_date_is_refused(seconds, bare):
    with pytest.raises(OperationFailure) as caught:
        bare.database.command("createIndexes", bare.name, indexes=[{"key": {"when": 1}, "name": "w", "expireAfterSeconds": seconds}])
    assert caught.value.code == 67


def test_M10_compound_and_id_are_refused(bare):
    bare.insert_one({"_id": 1})
    for key, code in (({"a": 1, "b": 1}, 67), ({"_id": 1}, 197)):
        with pytest.raises(OperationFailure) as caught:
            bare.database.command("createIndexes", bare.name, indexes=[{"key": key, "name": "x", "expireAfterSeconds": 5}])
        assert caught.value.code == code


def test_M11_either_rule_ends_a_document(mongo, bare, advance):
    bare.create_index("_ts", expireAfterSeconds=5)
    bare.create_index("when", expireAfterSeconds=0)
    bare.insert_many([{"_id": 1, "when": when(mongo, 3000)}, {"_id": 2, "when": when(mongo, 9000)}, {"_id": 3, "ttl": -1, "when": when(mongo, 7000)}])
    for ms, left in ((2999, [1, 2, 3]), (1, [2, 3]), (1999, [2, 3]), (1, [3]), (1999, [3]), (1, [])):
        advance(ms)
        assert living(bare) == left


def test_M12_the_ends_of_time():
    dates = [-1, -62135596800000, -(2**63), 2**63 - 1]
    # A server of its own: other rows move the clock by decades.
    with running("--virtual-clock", "--mongo-port", "0") as server, pymongo.MongoClient(server.mongo_url()) as client:
        collection = client.d.c
        collection.create_index("when", expireAfterSeconds=INT_MAX)
        collection.insert_many([{"_id": n, "when": bson.datetime_ms.DatetimeMS(ms)} for n, ms in enumerate(dates)])
        # -1 ms and INT_MAX seconds are early in 2038; of the others two are long gone, and one never goes.
        assert [one["_id"] for one in collection.find({}, {"_id": 1})] == [0, 3]


def test_M13_a_ttl_without_the_default_is_inert(mongo, bare, advance):
    bare.create_index("when", expireAfterSeconds=0)
    bare.insert_one({"_id": 1, "ttl": 1})
    lives(bare, advance, NEVER)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("kind", ["hashed", "2d", "text"])
def test_M14_an_index_of_another_kind_ends_nothing(kind, at_once, mongo, bare, advance):
    given = {"expireAfterSeconds": 0} if at_once else {}
    bare.create_index([("when", kind)], name="w", **given)
    if not at_once:
        command = {"collMod": bare.name, "index": {"name": "w", "expireAfterSeconds": 0}}
        if kind == "text":
            with pytest.raises(OperationFailure) as caught:
                bare.database.command(command)
            assert caught.value.code == 72
        else:
            assert "nothing expires" in bare.database.command(command)["note"]
            assert bare.index_information()["w"]["expireAfterSeconds"] == 0
    bare.insert_one({"_id": 1, "when": when(mongo, 0)} if kind != "2d" else {"_id": 1, "when": [1, 2], "at": when(mongo, 0)})
    lives(bare, advance, NEVER)


def test_V33_V34_the_other_door_shows_it_and_does_not_take_it_back(mongo, collection, advance):
    collection.insert_one({"_id": "a", "ttl": 0})
    with CosmosClient(mongo.url(), KEY) as cosmos:
        container = cosmos.get_database_client(collection.database.name).get_container_client(collection.name)
        item = container.read_item("a", "a")
        assert item["ttl"] == 0
        with refused(400, saying="ttl"):
            container.replace_item("a", item)
        lives(collection, advance, DEFAULT)
        with refused(404):
            container.read_item("a", "a")
