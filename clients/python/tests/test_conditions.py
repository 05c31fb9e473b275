"""ETags, conditional requests and session tokens."""

import pytest
from azure.core import MatchConditions
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError

from conftest import make, refused

STALE = '"00000000-0000-0000-0000-000000000000"'


@pytest.fixture
def made(container):
    return container.create_item({"id": "1", "pk": "a", "n": 0})


def if_same(etag):
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}


WRITES = {
    "replace": lambda c, **o: c.replace_item("1", {"id": "1", "pk": "a", "n": 1}, **o),
    "upsert": lambda c, **o: c.upsert_item({"id": "1", "pk": "a", "n": 1}, **o),
    "patch": lambda c, **o: c.patch_item("1", "a", [{"op": "set", "path": "/n", "value": 1}], **o),
}


@pytest.mark.parametrize("write", WRITES)
def test_if_match(container, made, write):
    with refused(412):
        WRITES[write](container, **if_same(STALE))
    assert container.read_item("1", "a") == made
    changed = WRITES[write](container, **if_same(made["_etag"]))
    assert changed["n"] == 1 and changed["_etag"] != made["_etag"]
    with refused(412):
        WRITES[write](container, **if_same(made["_etag"]))


def test_if_match_on_delete(container, made):
    with refused(412):
        container.delete_item("1", "a", **if_same(STALE))
    container.delete_item("1", "a", **if_same(made["_etag"]))
    with refused(404):
        container.delete_item("1", "a", **if_same(made["_etag"]))


def test_read_of_what_is_known_has_no_body(container, made):
    def read_unless(etag):
        return container.read_item("1", "a", etag=etag, match_condition=MatchConditions.IfModified)

    assert read_unless(made["_etag"]) == {}
    assert read_unless(STALE) == made


def test_container_has_an_etag_too(db):
    container = make(db)
    etag = container.read()["_etag"]
    with refused(412):
        db.replace_container(container, PartitionKey(path="/pk"), default_ttl=5, **if_same(STALE))
    db.replace_container(container, PartitionKey(path="/pk"), default_ttl=5, **if_same(etag))
    with refused(412):
        db.delete_container(container.id, **if_same(etag))
    db.delete_container(container.id, **if_same(container.read()["_etag"]))


def test_header_and_body_have_the_same_etag(container, made):
    assert made.get_response_headers()["etag"] == made["_etag"]
    assert container.read_item("1", "a").get_response_headers()["etag"] == made["_etag"]


def lsn(response):
    """The position in a session token such as 0:-1#17."""
    token = response.get_response_headers()["x-ms-session-token"]
    return int(token.split(":")[1].split("#")[1])


def test_session_token_moves_with_every_write(container):
    positions = [lsn(container.upsert_item({"id": "1", "pk": "a", "n": n})) for n in range(3)]
    assert positions == sorted(set(positions))
    assert lsn(container.read_item("1", "a")) >= positions[-1]


def test_batch_is_one_position(container):
    before = lsn(container.upsert_item({"id": "1", "pk": "a"}))
    answers = container.execute_item_batch(
        [("create", ({"id": str(n), "pk": "a"},)) for n in range(10, 15)], partition_key="a"
    )
    # The server may have kept its clock in between, which is a position too: the batch takes one behind both.
    assert lsn(answers) > before
    assert {answer["eTag"] for answer in answers} == {answers[0]["eTag"]}


def test_reads_take_a_session_token(connector, server, db, container, made):
    token = made.get_response_headers()["x-ms-session-token"]
    other = connector.connect(server.url()).get_database_client(db.id).get_container_client(container.id)
    assert other.read_item("1", "a", session_token=token)["_etag"] == made["_etag"]
    found = list(other.query_items("SELECT * FROM c", partition_key="a", session_token=token))
    assert [item["_etag"] for item in found] == [made["_etag"]]


@pytest.mark.parametrize("level", ["Session", "ConsistentPrefix", "Eventual"])
def test_weaker_consistency_may_be_asked_for(connector, server, db, container, made, level):
    client = connector.connect(server.url(), consistency_level=level)
    seen = client.get_database_client(db.id).get_container_client(container.id)
    assert seen.read_item("1", "a")["_etag"] == made["_etag"]


def test_stronger_consistency_is_400(connector, server, db, container, made):
    with refused(400):
        client = connector.connect(server.url(), consistency_level="Strong")
        client.get_database_client(db.id).get_container_client(container.id).read_item("1", "a")


def test_failures_tell_the_position(container, made):
    before = lsn(made)
    for failed in (
        lambda: container.read_item("nope", "a"),
        lambda: container.create_item({"id": "1", "pk": "a"}),
        lambda: container.replace_item("1", {"id": "1", "pk": "a"}, **if_same('"other"')),
    ):
        with pytest.raises(CosmosHttpResponseError) as caught:
            failed()
        assert caught.value.status_code in (404, 409, 412)
        headers = caught.value.response.headers
        assert int(headers["x-ms-session-token"].split("#")[1]) >= before
        assert int(headers["lsn"]) >= before


def test_tokens_of_no_session_are_refused(container, made):
    with refused(404, 1002, saying="The read session is not available for the input session token."):
        container.read_item("1", "a", session_token="0:-1#2147483647")
    with refused(400, saying="The session token provided 'invalidtoken' is invalid."):
        container.read_item("1", "a", session_token="invalidtoken")


def test_a_container_made_anew_serves_old_clients(connector, server, db, container):
    """A client that followed the old container reads the new one, and its own writes to it."""
    other = connector.connect(server.url()).get_database_client(db.id).get_container_client(container.id)
    other.upsert_item({"id": "1", "pk": "a", "n": 1})
    assert other.read_item("1", "a")["n"] == 1
    db.delete_container(container.id)
    db.create_container(container.id, PartitionKey(path="/pk"))
    with refused(404):
        other.read_item("1", "a")
    other.upsert_item({"id": "1", "pk": "a", "n": 2})
    assert other.read_item("1", "a")["n"] == 2
