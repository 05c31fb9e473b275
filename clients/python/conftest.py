"""One server with the real clock and one with a virtual one; every test gets a database of its own."""

import contextlib
import shutil
import uuid

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError

from lapsedb import READ_ONLY_KEY, Blocking, Connector, Server

# Enough that no test is throttled unless it wants to be.
ROOMY_THROUGHPUT = 100_000


@contextlib.contextmanager
def running(*flags, mongo=False):
    server = Server(*flags, mongo=mongo).start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.store, ignore_errors=True)


@pytest.fixture(scope="session")
def server():
    with running("--read-only-key", READ_ONLY_KEY) as server:
        yield server


@pytest.fixture(scope="session")
def virtual():
    with running("--virtual-clock") as server:
        yield server


@pytest.fixture
def own_server():
    """A server for one test alone, which may stop and start it."""
    with running() as server:
        yield server


@pytest.fixture(scope="session", params=["sync", "async"])
def connector(request):
    connector = Connector(request.param)
    yield connector
    connector.close()


@pytest.fixture(scope="session")
def client(connector, server):
    return connector.connect(server.url())


@pytest.fixture(scope="session")
def virtual_client(connector, virtual):
    return connector.connect(virtual.url())


@pytest.fixture
def db(client):
    yield from database_of(client)


@pytest.fixture
def virtual_db(virtual_client):
    yield from database_of(virtual_client)


def database_of(client):
    name = fresh("db")
    yield client.create_database(name)
    with contextlib.suppress(CosmosHttpResponseError):
        client.delete_database(name)


@pytest.fixture
def container(db):
    return make(db)


@pytest.fixture
def fleeting(virtual, virtual_db):
    """A container with a default of 10 seconds on the virtual clock, which stands at the start of a second."""
    virtual.align()
    return make(virtual_db, default_ttl=10)


def make(db, path="/pk", **options):
    """Creates a container with a name nobody has used."""
    options.setdefault("offer_throughput", ROOMY_THROUGHPUT)
    return db.create_container(fresh("c"), PartitionKey(path=path), **options)


def fresh(prefix):
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


@contextlib.contextmanager
def refused(status, sub_status=None, saying=None):
    """Holds the call inside to an error of that status, sub-status and text."""
    with pytest.raises(CosmosHttpResponseError) as caught:
        yield caught
    error = caught.value
    assert error.status_code == status, error
    if sub_status is not None:
        assert (error.sub_status or 0) == sub_status, error
    if saying is not None:
        assert saying in str(error), error


def ask(container, query, parameters=None, **options):
    """Queries; without a partition key over all partitions, which the sync client wants to be told."""
    if not isinstance(container, Blocking) and "partition_key" not in options:
        options["enable_cross_partition_query"] = True
    return container.query_items(query, parameters=parameters, **options)


def user_part(item):
    """An item without what the server adds."""
    return {key: value for key, value in item.items() if not key.startswith("_")}
