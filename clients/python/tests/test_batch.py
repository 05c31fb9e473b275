"""Transactional batch: all or nothing, each answer in its place."""

import base64
import copy
import email.utils
import hashlib
import hmac
import json
import urllib.parse
import urllib.request

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import CosmosBatchOperationError, CosmosHttpResponseError

from conftest import fresh, user_part
from lapsedb import KEY


def ids(container):
    return sorted(item["id"] for item in container.read_all_items())


def test_every_operation(container):
    for name in ("read", "replace", "patch", "delete", "upsert"):
        container.create_item({"id": name, "pk": "a", "n": 1})
    answers = container.execute_item_batch(
        [
            ("create", ({"id": "created", "pk": "a"},)),
            ("upsert", ({"id": "upsert", "pk": "a", "n": 2},)),
            ("upsert", ({"id": "upserted", "pk": "a"},)),
            ("replace", ("replace", {"id": "replace", "pk": "a", "n": 2})),
            ("patch", ("patch", [{"op": "incr", "path": "/n", "value": 1}]), {"filter_predicate": "from c where c.n = 1"}),
            ("read", ("read",)),
            ("delete", ("delete",)),
        ],
        partition_key="a",
    )
    assert [answer["statusCode"] for answer in answers] == [201, 200, 201, 200, 200, 200, 204]
    assert user_part(answers[5]["resourceBody"]) == {"id": "read", "pk": "a", "n": 1}
    assert answers[4]["resourceBody"]["n"] == 2
    assert all(float(answer["requestCharge"]) > 0 for answer in answers)
    assert answers[0]["eTag"] == container.read_item("created", "a")["_etag"]
    assert ids(container) == ["created", "patch", "read", "replace", "upsert", "upserted"]


def test_later_operations_see_earlier_ones(container):
    answers = container.execute_item_batch(
        [
            ("create", ({"id": "1", "pk": "a", "n": 1},)),
            ("patch", ("1", [{"op": "incr", "path": "/n", "value": 1}])),
            ("read", ("1",)),
            ("delete", ("1",)),
            ("create", ({"id": "1", "pk": "a", "n": 9},)),
        ],
        partition_key="a",
    )
    assert answers[2]["resourceBody"]["n"] == 2
    assert container.read_item("1", "a")["n"] == 9


FAILURES = {
    "conflict": (("create", ({"id": "old", "pk": "a"},)), 409),
    "missing": (("replace", ("none", {"id": "none", "pk": "a"})), 404),
    "missing delete": (("delete", ("none",)), 404),
    "etag": (("replace", ("old", {"id": "old", "pk": "a"}), {"if_match_etag": '"stale"'}), 412),
    "predicate": (("patch", ("old", [{"op": "set", "path": "/n", "value": 1}]), {"filter_predicate": "from c where false"}), 412),
    "bad patch": (("patch", ("old", [{"op": "remove", "path": "/absent"}])), 400),
}


@pytest.mark.parametrize("case", FAILURES)
def test_one_failure_undoes_all(container, case):
    # The client takes the options out of what it is given.
    operation, status = copy.deepcopy(FAILURES[case])
    container.create_item({"id": "old", "pk": "a", "n": 0})
    before = container.read_item("old", "a")
    with pytest.raises(CosmosBatchOperationError) as caught:
        container.execute_item_batch(
            [("create", ({"id": "new", "pk": "a"},)), ("upsert", ({"id": "old", "pk": "a", "n": 7},)), operation,
             ("create", ({"id": "after", "pk": "a"},))],
            partition_key="a",
        )
    error = caught.value
    assert (error.status_code, error.error_index) == (status, 2)
    assert [answer["statusCode"] for answer in error.operation_responses] == [424, 424, status, 424]
    assert ids(container) == ["old"]
    assert container.read_item("old", "a") == before


def test_conditions_that_hold(container):
    made = container.create_item({"id": "1", "pk": "a"})
    answers = container.execute_item_batch(
        [("replace", ("1", {"id": "1", "pk": "a", "n": 1}), {"if_match_etag": made["_etag"]})], partition_key="a"
    )
    assert answers[0]["statusCode"] == 200
    assert answers[0]["eTag"] != made["_etag"]


def test_item_of_another_partition_is_refused(container):
    with pytest.raises((CosmosBatchOperationError, CosmosHttpResponseError)) as caught:
        container.execute_item_batch([("create", ({"id": "1", "pk": "b"},))], partition_key="a")
    assert caught.value.status_code == 400
    assert ids(container) == []


def test_hundred_operations_and_no_more(container):
    create = [("create", ({"id": str(n), "pk": "a"},)) for n in range(101)]
    with pytest.raises((CosmosBatchOperationError, CosmosHttpResponseError)) as caught:
        container.execute_item_batch(create, partition_key="a")
    assert caught.value.status_code == 400
    assert ids(container) == []
    assert len(container.execute_item_batch(create[:100], partition_key="a")) == 100
    assert len(ids(container)) == 100


def test_hierarchical_key(db):
    container = db.create_container(fresh("c"), PartitionKey(path=["/t", "/u"], kind="MultiHash"))
    container.execute_item_batch(
        [("create", ({"id": "1", "t": "x", "u": "y"},)), ("create", ({"id": "2", "t": "x", "u": "y"},))],
        partition_key=["x", "y"],
    )
    assert ids(container) == ["1", "2"]


def charges(headers, answers):
    """What the batch cost, and what its operations cost together."""
    return float(headers["x-ms-request-charge"]), pytest.approx(sum(answer["requestCharge"] for answer in answers), abs=0.005)


def test_operations_cost_what_the_batch_costs(container):
    container.create_item({"id": "old", "pk": "a"})
    seen = []
    answers = container.execute_item_batch(
        [("create", ({"id": "new", "pk": "a"},)), ("read", ("old",)), ("delete", ("new",)), ("delete", ("old",))],
        partition_key="a",
        response_hook=lambda headers, _: seen.append(headers),
    )
    total, parts = charges(seen[-1], answers)
    assert total == parts
    container.create_item({"id": "old", "pk": "a"})
    for case in FAILURES:
        operation, _ = copy.deepcopy(FAILURES[case])
        with pytest.raises(CosmosBatchOperationError) as caught:
            container.execute_item_batch(
                [("create", ({"id": "new", "pk": "a"},)), operation, ("read", ("old",))], partition_key="a"
            )
        answers = caught.value.operation_responses
        total, parts = charges(caught.value.headers, answers)
        assert total == parts
        assert [answer["requestCharge"] > 0 for answer in answers] == [True, True, False], case


def test_an_answer_that_is_too_large_is_refused_whole(container):
    container.create_item({"id": "large", "pk": "a", "text": "x" * 1_000_000})
    read = ("read", ("large",))
    assert len(container.execute_item_batch([read] * 4, partition_key="a")) == 4
    with pytest.raises(CosmosBatchOperationError) as caught:
        container.execute_item_batch([("create", ({"id": "new", "pk": "a"},))] + [read] * 9, partition_key="a")
    assert caught.value.status_code == 413
    assert [answer["statusCode"] for answer in caught.value.operation_responses] == [424] * 9 + [413]
    assert ids(container) == ["large"]
    patches = [("patch", ("large", [{"op": "incr", "path": "/n", "value": 1}])) for _ in range(10)]
    with pytest.raises(CosmosBatchOperationError) as caught:
        container.execute_item_batch(patches, partition_key="a")
    assert caught.value.status_code == 413
    assert "n" not in container.read_item("large", "a")


def test_a_bulk_answer_has_room_for_four_mebibytes(server, container):
    """The SDK has no bulk, so this is sent by hand: what no longer fits fails by itself, and the rest stands."""
    for name in ("a", "b", "c"):
        container.create_item({"id": name, "pk": "p", "text": "x" * 1_900_000})
    operations = [{"operationType": "Read", "id": name, "partitionKey": '["p"]'} for name in ("a", "b", "c")]
    operations.append({"operationType": "Create", "partitionKey": '["p"]', "resourceBody": {"id": "d", "pk": "p"}})
    link = container.container_link
    date = email.utils.formatdate(usegmt=True)
    signed = f"post\ndocs\n{link}\n{date.lower()}\n\n".encode()
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), signed, hashlib.sha256).digest()).decode()
    headers = {
        "authorization": urllib.parse.quote(f"type=master&ver=1.0&sig={signature}", safe=""),
        "content-type": "application/json",
        "x-ms-cosmos-batch-atomic": "False",
        "x-ms-cosmos-batch-continue-on-error": "True",
        "x-ms-cosmos-is-batch-request": "True",
        "x-ms-date": date,
        "x-ms-version": "2020-07-15",
    }
    url = f"{server.url()}{link}/docs"
    request = urllib.request.Request(url, json.dumps(operations).encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        results = json.loads(answer.read())
    assert [result["statusCode"] for result in results] == [200, 200, 413, 201]
    assert results[2]["subStatusCode"] == 3402
    assert "resourceBody" not in results[2]
    assert ids(container) == ["a", "b", "c", "d"]
