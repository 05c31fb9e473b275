"""What the service's own query engine says of the queries under spec/sql/corpus, asked of a server.

Each query is sent twice: as a request for its plan, which is refused exactly where the engine refuses the query, and to be run,
which gives the value where the engine folds it.
"""

import collections
import contextlib
import http.client
import json
import pathlib
import re
import uuid

import pytest

from rest import ask

SPEC = pathlib.Path(__file__).resolve().parents[3] / "spec" / "sql"
QUERY = {
    "content-type": "application/query+json",
    "x-ms-documentdb-isquery": "True",
    "x-ms-documentdb-query-enablecrosspartition": "True",
}
PLAN = {**QUERY, "x-ms-cosmos-is-query-plan-request": "True"}
# Refusals of queries that have a plan: what they would need is not in the container, or never there.
WHEN_RUN = [
    "Order-by over correlated collections is not supported.",
    "does not have a corresponding composite index",
    "requires a range index",
    "'udf.",
]
# Said where a plan is asked for alone: without one the server computes it.
IN_PLANS_ALONE = "Compositions of aggregates and other expressions are not allowed."
DIFFERENCES_SHOWN_MAX = 50

Answer = collections.namedtuple("Answer", "status code message rows")


def facts():
    for file in sorted((SPEC / "corpus").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line:
                yield file.stem, json.loads(line)


class Exceptions:
    """The differences that spec/sql/exceptions.txt agrees to."""

    def __init__(self):
        self.rows = []
        for line in (SPEC / "exceptions.txt").read_text(encoding="utf-8").split("\n"):
            if line and not line.startswith("#"):
                category, reason, pattern = line.split(" | ", 2)
                if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
                    matches = re.compile(pattern[1:-1]).search
                else:
                    matches = pattern.__eq__
                self.rows.append((category, reason, matches))
        self.used = set()

    def excuse(self, category, query):
        """Whether a difference is agreed; one of `api` may be of any category."""
        found = [row for row in self.rows if row[0] in (category, "api") and row[2](query)]
        self.used.update(id(row) for row in found)
        return bool(found)

    def idle(self):
        """The reasons of those that only this test could need, and does not."""
        return [row[1] for row in self.rows if row[0] == "api" and id(row) not in self.used]


@pytest.fixture(scope="module")
def containers(server):
    """A container without vectors and one with them, by whether they have any."""
    database = f"db-{uuid.uuid4().hex[:12]}"
    assert ask(server, "POST", "dbs", json.dumps({"id": database}).encode())[0] == 201
    paths = {}
    for has_vectors in (False, True):
        name = "vectors" if has_vectors else "plain"
        definition = {"id": name, "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
        if has_vectors:
            definition["vectorEmbeddingPolicy"] = {"vectorEmbeddings": [
                {"path": "/v", "dataType": "float32", "distanceFunction": "cosine", "dimensions": 3},
                {"path": "/w", "dataType": "float32", "distanceFunction": "euclidean", "dimensions": 2},
            ]}
        status, _, answer = ask(server, "POST", f"dbs/{database}/colls", json.dumps(definition).encode())
        assert status == 201, answer
        paths[has_vectors] = f"dbs/{database}/colls/{name}/docs"
    yield paths
    ask(server, "DELETE", f"dbs/{database}")


def post(server, connection, path, fact, headers):
    """Sends the query; the errors of a refusal are inside of the text of its message."""
    body = {"query": fact["query"], "parameters": fact.get("parameters", [])}
    status, _, answer = ask(server, "POST", path, json.dumps(body).encode(), headers, connection)
    answer = json.loads(answer)
    if status == 200:
        return Answer(status, None, None, answer.get("Documents"))
    found = re.match(r"Message: (\{.*?\})\r\nActivityId", answer["message"], re.DOTALL)
    details = json.loads(found.group(1)) if found else {}
    if "errors" in details:
        first = details["errors"][0]
        return Answer(status, str(first.get("code", "")), first["message"], None)
    return Answer(status, "", " ".join(details.get("Errors", [answer["message"]])), None)


def same(a, b):
    """Mathematical equality: 1 is 1.0, and nothing is rounded; true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(value, b[name]) for name, value in a.items())
    return a == b


def differences(fact, plan, run):
    """Categories in which an answer is not what it should be, each with what came instead."""
    if "error" in fact:
        code, message = fact["error"][:2]
        if plan.status == 200:
            yield "refused", "a plan"
        elif (plan.status, plan.code) != (400, code):
            yield "code", plan
        if run.status == 200 and message != IN_PLANS_ALONE:
            yield "refused", run
        elif run.status not in (200, 400):
            yield "code", run
        return
    if plan.status != 200:
        yield "accepted", plan
        return
    if run.status != 200:
        if run.status != 400 or not any(text in run.message for text in WHEN_RUN):
            yield "accepted", run
        return
    if "value" in fact and not (len(run.rows) == 1 and same(run.rows[0], fact["value"])):
        yield "value", run
    if "undefined" in fact and run.rows != []:
        yield "value", run


def test_the_api_says_of_queries_what_the_service_says(server, containers):
    exceptions = Exceptions()
    counts = collections.Counter()
    wrong = []
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)) as connection:
        for subject, fact in facts():
            path = containers[fact.get("vectors", False)]
            plan = post(server, connection, path, fact, PLAN)
            run = post(server, connection, path, fact, QUERY)
            counts["queries"] += 1
            for category, got in differences(fact, plan, run):
                if exceptions.excuse(category, fact["query"]):
                    counts["exceptions"] += 1
                else:
                    counts[category] += 1
                    wrong.append(f"[{category}] {subject}: {json.dumps(fact, ensure_ascii=False)}\n    {got}")
    assert counts["queries"] > 6000, counts
    idle = exceptions.idle()
    shown = "\n".join(wrong[:DIFFERENCES_SHOWN_MAX])
    assert not wrong and not idle, f"{dict(counts)}, no longer needed: {idle}\n{shown}"
