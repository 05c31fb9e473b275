"""Patch: each operation, the condition, and what is refused."""

import pytest

from conftest import refused, user_part


@pytest.fixture
def item(container):
    body = {"id": "1", "pk": "a", "n": 5, "text": "t", "list": [1, 2, 3], "deep": {"x": 1}, "gone": "soon"}
    container.create_item(body)
    return body


def patched(container, *operations, **options):
    return user_part(container.patch_item("1", "a", list(operations), **options))


CASES = {
    "add member": ([{"op": "add", "path": "/new", "value": {"a": [1]}}], {"new": {"a": [1]}}),
    "add over member": ([{"op": "add", "path": "/text", "value": 1}], {"text": 1}),
    "add into list": ([{"op": "add", "path": "/list/1", "value": 9}], {"list": [1, 9, 2, 3]}),
    "append to list": ([{"op": "add", "path": "/list/-", "value": 9}], {"list": [1, 2, 3, 9]}),
    "set member": ([{"op": "set", "path": "/text", "value": None}], {"text": None}),
    "set new member": ([{"op": "set", "path": "/deep/y", "value": True}], {"deep": {"x": 1, "y": True}}),
    "set in list": ([{"op": "set", "path": "/list/0", "value": 9}], {"list": [9, 2, 3]}),
    "replace": ([{"op": "replace", "path": "/deep/x", "value": 2}], {"deep": {"x": 2}}),
    "remove from list": ([{"op": "remove", "path": "/list/0"}], {"list": [2, 3]}),
    "increase": ([{"op": "incr", "path": "/n", "value": 2}], {"n": 7}),
    "decrease": ([{"op": "incr", "path": "/n", "value": -7.5}], {"n": -2.5}),
    "increase nothing": ([{"op": "incr", "path": "/count", "value": 3}], {"count": 3}),
    "in order": (
        [{"op": "set", "path": "/n", "value": 1}, {"op": "incr", "path": "/n", "value": 1},
         {"op": "incr", "path": "/n", "value": 1}],
        {"n": 3},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_operation(container, item, case):
    operations, change = CASES[case]
    expected = item | change
    assert patched(container, *operations) == expected
    assert user_part(container.read_item("1", "a")) == expected


def test_remove(container, item):
    del item["gone"]
    assert patched(container, {"op": "remove", "path": "/gone"}) == item


def test_move(container, item):
    item["deep"]["moved"] = item.pop("gone")
    assert patched(container, {"op": "move", "from": "/gone", "path": "/deep/moved"}) == item


def test_patch_gives_a_new_etag_and_keeps_the_rid(container, item):
    before = container.read_item("1", "a")
    after = container.patch_item("1", "a", [{"op": "set", "path": "/n", "value": 5}])
    assert after["_etag"] != before["_etag"]
    assert after["_rid"] == before["_rid"]


def test_condition(container, item):
    bump = [{"op": "incr", "path": "/n", "value": 1}]
    container.patch_item("1", "a", bump, filter_predicate="from c where c.n = 5 and c.text = 't'")
    assert container.read_item("1", "a")["n"] == 6
    with refused(412):
        container.patch_item("1", "a", bump, filter_predicate="from c where c.n = 5")
    with refused(412):
        container.patch_item("1", "a", bump, filter_predicate="from c where c.absent = 1")
    assert container.read_item("1", "a")["n"] == 6
    with refused(400):
        container.patch_item("1", "a", bump, filter_predicate="from c where where")


REFUSED = {
    "replace of nothing": [{"op": "replace", "path": "/absent", "value": 1}],
    "remove of nothing": [{"op": "remove", "path": "/absent"}],
    "move of nothing": [{"op": "move", "from": "/absent", "path": "/n"}],
    "move into itself": [{"op": "move", "from": "/deep", "path": "/deep/inside"}],
    "increase of text": [{"op": "incr", "path": "/text", "value": 1}],
    "increase by text": [{"op": "incr", "path": "/n", "value": "1"}],
    "missing parent": [{"op": "add", "path": "/a/b/c", "value": 1}],
    "beyond the list": [{"op": "add", "path": "/list/9", "value": 1}],
    "id": [{"op": "set", "path": "/id", "value": "2"}],
    "partition key": [{"op": "set", "path": "/pk", "value": "b"}],
    "system property": [{"op": "set", "path": "/_ts", "value": 1}],
    "unknown operation": [{"op": "multiply", "path": "/n", "value": 1}],
    "eleven operations": [{"op": "incr", "path": "/n", "value": 1}] * 11,
    "one of two": [{"op": "incr", "path": "/n", "value": 1}, {"op": "remove", "path": "/absent"}],
    "no operation": [],
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_wholly(container, item, case):
    before = container.read_item("1", "a")
    with refused(400):
        container.patch_item("1", "a", REFUSED[case])
    assert container.read_item("1", "a") == before


def test_ten_operations_are_allowed(container, item):
    assert patched(container, *[{"op": "incr", "path": "/n", "value": 1}] * 10)["n"] == 15
