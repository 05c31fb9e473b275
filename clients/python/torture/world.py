"""A server, two collections of the Mongo door, a container of the other, one clock: and steps at random."""

import contextlib
import random
import shutil

from pymongo.errors import OperationFailure, PyMongoError

from lapsedb import Server

from . import values
from .events import Feed, Stream
from .look import Look
from .mongo import MongoDoor
from .nosql import NoSqlDoor
from .rule import Collection

DATABASE = "torture"
# How many of the last steps a failure tells.
TOLD = 25


class World:
    """All that a run of random steps needs."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.server = Server("--virtual-clock", mongo=True)
        self.mongo, self.nosql = MongoDoor(self.rng), NoSqlDoor(self.rng)
        self.shared = [Collection("one"), Collection("two")]
        self.own = Collection("own")
        self.all = [*self.shared, self.own]
        self.look = Look(self.rng, self.server, self.mongo, self.nosql)
        self.streams = [Stream(self.mongo, model) for model in self.shared]
        self.feeds = [Feed(self.nosql, self.own)]
        self.past: list[str] = []

    def __enter__(self) -> "World":
        self.start()
        for model in self.shared:
            self.mongo.database.create_collection(model.name)
        self.nosql.make(self.own)
        for reader in [*self.streams, *self.feeds]:
            reader.begin()
        return self

    def __exit__(self, *_) -> None:
        self.mongo.close()
        self.nosql.close()
        with contextlib.suppress(AssertionError):
            self.server.stop()
        shutil.rmtree(self.server.store, ignore_errors=True)

    def start(self) -> None:
        purge = self.rng.choice([["--purge", "off"], ["--purge-grace", "1"], ["--purge-grace", "300"]])
        self.server.flags = ["--virtual-clock", *purge]
        self.server.start()
        self.mongo.connect(self.server.mongo_url(), DATABASE)
        self.nosql.connect(self.server.url(), DATABASE)
        self.tell(self.server.admin("GET", "/_lapsedb/clock")[1]["nowMillis"])

    def tell(self, now: int) -> None:
        """The clock stands at an instant."""
        self.mongo.now = self.nosql.now = now
        for model in self.all:
            model.settle(now)

    @property
    def now(self) -> int:
        return self.mongo.now

    def run(self, steps: int) -> None:
        """So many steps, each followed by looks; a failure tells what led to it."""
        for number in range(steps):
            try:
                self.past.append(f"{number}: at {self.now} {self.step()}")
                everything = number % 20 == 19
                for model in self.all if everything else [self.rng.choice(self.all)]:
                    self.look.some(model, 99 if everything else 3)
                if everything:
                    self.whole()
            except AssertionError as error:
                past = "\n".join(self.past[-TOLD:])
                raise AssertionError(f"{error}\nstep {number}; before it:\n{past}\n{self.server.logged()[-1500:]}") from error

    def whole(self) -> None:
        """What concerns more than one collection."""
        stats = self.mongo.database.command("dbStats")
        assert stats["objects"] == sum(len(model.documents) for model in self.shared), stats
        for reader in [*self.streams, *self.feeds]:
            reader.follow()

    def step(self) -> str:
        pick = self.rng.random()
        model = self.rng.choice(self.shared)
        if pick < 0.42:
            write = self.rng.choice(["insert", "insert", "update", "update", "replace", "delete", "find_and_modify", "bulk"])
            return f"{model.name}: {getattr(self.mongo, write)(model)}"
        if pick < 0.6:
            model = self.rng.choice(self.all)
            return f"{model.name}: {self.nosql.write(model)}"
        if pick < 0.64:
            return f"{model.name}: {self.transaction(model)}"
        if pick < 0.65:
            return f"{model.name}: {self.mongo.merge(model, self.shared[0] if model is self.shared[1] else self.shared[1])}"
        if pick < 0.73:
            return f"{model.name}: {self.mongo.setting(model)}"
        if pick < 0.77:
            model = self.rng.choice(self.all)
            return f"{model.name}: {self.nosql.setting(model)}"
        if pick < 0.95:
            return self.move()
        if pick < 0.97:
            return self.again()
        return self.maintain()

    def move(self) -> str:
        """Moves the clock: by any span, or to the very edge of somebody's life, where everything is looked at."""
        ends = [(end, model) for model in self.all if (end := model.next_end()) is not None]
        near = [(end, model) for end, model in ends if end < self.now + 10_000]
        if near and self.rng.random() < 0.6:
            end, model = self.rng.choice(near)
            if end - 1 > self.now:
                self.advance(end - 1 - self.now)
                self.look.some(model, 6)
            self.advance(end - self.now)
            self.look.some(model, 6)
            return f"clock to the end of one of {model.name}"
        if self.rng.random() < 0.1:
            status, _ = self.server.admin("POST", "/_lapsedb/clock", {"set": "2020-01-01T00:00:00Z"})
            assert status == 400, f"the clock went back: {status}"
            return "clock asked to go back"
        by = values.span(self.rng)
        if by < values.YEAR:
            self.advance(by)
            return f"clock +{by}ms"
        # Longer than changes are kept for readers: they follow before it, and begin anew.
        self.whole()
        for stream in self.streams:
            stream.pause()
        self.advance(by)
        for reader in [*self.streams, *self.feeds]:
            reader.begin()
        return f"clock +{by}ms"

    def advance(self, by: int) -> None:
        if by > 0:
            now = self.server.advance(f"{by}ms")
            assert now == self.now + by, f"moved by {by} from {self.now} to {now}"
            self.tell(now)

    def again(self) -> str:
        """A restart, or a sudden end and a start."""
        kind = self.rng.choice(["stop", "kill"])
        for stream in self.streams:
            stream.pause()
        # A client knows at once that its server has gone, and would look for another one to end its sessions.
        self.mongo.close()
        if kind == "stop":
            self.server.stop()
        else:
            self.server.process.kill()
            self.server.process.wait()
            self.server.process.stdout.close()
        before = self.now
        self.start()
        assert self.now == before, f"the clock went from {before} to {self.now} over a {kind}"
        for stream in self.streams:
            stream.resume()
        return f"{kind} and start {self.server.flags}"

    def maintain(self) -> str:
        """Purging on demand, and parameters that may not change what is seen."""
        if self.rng.random() < 0.3:
            on = self.rng.random() < 0.5
            self.mongo.client.admin.command("setParameter", 1, ttlMonitorEnabled=on)
            return f"ttlMonitorEnabled {on}"
        model = self.rng.choice(self.all)
        status, purged = self.server.admin("POST", f"/_lapsedb/dbs/{DATABASE}/colls/{model.name}/ttl/purge")
        assert status == 200, purged
        return f"purge {model.name}: {purged}"

    def transaction(self, model: Collection) -> str:
        """Several writes as one, given up or committed; the clock may move before the end."""
        copied, said = model.copy(), []
        copied.events, copied.blurred = [], set()
        moved = self.rng.random() < 0.3
        with self.mongo.client.start_session() as session:
            session.start_transaction()
            for _ in range(self.rng.randrange(1, 4)):
                self.mongo.failed = False
                write = self.rng.choice(["insert", "update", "replace", "delete", "find_and_modify"])
                said.append(getattr(self.mongo, write)(copied, session=session))
                if self.mongo.failed:
                    with contextlib.suppress(PyMongoError):
                        session.abort_transaction()
                    return f"transaction ended by a duplicate {said}"
            if moved:
                self.advance(self.rng.choice([1, 1000, 3000]))
            if self.rng.random() < 0.2:
                session.abort_transaction()
                return f"transaction given up {said}"
            try:
                session.commit_transaction()
            except OperationFailure as error:
                # Whoever dies is told of by the server itself, and who uses that id again at this moment may meet it.
                assert error.has_error_label("TransientTransactionError"), f"a transaction failed: {said}: {error}"
                return f"transaction failed {said}: {error}"
        self.absorb(model, copied, said)
        return f"transaction moved={moved} {said}"

    def absorb(self, model: Collection, copied: Collection, said: list[str]) -> None:
        """What a transaction wrote is written now, at its commit. It brings nobody back who died meanwhile."""
        stories: dict = {}
        for key, kind in copied.events:
            stories.setdefault(key, []).append(kind)
        for key, story in stories.items():
            assert story[0] != "change" or key in model.documents, f"{key} was dead: {said}"
            if len(story) > 1:
                model.blurred.add(key)
        for key, story in stories.items():
            # What is made anew comes last.
            if "delete" in story and key in model.documents:
                model.delete(key)
        for key, document in copied.documents.items():
            if key in stories:
                model.write(key, document.body, self.now, document.loose)
