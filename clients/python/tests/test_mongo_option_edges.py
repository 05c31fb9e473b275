"""Places, index options and numbers at their edges: every answer here was recorded from mongod 6.0."""

import bson
import pytest
from bson.decimal128 import Decimal128
from pymongo.errors import OperationFailure

from conftest import fresh, running
from mongo_door import connected

INF, NAN = float("inf"), float("nan")
TRIANGLE = [[0, 0], [5, 0], [5, 5]]


@pytest.fixture(scope="module")
def database():
    with running("--mongo-port", "0") as server, connected(server) as client:
        yield client.edges


def answered(action):
    """What an action returns, or the code it fails with."""
    try:
        return action()
    except OperationFailure as error:
        return error.code


def point(*coordinates, **more):
    return {"coordinates": list(coordinates), **more}


NEAR = [
    # The kind of index, the operators, and what mongod answers: the places from the nearest on, or a code.
    ("2dsphere", {"$near": point(1, 2)}, [0, 1, 2, 3]),
    ("2dsphere", {"$near": point(1, 2), "$maxDistance": 5}, [0]),
    ("2dsphere", {"$near": point(1, 2, type="Pt")}, [0, 1, 2, 3]),
    ("2dsphere", {"$near": {"$geometry": point(1, 2)}}, [0, 1, 2, 3]),
    ("2dsphere", {"$near": {"$geometry": {"x": 1, "y": 2}}}, 2),
    ("2dsphere", {"$nearSphere": [1, 2, 0.5]}, [0, 1, 2]),
    ("2dsphere", {"$nearSphere": [0, 91]}, 2),
    ("2dsphere", {"$nearSphere": [181, 0], "$maxDistance": 0.5}, 2),
    ("2d", {"$near": point(1, 2)}, 291),
    ("2d", {"$near": [181, 0]}, 16433),
    ("2d", {"$near": [-180.5, 0], "$maxDistance": 0.5}, 16433),
    ("2d", {"$near": {"x": 200, "y": 1}}, 16433),
    ("2d", {"$near": [180, 90, 10]}, []),
    ("2d", {"$near": [1, 2, 3]}, [0, 1]),
    ("2d", {"$near": [1, 2, -3]}, 18522),
    ("2d", {"$near": [1, 2, 3, 4]}, 2),
    ("2d", {"$near": [INF, 0]}, 2),
    ("2d", {"$near": [NAN, 0], "$maxDistance": 1}, 2),
    ("2d", {"$near": [1, 2], "$maxDistance": -1}, 16896),
    ("2d", {"$near": [1, 2], "$maxDistance": "x"}, 16895),
    ("2d", {"$near": [1, 2], "$minDistance": NAN}, 16894),
    ("2d", {"$near": [1, 2], "$minDistance": None}, 16893),
    ("2d", {"$nearSphere": [1, 2]}, [0, 1, 2, 3]),
    ("2d", {"$nearSphere": [1000, 1000], "$maxDistance": 0.5}, 2),
]


@pytest.mark.parametrize("kind, operators, expected", NEAR, ids=str)
def test_places_near_a_point_at_the_edge(database, kind, operators, expected):
    collection = database[fresh("near")]
    collection.create_index([("a", kind)])
    collection.insert_many([{"_id": at, "a": place} for at, place in enumerate([[1, 2], [0, 0], [4, 1], [179, 1]])])
    if kind == "2d":
        # It has no latitude, so it is nowhere on the sphere.
        collection.insert_one({"_id": 9, "a": [170, 120]})
    assert answered(lambda: [found["_id"] for found in collection.find({"a": operators})]) == expected


WITHIN = [
    ({"$box": [[0, 0], [1, 1], [2, 2]]}, [[0, 0]]),
    ({"$box": [[0, 0], [INF, 5]]}, 2),
    ({"$polygon": TRIANGLE}, [[0, 0], [2, 0], [4, 1], [5, 3]]),
    ({"$polygon": [*TRIANGLE, [0, 0]]}, [[0, 0], [2, 0], [4, 1], [5, 3]]),
    ({"$polygon": [[0, 0], [0, 0], [0, 0]]}, [[0, 0]]),
    ({"$polygon": [[0, 0], [5, 0]]}, 2),
    ({"$centerSphere": [[200, 2], 0.1]}, 2),
    ({"$centerSphere": [[0, 91], 0.1]}, 2),
    ({"$centerSphere": [[1, 2], 4]}, [[0, 0], [2, 0], [3, 3], [4, 1], [5, 3]]),
]


@pytest.mark.parametrize("kind", [None, "2d"])
@pytest.mark.parametrize("shape, expected", WITHIN, ids=str)
def test_places_within_a_shape_at_the_edge(database, kind, shape, expected):
    collection = database[fresh("within")]
    if kind:
        collection.create_index([("a", kind)])
    collection.insert_many([{"a": place} for place in ([0, 0], [2, 0], [3, 3], [4, 1], [5, 3], [170, 120])])
    assert answered(lambda: sorted(found["a"] for found in collection.find({"a": {"$geoWithin": shape}}))) == expected


OPTIONS = [
    ({"a": "hashed"}, {"unique": True}, 16764),
    ({"a": 1, "b": "hashed"}, {"unique": True}, 16764),
    ({"a": "hashed"}, {"unique": False}, 1.0),
    ({"$**": 1}, {"sparse": True}, 67),
    ({"a.$**": 1}, {"unique": True}, 67),
    ({"$**": 1}, {"sparse": False}, 1.0),
    ({"a": 1}, {"collation": {}}, 2),
]


@pytest.mark.parametrize("key, options, expected", OPTIONS, ids=str)
def test_options_that_a_kind_of_index_does_not_have(database, key, options, expected):
    index = {"key": key, "name": "n", **options}
    assert answered(lambda: database.command("createIndexes", fresh("options"), indexes=[index])["ok"]) == expected


def decimal(text):
    return Decimal128(text)


TIMES = [(2.7, 2), (NAN, 2), (-1.5, 2), (INF, 2), ("1", 2), (None, 2), (True, 2), (decimal("Infinity"), 2), (2147483648.0, 2)]
TAKEN = [0, 60_000.0, decimal("60000"), decimal("60000.7"), decimal("NaN"), 2147483647]


@pytest.mark.parametrize("time, expected", [*TIMES, *((time, 1.0) for time in TAKEN)], ids=str)
def test_a_time_limit_is_a_whole_number_or_a_decimal(database, time, expected):
    for command in ({"ping": 1}, {"find": "none"}):
        assert answered(lambda: database.command({**command, "maxTimeMS": time})["ok"]) == expected


LIMITS = [(2.7, 9), (-1.5, 9), (NAN, 9), (INF, 9), (decimal("2.7"), 9), (decimal("NaN"), 9), ("1", 2), (True, 2), (2.0, 2.0), (decimal("3"), 3), (-4, 4), (bson.Int64(2**63 - 1), 5)]


@pytest.mark.parametrize("limit, expected", LIMITS, ids=str)
def test_the_limit_of_a_count_is_whole(database, limit, expected):
    collection = database[fresh("limit")]
    collection.insert_many([{} for _ in range(5)])
    assert answered(lambda: database.command("count", collection.name, limit=limit)["n"]) == expected


@pytest.mark.parametrize("value", [INF, -INF, NAN, decimal("Infinity"), decimal("NaN")], ids=str)
def test_points_that_are_not_finite_are_not_counted_in_a_covariance(database, value):
    def covariance(operator, *values):
        documents = [{"t": at, "x": 2 * at + 1, "v": one} for at, one in enumerate(values)]
        output = {"c": {operator: ["$x", "$v"], "window": {"documents": ["unbounded", "unbounded"]}}}
        stages = [{"$documents": documents}, {"$setWindowFields": {"sortBy": {"t": 1}, "output": output}}]
        return [row["c"] for row in database.aggregate(stages)][0]

    assert covariance("$covariancePop", value) is None
    assert covariance("$covariancePop", value, 4) == 0
    assert covariance("$covarianceSamp", 4, value) is None
    for operator in ("$covariancePop", "$covarianceSamp"):
        shown = covariance(operator, 1, value, 3.0)
        assert str(shown) == ("nan" if "nan" in str(value).lower() else str(value)), shown
