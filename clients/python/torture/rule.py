"""The rule once more, as plainly as it can be said: who is alive at an instant, and whom an instant has ended for good."""

import copy
import dataclasses
import math
from collections.abc import Callable, Iterator

from bson.datetime_ms import DatetimeMS
from bson.int64 import Int64

INT_MAX = 2147483647


def meaningful(ttl) -> int | None:
    """The seconds that a `ttl` means; nothing, if it means nothing."""
    if isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or not math.isfinite(ttl) or ttl != int(ttl):
        return None
    seconds = int(ttl)
    return seconds if seconds == -1 or 1 <= seconds <= INT_MAX else None


def reached(value, path: list[str]) -> Iterator:
    """The values at a dotted path: through arrays of objects, and one by one out of an array at its end."""
    if not path:
        yield from value if isinstance(value, list) else [value]
    elif isinstance(value, dict):
        if path[0] in value:
            yield from reached(value[path[0]], path[1:])
    elif isinstance(value, list):
        for element in value:
            if isinstance(element, dict):
                yield from reached(element, path)


def canonical(value, loose=False):
    """A value as something to compare: members in any order, types kept unless numbers may have changed theirs."""
    if isinstance(value, dict):
        return ("object", tuple(sorted((name, canonical(member, loose)) for name, member in value.items())))
    if isinstance(value, list):
        return ("array", tuple(canonical(element, loose) for element in value))
    if isinstance(value, float) and math.isnan(value):
        return ("float", "NaN")
    if loose and isinstance(value, (int, float)) and not isinstance(value, bool):
        return ("number", float(value))
    if type(value) is int and not -(2**31) <= value < 2**31:
        return ("Int64", repr(value))
    return (type(value).__name__, repr(int(value)) if isinstance(value, Int64) else repr(value))


@dataclasses.dataclass
class DateIndex:
    """A TTL index on a date."""

    name: str
    path: str
    seconds: int
    filter: dict | None = None
    holds: Callable[[dict], bool] = lambda body: True

    def end(self, body: dict) -> int | None:
        if not self.holds(body):
            return None
        dates = [int(date) for date in reached(body, self.path.split(".")) if isinstance(date, DatetimeMS)]
        return min(dates) + self.seconds * 1000 if dates else None


@dataclasses.dataclass
class Document:
    """A living document: what it says, and the second of its last change."""

    body: dict
    written: int
    # Whether the NoSQL door wrote it: numbers have one type there.
    loose: bool = False
    # Which of all writes it was: another one has another etag.
    version: int = 0


class Collection:
    """The living of one collection, in the order of their creation, and what ends them."""

    def __init__(self, name: str):
        self.name = name
        self.default: int | None = None
        self.indexes: dict[str, DateIndex] = {}
        self.unique: set[str] = set()
        self.documents: dict = {}
        self.version = 0
        # What happened to whom since it was last asked: "insert", "change", "delete".
        self.events: list[tuple] = []
        # Of whom it is not known what is told: one transaction did several things to them.
        self.blurred: set = set()

    def end(self, document: Document) -> int | None:
        """The instant at which a document ends, in milliseconds."""
        ends = [index.end(document.body) for index in self.indexes.values()]
        if self.default is not None:
            ttl = meaningful(document.body.get("ttl"))
            seconds = self.default if ttl is None else ttl
            if seconds != -1:
                ends.append((document.written + seconds) * 1000)
        ends = [end for end in ends if end is not None]
        return min(ends) if ends else None

    def is_dead(self, document: Document, now: int) -> bool:
        end = self.end(document)
        return end is not None and end <= now

    def settle(self, now: int) -> None:
        """Takes out whoever is dead by now. Nothing ever puts one back."""
        for key in [key for key, document in self.documents.items() if self.is_dead(document, now)]:
            del self.documents[key]
            self.events.append((key, "delete"))

    def next_end(self) -> int | None:
        ends = [end for document in self.documents.values() if (end := self.end(document)) is not None]
        return min(ends, default=None)

    def taken(self, key, body: dict) -> bool:
        """Whether another living document, in the same partition if there are some, has a unique value of this one."""

        def meets(other_key, other, field) -> bool:
            if other_key == key or field not in body or field not in other or not self.together(key, other_key):
                return False
            return canonical(body[field], True) == canonical(other[field], True)

        return any(meets(other_key, other.body, field) for field in self.unique for other_key, other in self.documents.items())

    @staticmethod
    def together(key, other_key) -> bool:
        """Whether unique values of one may not be the other's."""
        return isinstance(key, str) or key[:-1] == other_key[:-1]

    def write(self, key, body: dict, now: int, loose=False) -> None:
        """Puts a document in the place of the one that has the key, or at the end."""
        self.events.append((key, "change" if key in self.documents else "insert"))
        self.version += 1
        self.documents[key] = Document(body, now // 1000, loose, self.version)
        self.settle(now)

    def delete(self, key) -> None:
        del self.documents[key]
        self.events.append((key, "delete"))

    def copy(self) -> "Collection":
        return copy.deepcopy(self)
