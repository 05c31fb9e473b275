"""Which indexes serve a query and which would, as the service's answers to the .NET SDK have it."""

import base64
import json
import urllib.parse
import uuid

import pytest

from rest import ask

QUERY = {
    "content-type": "application/query+json",
    "x-ms-documentdb-isquery": "True",
    "x-ms-documentdb-query-enablecrosspartition": "True",
}


@pytest.fixture
def container(server):
    """Makes containers with composite indexes; gives their paths."""
    database = f"db-{uuid.uuid4().hex[:12]}"
    assert ask(server, "POST", "dbs", json.dumps({"id": database}).encode())[0] == 201

    def make(*composites):
        policy = {
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": "/x/?"}],
            "compositeIndexes": [
                [{"path": path, "order": order} for path, order in composite] for composite in composites
            ],
        }
        name = uuid.uuid4().hex[:8]
        definition = {
            "id": name,
            "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
            "indexingPolicy": policy,
        }
        status, _, answer = ask(server, "POST", f"dbs/{database}/colls", json.dumps(definition).encode())
        assert status == 201, answer
        return f"dbs/{database}/colls/{name}"

    yield make
    ask(server, "DELETE", f"dbs/{database}")


def metrics(server, path, query):
    """Single and composite indexes that are used, and those that could be."""
    wanted = {**QUERY, "x-ms-cosmos-populateindexmetrics-V2": "True"}
    status, headers, answer = ask(server, "POST", f"{path}/docs", json.dumps({"query": query}).encode(), wanted)
    assert status == 200, answer
    found = json.loads(urllib.parse.unquote_plus(headers["x-ms-cosmos-index-utilization"]))
    used, potential = found["UtilizedIndexes"], found["PotentialIndexes"]
    for index in potential["SingleIndexes"] + potential["CompositeIndexes"]:
        assert index["IndexImpactScore"] == "High"
    return (
        [index["IndexSpec"] for index in used["SingleIndexes"]],
        [index["IndexSpecs"] for index in used["CompositeIndexes"]],
        [index["IndexSpec"] for index in potential["SingleIndexes"]],
        [index["IndexSpecs"] for index in potential["CompositeIndexes"]],
    )


ID = ["/id/?"]
NAME = ["/name/?"]
BOTH = ["/name/?", "/id/?"]
HELPS = [["/id ASC", "/name ASC"]]
ONE = 'c.id = "1"'
EQUAL = 'c.id = "1" AND c.name = "a"'
MIXED = 'c.id = "1" AND c.name > "a"'
RANGES = 'c.id > "1" AND c.name > "a"'


@pytest.mark.parametrize(
    "query, used, composites",
    [
        *[
            row
            for select in ("*", "COUNT(1)", "VALUE COUNT(1)")
            for row in (
                (f"SELECT {select} FROM c WHERE {ONE}", ID, []),
                (f"SELECT {select} FROM c WHERE {EQUAL}", BOTH, []),
                (f"SELECT {select} FROM c WHERE {MIXED}", BOTH, HELPS),
                (f"SELECT {select} FROM c WHERE {RANGES}", BOTH, []),
            )
        ],
        (f"SELECT * FROM c WHERE {ONE} ORDER BY c.id ASC", ID, []),
        (f"SELECT * FROM c WHERE {EQUAL} ORDER BY c.id ASC", NAME, []),
        (f"SELECT * FROM c WHERE {MIXED} ORDER BY c.id ASC", BOTH, HELPS),
        (f"SELECT * FROM c WHERE {RANGES} ORDER BY c.id ASC", NAME, []),
        (f"SELECT COUNT(1) FROM c WHERE {ONE} GROUP BY c.id", ID, []),
        (f"SELECT COUNT(1) FROM c WHERE {EQUAL} GROUP BY c.id", BOTH, []),
        (f"SELECT COUNT(1) FROM c WHERE {MIXED} GROUP BY c.id", BOTH, HELPS),
        (f"SELECT COUNT(1) FROM c WHERE {RANGES} GROUP BY c.id", BOTH, []),
        (f"SELECT VALUE COUNT(1) FROM c WHERE {ONE} GROUP BY c.id, c.name", ID, []),
        (f"SELECT VALUE COUNT(1) FROM c WHERE {EQUAL} GROUP BY c.id, c.name", BOTH, HELPS),
        (f"SELECT VALUE COUNT(1) FROM c WHERE {MIXED} GROUP BY c.id, c.name", BOTH, HELPS),
        (f"SELECT VALUE COUNT(1) FROM c WHERE {RANGES} GROUP BY c.id, c.name", BOTH, []),
        ("SELECT VALUE STARTSWITH(r['a b'], 's', false) FROM root r", ['/"a b"/?'], []),
        ("SELECT VALUE STARTSWITH(r['名'], 's', true) FROM root r", ["/名/?"], []),
        ("SELECT c.id FROM c WHERE STARTSWITH(c.name, 'a', false)", NAME, []),
    ],
)
def test_answers_of_the_service(server, container, query, used, composites):
    assert metrics(server, container(), query) == (used, [], [], composites)


@pytest.mark.parametrize(
    "where, composites",
    [
        ("c.a = 1 AND c.b > 2 AND c.d < 3", [["/a ASC", "/b ASC"], ["/a ASC", "/d ASC"]]),
        ("(c.b BETWEEN 1 AND 2) AND 3 = c.a AND c.d.e = 4", [["/a ASC", "/d/e ASC", "/b ASC"]]),
        ("c.a = 1 AND (c.b > 2 AND c.b < 9)", [["/a ASC", "/b ASC"]]),
        ("c.a = 1 AND c.a > 0", []),
        ("c.a = 1 OR c.b > 2", []),
        ("c.a = c.d AND c.b > 2", []),
        ("c.a != 1 AND c.b > 2", []),
        ("c.a = 1 AND c.l[0] > 2", []),
        ("c.a = 1 AND NOT (c.b > 2)", []),
    ],
)
def test_what_stands_before_what(server, container, where, composites):
    assert metrics(server, container(), f"SELECT * FROM c WHERE {where}")[3] == composites


def test_an_index_that_is_there_is_used_and_not_proposed(server, container):
    query = "SELECT * FROM c WHERE c.a = 1 AND c.b = 2 AND c.d > 3"
    wanted = ["/a ASC", "/b ASC", "/d ASC"]
    # Paths with one value stand in any order before the range, and directions do not matter.
    for index in (
        [("/a", "ascending"), ("/b", "ascending"), ("/d", "ascending")],
        [("/b", "descending"), ("/a", "ascending"), ("/d", "descending")],
        [("/b", "ascending"), ("/a", "ascending"), ("/d", "ascending"), ("/e", "ascending")],
    ):
        _, used, _, potential = metrics(server, container(index), query)
        assert (used, potential) == ([[f"{path} {order[:-6].upper()}" for path, order in index]], [])
    for index in (
        [("/a", "ascending"), ("/d", "ascending"), ("/b", "ascending")],
        [("/a", "ascending"), ("/b", "ascending")],
    ):
        _, used, _, potential = metrics(server, container(index), query)
        assert (used, potential) == ([], [wanted])


def test_a_path_without_an_index_is_proposed_alone_and_with_others(server, container):
    found = metrics(server, container(), "SELECT * FROM c WHERE c.x = 1 AND c.b > 2")
    assert found == (["/b/?"], [], ["/x/?"], [["/x ASC", "/b ASC"]])


def test_the_older_form_proposes_them_too(server, container):
    wanted = {**QUERY, "x-ms-cosmos-populateindexmetrics": "True"}
    body = json.dumps({"query": "SELECT * FROM c WHERE c.name = 'a' AND c.age > 1"}).encode()
    _, headers, _ = ask(server, "POST", f"{container()}/docs", body, wanted)
    found = json.loads(base64.b64decode(headers["x-ms-cosmos-index-utilization"]))
    assert [index["IndexSpecs"] for index in found["PotentialCompositeIndexes"]] == [["/name ASC", "/age ASC"]]
