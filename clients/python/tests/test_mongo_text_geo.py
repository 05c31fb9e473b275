"""Text and geo indexes at the Mongo door: as a real mongod has them, where one can be had; and by themselves."""

import random

import pytest
from pymongo.errors import DuplicateKeyError, OperationFailure, WriteError

from differential import places, searches, texts
from differential.servers import ours, theirs  # noqa: F401
from mongo_door import ids, refused
from ttl_door import advance, bare, client, mongo, when  # noqa: F401


def compare(theirs, ours, commands, about):
    wrong = []
    for command in commands:
        expected, given = searches.answer(theirs, command), searches.answer(ours, command)
        if not searches.alike(expected, given):
            wrong.append(f"{command}\n  mongod:  {expected}\n  LapseDB: {given}")
    assert not wrong, f"{about}\n" + "\n".join(wrong)


def fill(theirs, ours, indexes, documents):
    indexes = [{"name": f"index{at}", **index} for at, index in enumerate(indexes)]
    expected, given = (searches.fill(database, indexes, documents) for database in (theirs, ours))
    asked = [*indexes, *documents]
    wrong = [case for case in zip(asked, expected, given, strict=True) if not searches.alike(case[1], case[2])]
    assert not wrong, wrong


@pytest.mark.parametrize("index", texts.INDEXES, ids=str)
def test_words_are_found_and_scored_alike(index, theirs, ours):
    fill(theirs, ours, [index], texts.DOCUMENTS)
    asked = [{"$search": words} for words in texts.WORDS] + texts.STRICT
    compare(theirs, ours, [searches.find({"$text": question}, texts.SCORE) for question in asked], index)


def test_scores_sort_project_and_travel_through_stages_alike(theirs, ours):
    fill(theirs, ours, [{"key": {"a": "text", "b": "text"}}], texts.DOCUMENTS)
    compare(theirs, ours, texts.QUESTIONS, "questions")


@pytest.mark.parametrize("key, options", texts.DEFINITIONS, ids=str)
def test_definitions_are_taken_shown_and_refused_alike(key, options, theirs, ours):
    fill(theirs, ours, [{"key": key, **options}], [])
    compare(theirs, ours, [{"listIndexes": searches.COLLECTION}], (key, options))


def test_there_is_one_text_index_and_it_is_dropped_by_its_own_key(theirs, ours):
    fill(theirs, ours, [], texts.DOCUMENTS)
    compare(theirs, ours, texts.SECOND, "second")


def test_fields_before_the_words_must_be_equal_to_something(theirs, ours):
    fill(theirs, ours, [{"key": {"p": 1, "a": "text", "q": 1}}], texts.COMPOUND_DOCUMENTS)
    compare(theirs, ours, texts.COMPOUND, "compound")


@pytest.mark.parametrize("key, options", places.DEFINITIONS, ids=str)
def test_geo_definitions_are_taken_shown_and_refused_alike(key, options, theirs, ours):
    fill(theirs, ours, [{"key": key, **options}], [])
    compare(theirs, ours, [{"listIndexes": searches.COLLECTION}], (key, options))


@pytest.mark.parametrize("kind, values", [("2dsphere", places.SPHERE_VALUES), ("2d", places.PLANE_VALUES)])
def test_geo_indexes_take_and_refuse_the_same_values(kind, values, theirs, ours):
    fill(theirs, ours, [{"key": {"p": kind}}], [{"_id": at, "p": value} for at, value in enumerate(values)])


@pytest.mark.parametrize("key", [{"p": "2dsphere"}, {"p": "2dsphere", "n": 1}], ids=str)
def test_places_are_sorted_by_distance_alike(key, theirs, ours):
    fill(theirs, ours, [{"key": key}], places.SPHERE_DOCUMENTS)
    compare(theirs, ours, places.NEARS + places.GEO_NEARS, key)


@pytest.mark.parametrize("indexes", [[], [{"key": {"p": "2dsphere"}}], [{"key": {"n": 1, "p": "2dsphere"}}]], ids=str)
def test_places_lie_in_areas_alike(indexes, theirs, ours):
    fill(theirs, ours, indexes, places.SPHERE_DOCUMENTS)
    plain = [searches.find({"p": area}, {"_id": 1}) for area in places.AREAS]
    with_number = [searches.find({"p": area, "n": 1}, {"_id": 1}) for area in places.AREAS]
    compare(theirs, ours, plain + with_number, indexes)


def test_planes_are_searched_alike(theirs, ours):
    fill(theirs, ours, [{"key": {"p": "2d"}}], places.PLANE_DOCUMENTS)
    compare(theirs, ours, places.PLANES, "2d")


def test_distances_need_an_index(theirs, ours):
    fill(theirs, ours, [], places.SPHERE_DOCUMENTS)
    compare(theirs, ours, places.BARE, "no index")


def test_one_update_and_one_delete_take_the_nearest(theirs, ours):
    fill(theirs, ours, [{"key": {"p": "2dsphere"}}], places.SPHERE_DOCUMENTS)
    at = {"p": places.near(13, 52)}
    compare(
        theirs,
        ours,
        [
            {"update": searches.COLLECTION, "updates": [{"q": at, "u": {"$set": {"seen": 1}}}]},
            searches.find({"seen": 1}),
            {"delete": searches.COLLECTION, "deletes": [{"q": at, "limit": 1}]},
            searches.find({}, {"_id": 1}),
        ],
        "one",
    )


def score(collection, words):
    return [(found["_id"], round(found["s"], 6)) for found in scored(collection, words)]


def scored(collection, words):
    found = collection.find({"$text": {"$search": words}}, {"s": {"$meta": "textScore"}})
    return found.sort([("s", {"$meta": "textScore"}), ("_id", 1)])


def test_words_are_found_with_their_scores(bare):  # noqa: F811
    bare.insert_many([{"_id": 1, "a": "run"}, {"_id": 2, "a": "running the shop"}, {"_id": 3, "a": "tea"}])
    refused(27, lambda: list(bare.find({"$text": {"$search": "run"}})))
    bare.create_index([("a", "text")])
    # A text that is nothing but the word gains a tenth; a word counts more the fewer are beside it.
    assert score(bare, "runs") == [(1, 1.1), (2, 0.75)]
    bare.replace_one({"_id": 1}, {"_id": 1, "a": "walk"})
    assert score(bare, "runs") == [(2, 0.75)]
    bare.delete_one({"_id": 2})
    assert score(bare, "runs") == []


def test_a_transaction_finds_its_own_words_and_places(bare, client):  # noqa: F811
    bare.create_index([("a", "text")])
    bare.create_index([("p", "2dsphere")])
    bare.insert_one({"_id": 1, "a": "tea", "p": [1, 1]})
    with client.start_session() as session, session.start_transaction():
        bare.insert_one({"_id": 2, "a": "tea", "p": [0, 0]}, session=session)
        bare.update_one({"_id": 1}, {"$set": {"a": "coffee"}}, session=session)
        assert ids(bare.find({"$text": {"$search": "tea"}}, session=session)) == [2]
        assert ids(bare.find({"p": {"$nearSphere": [0, 0]}}, session=session)) == [2, 1]
        session.abort_transaction()
    assert ids(bare.find({"$text": {"$search": "tea"}})) == [1]


def test_what_has_expired_is_found_by_no_word_and_no_place(bare, advance, mongo):  # noqa: F811
    bare.create_index("_ts", expireAfterSeconds=-1)
    bare.create_index("at", expireAfterSeconds=0)
    bare.create_index([("a", "text")])
    bare.create_index([("p", "2dsphere")])
    bare.insert_one({"_id": "ttl", "a": "tea", "p": [1, 0], "ttl": 10})
    bare.insert_one({"_id": "date", "a": "tea", "p": [2, 0], "at": when(mongo, 5000)})
    bare.insert_one({"_id": "stays", "a": "tea", "p": [3, 0]})

    def found():
        near = {"p": {"$nearSphere": [0, 0]}}
        ways = [
            ids(bare.find({"$text": {"$search": "tea"}})),
            ids(bare.aggregate([{"$match": {"$text": {"$search": "tea"}}}, {"$sort": {"_id": 1}}])),
            ids(bare.find(near)),
            ids(bare.aggregate([{"$geoNear": {"near": [0, 0], "spherical": True, "distanceField": "d"}}])),
            ids(bare.find({"p": {"$geoWithin": {"$centerSphere": [[0, 0], 1]}}})),
        ]
        assert all(sorted(way) == sorted(ways[0]) for way in ways), ways
        assert bare.count_documents({"$text": {"$search": "tea"}}) == len(ways[0])
        return ways[2]

    assert found() == ["ttl", "date", "stays"]
    advance(4999)
    assert found() == ["ttl", "date", "stays"]
    advance(1)
    assert found() == ["ttl", "stays"]
    advance(5000)
    assert found() == ["stays"]
    # The same id again is another document.
    bare.insert_one({"_id": "ttl", "a": "coffee", "p": [4, 0]})
    assert ids(bare.find({"$text": {"$search": "tea"}})) == ["stays"]
    assert ids(bare.find({"p": {"$nearSphere": [0, 0]}})) == ["stays", "ttl"]


def test_an_index_is_built_over_what_is_there(bare):  # noqa: F811
    rng = random.Random(7)
    words = ["tea", "coffee", "run", "house", "blue", "shop"]
    documents = [
        {"_id": at, "a": " ".join(rng.choices(words, k=3)), "p": [rng.uniform(-180, 180), rng.uniform(-90, 90)]} for at in range(2000)
    ]
    bare.insert_many(documents)
    bare.create_index([("a", "text")])
    bare.create_index([("p", "2dsphere")])
    assert ids(bare.find({"$text": {"$search": "tea"}})) == [one["_id"] for one in documents if "tea" in one["a"]]
    area = {"$geoWithin": {"$centerSphere": [[10, 50], 0.2]}}
    inside = ids(bare.find({"p": area}))
    everywhere = ids(bare.find({"p": {"$nearSphere": [10, 50]}}))
    assert len(everywhere) == 2000 and everywhere[: len(inside)] != sorted(everywhere[: len(inside)])
    for skip, limit in [(0, 1), (0, 5), (3, 10), (0, 300), (1990, 100)]:
        assert ids(bare.find({"p": {"$nearSphere": [10, 50]}}).skip(skip).limit(limit)) == everywhere[skip : skip + limit]
    plan = bare.find({"p": area}).explain()["executionStats"]
    assert plan["totalDocsExamined"] < 200 and len(inside) > 5
    bare.drop_index("p_2dsphere")
    assert ids(bare.find({"p": area})) == inside
    plan = bare.find({"$text": {"$search": "tea"}, "a": "tea tea tea"}).explain()["executionStats"]
    assert plan["totalDocsExamined"] < 1500


def test_wrong_places_are_refused_and_leave_nothing(bare):  # noqa: F811
    bare.create_index([("p", "2dsphere")])
    refused(16755, lambda: bare.insert_one({"_id": 1, "p": {"type": "Point", "coordinates": [200, 0]}}))
    bare.insert_one({"_id": 1, "p": {"type": "Point", "coordinates": [20, 0]}})
    refused(16755, lambda: bare.update_one({"_id": 1}, {"$set": {"p": "here"}}))
    assert ids(bare.find({"p": {"$nearSphere": [20, 0], "$maxDistance": 0.001}})) == [1]
    bare.drop_indexes()
    bare.insert_one({"_id": 2, "p": "here"})
    refused(16755, lambda: bare.create_index([("p", "2dsphere")]))
    assert list(bare.index_information()) == ["_id_"]


POINT = {"type": "Point", "coordinates": [-179, 0]}


def test_near_takes_a_geojson_point_as_it_is(bare):  # noqa: F811
    bare.insert_many([{"_id": 1, "p": [-179, 0]}, {"_id": 2, "p": {"type": "Point", "coordinates": [10, 10]}}])
    bare.create_index([("p", "2dsphere")])
    for operator in ("$near", "$nearSphere"):
        assert ids(bare.find({"p": {operator: POINT}})) == [1, 2]
        # Its distances are metres.
        assert ids(bare.find({"p": {operator: POINT, "$maxDistance": 1000}})) == [1]
        assert ids(bare.find({"p": {operator: POINT, "$minDistance": 1000}})) == [2]
    for wrong in ({"type": "Point"}, {"type": "Polygon", "coordinates": []}, {"a": 1}):
        with pytest.raises(OperationFailure, match=f"invalid argument in geo near query: {next(iter(wrong))}"):
            list(bare.find({"p": {"$near": wrong}}))
    bare.drop_indexes()
    bare.delete_one({"_id": 2})
    bare.create_index([("p", "2d")])
    refused(291, lambda: list(bare.find({"p": {"$near": POINT}})))


def no_plan(bare, tree, why, sort="{}"):
    return (
        f"error processing query: ns={bare.database.name}.{bare.name}Tree: {tree}\nSort: {sort}\nProj: {{}}\n "
        f"planner returned error :: caused by :: {why}"
    )


def test_a_query_without_a_plan_is_shown_as_a_tree(bare):  # noqa: F811
    """Applications take the field out of it, and make an index."""
    bare.insert_one({"_id": 1})
    why = "unable to find index for $geoNear query"
    near = "GEONEAR  field={} maxdist={} isNearSphere={}"
    for query, tree in (
        ({"p": {"$near": [1, 1]}}, near.format("p", "1.79769e+308", 0)),
        ({"location": {"$nearSphere": [1, 1], "$maxDistance": 0.5}}, near.format("location", "0.5", 1)),
        ({"p": {"$nearSphere": {"$geometry": POINT, "$maxDistance": 1000}}}, near.format("p", "1000", 0)),
        ({"a.b": {"$near": [1, 1], "$maxDistance": 1234567}}, near.format("a.b", "1.23457e+06", 0)),
        (
            {"p": {"$near": [1, 1]}, "a": {"$gt": 3, "$lt": 7}, "s": {"$in": ["x", 2]}, "$or": [{"z": {"$ne": 4}}, {"y": {"$exists": True}}]},
            "$and\n    $or\n        y exists\n        $not\n            z $eq 4\n    a $lt 7\n    a $gt 3\n"
            '    s $in [ 2 "x" ]\n    ' + near.format("p", "1.79769e+308", 0),
        ),
    ):
        with pytest.raises(OperationFailure) as caught:
            list(bare.find(query))
        assert (caught.value.code, caught.value.details["errmsg"]) == (291, no_plan(bare, tree, why))
        with pytest.raises(OperationFailure) as caught:
            list(bare.find(query).sort("a", -1).limit(2))
        assert caught.value.details["errmsg"] == no_plan(bare, tree, why, "{ a: -1 }")
    hint = "hint provided does not correspond to an existing index"
    with pytest.raises(OperationFailure) as caught:
        list(bare.find({"a": 1}, hint="nope"))
    assert caught.value.details["errmsg"] == no_plan(bare, "a $eq 1", hint)


def test_a_point_outside_of_an_index_is_told_its_bounds(bare):  # noqa: F811
    bare.create_index([("p", "2d")])
    bare.create_index([("q", "2d")], min=-500, max=500.5)
    for document, bounds in (({"_id": 1, "p": [200, 0]}, "[ -180, 180 ]"), ({"_id": 1, "q": [600, 0]}, "[ -500, 500.5 ]")):
        with pytest.raises(WriteError) as caught:
            bare.insert_one(document)
        assert caught.value.code == 13027
        assert caught.value.details["errmsg"].startswith(f"point not in interval of {bounds} :: caused by :: {{ _id: 1, ")


def test_a_text_index_may_compare_by_bytes_and_be_unique(bare):  # noqa: F811
    refused(67, lambda: bare.create_index([("a", "text")], collation={"locale": "en"}))
    bare.create_index([("a", "text")], name="x", collation={"locale": "simple"}, unique=True)
    (index,) = [index for index in bare.list_indexes() if index["name"] == "x"]
    assert index["unique"] is True and "collation" not in index
    # A word that counts as much is taken; one that counts otherwise is not.
    bare.insert_many([{"_id": 1, "a": "cats dogs"}, {"_id": 2, "a": "cats"}, {"_id": 4, "a": "birds"}, {"_id": 5}, {"_id": 6}])
    with pytest.raises(DuplicateKeyError) as caught:
        bare.insert_one({"_id": 3, "a": "the cats, dogs"})
    assert caught.value.details["keyPattern"] == {"_fts": "text", "_ftsx": 1}
    assert caught.value.details["keyValue"] == {"_fts": "cat", "_ftsx": 0.75}
    assert sorted(ids(bare.find({"$text": {"$search": "cat"}}))) == [1, 2]
    bare.delete_one({"_id": 1})
    bare.insert_one({"_id": 3, "a": "the cats, dogs"})
    assert sorted(ids(bare.find({"$text": {"$search": "cat"}}))) == [2, 3]
    # It is made over documents that are there, too.
    bare.drop_index("x")
    bare.insert_one({"_id": 7, "a": "cats dogs"})
    refused(11000, lambda: bare.create_index([("a", "text")], unique=True))


def test_a_question_in_another_language_finds_what_the_index_holds(bare):  # noqa: F811
    bare.create_index([("s", "text")])
    bare.insert_many([{"_id": 1, "s": "Café Con Leche"}, {"_id": 2, "s": "Cafe con Leche"}, {"_id": 3, "s": "té"}])

    def found(words, language):
        return sorted(ids(bare.find({"$text": {"$search": words, "$language": language}})))

    for language in ("spanish", "es", "french", "english"):
        assert found("leche", language) == [1, 2]
        assert found("leches -café", language) == []
    # Without a language, words are as they are.
    assert found("leche", "none") == []
