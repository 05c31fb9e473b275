"""Databases: create, read, list, query, delete."""

import pytest

from conftest import fresh, refused


@pytest.fixture
def name(client):
    name = fresh("db")
    yield name
    if name in [each["id"] for each in client.list_databases()]:
        client.delete_database(name)


def test_create_read_delete(client, name):
    _, made = client.create_database(name, return_properties=True)
    read = client.get_database_client(name).read()
    for field in ("id", "_rid", "_self", "_etag", "_ts"):
        assert read[field] == made[field], field
    assert read["_colls"] == "colls/" and read["_users"] == "users/"
    client.delete_database(name)
    with refused(404):
        client.get_database_client(name).read()
    with refused(404):
        client.delete_database(name)


def test_same_name_twice_is_409(client, name):
    client.create_database(name)
    with refused(409):
        client.create_database(name)


def test_create_if_not_exists_finds_the_old_one(client, name):
    _, first = client.create_database_if_not_exists(name, return_properties=True)
    _, second = client.create_database_if_not_exists(name, return_properties=True)
    assert first["_rid"] == second["_rid"]


def test_list_and_query(client, name):
    client.create_database(name)
    assert name in [each["id"] for each in client.list_databases()]
    found = client.query_databases(
        "SELECT * FROM root r WHERE r.id = @id", parameters=[{"name": "@id", "value": name}]
    )
    assert [each["id"] for each in found] == [name]


def test_list_comes_in_pages(client):
    names = sorted(fresh("page") for _ in range(5))
    for name in names:
        client.create_database(name)
    pages = [list(page) for page in client.list_databases(max_item_count=2).by_page()]
    assert all(len(page) <= 2 for page in pages)
    listed = [each["id"] for page in pages for each in page]
    assert sorted(each for each in listed if each in names) == names
    assert len(listed) == len(set(listed))
    for name in names:
        client.delete_database(name)


@pytest.mark.parametrize("odd", ["with space", "ümläut-数据库", "percent%41", "plus+sign", "colls", "quote'\"s"])
def test_odd_names(client, odd):
    name = f"{fresh('db')} {odd}"
    client.create_database(name)
    assert client.get_database_client(name).read()["id"] == name
    client.delete_database(name)


def test_too_long_a_name_is_400(client):
    with refused(400):
        client.create_database("x" * 256)


def test_deleting_takes_the_containers_along(client, name):
    from conftest import make

    db = client.create_database(name)
    container = make(db)
    container.create_item({"id": "1", "pk": "a"})
    client.delete_database(name)
    again = client.create_database(name)
    assert list(again.list_containers()) == []
    with refused(404):
        again.get_container_client(container.id).read()
