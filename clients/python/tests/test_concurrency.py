"""Many requests at once through the async client."""

import asyncio

import pytest
from azure.core import MatchConditions
from azure.cosmos import PartitionKey
from azure.cosmos.aio import CosmosClient
from azure.cosmos.exceptions import CosmosHttpResponseError

from conftest import ROOMY_THROUGHPUT, fresh
from lapsedb import KEY


@pytest.fixture
async def container(server):
    async with CosmosClient(server.url(), KEY) as client:
        db = await client.create_database(fresh("db"))
        yield await db.create_container(
            fresh("c"), PartitionKey(path="/pk"), offer_throughput=ROOMY_THROUGHPUT
        )
        await client.delete_database(db.id)


async def test_parallel_creates_all_count(container):
    await asyncio.gather(*(container.create_item({"id": str(n), "pk": f"p{n % 5}"}) for n in range(200)))
    assert len([item async for item in container.read_all_items()]) == 200


async def test_only_one_create_of_an_id_wins(container):
    async def attempt(n):
        try:
            return (await container.create_item({"id": "same", "pk": "a", "n": n}))["n"]
        except CosmosHttpResponseError as error:
            assert error.status_code == 409
            return None

    winners = [n for n in await asyncio.gather(*map(attempt, range(30))) if n is not None]
    assert len(winners) == 1
    assert (await container.read_item("same", "a"))["n"] == winners[0]


async def test_increments_are_not_lost(container):
    await container.create_item({"id": "1", "pk": "a", "n": 0})
    bump = [{"op": "incr", "path": "/n", "value": 1}]
    await asyncio.gather(*(container.patch_item("1", "a", bump) for _ in range(50)))
    assert (await container.read_item("1", "a"))["n"] == 50


async def test_optimistic_writers_win_once_each(container):
    await container.create_item({"id": "1", "pk": "a", "n": 0})

    async def add_one():
        while True:
            item = await container.read_item("1", "a")
            try:
                body = {"id": "1", "pk": "a", "n": item["n"] + 1}
                return await container.replace_item(
                    "1", body, etag=item["_etag"], match_condition=MatchConditions.IfNotModified
                )
            except CosmosHttpResponseError as error:
                assert error.status_code == 412

    await asyncio.gather(*(add_one() for _ in range(10)))
    assert (await container.read_item("1", "a"))["n"] == 10
