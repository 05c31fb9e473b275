"""Every way a document is written at the Mongo door, with values of `ttl` that mean something and values that do not."""

import bson
import pymongo
import pytest
from bson.raw_bson import RawBSONDocument

from ttl_door import DEFAULT, advance, bare, client, collection, lives, mongo  # noqa: F401

VALUES = {"V2": (1, 1), "V6": (0, DEFAULT), "V13": (1.5, DEFAULT), "V18": ("60", DEFAULT), "V19": (None, DEFAULT)}


def poured(collection, ttl, stage):
    """Through a pipeline from another collection. The target has its TTL index already; `$out` keeps it."""
    source = collection.database.source
    source.insert_one({"_id": 1, "ttl": ttl})
    source.aggregate([{stage: collection.name}])


def bulk_of_client(collection, ttl):
    """The driver's bulk over one collection, ordered and not."""
    collection.bulk_write([pymongo.InsertOne({"_id": 1}), pymongo.UpdateOne({"_id": 1}, {"$set": {"ttl": ttl}})])
    collection.bulk_write([pymongo.ReplaceOne({"_id": 1}, {"x": 1, "ttl": ttl})], ordered=False)


def in_transaction(collection, ttl):
    with collection.database.client.start_session() as session, session.start_transaction():
        collection.insert_one({"_id": 1, "ttl": ttl}, session=session)


WAYS = {
    "insert": lambda c, ttl: c.insert_one({"_id": 1, "ttl": ttl}),
    "insert ordered": lambda c, ttl: c.insert_many([{"_id": 1, "ttl": ttl}]),
    "insert unordered": lambda c, ttl: c.insert_many([{"_id": 1, "ttl": ttl}], ordered=False),
    "update": lambda c, ttl: (c.insert_one({"_id": 1, "ttl": 7}), c.update_one({"_id": 1}, {"$set": {"ttl": ttl}})),
    "update many": lambda c, ttl: (c.insert_one({"_id": 1, "ttl": 7}), c.update_many({}, {"$set": {"ttl": ttl}})),
    "replacement": lambda c, ttl: (c.insert_one({"_id": 1}), c.replace_one({"_id": 1}, {"ttl": ttl})),
    "pipeline": lambda c, ttl: (c.insert_one({"_id": 1, "ttl": 7}), c.update_one({"_id": 1}, [{"$set": {"ttl": {"$literal": ttl}}}])),
    "upsert by operators": lambda c, ttl: c.update_one({"_id": 1}, {"$set": {"ttl": ttl}}, upsert=True),
    "upsert on insert": lambda c, ttl: c.update_one({"_id": 1}, {"$setOnInsert": {"ttl": ttl}}, upsert=True),
    "upsert by its filter": lambda c, ttl: c.update_one({"_id": 1, "ttl": ttl}, {"$set": {"x": 1}}, upsert=True),
    "upsert by replacement": lambda c, ttl: c.replace_one({"_id": 1}, {"ttl": ttl}, upsert=True),
    "upsert by pipeline": lambda c, ttl: c.update_one({"_id": 1}, [{"$set": {"ttl": {"$literal": ttl}}}], upsert=True),
    "find and update": lambda c, ttl: (c.insert_one({"_id": 1}), c.find_one_and_update({"_id": 1}, {"$set": {"ttl": ttl}})),
    "find and replace": lambda c, ttl: (c.insert_one({"_id": 1}), c.find_one_and_replace({"_id": 1}, {"ttl": ttl})),
    "find and upsert": lambda c, ttl: c.find_one_and_update({"_id": 1}, {"$set": {"ttl": ttl}}, upsert=True),
    "bulk": bulk_of_client,
    "transaction": in_transaction,
    "$merge": lambda c, ttl: poured(c, ttl, "$merge"),
    "$out": lambda c, ttl: poured(c, ttl, "$out"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", VALUES)
def test_way_in(row, way, collection, advance):
    ttl, seconds = VALUES[row]
    WAYS[way](collection, ttl)
    found = collection.find_one({"_id": 1})
    assert found["ttl"] == ttl and type(found["ttl"]) is type(ttl)
    lives(collection, advance, seconds)


@pytest.mark.parametrize("pair", [(5, -1), (5, 5), (0, 5)])
@pytest.mark.parametrize("way", ["insert", "replace", "upsert"])
def test_V26_two_of_one_name_mean_nothing(pair, way, collection, advance):
    """No map has a member twice; bytes do."""
    members = b"".join(bson.encode({"ttl": ttl})[4:-1] for ttl in pair)
    members = bson.encode({"_id": 1})[4:-1] + members + b"\0"
    document = RawBSONDocument((len(members) + 4).to_bytes(4, "little") + members)
    if way == "insert":
        collection.insert_one(document)
    else:
        if way == "replace":
            collection.insert_one({"_id": 1})
        command = {"update": collection.name, "updates": [{"q": {"_id": 1}, "u": document, "upsert": way == "upsert"}]}
        assert collection.database.command(command)["n"] == 1
    lives(collection, advance, DEFAULT)
