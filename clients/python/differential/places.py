"""Geo indexes, and searches of places, as both servers are asked for them."""

from .searches import COLLECTION, aggregate, find


def point(x, y):
    return {"type": "Point", "coordinates": [x, y]}


def line(*points):
    return {"type": "LineString", "coordinates": [list(one) for one in points]}


def polygon(*rings):
    return {"type": "Polygon", "coordinates": [[list(one) for one in ring] for ring in rings]}


def square(x, y, side):
    return [(x, y), (x + side, y), (x + side, y + side), (x, y + side), (x, y)]


def near(x, y, **limits):
    return {"$near": {"$geometry": point(x, y), **{f"${name}": value for name, value in limits.items()}}}


# What may stand in a field that a `2dsphere` index is over, and what may not.
SPHERE_VALUES = [
    point(1, 2), [1, 2], [1, 2, 3], [1], {"x": 1, "y": 2}, {"x": 1, "y": 2, "z": 3}, "abc", 5, None, [], {}, [200, 0], point(200, 0),
    point(0, 100), {"type": "Point"}, {"type": "Foo", "coordinates": [1, 2]}, {"type": "Point", "coordinates": [1]},
    {"type": "Point", "coordinates": ["a", "b"]}, [[1, 2], [3, 4]], [point(1, 2), point(3, 4)], [point(1, 2), 5], line((1, 2), (3, 4)),
    line((1, 2)), line((1, 2), (1, 2)), polygon([(0, 0), (0, 1), (1, 1), (0, 0)]), polygon([(0, 0), (0, 1), (1, 1)]),
    polygon([(0, 0), (1, 1), (0, 1), (1, 0), (0, 0)]), {"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]},
    {"type": "MultiPoint", "coordinates": []}, {"type": "GeometryCollection", "geometries": [point(1, 2)]}, {"a": {"b": 1}},
    {"coordinates": [1, 2]}, True, {"type": "Polygon", "coordinates": []}, {"lng": 1, "lat": "x"},
    {"type": "Point", "coordinates": [1, 2, 3]}, {"type": "point", "coordinates": [1, 2]}, polygon(square(0, 0, 10), square(20, 20, 1)),
    polygon(square(0, 0, 10), square(2, 2, 1)),
]  # fmt: skip

# The same for a `2d` index.
PLANE_VALUES = [
    point(1, 2), [1, 2], [1, 2, 3], [1], {"x": 1, "y": 2}, "abc", 5, None, [], {}, [200, 0], [180, 0], [-180, 0], [[1, 2], [3, 4]],
    ["a", "b"], {"a": "x"}, [{"x": 1, "y": 2}, {"x": 3, "y": 4}], [[1, 2], "x"], {"x": 1},
]  # fmt: skip

DEFINITIONS = [
    ({"p": "2dsphere"}, {}),
    ({"p": "2d"}, {}),
    ({"p": "2d"}, {"min": 0, "max": 100, "bits": 10}),
    ({"p": "2d"}, {"bits": 40}),
    ({"p": "2d"}, {"min": 5, "max": 1}),
    ({"a": 1, "p": "2d"}, {}),
    ({"p": "2d", "a": 1}, {}),
    ({"p": "2d", "q": "2d"}, {}),
    ({"a": 1, "p": "2dsphere", "q": "2dsphere"}, {}),
    ({"p": "2dsphere"}, {"2dsphereIndexVersion": 3}),
    ({"p": "2dsphere"}, {"2dsphereIndexVersion": 9}),
    ({"p": "2dsphere"}, {"sparse": True}),
    ({"p": "2d"}, {"collation": {"locale": "fr"}}),
    ({"p": "2dsphere", "q": "hashed"}, {}),
]

SPHERE_DOCUMENTS = [
    {"_id": 1, "p": point(0, 0), "n": 1},
    {"_id": 2, "p": point(1, 1), "n": 2},
    {"_id": 3, "p": [2, 2], "n": 1},
    {"_id": 4, "p": line((-5, 5), (5, 5)), "n": 2},
    {"_id": 5, "p": polygon(square(-3, -3, 2)), "n": 1},
    {"_id": 6, "p": point(179, 0)},
    {"_id": 7},
    {"_id": 8, "p": None},
    {"_id": 9, "p": polygon(square(10, 10, 10), square(12, 12, 6))},
    {"_id": 10, "p": {"type": "MultiPoint", "coordinates": [[3, 3], [30, 30]]}},
    {"_id": 11, "p": {"lng": -179.5, "lat": 0.5}},
    {"_id": 12, "p": point(20, 89)},
    {"_id": 13, "p": line((170, 60), (-170, 62))},
    {"_id": 14, "p": polygon([(-60, 70), (60, 70), (180, 70), (-60, 70)])},
    {"_id": 15, "p": point(13.4, 52.5), "n": 3},
    {"_id": 16, "p": {"type": "GeometryCollection", "geometries": [point(-50, -50), line((-51, -50), (-52, -53))]}},
]

MIDDLES = [(0.1, 0.2), (15, 15), (179.9, 0.3), (-179.9, 61), (100, 89.5), (13, 52), (-50.2, -50.1), (0, -89)]
DISTANCE = {"_id": 1, "d": {"$meta": "geoNearDistance"}}

NEARS = [
    *[find({"p": near(x, y)}, DISTANCE) for x, y in MIDDLES],
    *[find({"p": near(x, y, maxDistance=500000)}, {"_id": 1}) for x, y in MIDDLES],
    *[find({"p": near(x, y, minDistance=100000, maxDistance=3000000)}, {"_id": 1}) for x, y in MIDDLES],
    *[find({"p": {"$nearSphere": [x, y]}}, DISTANCE) for x, y in MIDDLES],
    *[find({"p": {"$nearSphere": [x, y], "$maxDistance": 0.2}}, DISTANCE) for x, y in MIDDLES],
    find({"p": near(0.1, 0.2)}, {"_id": 1}, limit=3, skip=1),
    find({"p": near(0.1, 0.2), "n": 1}, {"_id": 1}),
    find({"p": near(0.1, 0.2)}, {"_id": 1}, sort={"_id": -1}),
    find({"p": near(0.1, 0.2, minDistance=-1)}),
    find({"p": near(0.1, 0.2, maxDistance="x")}),
    find({"p": {"$nearSphere": {"$geometry": point(0, 0)}, "$maxDistance": 200000}}),
    find({"p": {"$near": [0, 0]}}),
    find({"p": {"$near": {"$geometry": line((0, 0), (1, 1))}}}),
    find({"p": near(200, 0)}),
    find({"p": {"$near": 5}}),
    find({"p": {"$near": {}}}),
    find({"q": near(0, 0)}),
    find({"$or": [{"p": near(0, 0)}, {"_id": 1}]}),
    find({"$and": [{"p": near(0, 0)}, {"p": near(1, 1)}]}),
    find({"p": {"$not": near(0, 0)}}),
    find({"$nor": [{"p": near(0, 0)}]}),
    find({"p": near(0.1, 0.2)}, hint="_id_"),
    find({}, DISTANCE),
    {"count": COLLECTION, "query": {"p": near(0.1, 0.2)}},
    {"distinct": COLLECTION, "key": "_id", "query": {"p": near(0.1, 0.2)}},
    aggregate({"$match": {"p": near(0.1, 0.2)}}),
    {"findAndModify": COLLECTION, "query": {"p": near(13, 52)}, "update": {"$set": {"seen": 1}}, "fields": {"_id": 1}},
]


def geo_near(*stages, **options):
    options.setdefault("distanceField", "d")
    return aggregate({"$geoNear": options}, *stages)


AT = point(0.1, 0.2)
SHOWN = {"$project": {"p": 0, "n": 0, "seen": 0}}
GEO_NEARS = [
    geo_near(SHOWN, near=AT),
    geo_near(SHOWN, near=AT, distanceField="d.e", includeLocs="l.x", maxDistance=700000),
    geo_near(near=[0.1, 0.2]),
    geo_near(SHOWN, near=[0.1, 0.2], spherical=True),
    geo_near(SHOWN, near=[0.1, 0.2], spherical=True, maxDistance=0.04),
    geo_near(SHOWN, near=AT, spherical=False),
    geo_near(SHOWN, near=AT, query={"n": 1}, distanceMultiplier=0.001),
    aggregate({"$geoNear": {"near": AT}}),
    geo_near(),
    geo_near(SHOWN, near=AT, key="p"),
    geo_near(near=AT, key="zz"),
    geo_near(near=AT, distanceField=5),
    geo_near(near="x"),
    geo_near(near=AT, limit=2),
    geo_near(near=AT, num=2),
    geo_near(SHOWN, near=AT, minDistance=200000),
    geo_near(near=AT, maxDistance=-1),
    geo_near(near=AT, maxDistance="x"),
    geo_near(near=AT, distanceMultiplier=-1),
    geo_near(near=AT, key=5),
    geo_near(near=AT, query=5),
    geo_near(near=AT, query={"p": near(0, 0)}),
    geo_near(near=AT, includeLocs=3),
    geo_near(near=point(200, 0)),
    geo_near(near=line((0, 0), (1, 1))),
    geo_near(near=AT, distanceField="$d"),
    geo_near({"$limit": 3}, {"$project": {"m": {"$meta": "geoNearDistance"}, "at": {"$meta": "geoNearPoint"}}}, near=AT),
    geo_near({"$match": {"n": 2}}, {"$project": {"d": 1}}, near=AT),
    aggregate({"$limit": 1}, {"$geoNear": {"near": AT, "distanceField": "d"}}),
    aggregate({"$geoNear": 5}),
    aggregate({"$project": {"d": {"$meta": "geoNearDistance"}}}),
]

AREAS = [
    {"$geoWithin": {"$geometry": polygon(square(-6, -6, 12))}},
    {"$geoWithin": {"$geometry": polygon(square(9, 9, 12))}},
    {"$geoWithin": {"$geometry": polygon([(160, 50), (-160, 50), (-160, 70), (160, 70), (160, 50)])}},
    {"$geoWithin": {"$geometry": polygon([(0, 60), (120, 60), (-120, 60), (0, 60)])}},
    {"$geoWithin": {"$centerSphere": [[0, 0], 0.1]}},
    {"$geoWithin": {"$centerSphere": [[179.9, 0], 0.03]}},
    {"$geoWithin": {"$centerSphere": [[0, 90], 0.1]}},
    {"$geoWithin": {"$box": [[0, 0], [2, 2]]}},
    {"$geoWithin": {"$polygon": [[-1, -1], [-1, 3], [3, 3], [3, -1]]}},
    {"$geoWithin": {"$center": [[0, 0], 2]}},
    {"$geoIntersects": {"$geometry": polygon(square(-2, -2, 4))}},
    {"$geoIntersects": {"$geometry": polygon(square(13, 13, 2))}},
    {"$geoIntersects": {"$geometry": point(1, 1)}},
    {"$geoIntersects": {"$geometry": point(11, 11)}},
    {"$geoIntersects": {"$geometry": point(15, 15)}},
    {"$geoIntersects": {"$geometry": line((0, 4), (0, 6))}},
    {"$geoIntersects": {"$geometry": line((175, 61), (179, 62.5))}},
    {"$geoIntersects": {"$geometry": polygon([(165, 55), (-165, 55), (-165, 65), (165, 65), (165, 55)])}},
]

PLANE_DOCUMENTS = [
    {"_id": 1, "p": [0, 0]},
    {"_id": 2, "p": [1, 1.5]},
    {"_id": 3, "p": {"x": 3, "y": 4}},
    {"_id": 4, "p": [[-10, 5], [20, 2]]},
    {"_id": 5, "p": [180, -180]},
    {"_id": 6, "p": [-170, 80]},
    {"_id": 7},
    {"_id": 8, "p": "nowhere"},
]

PLANES = [
    find({"p": {"$near": [0.5, 0.1]}}, DISTANCE),
    find({"p": {"$near": [10, 3], "$maxDistance": 12}}, DISTANCE),
    find({"p": {"$near": [10, 3], "$minDistance": 5, "$maxDistance": 12}}, DISTANCE),
    find({"p": near(0, 0)}),
    find({"p": {"$geoWithin": {"$box": [[-1, -1], [3, 4]]}}}, {"_id": 1}),
    find({"p": {"$geoWithin": {"$center": [[0, 0], 2]}}}, {"_id": 1}),
    find({"p": {"$geoWithin": {"$polygon": [[-1, -1], [-1, 3], [3, 3], [3, -1]]}}}, {"_id": 1}),
    find({"p": {"$geoWithin": {"$centerSphere": [[0, 0], 0.1]}}}, {"_id": 1}),
    geo_near({"$project": {"d": 1}}, near=[0.5, 0.1]),
    geo_near({"$project": {"d": 1, "l": 1}}, near=[10, 3], includeLocs="l", maxDistance=12),
]

# No index: what needs one is refused, what needs none is found.
BARE = [
    find({"p": near(0, 0)}),
    find({"p": {"$near": [0, 0]}}),
    find({"p": {"$nearSphere": [0, 0]}}),
    geo_near(near=AT),
    {"count": COLLECTION, "query": {"p": near(0, 0)}},
    {"delete": COLLECTION, "deletes": [{"q": {"p": near(0, 0)}, "limit": 0}]},
]
