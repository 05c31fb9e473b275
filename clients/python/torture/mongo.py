"""Random requests through the Mongo door, each held to what the model says of it."""

import copy
import random

import pymongo
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.int64 import Int64
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure

from . import values
from .rule import Collection, DateIndex, canonical

# Dates far out, and each type as it is stored.
CODEC = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)

DUPLICATE = 11000


class MongoDoor:
    """Writes to collections of one database, through a client and in the model."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.client = None
        self.database = None
        self.now = 0
        # Whether the last write met a duplicate: a transaction ends by it.
        self.failed = False

    def connect(self, url: str, database: str) -> None:
        self.close()
        self.client = pymongo.MongoClient(url, serverSelectionTimeoutMS=10_000)
        self.database = self.client.get_database(database, codec_options=CODEC)

    def close(self) -> None:
        if self.client is not None:
            self.client.close()

    def at(self, model: Collection) -> pymongo.collection.Collection:
        return self.database[model.name]

    # Writes. Each does the same in the model, and says what it did, for whoever reads a failure.

    def insert(self, model: Collection, session=None) -> str:
        documents = [{"_id": self.key(), **self.fields()} for _ in range(self.rng.choice([1, 1, 2, 4]))]
        ordered = session is not None or self.rng.random() < 0.5
        failed, before = [], len(model.events)
        for number, document in enumerate(documents):
            if self.put_new(model, document) is False:
                failed.append(number)
                if ordered:
                    break
        # One command tells of each document once, even of one that came too late and made room for another.
        keys = [key for key, kind in model.events[before:] if kind == "insert"]
        model.blurred |= {key for key in keys if keys.count(key) > 1}
        try:
            self.at(model).insert_many(copy.deepcopy(documents), ordered=ordered, session=session)
            found = []
        except BulkWriteError as error:
            found = [failure["index"] for failure in error.details["writeErrors"] if failure["code"] == DUPLICATE]
            assert len(found) == len(error.details["writeErrors"]), error.details
        self.failed = bool(failed)
        assert found == failed, f"insert of {documents}: {found} were duplicates, the model says {failed}"
        return f"insert {documents} ordered={ordered}"

    def put_new(self, model: Collection, document: dict) -> bool:
        key = document["_id"]
        if key in model.documents or model.taken(key, document):
            return False
        model.write(key, document, self.now)
        return True

    def update(self, model: Collection, session=None) -> str:
        """An update of operators or a pipeline, of one or many, with or without upsert."""
        query, fits = self.filter()
        changes, apply = self.changes()
        many = self.rng.random() < 0.3
        upsert = self.rng.random() < 0.3 and "_id" in query
        said = f"update {query} {changes} many={many} upsert={upsert}"
        update = self.at(model).update_many if many else self.at(model).update_one
        outcome = self.apply(model, fits, apply, many, session)
        inserted = False
        if outcome == (0, 0) and upsert:
            inserted = self.put_new(model, apply({"_id": query["_id"]}))
            outcome = (0, 0) if inserted else None
        try:
            done = update(query, changes, upsert=upsert, session=session)
        except DuplicateKeyError:
            self.failed = True
            assert outcome is None, f"{said}: a duplicate, the model says {outcome}"
            return said
        assert outcome == (done.matched_count, done.modified_count), f"{said}: {done.raw_result}, the model says {outcome}"
        assert inserted == (done.upserted_id is not None), said
        return said

    def learn_types(self, model: Collection, key, session) -> None:
        """Asks of which types the numbers are that the NoSQL door has written: whether a change changes them depends on it."""
        document = model.documents[key]
        if document.loose:
            found = self.at(model).find_one({"_id": key}, session=session)
            if found is not None and canonical(found, True) == canonical(document.body, True):
                document.body, document.loose = found, False

    def apply(self, model: Collection, fits, apply, many: bool, session=None) -> tuple[int, int] | None:
        """Changes whom it finds: how many were found and how many changed; nothing, if a unique value stood in the way."""
        matched = modified = 0
        before = model.copy()
        for key in [key for key, document in model.documents.items() if fits(document.body)]:
            self.learn_types(model, key, session)
            document = model.documents[key]
            body = apply(copy.deepcopy(document.body))
            matched += 1
            if canonical(body) != canonical(document.body):
                if model.taken(key, body):
                    # All or nothing, as one statement is.
                    model.__dict__.update(before.__dict__)
                    return None
                model.write(key, body, self.now, document.loose)
                modified += 1
            if not many:
                break
        return matched, modified

    def replace(self, model: Collection, session=None) -> str:
        key, body = self.key(), self.fields()
        upsert = self.rng.random() < 0.5
        said = f"replace {key} {body} upsert={upsert}"
        outcome = self.apply(model, lambda old: old["_id"] == key, lambda old: {"_id": key, **body}, False, session)
        if outcome == (0, 0) and upsert and not self.put_new(model, {"_id": key, **copy.deepcopy(body)}):
            outcome = None
        try:
            done = self.at(model).replace_one({"_id": key}, copy.deepcopy(body), upsert=upsert, session=session)
        except DuplicateKeyError:
            self.failed = True
            assert outcome is None, said
            return said
        assert outcome == (done.matched_count, done.modified_count), f"{said}: {done.raw_result}, the model says {outcome}"
        return said

    def delete(self, model: Collection, session=None) -> str:
        query, fits = self.filter()
        many = self.rng.random() < 0.2
        chosen = [key for key, document in model.documents.items() if fits(document.body)]
        chosen = chosen if many else chosen[:1]
        for key in chosen:
            model.delete(key)
        delete = self.at(model).delete_many if many else self.at(model).delete_one
        assert delete(query, session=session).deleted_count == len(chosen), f"delete {query} many={many}"
        return f"delete {query} many={many}"

    def find_and_modify(self, model: Collection, session=None) -> str:
        key = self.key()
        if key in model.documents:
            self.learn_types(model, key, session)
        before = model.documents.get(key)
        old = copy.deepcopy(before.body) if before else None
        if self.rng.random() < 0.3:
            if before:
                model.delete(key)
            self.same(self.at(model).find_one_and_delete({"_id": key}, session=session), old, before)
            return f"find and delete {key}"
        changes, apply = self.changes()
        upsert = self.rng.random() < 0.4
        said = f"find and update {key} {changes} upsert={upsert}"
        outcome = self.apply(model, lambda body: body["_id"] == key, apply, False, session)
        if outcome == (0, 0) and upsert and not self.put_new(model, apply({"_id": key})):
            outcome = None
        try:
            found = self.at(model).find_one_and_update({"_id": key}, changes, upsert=upsert, session=session)
        except OperationFailure as error:
            self.failed = True
            assert error.code == DUPLICATE and outcome is None, f"{said}: {error}"
            return said
        assert outcome is not None, f"{said}: the model says it is a duplicate"
        self.same(found, old, before)
        return said

    @staticmethod
    def same(found, wanted, document) -> None:
        loose = bool(document and document.loose)
        assert canonical(found, loose) == canonical(wanted, loose), (found, wanted)

    def bulk(self, model: Collection, session=None) -> str:
        """A bulk of inserts, updates and deletes by key, which ends at the first that fails."""
        requests, said, failed = [], [], []
        for number in range(self.rng.randrange(1, 5)):
            key = self.key()
            kind = self.rng.choice(["insert", "update", "delete"])
            document = {"_id": key, **self.fields()}
            changes, apply = self.changes()
            done = True
            if kind == "insert":
                requests.append(pymongo.InsertOne(copy.deepcopy(document)))
                done = bool(failed) or self.put_new(model, document)
            elif kind == "update":
                requests.append(pymongo.UpdateOne({"_id": key}, changes))
                if not failed:
                    done = self.apply(model, lambda body, key=key: body["_id"] == key, apply, False, session) is not None
            else:
                requests.append(pymongo.DeleteOne({"_id": key}))
                if not failed and key in model.documents:
                    model.delete(key)
            said.append(f"{requests[-1]}")
            if not done:
                failed.append(number)
        try:
            self.at(model).bulk_write(requests, session=session)
            found = []
        except BulkWriteError as error:
            found = [failure["index"] for failure in error.details["writeErrors"]]
        assert found == failed, f"bulk {said}: {found} failed, the model says {failed}"
        return f"bulk {said}"

    def merge(self, model: Collection, into: Collection) -> str:
        """Copies one collection's living into another: whoever is there is replaced."""
        if into.unique:
            return "merge left out: a unique value could end it half way"
        for key, document in model.documents.items():
            body = copy.deepcopy(document.body)
            old = into.documents.get(key)
            if old is None or canonical(old.body) != canonical(body):
                into.write(key, body, self.now, document.loose)
        stage = {"$merge": {"into": into.name, "whenMatched": "replace", "whenNotMatched": "insert"}}
        list(self.at(model).aggregate([stage]))
        return f"merge into {into.name}"

    # Settings.

    def setting(self, model: Collection) -> str:
        kind = self.rng.choice(["default", "default", "drop default", "date index", "date index", "life", "life", "drop", "unique", "to ttl"])
        return getattr(self, kind.replace(" ", "_"))(model)

    def default(self, model: Collection) -> str:
        seconds = self.rng.choice([-1, 1, 2, 4, 6, 10, 100, 2**31 - 1, 5.0, Int64(7)])
        if self.rng.random() < 0.1:
            self.refused_default(model, self.rng.choice([0, -2, 2**31, 1.5, float("nan"), float("inf"), "5", True, None]))
        if model.default is None:
            self.at(model).create_index("_ts", expireAfterSeconds=seconds)
        else:
            if seconds != model.default:
                self.fails(85, self.at(model).create_index, "_ts", expireAfterSeconds=seconds)
            which = self.rng.choice([{"keyPattern": {"_ts": 1}}, {"name": "_ts_1"}])
            done = self.database.command("collMod", model.name, index={**which, "expireAfterSeconds": seconds})
            assert (done["expireAfterSeconds_old"], done["expireAfterSeconds_new"]) == (model.default, seconds), done
        model.default = int(seconds)
        model.settle(self.now)
        return f"default {seconds}"

    def refused_default(self, model: Collection, seconds) -> None:
        index = {"key": {"_ts": 1}, "name": "_ts_1", "expireAfterSeconds": seconds}
        self.fails(67, self.database.command, "createIndexes", model.name, indexes=[index])
        if model.default is not None:
            self.fails(72, self.database.command, "collMod", model.name, index={"name": "_ts_1", "expireAfterSeconds": seconds})

    def drop_default(self, model: Collection) -> str:
        if model.default is not None:
            self.at(model).drop_index("_ts_1")
            model.default = None
        return "default off"

    def date_index(self, model: Collection) -> str:
        path = self.rng.choice(values.PATHS)
        direction = self.rng.choice([1, -1])
        name = f"{path}_{direction}"
        if name in model.indexes or len(model.indexes) > 3:
            return self.life(model)
        seconds = self.rng.choice([0, 0, 1, 2, 5, 60])
        expression, holds = self.rng.choice(values.FILTERS)
        index = DateIndex(name, path, seconds, expression, holds)
        options = {"partialFilterExpression": expression} if expression else {}
        if self.rng.random() < 0.2:
            options["hidden"] = True
        self.at(model).create_index([(path, direction)], expireAfterSeconds=seconds, **options)
        model.indexes[name] = index
        model.settle(self.now)
        return f"date index {name} {seconds} {options}"

    def to_ttl(self, model: Collection) -> str:
        """An ordinary index that is made to end documents later."""
        path = self.rng.choice(values.PATHS)
        name = f"{path}_1"
        if name in model.indexes or len(model.indexes) > 3:
            return self.life(model)
        self.at(model).create_index(path)
        seconds = self.rng.choice([0, 1, 5])
        done = self.database.command("collMod", model.name, index={"name": name, "expireAfterSeconds": seconds})
        assert "expireAfterSeconds_old" not in done and done["expireAfterSeconds_new"] == seconds, done
        model.indexes[name] = DateIndex(name, path, seconds)
        model.settle(self.now)
        return f"date index {name} {seconds} by collMod"

    def life(self, model: Collection) -> str:
        """Another life after a date."""
        if not model.indexes:
            return "no date index"
        index = self.rng.choice(list(model.indexes.values()))
        seconds = self.rng.choice([0, 1, 2, 3, 5, 10, 86400, 2**31 - 1])
        done = self.database.command("collMod", model.name, index={"name": index.name, "expireAfterSeconds": seconds})
        assert (done["expireAfterSeconds_old"], done["expireAfterSeconds_new"]) == (index.seconds, seconds), done
        index.seconds = seconds
        model.settle(self.now)
        return f"date index {index.name} now {seconds}"

    def drop(self, model: Collection) -> str:
        if self.rng.random() < 0.2:
            self.at(model).drop_indexes()
            model.indexes.clear()
            model.unique.clear()
            model.default = None
            return "drop all indexes"
        if not model.indexes:
            return "no date index"
        name = self.rng.choice(list(model.indexes))
        self.at(model).drop_index(name)
        del model.indexes[name]
        return f"drop {name}"

    def unique(self, model: Collection) -> str:
        if "u" in model.unique:
            self.at(model).drop_index("u_1")
            model.unique.clear()
            return "unique dropped"
        found = [canonical(document.body["u"], True) for document in model.documents.values() if "u" in document.body]
        if len(found) == len(set(found)):
            self.at(model).create_index("u", unique=True, sparse=True)
            model.unique.add("u")
            return "unique made"
        self.fails(DUPLICATE, self.at(model).create_index, "u", unique=True, sparse=True)
        return "unique refused"

    @staticmethod
    def fails(code: int, call, *arguments, **options) -> None:
        try:
            call(*arguments, **options)
        except OperationFailure as error:
            assert error.code == code, error
            return
        raise AssertionError(f"{arguments} {options} should have failed with {code}")

    # What requests are made of.

    def key(self) -> str:
        return self.rng.choice(values.KEYS)

    def fields(self) -> dict:
        return values.fields(self.rng, self.now)

    def filter(self):
        """A filter, and the same as a question to a body."""
        pick = self.rng.random()
        if pick < 0.7:
            key = self.key()
            return {"_id": key}, lambda body: body["_id"] == key
        number = self.rng.randrange(6)
        if pick < 0.85:
            return {"n": number}, lambda body: body.get("n") == number
        if pick < 0.93:
            return {"live": True}, lambda body: body.get("live") is True
        return {}, lambda body: True

    def changes(self):
        """An update, and the same as a function of a body."""
        pick = self.rng.random()
        if pick < 0.15:
            amount = self.rng.choice([1, -1, 5, -5])

            def increase(body):
                return {**body, "n": body.get("n", 0) + amount}

            return {"$inc": {"n": amount}}, increase
        if pick < 0.3:
            name = self.rng.choice(["ttl", "d", "e", "a", "n", "u"])
            return {"$unset": {name: 1}}, lambda body: {key: value for key, value in body.items() if key != name}
        changed = self.fields()
        changed = dict(self.rng.sample(list(changed.items()), min(len(changed), self.rng.randrange(1, 3)))) or {"n": 7}
        if pick < 0.4:
            literals = {name: {"$literal": value} for name, value in changed.items()}
            # A pipeline merges objects member by member; a literal is put as it is.
            return [{"$set": literals}], lambda body: {**body, **copy.deepcopy(changed)}
        return {"$set": copy.deepcopy(changed)}, lambda body: {**body, **copy.deepcopy(changed)}
