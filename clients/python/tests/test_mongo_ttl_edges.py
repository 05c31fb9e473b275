"""Time boundaries and changes of settings at the MongoDB API: the B and S rows of docs/ttl-cases.md."""

import pymongo
import pytest
from pymongo.errors import DuplicateKeyError

from conftest import running
from ttl_door import DEFAULT, advance, bare, client, collection, living, mongo, when  # noqa: F401

# How many documents expire at once in S6.
MANY = 20_000


def set_default(collection, seconds):
    """Sets the default as a client would: creates, changes or drops the index on `_ts`."""
    if seconds is None:
        collection.drop_index("_ts_1")
    elif "_ts_1" in collection.index_information():
        collection.database.command("collMod", collection.name, index={"keyPattern": {"_ts": 1}, "expireAfterSeconds": seconds})
    else:
        collection.create_index("_ts", expireAfterSeconds=seconds)


@pytest.mark.parametrize("life", [1, 2, 10])
def test_B1_B2_B3_to_the_millisecond_and_for_good(life, collection, advance):
    collection.insert_one({"_id": 1, "ttl": life})
    for second in range(life):
        assert living(collection) == [1]
        advance(999)
        assert living(collection) == [1], second
        if second < life - 1:
            advance(1)
    advance(1)
    assert living(collection) == []
    advance(1000)
    assert living(collection) == []
    advance(10**12)
    assert living(collection) == []


def test_B4_written_late_in_a_second(collection, advance):
    advance(999)
    collection.insert_one({"_id": 1, "ttl": 1})
    assert living(collection) == [1]
    advance(1)
    assert living(collection) == []


CHANGES = {
    "update": lambda c: c.update_one({"_id": 1}, {"$inc": {"x": 1}}).matched_count,
    "update many": lambda c: c.update_many({}, {"$inc": {"x": 1}}).matched_count,
    "pipeline": lambda c: c.update_one({"_id": 1}, [{"$set": {"x": 5}}]).matched_count,
    "replace": lambda c: c.replace_one({"_id": 1}, {"x": 7}).matched_count,
    "delete": lambda c: c.delete_one({"_id": 1}).deleted_count,
    "delete many": lambda c: c.delete_many({}).deleted_count,
    "find and update": lambda c: int(c.find_one_and_update({"_id": 1}, {"$inc": {"x": 1}}) is not None),
    "find and replace": lambda c: int(c.find_one_and_replace({"_id": 1}, {"x": 9}) is not None),
    "find and delete": lambda c: int(c.find_one_and_delete({"_id": 1}) is not None),
    "bulk": lambda c: c.bulk_write([pymongo.UpdateOne({"_id": 1}, {"$inc": {"x": 1}})]).matched_count,
}


@pytest.mark.parametrize("way", CHANGES)
def test_B5_a_change_before_and_at_the_end(way, collection, advance):
    collection.insert_one({"_id": 1, "x": 0, "ttl": 5})
    advance(4999)
    assert CHANGES[way](collection) == 1
    collection.delete_many({})
    collection.insert_one({"_id": 1, "x": 0, "ttl": 5})
    # Written at 4.999, so in second 4.
    advance(4001)
    assert CHANGES[way](collection) == 0
    assert living(collection) == []


def test_B6_an_id_is_free_at_the_end_and_not_before(collection, advance):
    collection.insert_one({"_id": 1, "old": True, "ttl": 5})
    advance(4999)
    with pytest.raises(DuplicateKeyError):
        collection.insert_one({"_id": 1})
    advance(1)
    collection.insert_one({"_id": 1, "new": True})
    assert list(collection.find()) == [{"_id": 1, "new": True}]


@pytest.mark.parametrize("way", ["update", "replace", "find and update"])
def test_B7_an_upsert_at_the_end_inserts_and_knows_nothing_of_the_old(way, collection, advance):
    collection.insert_one({"_id": 1, "old": True, "n": 41, "ttl": 5})
    advance(5000)
    if way == "update":
        assert collection.update_one({"_id": 1}, {"$inc": {"n": 1}}, upsert=True).upserted_id == 1
    elif way == "replace":
        assert collection.replace_one({"_id": 1}, {"n": 1}, upsert=True).upserted_id == 1
    else:
        assert collection.find_one_and_update({"_id": 1}, {"$inc": {"n": 1}}, upsert=True) is None
    assert list(collection.find()) == [{"_id": 1, "n": 1}]


def test_B10_a_unique_value_is_free_at_the_end_and_not_before(collection, advance):
    collection.create_index("email", unique=True)
    collection.insert_one({"_id": 1, "email": "a", "ttl": 5})
    advance(4999)
    with pytest.raises(DuplicateKeyError):
        collection.insert_one({"_id": 2, "email": "a"})
    advance(1)
    collection.insert_one({"_id": 2, "email": "a"})
    with pytest.raises(DuplicateKeyError):
        collection.insert_one({"_id": 3, "email": "a"})


@pytest.mark.parametrize("order", [None, "_id", "n"])
def test_B11_what_dies_between_two_batches_is_not_in_the_second(order, collection, advance):
    collection.create_index("n")
    collection.insert_many([{"_id": n, "n": n, "ttl": 5 if n % 2 else -1} for n in range(20)])
    cursor = collection.find(batch_size=4)
    cursor = cursor.sort(order, 1) if order else cursor
    assert [next(cursor)["_id"] for _ in range(4)] == [0, 1, 2, 3]
    advance(5000)
    assert [document["_id"] for document in cursor] == list(range(4, 20, 2))


def test_B11_an_aggregation_too(collection, advance):
    collection.insert_many([{"_id": n, "ttl": 5 if n % 2 else -1} for n in range(20)])
    cursor = collection.aggregate([{"$match": {}}], batchSize=4)
    assert [next(cursor)["_id"] for _ in range(4)] == [0, 1, 2, 3]
    advance(5000)
    assert [document["_id"] for document in cursor] == list(range(4, 20, 2))


def test_B12_limits_count_the_living(collection, advance):
    collection.insert_many([{"_id": n, "ttl": 5 if n % 3 else -1} for n in range(60)])
    advance(5000)
    assert [document["_id"] for document in collection.find().limit(10)] == list(range(0, 30, 3))
    assert [document["_id"] for document in collection.find().skip(5).limit(10)] == list(range(15, 45, 3))
    stages = [{"$skip": 2}, {"$limit": 3}]
    assert [document["_id"] for document in collection.aggregate(stages)] == [6, 9, 12]
    assert collection.count_documents({}, skip=5, limit=10) == 10
    assert len(list(collection.find(batch_size=7))) == 20


def test_B13_a_transaction_brings_nobody_back(client, collection, advance):
    collection.insert_many([{"_id": 1, "ttl": 5}, {"_id": 2}])
    with client.start_session() as session:
        session.start_transaction()
        assert collection.find_one({"_id": 1}, session=session)
        collection.update_one({"_id": 1}, {"$set": {"x": 1}}, session=session)
        advance(5000)
        with pytest.raises(pymongo.errors.OperationFailure) as caught:
            session.commit_transaction()
        assert caught.value.has_error_label("TransientTransactionError")
    assert living(collection) == [2]


def test_B14_two_of_one_second_with_different_lives(collection, advance):
    collection.insert_many([{"_id": 1, "ttl": 5}, {"_id": 2, "ttl": 6}])
    advance(5000)
    assert living(collection) == [2]
    advance(1000)
    assert living(collection) == []


def test_B15_a_clock_that_stands_gives_one_answer(collection, advance):
    collection.insert_many([{"_id": 1, "ttl": 5}, {"_id": 2, "ttl": 6}])
    advance(5000)
    assert {collection.estimated_document_count() for _ in range(500)} == {1}
    assert {collection.find_one({"_id": 1}) is None for _ in range(500)} == {True}


def test_S1_a_shorter_default_acts_at_once(bare, advance):
    set_default(bare, 10)
    bare.insert_many([{"_id": 1}, {"_id": 2, "ttl": 20}])
    advance(7000)
    assert living(bare) == [1, 2]
    set_default(bare, 5)
    assert living(bare) == [2]
    set_default(bare, 10)
    assert living(bare) == [2]


@pytest.mark.parametrize(("at", "left"), [(4999, [1]), (5000, []), (7000, [])])
def test_S2_a_longer_default(at, left, bare, advance):
    set_default(bare, 5)
    bare.insert_one({"_id": 1})
    advance(at)
    set_default(bare, 10)
    assert living(bare) == left
    advance(9999 - at)
    assert living(bare) == left
    advance(1)
    assert living(bare) == []


@pytest.mark.parametrize("then", [None, -1])
@pytest.mark.parametrize(("at", "left"), [(4000, [1]), (7000, [])])
def test_S3_off_or_no_default_revives_nobody(then, at, left, bare, advance):
    set_default(bare, 5)
    bare.insert_many([{"_id": 1}, {"_id": 2, "ttl": 3}])
    advance(at)
    set_default(bare, then)
    assert living(bare) == left
    advance(10**9)
    assert living(bare) == left
    set_default(bare, 2**31 - 1)
    assert living(bare) == left


def test_S4_off_and_on_again(bare, advance):
    set_default(bare, 5)
    bare.insert_one({"_id": 1})
    advance(3000)
    set_default(bare, None)
    advance(7000)
    assert living(bare) == [1]
    set_default(bare, 5)
    assert living(bare) == []
    set_default(bare, None)
    assert living(bare) == []


@pytest.mark.parametrize("field", ["_ts", "when"])
@pytest.mark.parametrize("change", ["longer", "off"])
def test_S5_kill_9_right_after_a_change(field, change):
    with running("--virtual-clock", "--purge", "off", "--mongo-port", "0") as server:
        with pymongo.MongoClient(server.mongo_url()) as one:
            server.align()
            one.d.c.create_index(field, expireAfterSeconds=5)
            one.d.c.insert_many([{"_id": n, "when": when(server, 0)} for n in range(3)])
            server.advance("7s")
            one.d.c.insert_one({"_id": "later", "when": when(server, 0)})
            if change == "off":
                one.d.c.drop_index(f"{field}_1")
            else:
                one.d.command("collMod", "c", index={"name": f"{field}_1", "expireAfterSeconds": 100})
            server.process.kill()
            server.process.wait()
            server.process.stdout.close()
        server.start()
        with pymongo.MongoClient(server.mongo_url()) as again:
            assert living(again.d.c) == ["later"]
            server.advance("93s")
            assert living(again.d.c) == ["later"]
            server.advance("7s")
            assert living(again.d.c) == (["later"] if change == "off" else [])


@pytest.mark.parametrize("by", ["ttl", "date"])
def test_S6_a_change_of_settings_with_many_dead(by, mongo, bare, advance):
    if by == "ttl":
        bare.create_index("_ts", expireAfterSeconds=5)
    else:
        bare.create_index("when", expireAfterSeconds=5)
    moment = when(mongo, 0)
    for start in range(0, MANY, 1000):
        bare.insert_many([{"_id": n, "when": moment} for n in range(start, start + 1000)])
    assert bare.estimated_document_count() == MANY
    advance(5000)
    bare.drop_index("_ts_1" if by == "ttl" else "when_1")
    assert living(bare) == []


def test_the_dead_stay_dead_whatever_happens_to_date_indexes(mongo, bare, advance):
    """Dead by a date that one index gave: neither another index, nor a longer life, nor an index on another field revives it."""
    bare.create_index("when", expireAfterSeconds=0)
    bare.insert_many([{"_id": 1, "when": when(mongo, 1000)}, {"_id": 2, "when": when(mongo, 9000)}])
    advance(1000)
    for seconds in (100, 5, 50):
        bare.database.command("collMod", "c", index={"name": "when_1", "expireAfterSeconds": seconds})
        assert living(bare) == [2]
    bare.drop_index("when_1")
    assert living(bare) == [2]
    bare.create_index([("when", -1)], expireAfterSeconds=100)
    assert living(bare) == [2]
    bare.insert_one({"_id": 1, "when": when(mongo, -1000)})
    assert living(bare) == [2, 1]


def test_many_indexes_made_and_dropped_leave_the_last_one_working(mongo, bare, advance):
    bare.insert_one({"_id": 1, "when": when(mongo, 10_000)})
    for _ in range(260):
        bare.create_index("when", expireAfterSeconds=3600)
        bare.drop_index("when_1")
    bare.create_index("when", expireAfterSeconds=0)
    for seconds in range(1, 80):
        bare.database.command("collMod", "c", index={"name": "when_1", "expireAfterSeconds": seconds})
    bare.database.command("collMod", "c", index={"name": "when_1", "expireAfterSeconds": 0})
    advance(9999)
    assert living(bare) == [1]
    advance(1)
    assert living(bare) == []


def test_dead_on_arrival(mongo, bare):
    """A date of the past ends a document as it is written; nothing of it stands in anybody's way, not even in its own command."""
    bare.create_index("when", expireAfterSeconds=0)
    bare.create_index("u", unique=True, sparse=True)
    past = when(mongo, -1)
    done = bare.insert_many([{"_id": 1, "when": past, "u": "x"}, {"_id": 1, "u": "y"}, {"_id": 2, "u": "x"}])
    assert done.inserted_ids == [1, 1, 2]
    assert list(bare.find()) == [{"_id": 1, "u": "y"}, {"_id": 2, "u": "x"}]
    assert bare.update_one({"_id": 2}, {"$set": {"when": past}}).modified_count == 1
    assert living(bare) == [1]
    bare.insert_one({"_id": 3, "u": "x"})
    with bare.database.client.start_session() as session, session.start_transaction():
        bare.insert_one({"_id": 4, "when": past}, session=session)
        assert bare.count_documents({"_id": 4}, session=session) == 0
        bare.insert_one({"_id": 4, "when": when(mongo, 5000)}, session=session)
        assert bare.count_documents({"_id": 4}, session=session) == 1
    assert living(bare) == [1, 3, 4]
