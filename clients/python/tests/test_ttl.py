"""Time to live through the SDK, on a clock the test moves: `_ts + ttl` is the first second without the item."""

import pytest
from azure.core import MatchConditions
from azure.cosmos import PartitionKey

from conftest import ask, make, refused
from lapsedb import until

ALIVE = 2**31 - 1


def ids(container):
    """What every way of listing agrees on."""
    fed = sorted(item["id"] for item in container.read_all_items())
    assert list(ask(container, "SELECT VALUE c.id FROM c ORDER BY c.id")) == fed
    assert list(ask(container, "SELECT VALUE COUNT(1) FROM c")) == [len(fed)]
    return fed


def test_item_lives_to_the_last_millisecond(virtual, fleeting):
    made = fleeting.create_item({"id": "1", "pk": "a"})
    moment = virtual.advance("9999ms")
    assert moment == (made["_ts"] + 10) * 1000 - 1
    assert fleeting.read_item("1", "a") == made
    assert ids(fleeting) == ["1"]
    virtual.advance("1ms")
    with refused(404, sub_status=0):
        fleeting.read_item("1", "a")
    assert ids(fleeting) == []


def test_own_ttl_wins_shorter_and_longer(virtual, fleeting):
    fleeting.create_item({"id": "short", "pk": "a", "ttl": 5})
    fleeting.create_item({"id": "default", "pk": "a"})
    fleeting.create_item({"id": "long", "pk": "a", "ttl": 20})
    fleeting.create_item({"id": "never", "pk": "a", "ttl": -1})
    virtual.advance("5s")
    assert ids(fleeting) == ["default", "long", "never"]
    virtual.advance("5s")
    assert ids(fleeting) == ["long", "never"]
    virtual.advance("10s")
    assert ids(fleeting) == ["never"]
    virtual.advance("3650d")
    assert ids(fleeting) == ["never"]


def test_container_without_ttl_keeps_everything(virtual, virtual_db):
    container = make(virtual_db)
    container.create_item({"id": "1", "pk": "a", "ttl": 1})
    with refused(400, saying="The input ttl"):
        container.create_item({"id": "2", "pk": "a", "ttl": "any data"})
    container.create_item({"id": "2", "pk": "a", "ttl": -1})
    virtual.advance("365d")
    assert ids(container) == ["1", "2"]


def test_container_with_minus_one_leaves_it_to_the_item(virtual, virtual_db):
    container = make(virtual_db, default_ttl=-1)
    virtual.align()
    container.create_item({"id": "kept", "pk": "a"})
    container.create_item({"id": "goes", "pk": "a", "ttl": 1})
    virtual.advance("1s")
    assert ids(container) == ["kept"]


RENEWALS = {
    "replace": lambda c: c.replace_item("1", {"id": "1", "pk": "a"}),
    "upsert": lambda c: c.upsert_item({"id": "1", "pk": "a"}),
    "patch": lambda c: c.patch_item("1", "a", [{"op": "set", "path": "/same", "value": 1}]),
    "batch": lambda c: c.execute_item_batch([("replace", ("1", {"id": "1", "pk": "a"}))], "a"),
}


@pytest.mark.parametrize("renewal", RENEWALS)
def test_write_renews(virtual, fleeting, renewal):
    fleeting.create_item({"id": "1", "pk": "a", "same": 1})
    virtual.advance("9s")
    RENEWALS[renewal](fleeting)
    virtual.advance("9999ms")
    assert ids(fleeting) == ["1"]
    virtual.advance("1ms")
    assert ids(fleeting) == []


def test_read_does_not_renew(virtual, fleeting):
    fleeting.create_item({"id": "1", "pk": "a"})
    virtual.advance("9s")
    fleeting.read_item("1", "a")
    virtual.advance("1s")
    assert ids(fleeting) == []


class TestTheDead:
    @pytest.fixture
    def dead(self, virtual, fleeting):
        made = fleeting.create_item({"id": "1", "pk": "a", "old": True})
        virtual.advance("10s")
        return made

    def test_are_not_found_by_any_write(self, fleeting, dead):
        same = {"etag": dead["_etag"], "match_condition": MatchConditions.IfNotModified}
        for options in ({}, same):
            with refused(404, sub_status=0):
                fleeting.replace_item("1", {"id": "1", "pk": "a"}, **options)
            with refused(404, sub_status=0):
                fleeting.patch_item("1", "a", [{"op": "set", "path": "/n", "value": 1}], **options)
            with refused(404, sub_status=0):
                fleeting.delete_item("1", "a", **options)

    def test_are_not_known_by_their_etag(self, fleeting, dead):
        with refused(404):
            fleeting.read_item("1", "a", etag=dead["_etag"], match_condition=MatchConditions.IfModified)

    def test_leave_their_id_free(self, fleeting, dead):
        made = fleeting.create_item({"id": "1", "pk": "a"})
        assert made["_rid"] != dead["_rid"] and made["_etag"] != dead["_etag"]
        assert "old" not in fleeting.read_item("1", "a")

    def test_are_inserted_anew_by_upsert(self, fleeting, dead):
        made = fleeting.upsert_item({"id": "1", "pk": "a"})
        assert made["_rid"] != dead["_rid"]

    def test_are_inserted_anew_in_a_batch(self, fleeting, dead):
        answers = fleeting.execute_item_batch(
            [("upsert", ({"id": "1", "pk": "a"},)), ("read", ("1",))], partition_key="a"
        )
        assert [answer["statusCode"] for answer in answers] == [201, 200]

    def test_count_nowhere(self, fleeting, dead):
        headers = fleeting.read(populate_quota_info=True).get_response_headers()
        assert "documentsCount=0;" in headers["x-ms-resource-usage"]

    @pytest.mark.parametrize("later", [20, ALIVE, -1, None])
    def test_stay_dead_whatever_the_container_says_later(self, virtual, virtual_db, fleeting, dead, later):
        virtual_db.replace_container(fleeting, PartitionKey(path="/pk"), default_ttl=later)
        assert ids(fleeting) == []
        with refused(404):
            fleeting.read_item("1", "a")


def test_dead_holder_does_not_hold_a_unique_key(virtual, virtual_db):
    container = make(virtual_db, default_ttl=10, unique_key_policy={"uniqueKeys": [{"paths": ["/email"]}]})
    virtual.align()
    container.create_item({"id": "1", "pk": "a", "email": "x"})
    virtual.advance("9999ms")
    with refused(409):
        container.create_item({"id": "2", "pk": "a", "email": "x"})
    virtual.advance("1ms")
    container.create_item({"id": "2", "pk": "a", "email": "x"})


def test_shorter_default_acts_at_once(virtual, virtual_db, fleeting):
    fleeting.create_item({"id": "1", "pk": "a"})
    virtual.advance("7s")
    virtual_db.replace_container(fleeting, PartitionKey(path="/pk"), default_ttl=5)
    assert ids(fleeting) == []


def test_longer_default_lengthens_the_living(virtual, virtual_db, fleeting):
    fleeting.create_item({"id": "1", "pk": "a"})
    virtual.advance("9s")
    virtual_db.replace_container(fleeting, PartitionKey(path="/pk"), default_ttl=20)
    virtual.advance("10999ms")
    assert ids(fleeting) == ["1"]
    virtual.advance("1ms")
    assert ids(fleeting) == []


BAD = [0, -2, -60, 2**31, 2**32 + 1, 2**63, 1.5, 0.5, -1.5, "60", "", None, True, False, [], [60], {}, {"ttl": 60}]


@pytest.mark.parametrize("ttl", BAD, ids=repr)
def test_bad_ttl_is_400_by_every_way_in(fleeting, ttl):
    kept = fleeting.create_item({"id": "kept", "pk": "a"})
    body = {"id": "bad", "pk": "a", "ttl": ttl}
    with refused(400, saying="The input ttl '"):
        fleeting.create_item(body)
    with refused(400):
        fleeting.upsert_item(body)
    with refused(400):
        fleeting.upsert_item(body | {"id": "kept"})
    with refused(400):
        fleeting.replace_item("kept", body | {"id": "kept"})
    with refused(400):
        fleeting.patch_item("kept", "a", [{"op": "set", "path": "/ttl", "value": ttl}])
    from azure.cosmos.exceptions import CosmosBatchOperationError

    with pytest.raises(CosmosBatchOperationError) as caught:
        fleeting.execute_item_batch([("create", ({"id": "other", "pk": "a"},)), ("create", (body,))], "a")
    assert [answer["statusCode"] for answer in caught.value.operation_responses] == [424, 400]
    assert ids(fleeting) == ["kept"]
    assert fleeting.read_item("kept", "a") == kept


@pytest.mark.parametrize("ttl", [1, 60, 1001, ALIVE, -1, 5.0, 1e3])
def test_good_ttl_is_taken(fleeting, ttl):
    assert fleeting.create_item({"id": "1", "pk": "a", "ttl": ttl})["ttl"] == ttl


def test_patch_of_ttl(virtual, fleeting):
    fleeting.create_item({"id": "1", "pk": "a"})
    fleeting.patch_item("1", "a", [{"op": "set", "path": "/ttl", "value": 60}])
    virtual.advance("30s")
    fleeting.patch_item("1", "a", [{"op": "incr", "path": "/ttl", "value": -40}])
    virtual.advance("19s")
    assert ids(fleeting) == ["1"]
    fleeting.patch_item("1", "a", [{"op": "remove", "path": "/ttl"}])
    virtual.advance("10s")
    assert ids(fleeting) == []


def test_expired_items_do_not_show_between_pages(virtual, fleeting):
    for n in range(10):
        fleeting.create_item({"id": f"{n}", "pk": "a", "ttl": 5 if n % 2 else 50})
    pager = fleeting.read_all_items(max_item_count=3).by_page()
    first = [item["id"] for item in next(pager)]
    virtual.advance("5s")
    rest = [item["id"] for page in pager for item in page]
    assert not set(first) & set(rest)
    assert all(int(id) % 2 == 0 for id in rest)
    assert set(first + rest) >= {"0", "2", "4", "6", "8"}


def test_real_clock_expires_without_help(db):
    container = make(db, default_ttl=-1)
    container.create_item({"id": "1", "pk": "a", "ttl": 2})
    container.create_item({"id": "2", "pk": "a"})
    assert until(lambda: [item["id"] for item in container.read_all_items()] == ["2"], seconds=5)
