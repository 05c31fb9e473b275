"""Stored procedures, triggers and functions: kept, listed, and honestly not run."""

import pytest
from azure.cosmos.exceptions import CosmosHttpResponseError

from conftest import refused

KINDS = {
    "stored_procedure": ({"id": "s", "body": "function () { getContext().getResponse().setBody(1); }"}, "stored_procedures"),
    "trigger": (
        {"id": "s", "body": "function () {}", "triggerType": "Pre", "triggerOperation": "All"}, "triggers"
    ),
    "user_defined_function": ({"id": "s", "body": "function (x) { return x; }"}, "user_defined_functions"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kept_and_listed(container, kind):
    body, plural = KINDS[kind]
    scripts = container.scripts
    made = getattr(scripts, f"create_{kind}")(body=dict(body))
    for field, value in body.items():
        assert made[field] == value, field
    read = getattr(scripts, f"get_{kind}")("s")
    assert read["body"] == body["body"] and read["_etag"] == made["_etag"]
    with refused(409):
        getattr(scripts, f"create_{kind}")(body=dict(body))
    assert [each["id"] for each in getattr(scripts, f"list_{plural}")()] == ["s"]
    found = getattr(scripts, f"query_{plural}")(
        "SELECT * FROM s WHERE s.id = @id", parameters=[{"name": "@id", "value": "s"}]
    )
    assert [each["id"] for each in found] == ["s"]
    changed = getattr(scripts, f"replace_{kind}")("s", dict(body) | {"body": "function () { return 2; }"})
    assert changed["body"] == "function () { return 2; }"
    assert changed["_rid"] == made["_rid"]
    getattr(scripts, f"delete_{kind}")("s")
    with refused(404):
        getattr(scripts, f"get_{kind}")("s")
    assert list(getattr(scripts, f"list_{plural}")()) == []


def test_running_a_procedure_is_refused_not_faked(container):
    container.scripts.create_stored_procedure(body=dict(KINDS["stored_procedure"][0]))
    with refused(400):
        container.scripts.execute_stored_procedure("s", partition_key="a")
    with refused(404):
        container.scripts.execute_stored_procedure("none", partition_key="a")


def test_write_that_wants_a_trigger_is_refused_not_faked(container):
    container.scripts.create_trigger(body=dict(KINDS["trigger"][0]))
    with pytest.raises(CosmosHttpResponseError) as caught:
        container.create_item({"id": "1", "pk": "a"}, pre_trigger_include="s")
    assert caught.value.status_code == 400
    assert list(container.read_all_items()) == []


def test_script_without_body_is_400(container):
    with refused(400):
        container.scripts.create_stored_procedure(body={"id": "s"})
