"""Random requests through the NoSQL door, each held to what the model says of it."""

import contextlib
import copy
import random

from azure.core import MatchConditions
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosBatchOperationError, CosmosHttpResponseError

from lapsedb import KEY

from . import values
from .rule import Collection, canonical, meaningful

PARTITIONS = [["a", 1], ["a", 2], ["b", 1]]
HIERARCHY = PartitionKey(path=["/t", "/u"], kind="MultiHash")
# What queries may ask as if it were stored.
COMPUTED = [{"name": "mine", "query": "SELECT VALUE IS_DEFINED(c.ttl) FROM c"}]


def status_of(call, *arguments, **options) -> tuple[int, dict]:
    """The status of a call: 200 for whatever succeeds, and what it answers."""
    try:
        return 200, call(*arguments, **options)
    except CosmosHttpResponseError as error:
        return error.status_code, {}


class NoSqlDoor:
    """Writes to containers of one database, through a client and in the model."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.client = None
        self.database = None
        self.now = 0
        # Etags seen, with the version they belong to.
        self.etags: dict = {}

    def connect(self, url: str, database: str) -> None:
        self.close()
        self.client = CosmosClient(url, KEY)
        self.database = self.client.create_database_if_not_exists(database)

    def close(self) -> None:
        if self.client is not None:
            self.client.close()

    def at(self, model: Collection):
        return self.database.get_container_client(model.name)

    def make(self, model: Collection) -> None:
        """A container of this door alone, with a hierarchy of keys, a unique key and a computed property."""
        model.unique = {"k"}
        keys = {"uniqueKeys": [{"paths": ["/k"]}]}
        self.database.create_container(model.name, HIERARCHY, unique_key_policy=keys, computed_properties=COMPUTED)

    # Writes.

    def write(self, model: Collection) -> str:
        kind = self.rng.choice(["create", "upsert", "upsert", "replace", "patch", "patch", "delete", "batch", "remember", "matched"])
        return getattr(self, kind)(model)

    def create(self, model: Collection) -> str:
        key, item = self.item(model)
        said = f"create {item}"
        wanted = self.refusal(model, key, item)
        if wanted == 200 and key in model.documents:
            wanted = 409
        self.held(model, said, wanted, key, item, self.at(model).create_item, self.body(key, item))
        return said

    def upsert(self, model: Collection) -> str:
        key, item = self.item(model)
        said = f"upsert {item}"
        self.held(model, said, self.refusal(model, key, item), key, item, self.at(model).upsert_item, self.body(key, item))
        return said

    def replace(self, model: Collection) -> str:
        key, item = self.item(model)
        said = f"replace {key} {item}"
        wanted = self.refusal(model, key, item)
        if key not in model.documents:
            wanted = 404
        self.held(model, said, wanted, key, item, self.at(model).replace_item, name(key), self.body(key, item))
        return said

    def patch(self, model: Collection) -> str:
        key, _ = self.item(model)
        operations, apply = self.operations()
        said = f"patch {key} {operations}"
        wanted, item = self.patched(model, key, apply)
        self.held(model, said, wanted, key, item, self.at(model).patch_item, name(key), partition(key), operations)
        return said

    def patched(self, model: Collection, key, apply) -> tuple[int, dict | None]:
        """What a patch answers, and what it makes of an item."""
        if key not in model.documents:
            return 404, None
        item = apply(copy.deepcopy(model.documents[key].body))
        if item is None:
            return 400, None
        return self.refusal(model, key, item), item

    def delete(self, model: Collection) -> str:
        key, _ = self.item(model)
        status, _ = status_of(self.at(model).delete_item, name(key), partition(key))
        assert status == (200 if key in model.documents else 404), f"delete {key}: {status}"
        if key in model.documents:
            model.delete(key)
        return f"delete {key}"

    def batch(self, model: Collection) -> str:
        """Several operations in one partition: all or none."""
        first, _ = self.item(model)
        operations, copied, failed = [], model.copy(), None
        copied.events = []
        for number in range(self.rng.randrange(1, 5)):
            key, item = self.item(model)
            key = first if isinstance(first, str) else (*first[:-1], key[-1])
            item = {**item, **self.identity(key)}
            status = self.in_batch(copied, operations, key, item)
            if status >= 400:
                failed = (number, status)
                break
        said = f"batch {operations}"
        try:
            self.at(model).execute_item_batch(operations, partition(first))
            found = None
        except CosmosBatchOperationError as error:
            found = (error.error_index, error.status_code)
        assert found == failed, f"{said}: {found}, the model says {failed}"
        if failed is None:
            # One commit tells of each item once.
            keys = [key for key, _ in copied.events]
            copied.blurred |= {key for key in keys if keys.count(key) > 1}
            copied.events = model.events + copied.events
            model.__dict__.update(copied.__dict__)
        return said

    def in_batch(self, model: Collection, operations: list, key, item: dict) -> int:
        """Adds an operation; says how it ends."""
        kind = self.rng.choice(["create", "upsert", "replace", "patch", "delete", "read"])
        there = key in model.documents
        if kind in ("create", "upsert", "replace"):
            body = self.body(key, item)
            operations.append((kind, (name(key), body) if kind == "replace" else (body,)))
            wanted = self.refusal(model, key, item)
            if wanted != 400 and kind == "create" and there:
                wanted = 409
            if kind == "replace" and not there:
                wanted = 404
            if wanted == 200:
                model.write(key, values.stored(item), self.now, True)
            return wanted
        if kind == "patch":
            changes, apply = self.operations()
            operations.append((kind, (name(key), changes)))
            wanted, item = self.patched(model, key, apply)
            if wanted == 200:
                model.write(key, item, self.now, True)
            return wanted
        operations.append((kind, (name(key),)))
        if there and kind == "delete":
            model.delete(key)
        return 200 if there else 404

    def remember(self, model: Collection) -> str:
        """Reads an item, and keeps its etag."""
        key, _ = self.item(model)
        status, item = status_of(self.at(model).read_item, name(key), partition(key))
        assert status == (200 if key in model.documents else 404), f"read {key}: {status}"
        if status == 200:
            self.etags[model.name, key] = (item["_etag"], model.documents[key].version)
        return f"read {key}: {status}"

    def matched(self, model: Collection) -> str:
        """A replacement, if the item is still the one whose etag is known."""
        known = [(key, seen) for (place, key), seen in self.etags.items() if place == model.name]
        if not known:
            return self.remember(model)
        key, (etag, version) = self.rng.choice(known)
        _, item = self.item(model)
        item = {**item, **self.identity(key)}
        said = f"replace {key} {item} if {etag}"
        wanted = self.refusal(model, key, item)
        if key not in model.documents:
            wanted = 404
        elif model.documents[key].version != version:
            wanted = 412
        condition = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
        self.held(model, said, wanted, key, item, self.at(model).replace_item, name(key), self.body(key, item), **condition)
        return said

    def held(self, model: Collection, said: str, wanted: int, key, item, call, *arguments, **options) -> None:
        """Calls, holds the status to what is wanted, and does the same in the model."""
        status, answer = status_of(call, *arguments, **options)
        assert status == wanted, f"{said}: {status}, the model says {wanted}"
        if status == 200:
            model.write(key, values.stored(item), self.now, True)
            # What came too late is gone before the answer, which then shows nothing.
            written = answer.get("_ts") if key in model.documents else self.now // 1000
            assert written == self.now // 1000, f"{said}: _ts is {written}"

    @staticmethod
    def refusal(model: Collection, key, item: dict) -> int:
        """Whether this API takes an item: what `ttl` says must mean something, where TTL is on and in its own collection."""
        checked = model.default is not None or model.name == "own"
        if checked and "ttl" in item and meaningful(item["ttl"]) is None:
            return 400
        return 409 if model.taken(key, values.stored(item)) else 200

    # Settings.

    def setting(self, model: Collection) -> str:
        seconds = self.rng.choice([None, None, -1, 1, 2, 4, 6, 10, 100, 2**31 - 1])
        if self.rng.random() < 0.2:
            bad = self.rng.choice([0, -2, 2**31, 1.5, "5", True])
            assert self.alter(model, bad) == 400, bad
        assert self.alter(model, seconds) == 200
        model.default = seconds
        model.settle(self.now)
        return f"defaultTtl {seconds}"

    def alter(self, model: Collection, seconds) -> int:
        definition = self.at(model).read()
        more = {}
        with contextlib.suppress(KeyError):
            more["computed_properties"] = definition["computedProperties"]
        if self.rng.random() < 0.7:
            more["indexing_policy"] = definition["indexingPolicy"]
        path = definition["partitionKey"]["paths"]
        key = HIERARCHY if len(path) > 1 else PartitionKey(path=path[0])
        return status_of(self.database.replace_container, model.name, key, default_ttl=seconds, **more)[0]

    # What requests are made of.

    def item(self, model: Collection):
        """A key and an item of that key, as the model has it."""
        if model.unique == {"k"}:
            key = (*self.rng.choice(PARTITIONS), self.rng.choice(values.KEYS[:6]))
            body = {name: value for name, value in values.json_fields(self.rng, self.now).items() if name not in ("d", "u")}
            body["k"] = self.rng.randrange(20)
        else:
            key = self.rng.choice(values.KEYS)
            body = values.json_fields(self.rng, self.now)
        return key, {**self.identity(key), **body}

    @staticmethod
    def identity(key) -> dict:
        return {"_id": key} if isinstance(key, str) else {"id": key[-1], "t": key[0], "u": key[1]}

    @staticmethod
    def body(key, item: dict) -> dict:
        return {"id": name(key), **copy.deepcopy(item)}

    def operations(self):
        """Operations of a patch, and the same as a function of a body, which has no answer where one cannot be done."""
        pick = self.rng.random()
        if pick < 0.5:
            ttl = values.json_ttl(self.rng)
            return [{"op": "set", "path": "/ttl", "value": ttl}], lambda body: {**body, "ttl": ttl}
        if pick < 0.7:

            def without(body):
                return {name: value for name, value in body.items() if name != "ttl"} if "ttl" in body else None

            return [{"op": "remove", "path": "/ttl"}], without
        number = self.rng.randrange(6)
        return [{"op": "set", "path": "/n", "value": number}], lambda body: {**body, "n": number}


def name(key) -> str:
    return key if isinstance(key, str) else key[-1]


def partition(key):
    return key if isinstance(key, str) else list(key[:-1])


def shown(item: dict) -> dict:
    """An item as the model has it: without what the server adds."""
    return {name: value for name, value in item.items() if name in ("_id", "t", "u", "k", "id") or not name.startswith("_")}


def same(found: dict, wanted: dict) -> bool:
    return canonical(shown(found), True) == canonical(wanted, True)
