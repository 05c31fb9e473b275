"""What was acknowledged is there after a restart, under the same names and with the same marks."""

from azure.cosmos import PartitionKey

from conftest import refused, running


def open_container(connector, server, name="c"):
    return connector.connect(server.url()).get_database_client("db").get_container_client(name)


def test_everything_is_there_again(connector, own_server):
    client = connector.connect(own_server.url())
    db = client.create_database("db")
    container = db.create_container("c", PartitionKey(path="/pk"), default_ttl=3600, offer_throughput=1000)
    items = [container.create_item({"id": str(n), "pk": f"p{n % 3}", "n": n}) for n in range(30)]
    container.delete_item("29", "p2")
    container.scripts.create_stored_procedure(body={"id": "s", "body": "function () {}"})
    db.create_user({"id": "u"})
    properties = container.read()

    own_server.stop()
    own_server.start()

    again = open_container(connector, own_server)
    assert again.read() == properties
    assert again.get_throughput().offer_throughput == 1000
    for item in items[:29]:
        assert again.read_item(item["id"], item["pk"]) == item
    with refused(404):
        again.read_item("29", "p2")
    assert len(list(again.read_all_items())) == 29
    assert [each["id"] for each in again.scripts.list_stored_procedures()] == ["s"]
    after = again.create_item({"id": "after", "pk": "p0"})
    assert after["_rid"] not in {item["_rid"] for item in items}
    with refused(409):
        again.create_item({"id": "0", "pk": "p0"})


def test_session_goes_on_after_a_restart(connector, own_server):
    client = connector.connect(own_server.url())
    container = client.create_database("db").create_container("c", PartitionKey(path="/pk"))
    token = container.create_item({"id": "1", "pk": "a"}).get_response_headers()["x-ms-session-token"]
    own_server.stop()
    own_server.start()
    again = open_container(connector, own_server)
    assert again.read_item("1", "a", session_token=token)["id"] == "1"
    later = again.upsert_item({"id": "1", "pk": "a"}).get_response_headers()["x-ms-session-token"]
    assert int(later.split("#")[1]) > int(token.split("#")[1])


def test_page_token_outlives_a_restart(connector, own_server):
    client = connector.connect(own_server.url())
    container = client.create_database("db").create_container("c", PartitionKey(path="/pk"))
    for n in range(6):
        container.create_item({"id": str(n), "pk": "a"})
    pager = container.read_all_items(max_item_count=2).by_page()
    first = [item["id"] for item in next(pager)]
    token = pager.continuation_token
    own_server.stop()
    own_server.start()
    feed = open_container(connector, own_server).read_all_items(max_item_count=2)
    rest = [item["id"] for page in feed.by_page(token) for item in page]
    assert sorted(first + rest) == [str(n) for n in range(6)]


def test_virtual_time_and_the_dead_survive(connector):
    with running("--virtual-clock") as server:
        db = connector.connect(server.url()).create_database("db")
        container = db.create_container("c", PartitionKey(path="/pk"), default_ttl=10)
        server.align()
        container.create_item({"id": "dies", "pk": "a"})
        container.create_item({"id": "lives", "pk": "a", "ttl": -1})
        moment = server.advance("10s")
        server.stop()
        server.start()
        assert server.admin("GET", "/_lapsedb/clock")[1]["nowMillis"] == moment
        again = open_container(connector, server)
        assert [item["id"] for item in again.read_all_items()] == ["lives"]
        # Letting everything live for ever does not bring back what has died.
        client = connector.connect(server.url())
        client.get_database_client("db").replace_container("c", PartitionKey(path="/pk"), default_ttl=-1)
        assert [item["id"] for item in again.read_all_items()] == ["lives"]
