"""Offers: manual and autoscale throughput, and what happens when it is used up."""

import pytest
from azure.cosmos import PartitionKey, ThroughputProperties
from azure.cosmos.documents import ConnectionPolicy
from azure.cosmos.exceptions import CosmosHttpResponseError

from conftest import fresh, refused, running


def container_with(db, throughput):
    return db.create_container(fresh("c"), PartitionKey(path="/pk"), offer_throughput=throughput)


def test_manual(db):
    container = container_with(db, 500)
    assert container.get_throughput().offer_throughput == 500
    replaced = container.replace_throughput(600)
    assert replaced.offer_throughput == 600
    assert container.get_throughput().offer_throughput == 600


def test_a_container_that_nobody_asked_throughput_for_has_the_standard_offer(db):
    container = db.create_container(fresh("c"), PartitionKey(path="/pk"))
    assert container.get_throughput().offer_throughput == 400
    assert container.replace_throughput(700).offer_throughput == 700
    assert container.get_throughput().offer_throughput == 700


def test_an_offer_is_the_same_after_a_restart(connector, own_server):
    client = connector.connect(own_server.url())
    db = client.create_database("db")
    names = ["standard", "replaced"]
    for name in names:
        db.create_container(name, PartitionKey(path="/pk"))
    db.get_container_client("replaced").replace_throughput(900)

    def offers():
        again = connector.connect(own_server.url()).get_database_client("db")
        return [again.get_container_client(name).get_throughput().properties for name in names]

    before = offers()
    assert [each["content"]["offerThroughput"] for each in before] == [400, 900]
    own_server.stop()
    own_server.start()
    assert offers() == before


def test_autoscale(db):
    container = container_with(db, ThroughputProperties(auto_scale_max_throughput=4000))
    assert container.get_throughput().auto_scale_max_throughput == 4000
    container.replace_throughput(ThroughputProperties(auto_scale_max_throughput=5000))
    assert container.get_throughput().auto_scale_max_throughput == 5000


def test_database_shares_its_throughput(client):
    name = fresh("db")
    db = client.create_database(name, offer_throughput=700)
    assert db.get_throughput().offer_throughput == 700
    db.replace_throughput(800)
    assert db.get_throughput().offer_throughput == 800
    container = db.create_container(fresh("c"), PartitionKey(path="/pk"))
    assert offer_of(container) is None
    own = container_with(db, 400)
    assert own.get_throughput().offer_throughput == 400
    client.delete_database(name)


def test_database_with_autoscale(client):
    name = fresh("db")
    db = client.create_database(name, offer_throughput=ThroughputProperties(auto_scale_max_throughput=2000))
    assert db.get_throughput().auto_scale_max_throughput == 2000
    client.delete_database(name)


def test_database_without_throughput_has_no_offer(db):
    assert offer_of(db) is None


@pytest.mark.parametrize("bad", [100, 450, 2_000_000])
def test_bad_throughput_is_400(db, bad):
    with refused(400):
        container_with(db, bad)


def test_throughput_below_the_minimum_is_refused(db):
    container = container_with(db, 400)
    with refused(400):
        container.replace_throughput(100)
    assert container.get_throughput().offer_throughput == 400


def test_offer_goes_with_its_container(db):
    container = container_with(db, 500)
    db.delete_container(container.id)
    again = db.create_container(container.id, PartitionKey(path="/pk"), offer_throughput=400)
    assert again.get_throughput().offer_throughput == 400


def without_retries():
    """The client's own settings cannot say that a refusal is not to be retried; its policy can."""
    policy = ConnectionPolicy()
    policy.RetryOptions._max_retry_attempt_count = 0
    return policy


def offer_of(resource):
    """The sync client trips over its own feet when there is no offer; what the server says is the same."""
    try:
        return resource.get_throughput()
    except (CosmosHttpResponseError, AttributeError) as error:
        if isinstance(error, AttributeError):
            error = error.__context__
        assert (error.status_code, error.sub_status) == (404, 10004), error
        return None


BODY = {"id": "1", "pk": "a", "text": "x" * 100_000}
ATTEMPTS_MAX = 400


def test_too_much_is_429_and_says_when_to_come_back(connector, server, db):
    container = container_with(db, 400)
    hasty = connector.connect(server.url(), connection_policy=without_retries())
    seen = hasty.get_database_client(db.id).get_container_client(container.id)
    with pytest.raises(CosmosHttpResponseError) as caught:
        for _ in range(ATTEMPTS_MAX):
            seen.upsert_item(BODY)
    error = caught.value
    assert (error.status_code, error.sub_status) == (429, 3200)
    assert int(error.headers["x-ms-retry-after-ms"]) > 0


def test_patient_client_is_served_in_the_end(connector, server, db):
    container = container_with(db, 400)
    hasty = connector.connect(server.url(), connection_policy=without_retries())
    with pytest.raises(CosmosHttpResponseError):
        for _ in range(ATTEMPTS_MAX):
            hasty.get_database_client(db.id).get_container_client(container.id).upsert_item(BODY)
    # The budget is spent; the default policy waits as told and tries again.
    container.upsert_item(BODY | {"n": 1})
    assert container.read_item("1", "a")["n"] == 1


def throttled(connector, server, attempts, throughput=None):
    """Whether writes to a new container are ever refused. Each costs more than 400 request units."""
    db = connector.connect(server.url()).create_database(fresh("db"))
    container = db.create_container(fresh("c"), PartitionKey(path="/pk"), offer_throughput=throughput)
    hasty = connector.connect(server.url(), connection_policy=without_retries())
    seen = hasty.get_database_client(db.id).get_container_client(container.id)
    try:
        for _ in range(attempts):
            seen.upsert_item(BODY)
    except CosmosHttpResponseError as error:
        assert (error.status_code, error.sub_status) == (429, 3200)
        return True
    return False


def test_the_standard_offer_is_not_enforced_unless_it_is_said(connector, server):
    assert not throttled(connector, server, 20)
    with running("--rate-limiting", "on") as strict:
        assert throttled(connector, strict, ATTEMPTS_MAX)
        # What was asked for holds there too.
        assert not throttled(connector, strict, 20, 1_000_000)


def test_a_replaced_offer_is_enforced(connector, server, db):
    container = db.create_container(fresh("c"), PartitionKey(path="/pk"))
    container.replace_throughput(400)
    hasty = connector.connect(server.url(), connection_policy=without_retries())
    seen = hasty.get_database_client(db.id).get_container_client(container.id)
    with refused(429):
        for _ in range(ATTEMPTS_MAX):
            seen.upsert_item(BODY)
