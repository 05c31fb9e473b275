"""Items: create, read, read feed, upsert, replace, delete, delete by partition key."""

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

from conftest import fresh, make, refused, user_part

ITEM_BYTES_MAX = 2 * 1024 * 1024


def test_create_then_read(container):
    body = {"id": "1", "pk": "a", "n": 1, "deep": {"list": [1, "two", None, {"three": 3.5}]}}
    made = container.create_item(body)
    read = container.read_item("1", "a")
    assert user_part(read) == body
    assert read == made
    for field in ("_rid", "_self", "_etag", "_ts", "_attachments"):
        assert field in read, field
    assert isinstance(read["_ts"], int)


def test_values_come_back_as_they_went(container):
    body = {
        "id": "values", "pk": "a", "zero": 0, "minus": -1, "half": 0.5, "big": 2**53, "huge": 1e300, "tiny": 5e-324,
        "true": True, "false": False, "null": None, "empty": "", "list": [], "object": {},
        "text": "quote \" back \\ slash / tab \t line \n null \u0000 é 漢字 🎈", "": "empty name", "ключ": "имя",
        "nested": [[[[{"a": [{}]}]]]],
    }
    container.create_item(body)
    assert user_part(container.read_item("values", "a")) == body


def test_order_of_members_is_kept(container):
    container.create_item({"id": "1", "pk": "a", "z": 1, "a": 2, "m": 3})
    assert [key for key in container.read_item("1", "a") if not key.startswith("_")] == ["id", "pk", "z", "a", "m"]


def test_same_id_twice_is_409_but_not_in_another_partition(container):
    container.create_item({"id": "1", "pk": "a"})
    with refused(409):
        container.create_item({"id": "1", "pk": "a"})
    container.create_item({"id": "1", "pk": "b"})
    assert len(list(container.read_all_items())) == 2


def test_missing_item_is_404_without_sub_status(container):
    with refused(404, sub_status=0):
        container.read_item("none", "a")
    with refused(404, sub_status=0):
        container.replace_item("none", {"id": "none", "pk": "a"})
    with refused(404, sub_status=0):
        container.delete_item("none", "a")
    with refused(404, sub_status=0):
        container.patch_item("none", "a", [{"op": "set", "path": "/n", "value": 1}])


def test_missing_container_is_404(db):
    with refused(404):
        db.get_container_client(fresh("none")).read_item("1", "a")


def test_client_may_have_an_id_made(container):
    made = container.create_item({"pk": "a"}, enable_automatic_id_generation=True)
    assert container.read_item(made["id"], "a")["id"] == made["id"]


def test_item_without_id_is_400(container):
    with refused(400):
        container.create_item({"pk": "a"})


@pytest.mark.parametrize("bad", ["", "x" * 1024])
def test_bad_ids_are_400(container, bad):
    # The client itself may refuse them before anything is sent.
    from azure.cosmos.exceptions import CosmosHttpResponseError

    with pytest.raises((CosmosHttpResponseError, ValueError)) as caught:
        container.create_item({"id": bad, "pk": "a"})
    if isinstance(caught.value, CosmosHttpResponseError):
        assert caught.value.status_code == 400
    assert list(container.read_all_items()) == []


@pytest.mark.parametrize("odd", ["with space", "ünï-码", "per%20cent", "plus+", "quo'te\"s", "x" * 255, "a&b=c", "~.-_"])
def test_odd_ids(container, odd):
    container.create_item({"id": odd, "pk": "a"})
    assert container.read_item(odd, "a")["id"] == odd
    container.replace_item(odd, {"id": odd, "pk": "a", "n": 1})
    assert container.read_item(odd, "a")["n"] == 1
    container.delete_item(odd, "a")


def test_upsert_inserts_then_replaces(container):
    first = container.upsert_item({"id": "1", "pk": "a", "old": True})
    second = container.upsert_item({"id": "1", "pk": "a", "new": True})
    assert first["_rid"] == second["_rid"]
    assert first["_etag"] != second["_etag"]
    assert user_part(container.read_item("1", "a")) == {"id": "1", "pk": "a", "new": True}


def test_replace_takes_the_place_wholly(container):
    made = container.create_item({"id": "1", "pk": "a", "old": True})
    replaced = container.replace_item(made, {"id": "1", "pk": "a", "new": True})
    assert "old" not in replaced
    assert replaced["_rid"] == made["_rid"]
    assert replaced["_etag"] != made["_etag"]


def test_replace_may_give_another_id(container):
    container.create_item({"id": "1", "pk": "a"})
    container.create_item({"id": "taken", "pk": "a"})
    assert container.replace_item("1", {"id": "2", "pk": "a", "n": 1})["id"] == "2"
    assert container.read_item("2", "a")["n"] == 1
    with refused(404):
        container.read_item("1", "a")
    with refused(409):
        container.replace_item("2", {"id": "taken", "pk": "a"})
    assert sorted(item["id"] for item in container.read_all_items()) == ["2", "taken"]


def test_delete(container):
    container.create_item({"id": "1", "pk": "a"})
    container.delete_item("1", "a")
    with refused(404):
        container.read_item("1", "a")


def test_system_properties_from_the_client_are_ignored(container):
    made = container.create_item({"id": "1", "pk": "a", "_ts": 1, "_etag": "mine", "_rid": "mine", "_self": "mine"})
    assert made["_ts"] > 1_000_000_000
    assert made["_etag"] != "mine" and made["_rid"] != "mine" and made["_self"] != "mine"


def test_write_can_answer_without_body(container):
    assert container.create_item({"id": "1", "pk": "a"}, no_response=True) == {}
    assert container.upsert_item({"id": "1", "pk": "a", "n": 1}, no_response=True) == {}
    assert container.replace_item("1", {"id": "1", "pk": "a", "n": 2}, no_response=True) == {}
    set_n = [{"op": "set", "path": "/n", "value": 3}]
    patched = container.patch_item("1", "a", set_n, no_response=True)
    assert patched == {} and patched.get_response_headers()["etag"]
    assert container.read_item("1", "a")["n"] == 3


def test_read_feed_comes_in_pages(container):
    for n in range(10):
        container.create_item({"id": str(n), "pk": f"p{n % 3}"})
    pages = [[item["id"] for item in page] for page in container.read_all_items(max_item_count=4).by_page()]
    assert all(len(page) <= 4 for page in pages)
    assert sorted(id for page in pages for id in page) == [str(n) for n in range(10)]


def test_read_feed_goes_on_from_a_token(container):
    for n in range(7):
        container.create_item({"id": str(n), "pk": "a"})
    pager = container.read_all_items(max_item_count=3).by_page()
    first = [item["id"] for item in next(pager)]
    token = pager.continuation_token
    assert len(first) == 3 and token
    container.create_item({"id": "late", "pk": "a"})
    rest = [item["id"] for page in container.read_all_items(max_item_count=3).by_page(token) for item in page]
    assert set(first) | set(rest) >= {str(n) for n in range(7)}
    assert not set(first) & set(rest)


def test_item_of_two_megabytes_is_too_large(container):
    container.create_item({"id": "big", "pk": "a", "text": "x" * (ITEM_BYTES_MAX - 1000)})
    assert len(container.read_item("big", "a")["text"]) == ITEM_BYTES_MAX - 1000
    with refused(413):
        container.create_item({"id": "bigger", "pk": "a", "text": "x" * ITEM_BYTES_MAX})
    with refused(404):
        container.read_item("bigger", "a")


def test_delete_by_partition_key_takes_that_partition_only(container):
    for n in range(5):
        container.create_item({"id": str(n), "pk": "doomed"})
        container.create_item({"id": str(n), "pk": "kept"})
    container.delete_all_items_by_partition_key("doomed")
    assert {item["pk"] for item in container.read_all_items()} == {"kept"}
    with refused(404):
        container.read_item("0", "doomed")
    container.create_item({"id": "0", "pk": "doomed"})


def test_read_many(container):
    for n in range(6):
        container.create_item({"id": str(n), "pk": f"p{n % 2}"})
    found = container.read_items([("0", "p0"), ("1", "p1"), ("5", "p1"), ("none", "p0")])
    assert sorted(item["id"] for item in found) == ["0", "1", "5"]


class TestPartitionKeys:
    def test_missing_and_null_are_two_keys(self, container):
        container.create_item({"id": "1"})
        container.create_item({"id": "1", "pk": None})
        assert "pk" not in container.read_item("1", NonePartitionKeyValue)
        assert container.read_item("1", NullPartitionKeyValue)["pk"] is None

    def test_values_of_different_type_are_different_keys(self, container):
        for value in ("1", 1, True, "true", "", 0, False):
            container.create_item({"id": "same", "pk": value})
        for value in ("1", 1, True, "true", "", 0, False):
            read = container.read_item("same", value)["pk"]
            assert read == value and isinstance(read, bool) == isinstance(value, bool)

    def test_wrong_key_does_not_find(self, container):
        container.create_item({"id": "1", "pk": "a"})
        with refused(404):
            container.read_item("1", "b")

    def test_long_keys_differ_to_the_last_letter(self, db):
        for version in (1, 2):
            container = db.create_container(fresh("c"), PartitionKey(path="/pk", version=version))
            for end in ("x", "y"):
                container.create_item({"id": "1", "pk": "k" * 2000 + end})
            for end in ("x", "y"):
                assert container.read_item("1", "k" * 2000 + end)["pk"][-1] == end
                found = container.query_items("SELECT * FROM c", partition_key="k" * 2000 + end)
                assert [item["pk"][-1] for item in found] == [end]
            with refused(400):
                container.create_item({"id": "1", "pk": "k" * 2049})

    def test_nested_path(self, db):
        container = make(db, path="/address/city")
        container.create_item({"id": "1", "address": {"city": "Bern"}})
        assert container.read_item("1", "Bern")["id"] == "1"

    def test_hierarchical(self, db):
        container = db.create_container(
            fresh("c"), PartitionKey(path=["/tenant", "/user", "/session"], kind="MultiHash")
        )
        for tenant in ("t1", "t2"):
            for user in ("u1", "u2"):
                for session in (1, 2):
                    container.create_item({"id": "x", "tenant": tenant, "user": user, "session": session})
        assert container.read_item("x", ["t1", "u2", 1])["user"] == "u2"
        container.replace_item("x", {"id": "x", "tenant": "t1", "user": "u2", "session": 1, "n": 1})
        assert container.read_item("x", ["t1", "u2", 1])["n"] == 1
        container.delete_item("x", ["t2", "u2", 2])
        with refused(404):
            container.read_item("x", ["t2", "u2", 2])
        by_tenant = container.query_items("SELECT * FROM c", partition_key=["t1"])
        assert sorted((item["user"], item["session"]) for item in by_tenant) == [
            ("u1", 1), ("u1", 2), ("u2", 1), ("u2", 2)
        ]
        by_user = container.query_items("SELECT * FROM c", partition_key=["t2", "u2"])
        assert [item["session"] for item in by_user] == [1]
