"""What tests of the Mongo door share: a server whose clock stands still, a client of it, and a database for each test.

A file imports the fixtures that it needs. Flags that its server has besides are its `FLAGS`.
"""

import pymongo
import pytest

from conftest import fresh, running
from sessions import Wire

# A server that is ready answers at once; on a busy machine that may take a while.
SELECTION_MS_MAX = 30_000


def connected(server, **options):
    """A client of a server's Mongo door."""
    return pymongo.MongoClient(server.mongo_url(), serverSelectionTimeoutMS=SELECTION_MS_MAX, **options)


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
