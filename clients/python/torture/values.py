"""Values by chance: of `ttl` in every type that a door takes, dates around an instant, documents."""

import random

import bson
from bson.datetime_ms import DatetimeMS
from bson.int64 import Int64

from .rule import INT_MAX

YEAR = 365 * 86_400_000
KEYS = [f"k{number}" for number in range(12)]
UNIQUE = ["x", "y", "z", 1]

# Lives short enough to be seen ending.
SHORT = [1, 2, 3, 5, 8]
ODD = [
    0, Int64(0), 0.0, -0.0, -2, -60, -(2**31), Int64(2**31), Int64(2**32), Int64(2**32 + 1), Int64(2**63 - 1), 1.5, 0.5, -1.5,
    1e10, 1e308, float("nan"), float("inf"), float("-inf"), "5", "-1", "", None, True, False, [], [5], {}, {"ttl": 5},
    bson.Decimal128("5"), bson.Decimal128("NaN"), DatetimeMS(0), bson.Timestamp(5, 1), bson.ObjectId(b"\1" * 12), b"5",
    bson.Regex("5"), bson.Code("5"), bson.MinKey(), bson.MaxKey(),
]
ODD_JSON = [0, 0.0, -0.0, -2, 2**31, 2**32 + 1, 2**63, 1.5, -1.5, 1e10, 1e308, "5", "", None, True, False, [], [5], {}, {"ttl": 5}]

# Partial filters, and the same as a question to a document.
FILTERS = [
    (None, lambda body: True),
    (None, lambda body: True),
    ({"live": True}, lambda body: body.get("live") is True),
    ({"n": {"$gt": 2}}, lambda body: body.get("n", 0) > 2),
    ({"u": {"$exists": True}}, lambda body: "u" in body),
]
PATHS = ["d", "e", "a.d", "a.b.d"]


def bson_ttl(rng: random.Random):
    pick = rng.random()
    if pick < 0.25:
        return rng.choice(SHORT)
    if pick < 0.35:
        return Int64(rng.choice(SHORT))
    if pick < 0.45:
        return float(rng.choice(SHORT))
    if pick < 0.6:
        return rng.choice([-1, Int64(-1), -1.0])
    if pick < 0.65:
        return rng.choice([INT_MAX, Int64(INT_MAX), float(INT_MAX), 86400, 10**9])
    return rng.choice(ODD)


def json_ttl(rng: random.Random):
    pick = rng.random()
    if pick < 0.45:
        return rng.choice(SHORT)
    if pick < 0.55:
        return float(rng.choice(SHORT))
    if pick < 0.7:
        return rng.choice([-1, -1.0])
    if pick < 0.75:
        return rng.choice([INT_MAX, float(INT_MAX), 86400])
    return rng.choice(ODD_JSON)


def date(rng: random.Random, now: int):
    """A date near an instant, mostly after it."""
    pick = rng.random()
    if pick < 0.6:
        return DatetimeMS(now + rng.randrange(1, 9000))
    if pick < 0.75:
        return DatetimeMS(now - rng.randrange(0, 9000))
    if pick < 0.85:
        return DatetimeMS(now + rng.choice([0, 1, 1000, 86_400_000, 10**12]))
    return DatetimeMS(rng.choice([0, -1, -62135596800000, 253402300799999]))


def dates(rng: random.Random, now: int):
    """What may stand where an index looks for a date."""
    pick = rng.random()
    if pick < 0.5:
        return date(rng, now)
    if pick < 0.7:
        return [rng.choice([date(rng, now), "x", 5, None]) for _ in range(rng.randrange(4))]
    if pick < 0.75:
        return [[date(rng, now)]]
    return rng.choice([None, 5, "2020-01-01", True, bson.Timestamp(1, 1), {"d": DatetimeMS(0)}])


def nested(rng: random.Random, now: int):
    """What may stand above a dotted path."""
    pick = rng.random()
    if pick < 0.35:
        return {"d": dates(rng, now)}
    if pick < 0.6:
        return [{"d": dates(rng, now)} for _ in range(rng.randrange(3))] + rng.choice([[], [5], [None]])
    if pick < 0.8:
        return {"b": rng.choice([{"d": dates(rng, now)}, [{"d": dates(rng, now)}, {"c": 1}]])}
    return rng.choice([5, None, {}, [], date(rng, now)])


def fields(rng: random.Random, now: int) -> dict:
    """The members of a document at the Mongo door."""
    body = {}
    if rng.random() < 0.6:
        body["ttl"] = bson_ttl(rng)
    for name, chance, make in (("d", 0.5, dates), ("e", 0.2, dates), ("a", 0.3, nested)):
        if rng.random() < chance:
            body[name] = make(rng, now)
    if rng.random() < 0.5:
        body["n"] = rng.randrange(6)
    if rng.random() < 0.4:
        body["live"] = rng.random() < 0.7
    if rng.random() < 0.3:
        body["u"] = rng.choice(UNIQUE)
    if rng.random() < 0.1:
        body["_ts"] = rng.choice([1, "x", DatetimeMS(0), 2**31])
    return body


def json_fields(rng: random.Random, now: int) -> dict:
    """The members of an item at the NoSQL door, dates as extended JSON says them."""
    body = {}
    if rng.random() < 0.5:
        body["ttl"] = json_ttl(rng)
    if rng.random() < 0.4:
        moment = rng.choice([date(rng, now), DatetimeMS(now + rng.randrange(9000))])
        body["d"] = rng.choice([shown(moment), [shown(moment), "x"]])
    if rng.random() < 0.5:
        body["n"] = rng.randrange(6)
    if rng.random() < 0.4:
        body["live"] = rng.random() < 0.7
    if rng.random() < 0.3:
        body["u"] = rng.choice(UNIQUE)
    return body


def shown(moment: DatetimeMS) -> dict:
    """A date in relaxed extended JSON."""
    return {"$date": {"$numberLong": str(int(moment))}}


def stored(value):
    """What relaxed extended JSON means."""
    if isinstance(value, dict):
        if list(value) == ["$date"]:
            return DatetimeMS(int(value["$date"]["$numberLong"]))
        return {name: stored(member) for name, member in value.items()}
    if isinstance(value, list):
        return [stored(element) for element in value]
    return value


def span(rng: random.Random) -> int:
    """How far the clock is moved, in milliseconds."""
    pick = rng.random()
    if pick < 0.4:
        return rng.randrange(1, 2500)
    if pick < 0.8:
        return rng.randrange(1, 9) * 1000
    if pick < 0.97:
        return rng.choice([60_000, 3_600_000, 86_400_000])
    return YEAR * rng.choice([1, 30])
