"""Memory stays bounded under steady expiry with readers, through both APIs.

About 1,000 inserts a second with a TTL of 20 seconds, so that some 20,000 items are live, beside readers that query, sort, group,
page, and leave cursors behind. `LAPSEDB_MEMORY_SECONDS` says for how long; an hour unless it is said.
"""

import os
import random
import threading
import time
import uuid

import pymongo
import pytest
from azure.cosmos import CosmosClient, PartitionKey

from lapsedb import KEY, Server

SECONDS = int(os.environ.get("LAPSEDB_MEMORY_SECONDS", "3600"))
RESIDENT_MIB_MAX = 400
TTL_SECONDS = 20
# Items of one insert, and inserts a second of each writer; one writer for each API.
BATCH = 50
BATCHES_PER_SECOND = 10
SAMPLE_SECONDS = 5


def item(**more):
    return {
        "n": random.randrange(1000),
        "k": random.randrange(10**6),
        "pad": "x" * random.randrange(200, 1500),
        **more,
    }


def paced(ended, step):
    """Runs a step again and again, at the pace of a writer, until the end."""
    while not ended.is_set():
        begun = time.monotonic()
        step()
        ended.wait(max(0.0, 1 / BATCHES_PER_SECOND - (time.monotonic() - begun)))


def mongo_writer(collection, ended):
    paced(ended, lambda: collection.insert_many([item() for _ in range(BATCH)]))


def nosql_writer(container, ended):
    def step():
        partition = str(random.randrange(20))
        container.execute_item_batch(
            [("create", (item(id=str(uuid.uuid4()), pk=partition),)) for _ in range(BATCH)], partition
        )

    paced(ended, step)


def mongo_reader(collection, ended):
    reads = [
        lambda: list(collection.find({"n": random.randrange(1000)}).limit(50)),
        lambda: list(collection.find({"k": {"$gte": random.randrange(10**6)}}).sort("k", 1).limit(100)),
        lambda: list(collection.find().batch_size(100).limit(2000)),
        lambda: list(collection.aggregate([{"$group": {"_id": "$n", "sum": {"$sum": "$k"}}}])),
        lambda: list(collection.aggregate([{"$sort": {"pad": 1}}, {"$limit": 500}], allowDiskUse=False)),
        lambda: collection.count_documents({}),
        # A cursor that is left behind.
        lambda: next(collection.find().batch_size(10), None),
    ]
    while not ended.is_set():
        random.choice(reads)()


def nosql_reader(container, ended):
    def query(text, **options):
        return list(container.query_items(text, enable_cross_partition_query=True, **options))

    reads = [
        lambda: query(f"SELECT TOP 50 * FROM c WHERE c.n = {random.randrange(1000)}"),
        lambda: query(f"SELECT TOP 100 * FROM c WHERE c.k >= {random.randrange(10**6)} ORDER BY c.k"),
        lambda: query("SELECT VALUE COUNT(1) FROM c"),
        lambda: query("SELECT c.n, SUM(c.k) AS s FROM c GROUP BY c.n"),
        # A page, and no second one.
        lambda: next(container.query_items("SELECT * FROM c", enable_cross_partition_query=True, max_item_count=100).by_page(), None),
        lambda: query("SELECT * FROM c", partition_key=str(random.randrange(20))),
    ]
    while not ended.is_set():
        random.choice(reads)()


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) // 1024


@pytest.mark.timeout(SECONDS + 300)
def test_under_steady_expiry_with_readers_of_both_apis():
    server = Server("--purge-grace", "0", mongo=True)
    server.start()
    ended, failures, samples = threading.Event(), [], []
    mongo = pymongo.MongoClient(server.mongo_url())
    cosmos = CosmosClient(server.url(), KEY)
    mongo.db.c.create_index("_ts", expireAfterSeconds=TTL_SECONDS)
    mongo.db.c.create_index("n")
    mongo.db.c.create_index("k")
    container = cosmos.create_database("nosql").create_container("c", PartitionKey("/pk"), default_ttl=TTL_SECONDS)

    def run(work, *arguments):
        try:
            work(*arguments, ended)
        except Exception as failure:
            failures.append(failure)
            ended.set()

    works = [(mongo_writer, mongo.db.c), (nosql_writer, container)]
    works += 2 * [(mongo_reader, mongo.db.c), (nosql_reader, container)]
    threads = [threading.Thread(target=run, args=work) for work in works]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and not ended.wait(SAMPLE_SECONDS):
        samples.append(resident_mib(server.process.pid))
        print(f"{int(deadline - time.monotonic())} s left, {samples[-1]} MiB", flush=True)
        if samples[-1] > RESIDENT_MIB_MAX:
            break
    ended.set()
    for thread in threads:
        thread.join()
    mongo.close()
    server.stop()
    assert not failures, failures
    assert max(samples) <= RESIDENT_MIB_MAX, samples
