"""Many documents at the Mongo door: sorts that hold only what they give, counts that read nothing, large inserts and walks."""

import pymongo
import pytest
from pymongo.errors import BulkWriteError

from ttl_door import advance, bare, client, collection, mongo, when  # noqa: F401

MANY = 3000


@pytest.fixture
def many(bare):
    """Documents with few ranks, so that most are tied, and one member that nobody asks for."""
    documents = [{"_id": n, "rank": n * 7919 % 10, "at": {"n": -n}, "list": [n, n + 1], "rest": "x" * 200} for n in range(MANY)]
    bare.insert_many(documents)
    return bare, documents


@pytest.mark.parametrize(("skip", "limit"), [(0, 1), (0, 10), (5, 10), (2000, 900), (2990, 50), (0, MANY), (4000, 1), (7, 0)])
def test_a_sort_with_a_limit_gives_the_first_ones_ties_as_they_came(many, skip, limit):
    collection, documents = many
    expected = sorted(documents, key=lambda document: document["rank"])[skip:]
    expected = [document["_id"] for document in (expected[:limit] if limit else expected)]
    found = collection.find({}, sort=[("rank", 1)], skip=skip, limit=limit)
    assert [document["_id"] for document in found] == expected


def test_a_sort_shows_whole_documents_and_projections_of_what_it_did_not_sort_by(many):
    collection, documents = many
    last = documents[-1]
    assert collection.find_one({}, sort=[("at.n", 1)]) == last
    assert collection.find_one({}, {"rest": 1}, sort=[("at.n", 1)]) == {"_id": last["_id"], "rest": last["rest"]}
    found = collection.find_one({"list": {"$gte": 5}}, {"list.$": 1}, sort=[("at.n", -1)])
    assert found == {"_id": 4, "list": [5]}


def test_filters_see_all_that_they_name(many):
    collection, documents = many
    assert collection.count_documents({"at.n": {"$lt": -2995}}) == 4
    assert collection.count_documents({"$expr": {"$eq": ["$rank", "$_id"]}}) == sum(d["rank"] == d["_id"] for d in documents)
    assert [d["_id"] for d in collection.find({"$or": [{"_id": 7}, {"list": 9}]})] == [7, 8, 9]
    assert collection.find_one({"_id": 7}) == documents[7]
    assert collection.find_one({"_id": 7.0}) == documents[7]
    assert collection.find_one({"_id": 7, "rank": -1}) is None


def test_groups_count_and_sum_what_is_there(many):
    collection, documents = many
    pipeline = [{"$group": {"_id": "$rank", "n": {"$sum": 1}, "sum": {"$sum": "$at.n"}}}, {"$sort": {"_id": 1}}]
    for group in collection.aggregate(pipeline):
        own = [document for document in documents if document["rank"] == group["_id"]]
        assert (group["n"], group["sum"]) == (len(own), sum(document["at"]["n"] for document in own))
    assert list(collection.aggregate([{"$skip": 10}, {"$limit": 2500}, {"$count": "n"}])) == [{"n": 2500}]
    assert list(collection.aggregate([{"$match": {"none": 1}}, {"$count": "n"}])) == []


def test_a_count_of_everything_leaves_out_the_dead(collection, advance):
    collection.insert_many([{"_id": n, "ttl": 10 if n % 3 else 20} for n in range(MANY)])
    advance(9_999)
    assert collection.count_documents({}) == MANY
    advance(1)
    assert collection.count_documents({}) == MANY // 3
    assert [d["n"] for d in collection.aggregate([{"$count": "n"}])] == [MANY // 3]
    advance(10_000)
    assert collection.count_documents({}) == 0
    assert list(collection.aggregate([{"$count": "n"}])) == []


def test_a_count_in_a_transaction_sees_its_own_writes(client, collection):
    collection.insert_many([{"_id": n} for n in range(5)])
    with client.start_session() as session, session.start_transaction():
        collection.insert_one({"_id": 5}, session=session)
        collection.delete_one({"_id": 0}, session=session)
        collection.delete_one({"_id": 1}, session=session)
        assert collection.count_documents({}, session=session) == 4
        assert collection.count_documents({}) == 5


def test_a_large_insert_stops_or_goes_on_at_what_is_taken(bare):
    bare.insert_one({"_id": 1500})
    with pytest.raises(BulkWriteError) as caught:
        bare.insert_many([{"_id": n} for n in range(MANY)])
    assert [error["index"] for error in caught.value.details["writeErrors"]] == [1500]
    assert bare.count_documents({}) == 1501
    with pytest.raises(BulkWriteError) as caught:
        bare.insert_many([{"_id": n} for n in range(MANY)], ordered=False)
    assert [error["index"] for error in caught.value.details["writeErrors"]] == list(range(1501))
    assert bare.count_documents({}) == MANY


def test_an_id_is_free_again_within_an_insert_if_its_document_was_dead_when_written(bare, mongo):
    bare.create_index("at", expireAfterSeconds=1)
    dead, alive = when(mongo, -2_000), when(mongo, 2_000)
    bare.insert_many([{"_id": 1, "at": dead}, {"_id": 1, "at": alive, "second": True}])
    assert [document.get("second") for document in bare.find()] == [True]
    with pytest.raises(BulkWriteError):
        bare.insert_many([{"_id": 2, "at": alive}, {"_id": 2, "at": dead}])


@pytest.mark.parametrize("size", [1, 5_000, 700_000])
def test_a_walk_shows_each_document_once_however_large(bare, size):
    documents = [{"_id": n, "s": "x" * (size if n % 2 else 1)} for n in range(40)]
    bare.insert_many(documents)
    assert list(bare.find()) == documents
    assert list(bare.find(batch_size=3)) == documents
    assert list(bare.find({}, sort=[("_id", pymongo.DESCENDING)])) == documents[::-1]


def test_all_come_in_the_order_of_their_creation_and_the_dead_do_not(collection, advance):
    collection.insert_many([{"_id": -n, "ttl": 10 if n % 3 else 20, "rank": n % 7} for n in range(MANY)])
    collection.update_many({"rank": 3}, {"$set": {"changed": True}})
    advance(9_999)
    everything = [-n for n in range(MANY)]
    for size in (0, 7, 1000, 5000):
        assert [d["_id"] for d in collection.find({}, batch_size=size)] == everything
    by_rank = sorted(everything, key=lambda own: -own % 7)
    assert [d["_id"] for d in collection.find(sort=[("rank", 1)])] == by_rank
    cursor = collection.find({}, batch_size=1000)
    first = [next(cursor)["_id"] for _ in range(1000)]
    advance(1)
    # What has died since the first batch is in no later one.
    living = [own for own in everything if -own % 3 == 0]
    assert first + [d["_id"] for d in cursor] == everything[:1000] + [own for own in living if own <= -1000]
    assert [d["_id"] for d in collection.find({})] == living
    assert [d["_id"] for d in collection.find(sort=[("rank", 1)], limit=50)] == [own for own in by_rank if -own % 3 == 0][:50]
    assert collection.count_documents({"rank": 3}) == sum(-own % 7 == 3 for own in living)
