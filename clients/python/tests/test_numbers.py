"""Integers that fit 64 bits are exact in whatever an item goes through; all other numbers are doubles."""

import itertools
import random

import pymongo
import pytest
from azure.cosmos import CosmosClient, PartitionKey
from bson.int64 import Int64

from conftest import ask, fresh, make, refused, running, user_part
from lapsedb import KEY

TWO_53 = 2**53
INT_MIN, INT_MAX = -(2**63), 2**63 - 1

INTEGERS = sorted(
    {sign * TWO_53 + near for sign in (-1, 1) for near in range(-3, 4)}
    | {INT_MIN, INT_MIN + 1, INT_MIN + 2, INT_MAX - 2, INT_MAX - 1, INT_MAX}
    | {sign * (10**18 + near) for sign in (-1, 1) for near in (-1, 0, 1)}
    | {1234567890123456788, 1234567890123456789, -1, 0, 1, 2**31 - 1, 2**31}
)
# 2^63 is the first integer that is a double.
DOUBLES = [-1e300, -(2.0**64), -(2.0**63) - 2048, -0.5, 0.5, 2.0**63, 1.8446744073709552e19, 1e21, 1e300]
NUMBERS = INTEGERS + DOUBLES


def shuffled(numbers):
    numbers = list(numbers)
    random.Random(7).shuffle(numbers)
    return numbers


def same(found, number):
    return found == number and isinstance(found, type(number))


@pytest.fixture
def filled(container):
    for place, number in enumerate(shuffled(NUMBERS)):
        container.create_item({"id": str(place), "pk": "p", "n": number, "list": [number], "deep": {"n": number}})
    return container


def values(container, query, parameters=None, **options):
    return list(ask(container, query, parameters, partition_key="p", **options))


@pytest.mark.parametrize("number", NUMBERS)
def test_every_way_in_and_out(container, number):
    body = {"id": "1", "pk": "p", "n": number, "list": [number, {"x": number}]}
    assert user_part(container.create_item(body)) == body
    read = container.read_item("1", "p")
    assert same(read["n"], number) and same(read["list"][0], number) and same(read["list"][1]["x"], number)
    assert user_part(container.replace_item("1", body)) == body
    assert user_part(container.upsert_item(body)) == body
    assert [item["n"] for item in container.read_all_items()] == [number]
    assert same(values(container, "SELECT VALUE c.n FROM c")[0], number)
    assert same(values(container, "SELECT c.n FROM c")[0]["n"], number)
    assert same(values(container, "SELECT VALUE @n FROM c", [{"name": "@n", "value": number}])[0], number)
    patched = container.patch_item("1", "p", [{"op": "set", "path": "/m", "value": number}])
    assert same(patched["m"], number)
    results = container.execute_item_batch(
        [("create", ({"id": "2", "pk": "p", "n": number},)), ("read", ("2",))], partition_key="p")
    assert all(same(result["resourceBody"]["n"], number) for result in results)
    changes = list(container.query_items_change_feed(start_time="Beginning"))
    assert [change["n"] for change in changes] == [number, number]


def test_an_increment_is_exact_and_leaves_64_bits_as_a_double(container):
    for before, by, after in [
        (TWO_53, 1, TWO_53 + 1),
        (INT_MAX - 1, 1, INT_MAX),
        (INT_MIN, INT_MAX, -1),
        (INT_MAX, -INT_MAX, 0),
        (INT_MAX, 1, 2.0**63),
        (INT_MIN, -1, float(INT_MIN)),
        (TWO_53 + 1, 0.5, float(TWO_53)),
    ]:
        container.upsert_item({"id": "1", "pk": "p", "n": before})
        found = container.patch_item("1", "p", [{"op": "incr", "path": "/n", "value": by}])["n"]
        assert found == after, (before, by, found)


def test_a_comparison_rounds_nothing(filled):
    for number in NUMBERS:
        parameter = [{"name": "@n", "value": number}]
        for condition, test in [
            ("c.n = @n", lambda n: n == number),
            ("c.n != @n", lambda n: n != number),
            ("c.n < @n", lambda n: n < number),
            ("c.n >= @n", lambda n: n >= number),
            ("c.n IN (@n, 'x')", lambda n: n == number),
            ("c.n BETWEEN @n AND @n", lambda n: n == number),
            ("ARRAY_CONTAINS(c.list, @n)", lambda n: n == number),
            ("c.deep = {n: @n}", lambda n: n == number),
            # What no index answers.
            ("(c.n + 0) = @n", lambda n: n == number),
        ]:
            found = values(filled, f"SELECT VALUE c.n FROM c WHERE {condition}", parameter)
            assert sorted(found) == sorted(filter(test, NUMBERS)), (condition, number)
    literals = [n for n in INTEGERS if values(filled, f"SELECT VALUE c.n FROM c WHERE c.n = {n}") != [n]]
    assert literals == []


@pytest.mark.parametrize("page", [1, 7, 1000])
def test_orders_pages_and_distinct_values(filled, page):
    def paged(query):
        pages = ask(filled, query, partition_key="p", max_item_count=page).by_page()
        return list(itertools.chain.from_iterable(pages))

    assert paged("SELECT VALUE c.n FROM c ORDER BY c.n") == sorted(NUMBERS)
    assert paged("SELECT VALUE c.n FROM c ORDER BY c.n DESC") == sorted(NUMBERS, reverse=True)
    assert paged("SELECT VALUE c.n FROM c ORDER BY c.deep.n") == sorted(NUMBERS)
    # In the order of the items.
    assert paged("SELECT DISTINCT VALUE c.n FROM c") == shuffled(NUMBERS)


def test_a_composite_index_keeps_integers_apart(db):
    paths = [{"path": "/a", "order": "descending"}, {"path": "/b", "order": "ascending"}]
    container = make(db, indexing_policy={"compositeIndexes": [paths]})
    big = [INT_MIN, -TWO_53 - 1, -TWO_53, 0.5, TWO_53, TWO_53 + 1, INT_MAX - 1, INT_MAX, 2.0**63]
    pairs = shuffled(itertools.product(big, big))
    for place, (a, b) in enumerate(pairs):
        container.create_item({"id": str(place), "pk": "p", "a": a, "b": b})
    query = "SELECT c.a, c.b FROM c ORDER BY c.a DESC, c.b ASC"
    found = [(row["a"], row["b"]) for row in values(container, query, max_item_count=10)]
    assert found == sorted(pairs, key=lambda pair: (-pair[0], pair[1]) if pair[0] != 0.5 else (-0.5, pair[1]))


def test_groups_and_aggregates(container):
    for place, number in enumerate([TWO_53, TWO_53 + 1, TWO_53 + 1, INT_MAX]):
        container.create_item({"id": str(place), "pk": "p", "n": number})
    groups = values(container, "SELECT c.n, COUNT(1) AS many FROM c GROUP BY c.n")
    assert {row["n"]: row["many"] for row in groups} == {TWO_53: 1, TWO_53 + 1: 2, INT_MAX: 1}
    assert values(container, "SELECT VALUE MIN(c.n) FROM c") == [TWO_53]
    assert values(container, "SELECT VALUE MAX(c.n) FROM c") == [INT_MAX]
    assert values(container, "SELECT VALUE SUM(c.n) FROM c WHERE c.id != '3'") == [3 * TWO_53 + 2]
    assert values(container, "SELECT VALUE AVG(c.n) FROM c WHERE c.id = '1'") == [TWO_53 + 1]
    (sum_of_all,) = values(container, "SELECT VALUE SUM(c.n) FROM c")
    assert same(sum_of_all, float(INT_MAX + 3 * TWO_53 + 2))
    # Parts of the sum leave 64 bits, the whole does not.
    container.create_item({"id": "4", "pk": "p", "n": INT_MIN})
    assert values(container, "SELECT VALUE SUM(c.n) FROM c") == [3 * TWO_53 + 1]


def test_a_unique_key_tells_neighbours_apart(db):
    container = make(db, unique_key_policy={"uniqueKeys": [{"paths": ["/n"]}]})
    for place, number in enumerate(NUMBERS):
        container.create_item({"id": str(place), "pk": "p", "n": number})
    for number in NUMBERS + [float(TWO_53), 1e18, float(INT_MIN)]:
        with refused(409):
            container.create_item({"id": "again", "pk": "p", "n": number})


def test_neighbours_are_partitions_of_their_own(container):
    neighbours = [TWO_53, TWO_53 + 1, TWO_53 + 2, INT_MAX - 1, INT_MAX, 2.0**63, INT_MIN, INT_MIN + 1]
    for number in neighbours:
        container.create_item({"id": "same", "pk": number})
        container.create_item({"id": "other", "pk": number})
    for number in neighbours:
        assert same(container.read_item("same", number)["pk"], number)
        found = list(ask(container, "SELECT VALUE c.pk FROM c", partition_key=number))
        assert found == [number, number]
        found = list(ask(container, "SELECT VALUE c.pk FROM c WHERE c.pk = @n", [{"name": "@n", "value": number}]))
        assert found == [number, number]
    with refused(404):
        container.read_item("same", TWO_53 + 3)
    container.delete_item("same", TWO_53)
    container.delete_item("same", INT_MAX)
    left = [item["pk"] for item in container.read_all_items() if item["id"] == "same"]
    assert sorted(left) == sorted(set(neighbours) - {TWO_53, INT_MAX})


def test_a_level_of_a_hierarchical_key_is_exact(db):
    key = PartitionKey(path=["/a", "/b"], kind="MultiHash")
    container = db.create_container(fresh("c"), key)
    for number in [TWO_53, TWO_53 + 1]:
        container.create_item({"id": "1", "a": number, "b": number})
    assert container.read_item("1", [TWO_53 + 1, TWO_53 + 1])["a"] == TWO_53 + 1
    with refused(404):
        container.read_item("1", [TWO_53, TWO_53 + 1])


def test_all_versions_are_exact(container):
    answers = []
    options = {"mode": "AllVersionsAndDeletes", "response_hook": lambda headers, _: answers.append(headers)}
    list(container.query_items_change_feed(**options))
    start = answers[-1]["etag"]
    container.create_item({"id": "1", "pk": TWO_53 + 1, "n": INT_MAX})
    container.patch_item("1", TWO_53 + 1, [{"op": "incr", "path": "/n", "value": -1}])
    container.delete_item("1", TWO_53 + 1)
    events = list(container.query_items_change_feed(continuation=start, **options))
    assert [event["current"].get("n") for event in events] == [INT_MAX, INT_MAX - 1, None]
    assert events[2]["previous"]["n"] == INT_MAX - 1
    assert events[2]["metadata"]["partitionKey"] == {"pk": TWO_53 + 1}


def test_mongo_owned_documents_are_read_exactly():
    with running(mongo=True) as server:
        documents = pymongo.MongoClient(server.mongo_url()).db.c
        documents.insert_many({"_id": Int64(n), "n": Int64(n)} for n in [TWO_53, TWO_53 + 1, INT_MAX])
        container = CosmosClient(server.url(), KEY).get_database_client("db").get_container_client("c")
        for number in [TWO_53, TWO_53 + 1, INT_MAX]:
            assert container.read_item(str(number), number)["n"] == number
        found = container.query_items("SELECT VALUE c.n FROM c ORDER BY c.n", enable_cross_partition_query=True)
        assert list(found) == [TWO_53, TWO_53 + 1, INT_MAX]
        found = container.query_items(
            f"SELECT VALUE c.n FROM c WHERE c._id = {TWO_53 + 1}", enable_cross_partition_query=True)
        assert list(found) == [TWO_53 + 1]
