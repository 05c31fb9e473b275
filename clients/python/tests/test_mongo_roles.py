"""Roles that clients define: making, changing, inheriting and dropping them, and what who has them may do, at once."""

import pymongo
import pytest
from pymongo.errors import OperationFailure

from conftest import fresh, running
from lapsedb import KEY
from mongo_door import SELECTION_MS_MAX, refused

WAIT = {"serverSelectionTimeoutMS": SELECTION_MS_MAX}
PASSWORD = "a password"


def master_of(server):
    return pymongo.MongoClient(server.mongo_url(), username="lapsedb", password=KEY, **WAIT)


@pytest.fixture(scope="module")
def server():
    with running("--mongo-port", "0", "--mongo-auth", "on") as server:
        yield server


@pytest.fixture(scope="module")
def master(server):
    with master_of(server) as client:
        yield client


@pytest.fixture
def db(master):
    name = fresh("db")
    yield master[name]
    for drop in ["dropAllUsersFromDatabase", "dropAllRolesFromDatabase"]:
        master[name].command(drop, 1)
    master.drop_database(name)


@pytest.fixture
def ada(server, db):
    """A connection of a user who has the role `r` of the database alone."""
    db.command("createRole", "r", privileges=[], roles=[])
    db.command("createUser", "ada", pwd=PASSWORD, roles=["r"])
    with pymongo.MongoClient(server.mongo_url(), username="ada", password=PASSWORD, authSource=db.name, **WAIT) as client:
        yield client[db.name]


def on(db, *actions, collection="c"):
    return {"resource": {"db": db if isinstance(db, str) else db.name, "collection": collection}, "actions": list(actions)}


def role(db, name, **options):
    (found,) = db.command("rolesInfo", name, **options)["roles"]
    return found


def test_who_has_a_role_may_do_what_it_says_and_nothing_else(db, ada):
    db.command("grantPrivilegesToRole", "r", privileges=[on(db, "find", "insert")])
    ada.c.insert_one({"_id": 1})
    assert ada.c.find_one() == {"_id": 1}
    assert "not authorized" in refused(13, ada.c.update_one, {"_id": 1}, {"$set": {"a": 1}})
    refused(13, ada.d.find_one)
    refused(13, ada.client.other.c.find_one)
    refused(13, ada.command, "createRole", "mine", privileges=[], roles=[])
    refused(13, ada.command, "grantPrivilegesToRole", "r", privileges=[on(db, "remove")])


def test_a_change_of_a_role_is_felt_by_who_is_logged_in(db, ada):
    refused(13, ada.c.find_one)
    db.command("grantRolesToRole", "r", roles=["read"])
    assert ada.c.find_one() is None
    db.command("updateRole", "r", privileges=[on(db, "insert", collection="")], roles=[])
    refused(13, ada.c.find_one)
    ada.anything.insert_one({})
    db.command("revokePrivilegesFromRole", "r", privileges=[on(db, "insert", collection="")])
    refused(13, ada.anything.insert_one, {})
    db.command("dropRole", "r")
    assert db.command("usersInfo", "ada")["users"][0]["roles"] == []


def test_privileges_are_inherited_however_far(db, ada):
    db.command("createRole", "a", privileges=[on(db, "find")], roles=[])
    db.command("createRole", "b", privileges=[], roles=["a"])
    db.command("grantRolesToRole", "r", roles=["b", {"role": "dbAdmin", "db": db.name}])
    assert ada.c.find_one() is None
    names = lambda roles: sorted(role["role"] for role in roles)
    found = role(db, "r", showPrivileges=True)
    assert names(found["roles"]) == ["b", "dbAdmin"] and names(found["inheritedRoles"]) == ["a", "b", "dbAdmin"]
    assert found["privileges"] == [] and on(db, "find") in found["inheritedPrivileges"]
    assert found["_id"] == f"{db.name}.r" and found["isBuiltin"] is False
    shown = db.command("usersInfo", "ada", showPrivileges=True)["users"][0]
    assert names(shown["inheritedRoles"]) == ["a", "b", "dbAdmin", "r"] and on(db, "find") in shown["inheritedPrivileges"]
    status = ada.command("connectionStatus", showPrivileges=True)["authInfo"]
    assert names(status["authenticatedUserRoles"]) == ["a", "b", "dbAdmin", "r"]
    assert on(db, "find") in status["authenticatedUserPrivileges"]
    assert role(ada, "a")["isBuiltin"] is False, "one sees the roles one has"
    db.command("dropRole", "a")
    refused(13, ada.c.find_one)
    assert db.command("dropAllRolesFromDatabase", 1)["n"] == 2


def test_roles_are_listed_with_their_privileges(db):
    db.command("createRole", "one", privileges=[on(db, "find"), on(db, "insert"), on(db, "find")], roles=[])
    db.command("createRole", "two", privileges=[], roles=["one", "read", "one"])
    listed = db.command("rolesInfo", 1, showPrivileges=True)["roles"]
    assert [role["role"] for role in listed] == ["one", "two"]
    assert listed[0]["privileges"] == [on(db, "find", "insert")]
    assert listed[1]["roles"] == [{"role": "one", "db": db.name}, {"role": "read", "db": db.name}]
    both = db.command("rolesInfo", 1, showBuiltinRoles=True)["roles"]
    assert {"one", "two", "read", "dbOwner"} <= {role["role"] for role in both}
    read = role(db, "read", showPrivileges=True)
    assert read["isBuiltin"] and any("find" in one["actions"] for one in read["privileges"])
    fragment = db.command("rolesInfo", ["two"], showPrivileges="asUserFragment")["userFragment"]
    assert [role["role"] for role in fragment["inheritedRoles"]] == ["two", "one", "read"]
    assert db.command("rolesInfo", ["nope"])["roles"] == []
    refused(20, db.command, "rolesInfo", 1, showPrivileges="asUserFragment")
    refused(2, db.command, "rolesInfo", {"forAllDBs": True})
    refused(2, db.command, "rolesInfo", 1, showPrivileges="x")


def test_what_is_no_role_is_refused(db):
    create = lambda name, privileges=(), roles=(), **more: db.command("createRole", name, privileges=list(privileges), roles=list(roles), **more)
    create("a", [on(db, "find")])
    create("b", roles=["a"])
    assert "already exists" in refused(51002, create, "a")
    assert "built-in" in refused(2, create, "read")
    refused(2, create, "")
    assert refused(2, create, "x", [on(db, "nope", "find", "nada")]) == "Unrecognized actions: nope, nada"
    refused(9, create, "x", [on(db)])
    refused(9, create, "x", [{"resource": {"db": db.name}, "actions": ["find"]}])
    refused(2, create, "x", [{"resource": {"cluster": 1}, "actions": ["find"]}])
    refused(14, create, "x", [1])
    refused(31, create, "x", roles=["nope"])
    for resource in [{"cluster": True}, {"anyResource": True}, {"db": "", "collection": ""}, {"db": "other", "collection": "c"}]:
        refused(49, create, "x", [{"resource": resource, "actions": ["find"]}])
    refused(49, create, "x", roles=[{"role": "read", "db": "other"}])
    assert "cycle" in refused(49, db.command, "grantRolesToRole", "a", roles=["b"])
    assert "itself" in refused(49, db.command, "updateRole", "a", roles=["a"])
    refused(40414, db.command, "createRole", "x", roles=[])
    refused(40415, create, "x", bogus=1)
    refused(238, create, "x", authenticationRestrictions=[{"clientSource": ["127.0.0.1"]}])
    refused(2, db.client.local.command, "createRole", "x", privileges=[], roles=[])
    refused(2, db.command, "updateRole", "a")
    refused(31, db.command, "updateRole", "nope", roles=[])
    refused(2, db.command, "grantPrivilegesToRole", "a", privileges=[])
    refused(31, db.command, "grantPrivilegesToRole", "nope", privileges=[on(db, "find")])
    for change in [{"grantRolesToRole": "read"}, {"revokeRolesFromRole": "read"}]:
        refused(2, db.command, {**change, "roles": ["a"]})
    refused(2, db.command, "dropRole", "read")
    refused(31, db.command, "dropRole", "nope")
    db.command("revokeRolesFromRole", "a", roles=["nope"])
    assert [role["role"] for role in db.command("rolesInfo", 1)["roles"]] == ["a", "b"]


def test_roles_of_admin_reach_into_every_database(server, master, db):
    name, user = fresh("role"), fresh("user")
    cluster = {"resource": {"cluster": True}, "actions": ["serverStatus"]}
    everywhere = {"resource": {"db": "", "collection": "wanted"}, "actions": ["find"]}
    master.admin.command("createRole", name, privileges=[cluster, everywhere], roles=[{"role": "read", "db": db.name}])
    master.admin.command("createUser", user, pwd=PASSWORD, roles=[name])
    with pymongo.MongoClient(server.mongo_url(), username=user, password=PASSWORD, **WAIT) as client:
        assert client.admin.command("serverStatus")["ok"] == 1
        assert client.anywhere.wanted.find_one() is None and client[db.name].c.find_one() is None
        refused(13, client.anywhere.other.find_one)
        refused(13, client.admin.command, "top")
        master.admin.command("dropUser", user)
        master.admin.command("dropRole", name)


def test_who_administers_one_database_defines_roles_of_it_alone(server, master, db):
    db.command("createUser", "admin", pwd=PASSWORD, roles=["userAdmin"])
    db.command("createUser", "bob", pwd=PASSWORD, roles=[{"role": "read", "db": "other"}])
    with pymongo.MongoClient(server.mongo_url(), username="admin", password=PASSWORD, authSource=db.name, **WAIT) as client:
        own = client[db.name]
        own.command("createRole", "mine", privileges=[on(db, "find")], roles=["read"])
        own.command("grantPrivilegesToRole", "mine", privileges=[on(db, "insert")])
        own.command("revokeRolesFromRole", "mine", roles=["read"])
        assert role(own, "mine")["roles"] == []
        # What is replaced may be of any database, so who replaces must be allowed to revoke in all of them.
        refused(13, own.command, "updateRole", "mine", roles=["read"])
        refused(13, own.command, "updateUser", "bob", roles=["read"])
        refused(13, client.other.command, "createRole", "mine", privileges=[], roles=[])
        refused(13, client.admin.command, "createRole", "mine", privileges=[on(db, "find")], roles=[])
        refused(13, own.command, "grantRolesToUser", "bob", roles=[{"role": "root", "db": "admin"}])
        own.command("grantRolesToUser", "bob", roles=["mine"])
        own.command("dropRole", "mine")


def test_roles_outlive_the_server():
    with running("--mongo-port", "0", "--mongo-auth", "on") as server:
        with master_of(server) as master:
            master.shop.command("createRole", "clerk", privileges=[on("shop", "insert", collection="orders")], roles=[])
            master.shop.command("createUser", "ada", pwd=PASSWORD, roles=["clerk"])
        server.stop()
        server.start()
        with pymongo.MongoClient(server.mongo_url(), username="ada", password=PASSWORD, authSource="shop", **WAIT) as ada:
            ada.shop.orders.insert_one({})
            refused(13, ada.shop.orders.find_one)


def test_nobody_reads_by_renaming(db, ada):
    db["secret"].insert_one({"_id": 1})
    db.command("grantPrivilegesToRole", "r", privileges=[
        on(db, "renameCollectionSameDB", collection=""), on(db, "find", "insert", collection="public")])
    rename = {"renameCollection": f"{db.name}.secret", "to": f"{db.name}.public"}
    with pytest.raises(OperationFailure) as refused:
        ada.client.admin.command(rename)
    assert refused.value.code == 13
    # Whoever may read both may rename.
    db.command("grantPrivilegesToRole", "r", privileges=[on(db, "find", collection="secret")])
    ada.client.admin.command(rename)
    assert db["public"].count_documents({}) == 1


def test_what_the_accounts_key_has_opened_is_open_to_no_login(db, ada):
    db["c"].insert_many([{"_id": n} for n in range(5)])
    db.command("grantPrivilegesToRole", "r", privileges=[on(db, "find", "killCursors")])
    # Without a session, whose owner would be asked first.
    opened = db.client[db.name].command({"find": "c", "batchSize": 1})["cursor"]["id"]
    assert opened != 0
    with pytest.raises(OperationFailure) as refused:
        ada.command({"getMore": opened, "collection": "c"})
    assert refused.value.code in {13, 43, 50737}
    with pytest.raises(OperationFailure) as refused:
        ada.command({"killCursors": "c", "cursors": [opened]})
    assert refused.value.code == 13
    assert len(db.command({"getMore": opened, "collection": "c"})["cursor"]["nextBatch"]) == 4


def fetch(db, cursor, **options):
    namespace = cursor["ns"].split(".", 1)[1]
    return db.command({"getMore": cursor["id"], "collection": namespace, "batchSize": 1, **options})["cursor"]["nextBatch"]


@pytest.mark.parametrize(
    "command, actions, taken",
    [
        ({"find": "c", "batchSize": 1}, ["find", "listIndexes"], "find"),
        ({"aggregate": "c", "pipeline": [], "cursor": {"batchSize": 1}}, ["find", "collStats"], "find"),
        ({"aggregate": "c", "pipeline": [{"$indexStats": {}}], "cursor": {"batchSize": 0}}, ["find", "indexStats"], "indexStats"),
        ({"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {}}, ["find", "changeStream"], "changeStream"),
        ({"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {}}, ["find", "changeStream"], "find"),
        ({"listIndexes": "c", "cursor": {"batchSize": 0}}, ["find", "listIndexes"], "listIndexes"),
    ],
)
def test_a_cursor_gives_nothing_to_who_has_lost_the_right_it_was_opened_by(db, ada, command, actions, taken):
    db["c"].insert_many([{"_id": n} for n in range(5)])
    db.command("grantPrivilegesToRole", "r", privileges=[on(db, *actions)])
    cursor = ada.command(command)["cursor"]
    assert cursor["id"] != 0
    db.command("revokePrivilegesFromRole", "r", privileges=[on(db, taken)])
    assert "not authorized for getMore" in refused(13, fetch, ada, cursor)
    # The cursor is open still: who gets the right back goes on.
    db.command("grantPrivilegesToRole", "r", privileges=[on(db, taken)])
    waits = {"maxTimeMS": 1} if "$changeStream" in str(command) else {}
    fetch(ada, cursor, **waits)


def test_names_are_listed_of_collections_one_may_do_something_to(db, ada):
    for name in ["a", "b", "hidden"]:
        db.create_collection(name)
    db.create_collection("v", viewOn="a")
    db.command("grantPrivilegesToRole", "r", privileges=[on(db, "find", collection="a"), on(db, "insert", collection="b")])

    def listed(**options):
        return ada.command({"listCollections": 1, **options})["cursor"]["firstBatch"]

    both = {"nameOnly": True, "authorizedCollections": True}
    a, b = ({"name": name, "type": "collection"} for name in "ab")
    for refusal in [{}, {"nameOnly": True}, {"authorizedCollections": True}]:
        refused(13, listed, **refusal)
    assert listed(**both) == [a, b]
    # The filter is asked of what is shown.
    for filter, expected in [
        ({"name": "a"}, [a]),
        ({"name": "hidden"}, []),
        ({"type": "view"}, []),
        ({"name": {"$regex": "^[ab]"}}, [a, b]),
        ({"info.readOnly": False}, []),
        ({"options": {"$exists": False}}, [a, b]),
        ({"idIndex": {"$exists": True}}, []),
        ({"type": "collection", "name": "b"}, [b]),
    ]:
        assert listed(filter=filter, **both) == expected, filter
    refused(2, listed, filter={"bad": {"$foo": 1}}, **both)
    # Who may list the collections sees those of the system only if that is not left out.
    db.command("grantPrivilegesToRole", "r", privileges=[on(db, "listCollections", collection="")])
    names = lambda **options: sorted(one["name"] for one in listed(**options))
    assert names() == ["a", "b", "hidden", "system.views", "v"]
    assert names(authorizedCollections=True) == ["a", "b", "hidden", "v"]
    assert names(**both) == ["a", "b", "hidden", "v"]
    assert sorted(db.list_collection_names()) == names()
