"""Commands with one right answer each, made by chance, and run on any server."""

import random

import bson
from pymongo.database import Database
from pymongo.errors import OperationFailure

from torture.rule import canonical

from . import indexes, orders
from .expressions import expression
from .filters import filter_document
from .pipelines import pipeline, update_pipeline
from .projections import distinct_key, projection, small_filter, sort
from .updates import array_filters, equality_filter, replacement, update_document
from .values import document

DOCUMENTS = 12
# Dates as they are stored, however far out.
EXACT = bson.CodecOptions(datetime_conversion=bson.DatetimeConversion.DATETIME_MS)


def any_filter(rng: random.Random) -> dict:
    return small_filter(rng) if rng.random() < 0.5 else filter_document(rng)


def find(rng: random.Random) -> list[dict]:
    return [{"find": "c", "filter": filter_document(rng)}]


def count(rng: random.Random) -> list[dict]:
    return [{"count": "c", "query": any_filter(rng)}]


def project(rng: random.Random) -> list[dict]:
    return [{"find": "c", "filter": any_filter(rng), "projection": projection(rng)}]


def ordered(rng: random.Random) -> list[dict]:
    command = {"find": "c", "filter": any_filter(rng), "sort": sort(rng)}
    if rng.random() < 0.3:
        command.update(skip=rng.randrange(3), limit=rng.randrange(1, 6))
    return [command]


def distinct(rng: random.Random) -> list[dict]:
    return [{"distinct": "c", "key": distinct_key(rng), "query": any_filter(rng)}]


def update(rng: random.Random) -> list[dict]:
    changes = update_document(rng)
    statement = {"q": any_filter(rng), "u": changes, "multi": rng.random() < 0.3}
    filters = array_filters(rng, changes)
    if filters:
        statement["arrayFilters"] = filters
    return [{"update": "c", "updates": [statement]}, {"find": "c"}]


def replace(rng: random.Random) -> list[dict]:
    return [{"update": "c", "updates": [{"q": any_filter(rng), "u": replacement(rng)}]}, {"find": "c"}]


def upsert(rng: random.Random) -> list[dict]:
    # The id is said, because each server makes up its own.
    statement = {"q": {"_id": "new", **equality_filter(rng)}, "u": update_document(rng), "upsert": True}
    statement["q"]["_id"] = "new"
    filters = array_filters(rng, statement["u"])
    if filters:
        statement["arrayFilters"] = filters
    return [{"update": "c", "updates": [statement]}, {"find": "c"}]


def modify(rng: random.Random) -> list[dict]:
    command = {"findAndModify": "c", "query": any_filter(rng), "sort": {"_id": rng.choice([1, -1])}}
    if rng.random() < 0.3:
        command["remove"] = True
    else:
        command.update(update=update_document(rng), new=rng.random() < 0.5)
        filters = array_filters(rng, command["update"])
        if filters:
            command["arrayFilters"] = filters
    return [command, {"find": "c"}]


def delete(rng: random.Random) -> list[dict]:
    return [{"delete": "c", "deletes": [{"q": any_filter(rng), "limit": rng.choice([0, 1])}]}, {"find": "c"}]


def aggregate(rng: random.Random) -> list[dict]:
    return [{"aggregate": "c", "pipeline": pipeline(rng), "cursor": {"batchSize": 1000}}]


def by_pipeline(rng: random.Random) -> list[dict]:
    """An update by a pipeline, of one or many, with or without upsert."""
    statement = {"q": any_filter(rng), "u": update_pipeline(rng), "multi": rng.random() < 0.2}
    if rng.random() < 0.2:
        statement.update(q={"_id": "new"}, upsert=True, multi=False)
    return [{"update": "c", "updates": [statement]}, {"find": "c"}]


def modify_more(rng: random.Random) -> list[dict]:
    """findAndModify with what it seldom has: a replacement, a pipeline, an upsert, a projection."""
    command = {"findAndModify": "c", "query": any_filter(rng), "sort": sort(rng), "new": rng.random() < 0.5}
    command["update"] = rng.choice([replacement, update_pipeline])(rng)
    if rng.random() < 0.3:
        command.update(query={"_id": "new"}, upsert=True)
    if rng.random() < 0.3:
        command["fields"] = projection(rng)
    return [command, {"find": "c"}]


def constrained(rng: random.Random) -> list[dict]:
    """An index made over documents, then writes that may clash with it, then reads that may use it."""
    index = indexes.definition(rng)
    commands = [{"createIndexes": "c", "indexes": [index]}]
    for one in indexes.newcomers(rng):
        commands.append({"insert": "c", "documents": [one]})
    commands.append({"update": "c", "updates": [{"q": {"_id": rng.randrange(DOCUMENTS)}, "u": indexes.change(rng)}]})
    for _ in range(3):
        commands.append({"find": "c", "filter": any_filter(rng), "sort": sort(rng)})
    commands.append({"count": "c", "query": any_filter(rng)})
    return commands


def stages(rng: random.Random) -> list[dict]:
    return [{"aggregate": "c", "pipeline": orders.pipeline(rng), "cursor": {"batchSize": 1000}}]


READS = {"find": find, "count": count, "project": project, "sort": ordered, "distinct": distinct, "aggregate": aggregate}
READS |= {"expression": expression, "stages": stages}
WRITES = {"update": update, "replace": replace, "upsert": upsert, "modify": modify, "delete": delete}
WRITES |= {"pipeline": by_pipeline, "modify more": modify_more, "constrained": constrained}
OF_ORDERS = {"inserts": orders.inserts, "updates": orders.updates, "deletes": orders.deletes, "modify order": orders.modify, "collated": orders.collated}
WRITES |= OF_ORDERS
KINDS = {**READS, **WRITES}


def fill(database: Database, documents: list[dict]) -> None:
    """Makes the collection hold exactly these documents."""
    database.drop_collection("c")
    database.c.insert_many(documents)


def documents(rng: random.Random, kind: str = "") -> list[dict]:
    if kind == "stages" or kind in OF_ORDERS:
        return [orders.document(rng, number) for number in range(DOCUMENTS)]
    made = [document(rng, number) for number in range(DOCUMENTS)]
    # MongoDB 6.0 shows code as text behind some pipelines, and the ends of the order as objects behind groups.
    return [ordinary(one) for one in made] if kind == "aggregate" else made


def ordinary(value):
    if isinstance(value, dict):
        return {name: ordinary(member) for name, member in value.items()}
    if isinstance(value, list):
        return [ordinary(element) for element in value]
    return None if isinstance(value, (bson.Code, bson.MinKey, bson.MaxKey)) else value


def answer(database: Database, commands: list[dict]) -> list:
    """What is to be the same on every server: codes, counts and documents, to the last byte."""
    return [one_answer(database, command) for command in commands]


def one_answer(database: Database, command: dict):
    try:
        reply = database.command(command, codec_options=EXACT)
    except OperationFailure as refusal:
        return refusal.code
    except bson.errors.InvalidBSON:
        return UNREADABLE
    if "ordered" in command:
        errors = [{"index": error["index"], "code": error["code"]} for error in reply.get("writeErrors", [])]
        return bson.encode({name: reply[name] for name in ("n", "nModified", "upserted") if name in reply} | {"errors": errors})
    if reply.get("writeErrors"):
        return [error["code"] for error in reply["writeErrors"]]
    if "cursor" in reply:
        return [bson.encode(found) for found in reply["cursor"]["firstBatch"]]
    told = {name: reply[name] for name in ("n", "nModified", "upserted", "values", "value", "lastErrorObject") if name in reply}
    return bson.encode(told)


# MongoDB cuts texts in its messages, now and then within a letter.
UNREADABLE = "unreadable"
# Where a projection contradicts itself in two ways, which of them is told is no promise.
CONTRADICTIONS = {28667, 31249, 31250, 31252, 31253, 31254, 31255, 31256, 31276, 31310}
# Where a name on the way to a positional element is missing, MongoDB goes on with the next one in the same place, and may fail.
POSITIONAL = {51246, 51247}
# MongoDB forgets the name of an array filter that can match nothing, and then refuses it.
FORGOTTEN = 9


def alike(commands: list[dict], theirs: list, ours: list) -> bool:
    """Whether both answers are the same, or differ only where that is no promise."""
    asked = zip(commands, theirs, ours, strict=True)
    ours = [first if fails_to_sort(command, first, other) else other for command, first, other in asked]
    if theirs == ours:
        return True
    first, other = theirs[0], ours[0]
    if first == UNREADABLE:
        return isinstance(other, int)
    if first in (FORGOTTEN, [FORGOTTEN]):
        return True
    if first == other and isinstance(first, list) and is_multi(commands[0]):
        # An update of many that fails over one document leaves the ones before it changed in MongoDB, and none here.
        return True
    if "createIndexes" in commands[0] and isinstance(first, int) and isinstance(other, int):
        # Which of several documents that cannot stand in an index is met first.
        return theirs[1:] == ours[1:]
    if piped(commands[0]) > 1 and undecided(theirs, ours):
        return True
    if "aggregate" in commands[0] and isinstance(other, int) and isinstance(first, list):
        # MongoDB may move a stage that drops documents or fields before one that would have failed on them.
        return dropping(commands[0]["pipeline"])
    if piped(commands[0]) and isinstance(first, bytes) and isinstance(other, (int, list)):
        # What fails whatever the document is fails here also where no document is met.
        return bson.decode(first).get("n", 0) == 0 or bson.decode(first).get("lastErrorObject", {}).get("n") == 0
    if isinstance(first, int) and first in POSITIONAL and isinstance(other, list):
        return any(name.endswith(".$") and name.count(".") > 1 for name in commands[0]["projection"])
    return isinstance(first, int) and isinstance(other, int) and {first, other} <= CONTRADICTIONS


# A sort that another one follows is not executed by MongoDB, and so does not fail.
UNSORTABLE = 16746
PARALLEL = 2


def fails_to_sort(command: dict, first, other) -> bool:
    """Whether a sort fails in both, over whichever of several documents was met first."""
    return "sort" in command and all(isinstance(code, int) and code in (PARALLEL, UNSORTABLE) for code in (first, other))


def piped(command: dict) -> int:
    """How many expressions of a pipeline a command computes, and how many sorts it asks for."""
    updates = [statement["u"] for statement in command.get("updates", [])]
    stages = next((found for found in (command.get("pipeline"), command.get("update"), *updates) if isinstance(found, list)), [])
    inside = [inner for stage in stages for name, inner in stage.items() if name not in ("$match", "$limit", "$skip", "$unset")]
    return sum(len(inner) if isinstance(inner, dict) else 1 for inner in inside)


DROPPING = {"$match", "$limit", "$skip", "$count", "$group", "$project", "$unset", "$replaceRoot"}
COMPUTING = {"$project", "$addFields", "$set", "$replaceRoot"}


def dropping(pipeline: list[dict]) -> bool:
    """Whether a stage that computes something is followed by one that drops something."""
    names = [next(iter(stage)) for stage in pipeline]
    first = next((at for at, name in enumerate(names) if name in COMPUTING), len(names))
    return any(name in DROPPING for name in names[first + 1 :])


def undecided(theirs: list, ours: list) -> bool:
    """Differences that no promise decides: which of two failures is told, and where a field stands that one stage took away
    and another put back."""
    first, other = theirs[0], ours[0]
    codes = [code[0] if isinstance(code, list) and code and isinstance(code[0], int) else code for code in (first, other)]
    if all(isinstance(code, int) for code in codes) or UNSORTABLE in codes:
        return True
    return canonical(decoded(theirs)) == canonical(decoded(ours))


def decoded(answers: list):
    if isinstance(answers, list):
        return [decoded(one) for one in answers]
    return bson.decode(answers, EXACT) if isinstance(answers, bytes) else answers


def is_multi(command: dict) -> bool:
    return any(statement.get("multi") for statement in command.get("updates", []))
