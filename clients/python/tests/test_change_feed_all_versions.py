"""The change feed of all versions and deletes through the SDK: every event, expiries among them, cursors that last."""

import pytest
from azure.cosmos import PartitionKey

from conftest import make, refused
from lapsedb import Connector, Server

MODE = {"mode": "AllVersionsAndDeletes"}


def follow(container, **options):
    """Reads to the end; returns the events in order and the continuation to go on from."""
    answers = []
    events = list(container.query_items_change_feed(response_hook=lambda headers, _: answers.append(headers), **MODE, **options))
    return events, answers[-1]["etag"]


def short(events):
    """What happened to which item, and whether its time was up."""

    def one(event):
        metadata = event["metadata"]
        item = metadata["id"] if metadata["operationType"] == "delete" else event["current"]["id"]
        return metadata["operationType"] + ("!" if metadata["timeToLiveExpired"] else ""), item

    return [one(event) for event in events]


def test_every_change_is_an_event(container):
    _, start = follow(container)
    container.create_item({"id": "a", "pk": "p", "n": 1})
    container.upsert_item({"id": "a", "pk": "p", "n": 2})
    container.patch_item("a", "p", [{"op": "incr", "path": "/n", "value": 1}])
    container.delete_item("a", "p")
    events, _ = follow(container, continuation=start)
    assert short(events) == [("create", "a"), ("replace", "a"), ("replace", "a"), ("delete", "a")]
    assert [event["current"].get("n") for event in events] == [1, 2, 3, None]
    assert [event.get("previous", {}).get("n") for event in events] == [None, None, None, 3]
    places = [event["metadata"]["lsn"] for event in events]
    assert places == sorted(set(places))
    assert [event["metadata"]["previousImageLSN"] for event in events] == [0, *places[:3]]
    assert events[3]["metadata"]["partitionKey"] == {"pk": "p"}


def test_it_begins_now(container):
    container.create_item({"id": "before", "pk": "p"})
    found, start = follow(container, start_time="Now")
    assert found == []
    container.create_item({"id": "after", "pk": "p"})
    found, later = follow(container, continuation=start)
    assert short(found) == [("create", "after")]
    assert follow(container, continuation=later)[0] == []


def test_pages_and_a_batch(container):
    _, start = follow(container)
    container.execute_item_batch([("create", ({"id": f"b{n}", "pk": "p"},)) for n in range(3)], "p")
    container.create_item({"id": "c", "pk": "p"})
    pages = container.query_items_change_feed(continuation=start, max_item_count=1, **MODE).by_page()
    pages = [short(list(page)) for page in pages]
    assert [page for page in pages if page] == [[("create", f"b{n}") for n in range(3)], [("create", "c")]]


def test_one_partition_and_its_feed_range(container):
    _, of_key = follow(container, partition_key="p1")
    _, of_range = follow(container, feed_range=container.feed_range_from_partition_key("p1"))
    for n in range(4):
        container.create_item({"id": f"i{n}", "pk": f"p{n % 2}"})
    container.delete_item("i1", "p1")
    wanted = [("create", "i1"), ("create", "i3"), ("delete", "i1")]
    assert short(follow(container, continuation=of_key)[0]) == wanted
    assert short(follow(container, continuation=of_range)[0]) == wanted


def test_an_expiry_is_told_once_with_its_moment(virtual, fleeting):
    zero = virtual.align() // 1000
    _, start = follow(fleeting)
    fleeting.create_item({"id": "a", "pk": "p"})
    virtual.advance("9999ms")
    events, at = follow(fleeting, continuation=start)
    assert short(events) == [("create", "a")]
    virtual.advance("1ms")
    events, at = follow(fleeting, continuation=at)
    assert short(events) == [("delete!", "a")]
    assert events[0]["metadata"]["crts"] == zero + 10
    assert events[0]["previous"]["id"] == "a"
    # However late its next life begins, and whatever was purged meanwhile; within the 7 days for which versions are kept
    # where nobody reads them: a tick after that gives them up.
    virtual.advance("6d")
    fleeting.create_item({"id": "a", "pk": "p", "ttl": -1})
    events, at = follow(fleeting, continuation=at)
    assert short(events) == [("create", "a")]
    fleeting.delete_item("a", "p")
    assert short(follow(fleeting, continuation=at)[0]) == [("delete", "a")]


def test_create_expiry_create_in_this_order(virtual, fleeting):
    _, start = follow(fleeting)
    for _ in range(3):
        fleeting.create_item({"id": "a", "pk": "p"})
        virtual.advance("1d")
    events, _ = follow(fleeting, continuation=start)
    assert short(events) == [("create", "a"), ("delete!", "a")] * 3


def test_a_reader_beyond_the_retention_is_refused(virtual, virtual_db):
    container = make(virtual_db, change_feed_policy={"retentionDuration": 60})
    _, start = follow(container)
    container.create_item({"id": "a", "pk": "p"})
    virtual.advance("59m")
    assert short(follow(container, continuation=start)[0]) == [("create", "a")]
    virtual.advance("2m")
    with refused(400, saying="60 minutes"):
        follow(container, continuation=start)
    _, start = follow(container)
    container.create_item({"id": "b", "pk": "p"})
    assert short(follow(container, continuation=start)[0]) == [("create", "b")]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_continuations_of_both_modes_survive_restarts_and_days(kind):
    server = Server("--virtual-clock").start()
    connector = Connector(kind)

    def open_container():
        return connector.connect(server.url()).get_database_client("d").get_container_client("c")

    try:
        server.align()
        database = connector.connect(server.url()).create_database("d")
        container = database.create_container("c", PartitionKey(path="/pk"), default_ttl=86_400)
        _, versions = follow(container)
        answers = []
        hook = {"response_hook": lambda headers, _: answers.append(headers)}
        list(container.query_items_change_feed(start_time="Beginning", **hook))
        latest = answers[-1]["etag"]
        for day in range(4):
            container.create_item({"id": f"i{day}", "pk": "p"})
            server.advance("1d")
            server.stop()
            server.start()
            container = open_container()
            events, versions = follow(container, continuation=versions)
            assert short(events) == [("create", f"i{day}"), ("delete!", f"i{day}")]
            items = list(container.query_items_change_feed(continuation=latest, **hook))
            latest = answers[-1]["etag"]
            assert items == [], "what has expired is not in the feed of latest versions"
        container.create_item({"id": "last", "pk": "p"})
        server.stop()
        server.start()
        container = open_container()
        assert [item["id"] for item in container.query_items_change_feed(continuation=latest)] == ["last"]
    finally:
        connector.close()
        server.stop()


def test_the_oldest_form_of_continuation_is_the_etag_itself(container):
    answers = []
    hook = {"response_hook": lambda headers, _: answers.append(headers)}
    container.create_item({"id": "a", "pk": "p"})
    first = list(container.query_items_change_feed(partition_key_range_id="0", is_start_from_beginning=True, **hook))
    assert [item["id"] for item in first] == ["a"]
    container.create_item({"id": "b", "pk": "p"})
    etag = answers[-1]["etag"]
    then = list(container.query_items_change_feed(partition_key_range_id="0", continuation=etag))
    assert [item["id"] for item in then] == ["b"]
