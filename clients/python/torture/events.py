"""Readers of what happened: a change stream and a feed of all versions, each document's story held to the model's."""

from collections import defaultdict

from .mongo import MongoDoor
from .nosql import NoSqlDoor
from .rule import Collection

KINDS = {"insert": "insert", "create": "insert", "update": "change", "replace": "change", "delete": "delete"}
MODE = {"mode": "AllVersionsAndDeletes"}


def hold(model: Collection, found: list[tuple]) -> None:
    """Holds what was told to what happened, for each document by itself: several may end at one instant."""
    stories, wanted = defaultdict(list), defaultdict(list)
    for key, kind in found:
        stories[key].append(kind)
    for key, kind in model.events:
        wanted[key].append(kind)
    for key in (stories.keys() | wanted.keys()) - model.blurred:
        assert stories[key] == wanted[key], f"{model.name} tells of {key} {stories[key]}, the model says {wanted[key]}"
    model.events.clear()
    model.blurred.clear()


class Stream:
    """A change stream of a collection, which outlives the server."""

    def __init__(self, door: MongoDoor, model: Collection):
        self.door = door
        self.model = model
        self.stream = None
        self.token = None

    def begin(self) -> None:
        self.model.events.clear()
        self.token = None
        self.resume()

    def resume(self) -> None:
        options = {"resume_after": self.token} if self.token else {}
        self.stream = self.door.at(self.model).watch(max_await_time_ms=1, **options)

    def pause(self) -> None:
        self.token = self.stream.resume_token
        self.stream.close()

    def follow(self) -> None:
        found = []
        while (event := self.stream.try_next()) is not None:
            found.append((event["documentKey"]["_id"], KINDS[event["operationType"]]))
        hold(self.model, found)


class Feed:
    """The feed of all versions of a container."""

    def __init__(self, door: NoSqlDoor, model: Collection):
        self.door = door
        self.model = model
        self.place = None

    def begin(self) -> None:
        self.model.events.clear()
        self.place = None
        self.read()

    def read(self) -> list:
        answers, options = [], {"continuation": self.place} if self.place else {}
        feed = self.door.at(self.model).query_items_change_feed(response_hook=lambda headers, _: answers.append(headers), **MODE, **options)
        events = list(feed)
        self.place = answers[-1]["etag"]
        return events

    def follow(self) -> None:
        found = []
        for event in self.read():
            metadata = event["metadata"]
            item = {**metadata["partitionKey"], "id": metadata["id"]} if metadata["operationType"] == "delete" else event["current"]
            found.append(((item["t"], item["u"], item["id"]), KINDS[metadata["operationType"]]))
        hold(self.model, found)
