"""What the TTL tests of the Mongo door share: a server whose clock stands still and which purges nothing, and ways of looking."""

import bson
import pytest

from conftest import fresh, running
from mongo_door import client  # noqa: F401

# The default of a collection, in seconds; and what does not end.
DEFAULT = 1000
NEVER = None


@pytest.fixture(scope="module")
def mongo():
    with running("--virtual-clock", "--purge", "off", "--mongo-port", "0") as server:
        yield server


@pytest.fixture
def bare(mongo, client):
    """A collection without TTL, at the start of a second."""
    name = fresh("db")
    mongo.align()
    yield client[name].c
    client.drop_database(name)


@pytest.fixture
def collection(bare):
    bare.create_index("_ts", expireAfterSeconds=DEFAULT)
    return bare


@pytest.fixture
def advance(mongo):
    return lambda ms: mongo.advance(f"{ms}ms")


def living(collection):
    """The ids that every way of looking agrees on."""
    found = [document["_id"] for document in collection.find()]
    assert collection.count_documents({}) == collection.estimated_document_count() == len(found)
    assert sorted(collection.distinct("_id")) == sorted(found)
    return found


def lives(collection, advance, seconds):
    """Holds all documents to a life of so many seconds, to the millisecond; what never ends outlives every other."""
    everybody = living(collection)
    advance((seconds or 2 * DEFAULT) * 1000 - 1)
    assert living(collection) == everybody
    advance(1)
    assert living(collection) == (everybody if seconds is NEVER else [])


def when(mongo, ms):
    _, clock = mongo.admin("GET", "/_lapsedb/clock")
    return bson.datetime_ms.DatetimeMS(clock["nowMillis"] + ms)
