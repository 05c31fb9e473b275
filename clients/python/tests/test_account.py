"""Who may come in, by which protocol, and what the account says of itself."""

import ssl

import pytest
from azure.cosmos import CosmosClient

from conftest import ask, fresh, refused
from lapsedb import KEY, READ_ONLY_KEY

WRONG_KEY = "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmc="


def test_account_names_the_endpoint_the_client_used(server):
    account = CosmosClient(server.url(), KEY).get_database_account()
    assert [place["databaseAccountEndpoint"] for place in account.WritableLocations] == [server.url()]
    assert [place["databaseAccountEndpoint"] for place in account.ReadableLocations] == [server.url()]
    assert account.ConsistencyPolicy["defaultConsistencyLevel"] == "Session"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_both_schemes_answer_on_one_port(connector, server, scheme):
    client = connector.connect(server.url(scheme), connection_verify=False)
    name = fresh("db")
    client.create_database(name)
    assert client.get_database_client(name).read()["id"] == name
    client.delete_database(name)


def test_connection_string_opens_the_door(server):
    client = CosmosClient.from_connection_string(f"AccountEndpoint={server.url()};AccountKey={KEY};")
    assert isinstance(list(client.list_databases()), list)


def test_wrong_key_is_401(connector, server):
    with refused(401):
        client = connector.connect(server.url(), WRONG_KEY)
        list(client.list_databases())


class TestReadOnlyKey:
    @pytest.fixture
    def reader(self, connector, server):
        return connector.connect(server.url(), READ_ONLY_KEY)

    def test_it_reads(self, reader, db, container):
        container.create_item({"id": "1", "pk": "a"})
        seen = reader.get_database_client(db.id).get_container_client(container.id)
        assert seen.read()["id"] == container.id
        assert seen.read_item("1", "a")["id"] == "1"
        assert len(list(seen.read_all_items())) == 1
        assert len(list(ask(seen, "SELECT * FROM c"))) == 1

    def test_it_writes_nothing(self, reader, db, container):
        container.create_item({"id": "1", "pk": "a"})
        seen = reader.get_database_client(db.id).get_container_client(container.id)
        writes = {
            "create": lambda: seen.create_item({"id": "2", "pk": "a"}),
            "upsert": lambda: seen.upsert_item({"id": "1", "pk": "a", "n": 1}),
            "replace": lambda: seen.replace_item("1", {"id": "1", "pk": "a", "n": 1}),
            "patch": lambda: seen.patch_item("1", "a", [{"op": "add", "path": "/n", "value": 1}]),
            "delete": lambda: seen.delete_item("1", "a"),
            "batch": lambda: seen.execute_item_batch([("create", ({"id": "3", "pk": "a"},))], "a"),
            "database": lambda: reader.create_database(fresh("db")),
            "drop": lambda: reader.delete_database(db.id),
        }
        for name, write in writes.items():
            with refused(403):
                write()
                pytest.fail(f"{name} went through")
        assert [item["id"] for item in container.read_all_items()] == ["1"]
        assert "n" not in container.read_item("1", "a")


def test_certificate_survives_a_restart(own_server):
    first = ssl.get_server_certificate(("127.0.0.1", own_server.port))
    own_server.stop()
    own_server.start()
    assert ssl.get_server_certificate(("127.0.0.1", own_server.port)) == first


def test_admin_api_wants_the_key(virtual):
    assert virtual.admin("GET", "/_lapsedb/clock", key=WRONG_KEY)[0] == 401
    status, body = virtual.admin("GET", "/_lapsedb/clock")
    assert (status, body["virtual"], body["suspect"]) == (200, True, False)


def test_real_clock_cannot_be_moved(server):
    status, body = server.admin("POST", "/_lapsedb/clock", {"advance": "1s"})
    assert status == 403, body


def test_every_answer_has_a_charge_and_an_activity(container):
    seen = {}

    def hook(headers, _body):
        seen.update(headers)

    container.create_item({"id": "1", "pk": "a"}, response_hook=hook)
    lowered = {name.lower(): value for name, value in seen.items()}
    assert float(lowered["x-ms-request-charge"]) > 0
    assert lowered["x-ms-activity-id"]
