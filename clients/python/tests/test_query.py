"""Queries through the SDK: filters, parameters, counts, order, pages, partitions."""

import pytest

from conftest import ask, refused


@pytest.fixture
def filled(container):
    for n in range(20):
        container.create_item({"id": f"i{n:02}", "pk": f"p{n % 4}", "n": n, "even": n % 2 == 0})
    return container


def everywhere(container, query, parameters=None):
    return list(ask(container, query, parameters))


def test_everything(filled):
    assert sorted(item["n"] for item in everywhere(filled, "SELECT * FROM c")) == list(range(20))


def test_filter(filled):
    found = everywhere(filled, "SELECT * FROM c WHERE c.even = true AND c.n > 10")
    assert sorted(item["n"] for item in found) == [12, 14, 16, 18]


def test_parameters(filled):
    parameters = [{"name": "@low", "value": 3}, {"name": "@high", "value": 6}, {"name": "@id", "value": "i04"}]
    found = everywhere(filled, "SELECT * FROM c WHERE c.n >= @low AND c.n < @high AND c.id != @id", parameters)
    assert sorted(item["n"] for item in found) == [3, 5]


def test_value_and_projection(filled):
    assert everywhere(filled, "SELECT VALUE c.n FROM c WHERE c.id = 'i07'") == [7]
    assert everywhere(filled, "SELECT c.id, c.n AS number FROM c WHERE c.n = 7") == [{"id": "i07", "number": 7}]


def test_count(filled):
    assert everywhere(filled, "SELECT VALUE COUNT(1) FROM c") == [20]
    assert everywhere(filled, "SELECT VALUE COUNT(1) FROM c WHERE c.n < 5") == [5]
    assert list(ask(filled, "SELECT VALUE COUNT(1) FROM c", partition_key="p1")) == [5]


def test_order(filled):
    assert everywhere(filled, "SELECT VALUE c.n FROM c ORDER BY c.n DESC") == list(range(19, -1, -1))
    assert everywhere(filled, "SELECT VALUE c.n FROM c ORDER BY c.id") == list(range(20))


def test_one_partition(filled):
    found = ask(filled, "SELECT * FROM c WHERE c.n > 5", partition_key="p2")
    assert sorted(item["n"] for item in found) == [6, 10, 14, 18]


def test_pages(filled):
    pager = ask(filled, "SELECT * FROM c", max_item_count=6).by_page()
    pages = [[item["n"] for item in page] for page in pager]
    assert all(len(page) <= 6 for page in pages)
    assert sorted(n for page in pages for n in page) == list(range(20))


def test_goes_on_from_a_token(filled):
    def query():
        return ask(filled, "SELECT * FROM c WHERE c.n < 10", partition_key="p0", max_item_count=1)

    pager = query().by_page()
    first = [item["n"] for item in next(pager)]
    rest = [item["n"] for page in query().by_page(pager.continuation_token) for item in page]
    assert len(first) == 1
    assert sorted(first + rest) == [0, 4, 8]


def test_metrics_tell_where_the_time_went(filled):
    seen = []
    options = {"populate_query_metrics": True, "response_hook": lambda headers, *_: seen.append(dict(headers))}
    assert list(ask(filled, "SELECT * FROM c WHERE c.n >= 6", partition_key="p2", **options))
    texts = [headers["x-ms-documentdb-query-metrics"] for headers in seen if "x-ms-documentdb-query-metrics" in headers]
    metrics = dict(part.split("=") for part in texts[0].split(";"))
    assert int(metrics["retrievedDocumentCount"]) > 0
    for name in ("documentLoadTimeInMs", "queryCompileTimeInMs", "writeOutputTimeInMs", "queryPhysicalPlanBuildTimeInMs"):
        assert 0 < float(metrics[name]) <= float(metrics["totalExecutionTimeInMs"]), texts[0]


def test_nothing_found(filled):
    assert everywhere(filled, "SELECT * FROM c WHERE c.absent = 1") == []
    assert list(ask(filled, "SELECT * FROM c", partition_key="none")) == []


@pytest.mark.parametrize("bad", ["SELEC * FROM c", "SELECT * FROM", "SELECT * FROM c WHERE", ""])
def test_bad_query_is_400(filled, bad):
    with refused(400):
        everywhere(filled, bad)


@pytest.mark.parametrize("query", [
    "SELECT DISTINCT VALUE c.n FROM c",
    "SELECT VALUE s.n FROM (SELECT DISTINCT c.n FROM c) s",
])
def test_pages_of_distinct_values(container, query):
    """More items than are read in one step, by ids that are not in the order of creation."""
    for n in range(200):
        container.create_item({"id": f"{n * 77 % 200:03}", "pk": "p", "n": n % 150})
    pages = ask(container, query, partition_key="p", max_item_count=25).by_page()
    found = [n for page in pages for n in page]
    assert sorted(found) == list(range(150))
    if query.startswith("SELECT DISTINCT"):
        assert found == list(range(150))
