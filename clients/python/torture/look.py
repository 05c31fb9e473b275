"""Every way of looking at a collection, each held to the model: the dead are in none of them."""

import random
from collections import Counter

from .mongo import MongoDoor
from .nosql import NoSqlDoor, name, partition, same, status_of
from .rule import Collection, canonical

CROSS = {"enable_cross_partition_query": True}


class Look:
    """Looks through both doors, and at the server's own figures."""

    def __init__(self, rng: random.Random, server, mongo: MongoDoor, nosql: NoSqlDoor):
        self.rng = rng
        self.server = server
        self.mongo = mongo
        self.nosql = nosql

    def some(self, model: Collection, count: int) -> None:
        """So many of the ways, by chance; all of them, if there are not more."""
        ways = FIGURES + NOSQL + ([] if model.unique == {"k"} else MONGO)
        for way in self.rng.sample(ways, min(count, len(ways))):
            try:
                way(self, model)
            except AssertionError as error:
                raise AssertionError(f"{way.__name__} of {model.name}: {error}") from error

    # The Mongo door.

    def find(self, model):
        found = list(self.mongo.at(model).find())
        assert [one["_id"] for one in found] == list(model.documents), f"found {ids(found)}, the model says {list(model.documents)}"
        for one in found:
            document = model.documents[one["_id"]]
            assert canonical(one, document.loose) == canonical(document.body, document.loose), f"{one}, the model says {document.body}"

    def find_sorted(self, model):
        by = self.rng.choice(["n", "d", "_id", "a.d", "e"])
        found = [one["_id"] for one in self.mongo.at(model).find(projection={"_id": 1}).sort(by, self.rng.choice([1, -1])).batch_size(3)]
        assert sorted(found) == sorted(model.documents), found

    def find_by(self, model):
        number = self.rng.randrange(6)
        found = {one["_id"] for one in self.mongo.at(model).find({"n": {"$gte": number}})}
        assert found == {key for key, document in model.documents.items() if document.body.get("n", -1) >= number}, found

    def find_by_hint(self, model):
        for index in model.indexes.values():
            if index.filter is None:
                found = [one["_id"] for one in self.mongo.at(model).find().hint(index.name)] if not hidden(self, model, index) else list(model.documents)
                assert sorted(found) == sorted(model.documents), (index.name, found)

    def find_by_id(self, model):
        for key in self.rng.sample(["k0", "k1", "k2", "k3", "k4", "k5"], 3):
            assert (self.mongo.at(model).find_one({"_id": key}) is not None) == (key in model.documents), key

    def counts(self, model):
        collection, living = self.mongo.at(model), len(model.documents)
        found = (
            collection.count_documents({}),
            collection.estimated_document_count(),
            self.mongo.database.command("count", model.name, query={"_id": {"$exists": True}})["n"],
            self.mongo.database.command("collStats", model.name)["count"],
            next(iter(collection.aggregate([{"$count": "n"}])), {"n": 0})["n"],
            next(iter(collection.aggregate([{"$collStats": {"count": {}}}])))["count"],
            sum(group["n"] for group in collection.aggregate([{"$group": {"_id": "$live", "n": {"$sum": 1}}}])),
        )
        assert set(found) == {living}, f"{found}, the model says {living}"

    def distinct(self, model):
        assert sorted(self.mongo.at(model).distinct("_id")) == sorted(model.documents)
        texts = {document.body["u"] for document in model.documents.values() if "u" in document.body}
        assert set(self.mongo.at(model).distinct("u")) == texts

    def joined(self, model):
        stages = [{"$lookup": {"from": model.name, "localField": "_id", "foreignField": "_id", "as": "same"}}]
        found = list(self.mongo.at(model).aggregate(stages))
        assert [len(one["same"]) for one in found] == [1] * len(model.documents), found
        found = list(self.mongo.at(model).aggregate([{"$unionWith": model.name}, {"$facet": {"all": [{"$count": "n"}]}}]))
        assert sum(one["n"] for one in found[0]["all"]) == 2 * len(model.documents), found

    def explained(self, model):
        plan = self.mongo.database.command("explain", {"find": model.name, "filter": {}}, verbosity="executionStats")
        assert plan["executionStats"]["nReturned"] == len(model.documents), plan["executionStats"]

    def indexes(self, model):
        found = self.mongo.at(model).index_information()
        lives = {index: members["expireAfterSeconds"] for index, members in found.items() if "expireAfterSeconds" in members}
        wanted = {index.name: index.seconds for index in model.indexes.values()}
        if model.default is not None:
            wanted["_ts_1"] = model.default
        assert lives == wanted, f"{lives}, the model says {wanted}"

    # The NoSQL door.

    def read(self, model):
        keys = list(model.documents)
        for key in self.rng.sample(keys, min(2, len(keys))):
            status, item = status_of(self.nosql.at(model).read_item, name(key), partition(key))
            assert status == 200, f"{key} is {status}"
            assert item["_ts"] == model.documents[key].written, f"{key} was written at {model.documents[key].written}: {item}"
            assert isinstance(key, str) or same(item, model.documents[key].body), f"{item}, the model says {model.documents[key].body}"

    def read_nobody(self, model):
        key, _ = self.nosql.item(model)
        if key not in model.documents:
            status, _ = status_of(self.nosql.at(model).read_item, name(key), partition(key))
            assert status == 404, f"{key} is {status}"

    def feed(self, model):
        found = [one["id"] for one in self.nosql.at(model).read_all_items(max_item_count=3)]
        assert Counter(found) == Counter(map(name, model.documents)), found

    def queries(self, model):
        container, living = self.nosql.at(model), len(model.documents)
        assert list(container.query_items("SELECT VALUE COUNT(1) FROM c", **CROSS)) == [living]
        found = list(container.query_items("SELECT VALUE c.id FROM c ORDER BY c._ts DESC", max_item_count=4, **CROSS))
        assert Counter(found) == Counter(map(name, model.documents)), found
        found = list(container.query_items("SELECT VALUE c.id FROM c WHERE c.n >= 3", **CROSS))
        assert len(found) == sum(document.body.get("n", 0) >= 3 for document in model.documents.values()), found
        if model.unique == {"k"}:
            found = list(container.query_items("SELECT VALUE c.id FROM c WHERE c.mine", **CROSS))
            assert len(found) == sum("ttl" in document.body for document in model.documents.values()), found

    def ends(self, model):
        """When each says it ends."""
        found = {}
        for one in self.nosql.at(model).query_items("SELECT c._id, c.t, c.u, c.id, LAPSEDB_EXPIRES_AT(c) AS e FROM c", **CROSS):
            found[one["_id"] if "_id" in one else (one["t"], one["u"], one["id"])] = one.get("e")
        wanted = {key: model.end(document) for key, document in model.documents.items()}
        assert found.keys() == wanted.keys(), found
        for key, end in wanted.items():
            assert (found[key] is None) == (end is None) and (end is None or abs(found[key] * 1000 - end) < 1), (key, found[key], end)

    def latest(self, model):
        """The change feed from its beginning: each of the living once."""
        found = [one["id"] for one in self.nosql.at(model).query_items_change_feed(start_time="Beginning", mode="LatestVersion")]
        assert Counter(found) == Counter(map(name, model.documents)), found

    def definition(self, model):
        assert self.nosql.at(model).read().get("defaultTtl") == model.default

    # Figures.

    def usage(self, model):
        path = f"/_lapsedb/dbs/{self.nosql.database.id}/colls/{model.name}/ttl"
        _, report = self.server.admin("GET", path)
        assert report["live"]["items"] == len(model.documents), f"{report}, the model says {len(model.documents)}"
        assert report["defaultTtl"] == model.default, report
        wanted = model.next_end()
        found = report["nextExpiry"] and millis(report["nextExpiry"])
        # What ends after the last day that can be told is not told.
        assert found == wanted or (wanted or 0) > 253402300799999, f"{report}, the model says {wanted}"
        _, recount = self.server.admin("POST", f"{path}/recount")
        assert recount["bucketsWrong"] == 0, recount

    def outlook(self, model):
        """What a change would do, and what time will."""
        path = f"/_lapsedb/dbs/{self.nosql.database.id}/colls/{model.name}/ttl"
        changed = model.copy()
        changed.default = self.rng.choice([None, -1, 1, 3, 10, 100])
        _, preview = self.server.admin("POST", f"{path}/preview", {"defaultTtl": changed.default})
        ends = [changed.end(document) for document in changed.documents.values()]
        now = self.nosql.now
        wanted = (
            sum(end is not None and end <= now for end in ends),
            sum(end is not None and end > now for end in ends),
            sum(end is None for end in ends),
        )
        found = tuple(preview[part]["items"] for part in ("expiresAtOnce", "expiresLater", "neverExpires"))
        assert found == wanted, f"{preview} of {changed.default}, the model says {wanted}"
        _, forecast = self.server.admin("GET", f"{path}/forecast?by=minute&buckets=3")
        ends = [model.end(document) for document in model.documents.values()]
        first = now // 60_000
        wanted = [sum(end is not None and end // 60_000 == first + number for end in ends) for number in range(3)]
        assert [bucket["items"] for bucket in forecast["buckets"]] == wanted, f"{forecast}, the model says {wanted}"
        assert forecast["never"]["items"] == sum(end is None for end in ends), forecast


def hidden(look: Look, model: Collection, index) -> bool:
    return look.mongo.at(model).index_information()[index.name].get("hidden", False)


def ids(found: list) -> list:
    return [one["_id"] for one in found]


def millis(text: str) -> int:
    """A moment as the server writes it, in milliseconds."""
    import datetime

    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return int((moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) / datetime.timedelta(milliseconds=1))


MONGO = [Look.find, Look.find_sorted, Look.find_by, Look.find_by_hint, Look.find_by_id, Look.counts, Look.distinct, Look.joined, Look.explained, Look.indexes]
NOSQL = [Look.read, Look.read_nobody, Look.feed, Look.queries, Look.ends, Look.latest, Look.definition]
FIGURES = [Look.usage, Look.outlook]
