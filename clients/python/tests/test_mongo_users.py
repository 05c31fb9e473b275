"""Users of the Mongo door: making them, logging in by them, what they may do, and what nobody may see of them."""

import urllib.parse

import bson
import pymongo
import pytest
from pymongo.errors import OperationFailure

from conftest import fresh, running
from lapsedb import KEY, READ_ONLY_KEY
from mongo_door import SELECTION_MS_MAX, refused

WAIT = {"serverSelectionTimeoutMS": SELECTION_MS_MAX}
MECHANISMS = ["SCRAM-SHA-1", "SCRAM-SHA-256"]
PASSWORD = "correct horse, battery=staple"


@pytest.fixture(scope="module")
def server():
    flags = ["--read-only-key", READ_ONLY_KEY, "--mongo-port", "0", "--mongo-auth", "on", "--log-level", "debug"]
    with running(*flags) as server:
        yield server


@pytest.fixture(scope="module")
def master(server):
    with pymongo.MongoClient(server.mongo_url(), username="lapsedb", password=KEY, **WAIT) as client:
        yield client


@pytest.fixture
def db(master):
    name = fresh("db")
    yield master[name]
    master[name].command("dropAllUsersFromDatabase", 1)
    master.drop_database(name)


@pytest.fixture
def login(server):
    """Logs in and keeps the client open for the test."""
    open_clients = []

    def enter(user, password=PASSWORD, source="admin", **options):
        options = {"authSource": source, **WAIT, **options}
        client = pymongo.MongoClient(server.mongo_url(), username=user, password=password, **options)
        open_clients.append(client)
        return client

    yield enter
    for client in open_clients:
        client.close()


def make(db, user, *roles, password=PASSWORD, **options):
    db.command("createUser", user, pwd=password, roles=list(roles), **options)


def users(db, asked=1, **options):
    return db.command("usersInfo", asked, **options)["users"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_user_logs_in_by_every_mechanism(db, login, mechanism):
    make(db, "ada", "readWrite")
    client = login("ada", source=db.name, authMechanism=mechanism)
    client[db.name].c.insert_one({"_id": 1})
    assert client[db.name].c.find_one() == {"_id": 1}
    wrong = login("ada", "wrong", source=db.name, authMechanism=mechanism)
    assert refused(18, wrong[db.name].c.find_one) == "Authentication failed."
    elsewhere = login("ada", authMechanism=mechanism)
    refused(18, elsewhere[db.name].c.find_one)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_driver_finds_the_mechanism_that_a_user_has(db, login, mechanism):
    make(db, "ada", "read", mechanisms=[mechanism])
    assert login("ada", source=db.name)[db.name].c.find_one() is None
    other = next(name for name in MECHANISMS if name != mechanism)
    refused(18, login("ada", source=db.name, authMechanism=other)[db.name].c.find_one)


@pytest.mark.parametrize("name, password", [("a=b,c", "p=,q"), ("Zoë", "I\u00adX"), ("ε", "\u2168 pass"), ("a.b", "x" * 300)])
def test_any_name_and_password_that_a_driver_can_send(db, login, name, password):
    make(db, name, "read", password=password)
    for mechanism in MECHANISMS:
        assert login(name, password, source=db.name, authMechanism=mechanism)[db.name].c.find_one() is None


def test_a_user_outlives_the_server():
    with running("--mongo-port", "0", "--mongo-auth", "on") as server:
        with pymongo.MongoClient(server.mongo_url(), username="lapsedb", password=KEY, **WAIT) as master:
            make(master.shop, "ada", "readWrite", customData={"desk": 4})
        server.stop()
        server.start()
        with pymongo.MongoClient(server.mongo_url(), username="ada", password=PASSWORD, authSource="shop", **WAIT) as ada:
            ada.shop.c.insert_one({})
            assert users(ada.shop, "ada")[0]["customData"] == {"desk": 4}


def test_what_is_shown_of_a_user(db):
    make(db, "ada", "read", {"role": "dbAdmin", "db": "other"}, customData={"a": 1})
    make(db, "bob", mechanisms=["SCRAM-SHA-1"])
    ada, bob = users(db)
    assert ada["_id"] == f"{db.name}.ada" and ada["user"] == "ada" and ada["db"] == db.name
    assert ada["roles"] == [{"role": "read", "db": db.name}, {"role": "dbAdmin", "db": "other"}]
    assert ada["mechanisms"] == MECHANISMS and bob["mechanisms"] == ["SCRAM-SHA-1"]
    assert ada["customData"] == {"a": 1} and "customData" not in bob
    assert isinstance(ada["userId"], bson.Binary) and ada["userId"] != bob["userId"]
    assert "credentials" not in ada
    assert "customData" not in users(db, showCustomData=False)[0]
    kept = users(db, "ada", showCredentials=True)[0]["credentials"]
    assert [kept[name]["iterationCount"] for name in MECHANISMS] == [10000, 15000]
    assert set(kept["SCRAM-SHA-256"]) == {"iterationCount", "salt", "storedKey", "serverKey"}
    assert [u["user"] for u in users(db, filter={"mechanisms": "SCRAM-SHA-256"})] == ["ada"]
    assert [u["user"] for u in users(db, {"user": "bob", "db": db.name})] == ["bob"]
    assert [u["user"] for u in users(db, ["bob", {"user": "ada", "db": db.name}, "nobody"])] == ["bob", "ada"]
    assert {f"{db.name}.ada", f"{db.name}.bob"} <= {u["_id"] for u in users(db, {"forAllDBs": True})}
    found = users(db, "bob", showPrivileges=True)[0]
    assert found["inheritedRoles"] == [] and found["inheritedPrivileges"] == []
    refused(20, users, db, 1, showPrivileges=True)


def test_what_is_refused_of_a_user(db):
    make(db, "ada", "read")
    assert "Could not find role: root@" in refused(31, make, db, "x", "root")
    assert "already exists" in refused(51003, make, db, "ada")
    assert "already exists" in refused(51003, make, db, "lapsedb")
    refused(50687, make, db, "x", password="")
    refused(50692, make, db, "x", password="a\u0007b")
    refused(2, make, db, "")
    refused(2, make, db, "x", mechanisms=[])
    assert refused(2, make, db, "x", mechanisms=["PLAIN"]) == "Unknown auth mechanism 'PLAIN'"
    assert "undigested" in refused(2, make, db, "x", digestPassword=False)
    refused(40415, make, db, "x", other=1)
    refused(40414, db.command, "createUser", "x", pwd="p")
    refused(2, db.command, "createUser", "x", roles=[])
    refused(14, db.command, "createUser", "x", pwd=5, roles=[])
    refused(11, db.command, "dropUser", "x")
    refused(11, db.command, "updateUser", "x", pwd="p")
    refused(11, db.command, "grantRolesToUser", "x", roles=["read"])
    refused(31, db.command, "revokeRolesFromUser", "ada", roles=["zzz"])
    refused(2, db.command, "updateUser", "ada")
    refused(2, db.client.local.command, "createUser", "x", pwd="p", roles=[])


def test_a_password_is_changed_and_the_old_one_is_worth_nothing(db, login):
    make(db, "ada", "read")
    login("ada", source=db.name)[db.name].c.find_one()
    db.command("updateUser", "ada", pwd="new", customData={"x": 1})
    refused(18, login("ada", source=db.name)[db.name].c.find_one)
    login("ada", "new", source=db.name)[db.name].c.find_one()
    db.command("updateUser", "ada", mechanisms=["SCRAM-SHA-256"])
    refused(18, login("ada", "new", source=db.name, authMechanism="SCRAM-SHA-1")[db.name].c.find_one)
    refused(2, db.command, "updateUser", "ada", mechanisms=["SCRAM-SHA-1"])


def test_a_password_may_be_digested_by_the_client(db, login):
    import hashlib

    digest = hashlib.md5(f"ada:mongo:{PASSWORD}".encode()).hexdigest()
    make(db, "ada", "read", password=digest, digestPassword=False, mechanisms=["SCRAM-SHA-1"])
    login("ada", source=db.name, authMechanism="SCRAM-SHA-1")[db.name].c.find_one()


def test_a_reader_reads_its_own_database(db, login):
    db.c.insert_many([{"_id": n} for n in range(5)])
    make(db, "ada", "read")
    ada = login("ada", source=db.name)
    own = ada[db.name]
    assert own.c.count_documents({}) == 5
    assert len(list(own.c.find(batch_size=2))) == 5
    assert own.list_collection_names() == ["c"]
    assert ada.list_database_names() == [db.name]
    text = refused(13, own.c.insert_one, {"_id": 9})
    assert text.startswith(f'not authorized on {db.name} to execute command {{ insert: "c"')
    for call in (
        lambda: own.c.delete_many({}),
        lambda: own.c.update_one({}, {"$set": {"x": 1}}),
        lambda: own.c.find_one_and_delete({}),
        lambda: list(own.c.aggregate([{"$out": "d"}])),
        lambda: list(own.c.aggregate([{"$merge": {"into": "d"}}])),
        lambda: own.c.create_index("x"),
        lambda: own.create_collection("d"),
        lambda: own.c.drop(),
        lambda: ada.drop_database(db.name),
        lambda: ada.other.c.find_one(),
        lambda: list(own.c.aggregate([{"$unionWith": {"coll": "system.users"}}])),
        lambda: own.command("createUser", "x", pwd="p", roles=[]),
        lambda: users(own, "somebody"),
        lambda: users(own),
        lambda: ada.admin.command("serverStatus"),
        lambda: ada.admin.command("getLog", "global"),
        lambda: ada.admin.command("setParameter", 1, ttlMonitorEnabled=True),
        lambda: ada.admin.command("listDatabases", authorizedDatabases=False),
    ):
        refused(13, call)
    assert users(own, "ada")[0]["user"] == "ada"
    assert db.c.count_documents({}) == 5


def test_each_role_does_what_it_is_for(db, master, login):
    db.c.insert_one({"_id": 1})
    roles = {
        "rw": ["readWrite"],
        "admin": ["dbAdmin"],
        "users": ["userAdmin"],
        "owner": ["dbOwner"],
        "none": [],
        "readall": [{"role": "readAnyDatabase", "db": "admin"}],
        "writeall": [{"role": "readWriteAnyDatabase", "db": "admin"}],
        "adminall": [{"role": "dbAdminAnyDatabase", "db": "admin"}],
        "usersall": [{"role": "userAdminAnyDatabase", "db": "admin"}],
        "monitor": [{"role": "clusterMonitor", "db": "admin"}],
        "cluster": [{"role": "clusterAdmin", "db": "admin"}],
        "backup": [{"role": "backup", "db": "admin"}],
        "restore": [{"role": "restore", "db": "admin"}],
        "root": [{"role": "root", "db": "admin"}],
    }
    other = fresh("db")
    master[other].c.insert_one({"_id": 1})
    deeds = {
        "read": lambda c: c[db.name].c.find_one(),
        "write": lambda c: c[db.name].c.update_one({"_id": 1}, {"$inc": {"n": 1}}),
        "index": lambda c: c[db.name].c.create_index("n"),
        "validate": lambda c: c[db.name].command("validate", "c"),
        "stats": lambda c: c[db.name].command("dbStats"),
        "users": lambda c: users(c[db.name]),
        "all users": lambda c: users(c[db.name], {"forAllDBs": True}),
        "read other": lambda c: c[other].c.find_one(),
        "write other": lambda c: c[other].c.update_one({"_id": 1}, {"$inc": {"n": 1}}),
        "status": lambda c: c.admin.command("serverStatus"),
        "parameter": lambda c: c.admin.command("setParameter", 1, ttlMonitorEnabled=True),
    }
    may = {
        "rw": {"read", "write", "index", "stats"},
        "admin": {"index", "validate", "stats"},
        "users": {"users"},
        "owner": {"read", "write", "index", "validate", "stats", "users"},
        "none": set(),
        "readall": {"read", "stats", "read other"},
        "writeall": {"read", "write", "index", "stats", "read other", "write other"},
        "adminall": {"index", "validate", "stats"},
        "usersall": {"users", "all users"},
        "monitor": {"stats", "status"},
        "cluster": {"stats", "status", "parameter"},
        "backup": {"read", "read other", "status"},
        "restore": {"index", "users"},
        "root": set(deeds),
    }
    try:
        for name, given in roles.items():
            make(db, name, *given)
            client = login(name, source=db.name)
            for deed, run in deeds.items():
                if deed in may[name]:
                    run(client)
                else:
                    assert "not authorized" in refused(13, run, client), (name, deed)
    finally:
        master.drop_database(other)


def test_who_administers_users_gives_away_only_what_is_theirs(db, login):
    make(db, "boss", "userAdmin")
    own = login("boss", source=db.name)[db.name]
    make(own, "ada", "readWrite")
    refused(13, make, own, "eve", {"role": "read", "db": "other"})
    refused(13, own.command, "grantRolesToUser", "ada", roles=[{"role": "root", "db": "admin"}])
    own.command("grantRolesToUser", "ada", roles=["dbAdmin"])
    assert len(users(own, "ada")[0]["roles"]) == 2
    own.command("dropUser", "ada")


def test_rights_change_while_somebody_is_connected(db, login):
    db.c.insert_many([{} for _ in range(200)])
    make(db, "ada", "read")
    own = login("ada", source=db.name)[db.name]
    refused(13, own.c.insert_one, {})
    db.command("grantRolesToUser", "ada", roles=["readWrite"])
    own.c.insert_one({})
    db.command("revokeRolesFromUser", "ada", roles=["readWrite", "read"])
    refused(13, own.c.find_one)
    db.command("grantRolesToUser", "ada", roles=["read"])
    cursor = own.c.find(batch_size=10)
    next(cursor)
    db.command("dropUser", "ada")
    assert "requires authentication" in refused(13, own.c.find_one)
    assert own.command("connectionStatus")["authInfo"]["authenticatedUsers"] == []
    make(db, "ada", "read")
    refused(13, own.c.find_one)


def test_a_cursor_belongs_to_who_opened_it(db, login):
    db.c.insert_many([{} for _ in range(200)])
    for name in ("ada", "bob"):
        make(db, name, "read")
    ada, bob = (login(name, source=db.name)[db.name] for name in ("ada", "bob"))
    cursor = ada.command("find", "c", batchSize=10)["cursor"]["id"]
    assert "was not created by" in refused(13, bob.command, "getMore", bson.Int64(cursor), collection="c")
    assert "not authorized" in refused(13, bob.command, "killCursors", "c", cursors=[cursor])
    assert len(ada.command("getMore", bson.Int64(cursor), collection="c", batchSize=5)["cursor"]["nextBatch"]) == 5
    assert ada.command("killCursors", "c", cursors=[cursor])["cursorsKilled"] == [cursor]


def test_who_is_logged_in_is_shown_with_roles_and_privileges(db, login):
    make(db, "ada", "read")
    shown = login("ada", source=db.name).admin.command("connectionStatus", showPrivileges=True)["authInfo"]
    assert shown["authenticatedUsers"] == [{"user": "ada", "db": db.name}]
    assert shown["authenticatedUserRoles"] == [{"role": "read", "db": db.name}]
    first = shown["authenticatedUserPrivileges"][0]
    assert first["resource"] == {"db": db.name, "collection": ""}
    assert "find" in first["actions"] and "insert" not in first["actions"]


def test_roles_are_shown(db):
    names = [role["role"] for role in db.command("rolesInfo", 1, showBuiltinRoles=True)["roles"]]
    assert sorted(names) == ["dbAdmin", "dbOwner", "enableSharding", "read", "readWrite", "userAdmin"]
    assert db.command("rolesInfo", 1)["roles"] == []
    root = db.command("rolesInfo", ["nothing", {"role": "root", "db": "admin"}], showPrivileges=True)["roles"]
    assert [role["role"] for role in root] == ["root"] and root[0]["isBuiltin"] and root[0]["privileges"]


def test_the_accounts_keys_still_open_the_door(server, master, login):
    status = master.admin.command("connectionStatus")["authInfo"]
    assert status["authenticatedUserRoles"] == [{"role": "root", "db": "admin"}]
    reader = login("lapsedb-reader", READ_ONLY_KEY)
    name = fresh("db")
    master[name].c.insert_one({"_id": 1})
    assert reader[name].c.find_one() == {"_id": 1}
    reader.admin.command("serverStatus")
    refused(13, reader[name].c.insert_one, {})
    refused(13, users, reader[name])
    master.drop_database(name)


def test_nobody_learns_who_exists(db, server):
    make(db, "ada", "read", mechanisms=["SCRAM-SHA-256"])
    with pymongo.MongoClient(server.mongo_url(), **WAIT) as stranger:
        def mechanisms(user):
            return stranger.admin.command("hello", saslSupportedMechs=f"{db.name}.{user}")["saslSupportedMechs"]

        def salt(user):
            payload = bson.Binary(f"n,,n={user},r=abc".encode())
            answer = stranger[db.name].command("saslStart", 1, mechanism="SCRAM-SHA-256", payload=payload)
            return answer["payload"].split(b",")[1]

        assert mechanisms("ada") == ["SCRAM-SHA-256"]
        assert mechanisms("nobody") == ["SCRAM-SHA-256", "SCRAM-SHA-1"]
        # One salt for each name, today and tomorrow, whether somebody has it or not.
        assert salt("nobody") == salt("nobody") != salt("somebody")
        assert salt("ada") == salt("ada") and len(salt("ada")) == len(salt("nobody"))
        refused(2, stranger.admin.command, "hello", saslSupportedMechs="ada")
        for command in ("usersInfo", "createUser", "getLog", "currentOp", "listDatabases", "killAllSessions"):
            refused(13, stranger.admin.command, command, 1)


def test_secrets_are_shown_nowhere(server, db, login):
    secret = "s3cret-" + fresh("x")
    make(db, "ada", "read", password=secret)
    db.command("updateUser", "ada", pwd=secret + "2")
    own = login("ada", secret + "2", source=db.name)[db.name]
    for call in (
        lambda: own.command("createUser", "x", pwd=secret, roles=[]),
        lambda: own.command("updateUser", "ada", pwd=secret),
        lambda: db.command("createUser", "ada", pwd=secret, roles=[]),
        lambda: db.command("createUser", "x", pwd=secret, roles=["nothing"]),
    ):
        with pytest.raises(OperationFailure) as caught:
            call()
        assert secret not in str(caught.value)
    shown = [
        db.client.admin.command("getLog", "global"),
        db.client.admin.command("currentOp"),
        users(db, {"forAllDBs": True}, showCredentials=True),
        db.command("profile", -1),
    ]
    assert secret not in str(shown)
    server.log.flush()
    with open(server.log.name) as log:
        written = log.read()
    assert "createUser" in written
    assert secret not in written and KEY not in written


def test_users_bind_nobody_where_no_login_is_asked():
    with running("--mongo-port", "0") as server:
        with pymongo.MongoClient(server.mongo_url(), **WAIT) as anybody:
            make(anybody.shop, "ada", "read")
            anybody.shop.c.insert_one({})
            source = {"authSource": "shop", **WAIT}
            with pymongo.MongoClient(server.mongo_url(), username="ada", password=PASSWORD, **source) as ada:
                ada.shop.c.insert_one({})
                assert ada.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"][0]["user"] == "ada"
            with pymongo.MongoClient(server.mongo_url(), username="ada", password="no", **source) as wrong:
                refused(18, wrong.shop.c.find_one)


class TestPlain:
    """The password itself: only where nobody can listen in."""

    options = {"authMechanism": "PLAIN", **WAIT}
    tls = {"tls": True, "tlsAllowInvalidCertificates": True}

    @pytest.mark.parametrize("source", ["$external", "admin"])
    def test_over_tls_by_key_and_by_password(self, server, master, source):
        for user, password in (("lapsedb", KEY), ("lapsedb-reader", READ_ONLY_KEY)):
            options = {"authSource": source, **self.options, **self.tls}
            with pymongo.MongoClient(server.mongo_url(), username=user, password=password, **options) as client:
                client.shop.c.find_one()
        make(master.admin, "plain", {"role": "read", "db": "shop"}, mechanisms=["SCRAM-SHA-1"])
        try:
            with pymongo.MongoClient(server.mongo_url(), username="plain", password=PASSWORD, **options) as client:
                client.shop.c.find_one()
                refused(13, client.shop.c.insert_one, {})
                shown = client.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"]
                assert shown == [{"user": "plain", "db": "admin"}]
            for user, password in (("plain", "wrong"), ("lapsedb", "wrong"), ("nobody", "wrong")):
                with pymongo.MongoClient(server.mongo_url(), username=user, password=password, **options) as client:
                    refused(18, client.shop.c.find_one)
        finally:
            master.admin.command("dropUser", "plain")

    def test_not_without_tls(self, server):
        with pymongo.MongoClient(server.mongo_url(), username="lapsedb", password=KEY, **self.options) as client:
            assert "PLAIN" in refused(334, client.shop.c.find_one)


class TestCosmosConnectionString:
    """The string that the portal of Cosmos shows, with this server's address in it."""

    def string(self, server, user, password):
        password = urllib.parse.quote_plus(password)
        options = f"ssl=true&replicaSet=globaldb&retrywrites=false&maxIdleTimeMS=120000&appName=@{user}@"
        return f"mongodb://{user}:{password}@127.0.0.1:{server.mongo_port}/?{options}"

    @pytest.mark.parametrize("mechanism", [None, *MECHANISMS, "PLAIN"])
    @pytest.mark.parametrize("user", ["my-account", "lapsedb"])
    def test_it_works(self, server, user, mechanism):
        options = {} if mechanism is None else {"authMechanism": mechanism}
        name = fresh("db")
        with pymongo.MongoClient(self.string(server, user, KEY), tlsAllowInvalidCertificates=True, **options, **WAIT) as client:
            client[name].c.insert_one({"_id": 1})
            assert client[name].c.find_one() == {"_id": 1}
            assert client.admin.command("hello")["setName"] == "globaldb"
            assert client.admin.command("replSetGetStatus")["set"] == "globaldb"
            client.drop_database(name)

    def test_it_is_no_way_around_the_key(self, server):
        for user in ("my-account", "lapsedb-reader"):
            with pymongo.MongoClient(self.string(server, user, "wrong"), tlsAllowInvalidCertificates=True, **WAIT) as client:
                refused(18, client.shop.c.find_one)
