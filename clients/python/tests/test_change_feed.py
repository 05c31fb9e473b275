"""The change feed of latest versions through the SDK: every start, every scope, continuations, TTL."""

from datetime import datetime, timedelta, timezone

import pytest

from conftest import make

BEGINNING = {"start_time": "Beginning"}


def follow(container, **options):
    """Reads to the end; returns the ids in order and the continuation to go on from."""
    answers = []
    items = list(container.query_items_change_feed(response_hook=lambda headers, _: answers.append(headers), **options))
    # The client writes its own continuation over the server's etag once it has read the answer.
    return [item["id"] for item in items], answers[-1]["etag"]


def ids(container, **options):
    return follow(container, **options)[0]


@pytest.fixture
def filled(container):
    for n in range(6):
        container.create_item({"id": f"i{n}", "pk": f"p{n % 2}", "n": 1})
    return container


def test_from_the_beginning_in_the_order_of_changes(filled):
    filled.upsert_item({"id": "i1", "pk": "p1", "n": 2})
    filled.delete_item("i4", "p0")
    found = list(filled.query_items_change_feed(**BEGINNING))
    assert [(item["id"], item["n"]) for item in found] == [("i0", 1), ("i2", 1), ("i3", 1), ("i5", 1), ("i1", 2)]
    places = [item["_lsn"] for item in found]
    assert places == sorted(places) and len(set(places)) == len(places)


def test_the_older_way_to_say_from_the_beginning(filled):
    assert ids(filled, is_start_from_beginning=True) == [f"i{n}" for n in range(6)]


def test_an_empty_container(container):
    found, continuation = follow(container, **BEGINNING)
    assert found == []
    container.create_item({"id": "a", "pk": "p"})
    assert ids(container, continuation=continuation) == ["a"]


def test_from_now_on(filled):
    found, continuation = follow(filled, start_time="Now")
    assert found == []
    assert ids(filled, continuation=continuation) == []
    filled.create_item({"id": "new", "pk": "p0"})
    filled.upsert_item({"id": "i3", "pk": "p1"})
    assert ids(filled, continuation=continuation) == ["new", "i3"]


def test_a_continuation_sees_each_change_once(filled):
    found, continuation = follow(filled, **BEGINNING)
    assert len(found) == 6
    for round in range(3):
        filled.upsert_item({"id": "i2", "pk": "p0", "round": round})
        found, continuation = follow(filled, continuation=continuation)
        assert found == ["i2"]
    assert ids(filled, continuation=continuation) == []


def test_pages(filled):
    pages = [[item["id"] for item in page] for page in filled.query_items_change_feed(max_item_count=4, **BEGINNING).by_page()]
    assert [page for page in pages if page] == [["i0", "i1", "i2", "i3"], ["i4", "i5"]]


def test_one_partition(filled):
    found, continuation = follow(filled, partition_key="p1", **BEGINNING)
    assert found == ["i1", "i3", "i5"]
    filled.upsert_item({"id": "i0", "pk": "p0"})
    filled.upsert_item({"id": "i1", "pk": "p1"})
    assert ids(filled, continuation=continuation) == ["i1"]
    assert ids(filled, partition_key="other", **BEGINNING) == []


@pytest.mark.parametrize("key", [5, -1.5, True, False, None, "", "你好"])
def test_one_partition_of_any_kind_of_key(container, key):
    container.create_item({"id": "mine", "pk": key})
    container.create_item({"id": "other", "pk": "another"})
    assert ids(container, feed_range=container.feed_range_from_partition_key(key), **BEGINNING) == ["mine"]
    # The client forgets a key that Python counts as false and reads the whole container.
    if key:
        assert ids(container, partition_key=key, **BEGINNING) == ["mine"]


def test_feed_ranges(filled):
    everything = []
    for feed_range in filled.read_feed_ranges():
        everything += ids(filled, feed_range=feed_range, **BEGINNING)
    assert sorted(everything) == [f"i{n}" for n in range(6)]
    of_key = filled.feed_range_from_partition_key("p0")
    found, continuation = follow(filled, feed_range=of_key, **BEGINNING)
    assert found == ["i0", "i2", "i4"]
    filled.upsert_item({"id": "i1", "pk": "p1"})
    filled.upsert_item({"id": "i0", "pk": "p0"})
    assert ids(filled, continuation=continuation) == ["i0"]


def test_a_batch_is_one_change(container):
    operations = [("create", ({"id": f"b{n}", "pk": "p"},)) for n in range(3)]
    container.execute_item_batch(operations, "p")
    container.create_item({"id": "c", "pk": "p"})
    pages = [list(page) for page in container.query_items_change_feed(max_item_count=1, **BEGINNING).by_page()]
    assert [[item["id"] for item in page] for page in pages if page] == [["b0", "b1", "b2"], ["c"]]


def test_from_a_point_in_time(virtual, virtual_db):
    container = make(virtual_db)
    zero = virtual.align() // 1000
    for n in range(5):
        container.create_item({"id": f"i{n}", "pk": "p"})
        virtual.advance("2s")
    at = datetime.fromtimestamp(zero + 4, timezone.utc)
    # The client cannot read its own continuation of this start, for it takes milliseconds for seconds.
    # The second that is named is not in it.
    assert ids(container, start_time=at) == ["i3", "i4"]
    assert ids(container, start_time=at, max_item_count=1) == ["i3", "i4"]
    assert ids(container, start_time=at, partition_key="p") == ["i3", "i4"]
    assert ids(container, start_time=at - timedelta(seconds=1)) == ["i2", "i3", "i4"]
    assert ids(container, start_time=at + timedelta(days=1)) == []
    container.upsert_item({"id": "i0", "pk": "p"})
    assert ids(container, start_time=at) == ["i3", "i4", "i0"]


def test_nothing_expired_is_in_it(virtual, fleeting):
    fleeting.create_item({"id": "default", "pk": "p"})
    fleeting.create_item({"id": "short", "pk": "p", "ttl": 5})
    fleeting.create_item({"id": "kept", "pk": "p", "ttl": -1})
    assert ids(fleeting, **BEGINNING) == ["default", "short", "kept"]
    virtual.advance("4999ms")
    assert ids(fleeting, **BEGINNING) == ["default", "short", "kept"]
    virtual.advance("1ms")
    assert ids(fleeting, **BEGINNING) == ["default", "kept"]
    virtual.advance("5s")
    assert ids(fleeting, **BEGINNING) == ["kept"]
