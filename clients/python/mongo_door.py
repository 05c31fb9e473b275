"""What tests of the Mongo door share: a server whose clock stands still, a client of it, and a database for each test.

A file imports the fixtures that it needs. Flags that its server has besides are its `FLAGS`.
"""

import datetime

import pymongo
import pytest
from pymongo.errors import OperationFailure

from conftest import fresh, running
from sessions import Wire

# A server that is ready answers at once; on a busy machine that may take a while.
SELECTION_MS_MAX = 30_000


def connected(server, **options):
    """A client of a server's Mongo door."""
    return pymongo.MongoClient(server.mongo_url(), serverSelectionTimeoutMS=SELECTION_MS_MAX, **options)


def failure(call, *args, **options):
    """What the server says of a call that it refuses: of the command, or of its one statement."""
    with pytest.raises(OperationFailure) as caught:
        call(*args, **options)
    details = caught.value.details
    if "writeErrors" in details:
        (details,) = details["writeErrors"]
    return details


def refused(code, call, *args, **options):
    """Holds a call to an error of that code, and gives its message."""
    details = failure(call, *args, **options)
    assert details["code"] == code, details
    return details["errmsg"]


def ids(cursor):
    return [document["_id"] for document in cursor]


def options_of(db, name):
    """The options of a collection, as they are listed."""
    (listed,) = db.list_collections(filter={"name": name})
    return listed["options"]


def aligned(mongo):
    """The date of the server's clock, at the start of a second."""
    return datetime.datetime.fromtimestamp(mongo.align() / 1000, datetime.timezone.utc)


@pytest.fixture(scope="module")
def mongo(request):
    with running("--virtual-clock", "--mongo-port", "0", *getattr(request.module, "FLAGS", ())) as server:
        yield server


@pytest.fixture(scope="module")
def client(mongo):
    with connected(mongo) as client:
        yield client


@pytest.fixture
def db(client):
    """A database that nobody else has."""
    name = fresh("db")
    yield client[name]
    client.drop_database(name)


@pytest.fixture
def collection(db):
    return db.c


@pytest.fixture
def wire(mongo):
    """A connection without a driver."""
    wire = Wire(mongo.mongo_port)
    yield wire
    wire.close()
