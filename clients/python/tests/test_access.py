"""Users, permissions and the resource tokens that come of them."""

import pytest

from conftest import fresh, make, refused


@pytest.fixture
def user(db):
    return db.create_user({"id": "reader"})


def permission_of(container, mode="Read", **extra):
    return {"id": fresh("p"), "permissionMode": mode, "resource": container.container_link, **extra}


def test_users(db):
    user = db.create_user({"id": "first"})
    assert user.read()["id"] == "first"
    assert user.read()["_permissions"] == "permissions/"
    with refused(409):
        db.create_user({"id": "first"})
    db.upsert_user({"id": "second"})
    db.upsert_user({"id": "second"})
    assert sorted(each["id"] for each in db.list_users()) == ["first", "second"]
    found = db.query_users("SELECT * FROM u WHERE u.id = @id", parameters=[{"name": "@id", "value": "first"}])
    assert [each["id"] for each in found] == ["first"]
    db.replace_user("first", {"id": "renamed"})
    assert sorted(each["id"] for each in db.list_users()) == ["renamed", "second"]
    db.delete_user("renamed")
    with refused(404):
        db.get_user_client("renamed").read()


def test_permissions(container, user):
    body = permission_of(container)
    made = user.create_permission(body)
    assert made.permission_mode == "Read"
    assert made.resource_link == container.container_link
    assert made.properties["_token"].startswith("type=resource&ver=1")
    assert user.get_permission(body["id"]).id == body["id"]
    with refused(409):
        user.create_permission(body)
    replaced = user.replace_permission(body["id"], body | {"permissionMode": "All"})
    assert replaced.permission_mode == "All"
    user.upsert_permission(body)
    assert user.get_permission(body["id"]).permission_mode == "Read"
    assert [each["id"] for each in user.list_permissions()] == [body["id"]]
    found = user.query_permissions("SELECT * FROM p WHERE p.id = @id", parameters=[{"name": "@id", "value": body["id"]}])
    assert [each["id"] for each in found] == [body["id"]]
    user.delete_permission(body["id"])
    with refused(404):
        user.get_permission(body["id"])


def test_bad_permission_mode_is_400(container, user):
    with refused(400):
        user.create_permission(permission_of(container, mode="Perhaps"))


class TestTokens:
    @pytest.fixture
    def enter(self, connector, server, db):
        """Opens the container with nothing but a token."""

        def enter(permission, container):
            client = connector.connect(server.url(), {container.container_link: permission.properties["_token"]})
            return client.get_database_client(db.id).get_container_client(container.id)

        return enter

    def test_read_token_reads(self, enter, container, user):
        container.create_item({"id": "1", "pk": "a"})
        seen = enter(user.create_permission(permission_of(container)), container)
        assert seen.read_item("1", "a")["id"] == "1"
        assert [item["id"] for item in seen.read_all_items()] == ["1"]
        assert [item["id"] for item in seen.query_items("SELECT * FROM c", partition_key="a")] == ["1"]

    def test_read_token_does_not_write(self, enter, container, user):
        container.create_item({"id": "1", "pk": "a"})
        seen = enter(user.create_permission(permission_of(container)), container)
        with refused(403):
            seen.create_item({"id": "2", "pk": "a"})
        with refused(403):
            seen.delete_item("1", "a")
        assert [item["id"] for item in container.read_all_items()] == ["1"]

    def test_full_token_writes(self, enter, container, user):
        seen = enter(user.create_permission(permission_of(container, mode="All")), container)
        seen.create_item({"id": "1", "pk": "a"})
        seen.patch_item("1", "a", [{"op": "set", "path": "/n", "value": 1}])
        assert container.read_item("1", "a")["n"] == 1
        seen.delete_item("1", "a")

    def test_token_of_one_container_does_not_open_another(self, enter, db, container, user):
        other = make(db)
        other.create_item({"id": "1", "pk": "a"})
        permission = user.create_permission(permission_of(container, mode="All"))
        seen = enter(permission, other)
        with refused(403):
            seen.read_item("1", "a")

    def test_token_may_be_for_one_partition(self, enter, container, user):
        container.create_item({"id": "1", "pk": "mine"})
        container.create_item({"id": "1", "pk": "theirs"})
        body = permission_of(container, mode="All", resourcePartitionKey=["mine"])
        seen = enter(user.create_permission(body), container)
        assert seen.read_item("1", "mine")["pk"] == "mine"
        with refused(403):
            seen.read_item("1", "theirs")
