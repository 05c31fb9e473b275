"""Containers: every setting is kept and told again, and replacing one changes what it should."""

import pytest
from azure.cosmos import PartitionKey

from conftest import fresh, make, refused

INDEXING = {
    "indexingMode": "consistent",
    "automatic": True,
    "includedPaths": [{"path": "/*"}],
    "excludedPaths": [{"path": '/"_etag"/?'}, {"path": "/notes/*"}],
    "compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]],
    "spatialIndexes": [{"path": "/loc/*", "types": ["Point", "Polygon", "MultiPolygon", "LineString"]}],
}


def contains(whole, part):
    """Whether `part` is in `whole`, which may say more."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and contains(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(contains, whole, part))
    return whole == part


def test_create_read_list_query_delete(db):
    container = make(db)
    read = container.read()
    assert read["id"] == container.id
    assert read["partitionKey"]["paths"] == ["/pk"]
    assert read["partitionKey"]["kind"] == "Hash"
    for field in ("_rid", "_self", "_etag", "_ts", "_docs", "_sprocs", "_triggers", "_udfs", "_conflicts"):
        assert field in read, field
    assert "defaultTtl" not in read
    assert [each["id"] for each in db.list_containers()] == [container.id]
    query = db.query_containers(
        "SELECT * FROM root r WHERE r.id = @id", parameters=[{"name": "@id", "value": container.id}]
    )
    assert [each["id"] for each in query] == [container.id]
    db.delete_container(container.id)
    with refused(404):
        container.read()
    assert list(db.list_containers()) == []


def test_same_name_twice_is_409(db):
    container = make(db)
    with refused(409):
        db.create_container(container.id, PartitionKey(path="/pk"))
    _, found = db.create_container_if_not_exists(container.id, PartitionKey(path="/pk"), return_properties=True)
    assert found["_rid"] == container.read()["_rid"]


def test_missing_database_is_404(client):
    with refused(404):
        client.get_database_client(fresh("none")).create_container("c", PartitionKey(path="/pk"))


def test_default_indexing_policy(db):
    policy = make(db).read()["indexingPolicy"]
    assert contains(policy, {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": '/"_etag"/?'}],
    })


def test_indexing_policy_is_told_again(db):
    assert contains(make(db, indexing_policy=INDEXING).read()["indexingPolicy"], INDEXING)


def test_indexing_can_be_off(db):
    policy = {"indexingMode": "none", "automatic": False}
    assert contains(make(db, indexing_policy=policy).read()["indexingPolicy"], policy)


@pytest.mark.parametrize("version", [1, 2])
def test_partition_key_versions(db, version):
    container = db.create_container(fresh("c"), PartitionKey(path="/pk", version=version))
    assert container.read()["partitionKey"]["version"] == version
    for value in ("text", "", 7, -0.5, True, False, None):
        container.create_item({"id": f"of-{value!r}", "pk": value})
        assert container.read_item(f"of-{value!r}", value)["pk"] == value


def test_hierarchical_key(db):
    paths = ["/tenant", "/user", "/session"]
    container = db.create_container(fresh("c"), PartitionKey(path=paths, kind="MultiHash"))
    key = container.read()["partitionKey"]
    assert (key["paths"], key["kind"], key["version"]) == (paths, "MultiHash", 2)


def test_hierarchical_key_of_one_path(db):
    """As the .NET SDK makes every key that is given as a list: it works like a plain one."""
    container = db.create_container(fresh("c"), PartitionKey(path=["/pk"], kind="MultiHash"))
    key = container.read()["partitionKey"]
    assert (key["paths"], key["kind"], key["version"]) == (["/pk"], "MultiHash", 2)
    for value in ("text", "", 7, -0.5, True, False, None):
        container.create_item({"id": f"of-{value!r}", "pk": value})
        assert container.read_item(f"of-{value!r}", [value])["pk"] == value
        found = container.query_items("SELECT VALUE c.id FROM c", partition_key=[value])
        assert list(found) == [f"of-{value!r}"]
        feed_range = container.feed_range_from_partition_key([value])
        assert any(container.is_feed_range_subset(each, feed_range) for each in container.read_feed_ranges())
        found = container.query_items("SELECT VALUE c.id FROM c", feed_range=feed_range)
        assert list(found) == [f"of-{value!r}"]
    batch = [("upsert", ({"id": "a", "pk": "text"},)), ("read", ("of-'text'",))]
    assert len(container.execute_item_batch(batch, ["text"])) == 2
    assert len(list(container.read_all_items())) == 8
    container.delete_all_items_by_partition_key(["text"])
    assert len(list(container.read_all_items())) == 6


def test_partition_key_cannot_change(db):
    container = make(db)
    with refused(400):
        db.replace_container(container, PartitionKey(path="/other"))


def test_unique_keys_are_held(db):
    policy = {"uniqueKeys": [{"paths": ["/email"]}, {"paths": ["/first", "/last"]}]}
    container = make(db, unique_key_policy=policy)
    assert contains(container.read()["uniqueKeyPolicy"], policy)
    container.create_item({"id": "1", "pk": "a", "email": "x@y", "first": "A", "last": "B"})
    with refused(409):
        container.create_item({"id": "2", "pk": "a", "email": "x@y", "first": "C", "last": "D"})
    with refused(409):
        container.create_item({"id": "2", "pk": "a", "email": "other", "first": "A", "last": "B"})
    container.create_item({"id": "2", "pk": "b", "email": "x@y", "first": "A", "last": "B"})
    container.create_item({"id": "3", "pk": "a", "email": "free", "first": "A", "last": "C"})
    with refused(409):
        container.replace_item("3", {"id": "3", "pk": "a", "email": "x@y", "first": "A", "last": "C"})
    container.delete_item("1", "a")
    container.replace_item("3", {"id": "3", "pk": "a", "email": "x@y", "first": "A", "last": "C"})


SETTINGS = {
    "computed": (
        {"computed_properties": [{"name": "lower", "query": "SELECT VALUE LOWER(c.name) FROM c"}]},
        {"computedProperties": [{"name": "lower", "query": "SELECT VALUE LOWER(c.name) FROM c"}]},
    ),
    "vector": (
        {
            "vector_embedding_policy": {"vectorEmbeddings": [
                {"path": "/v", "dataType": "float32", "distanceFunction": "cosine", "dimensions": 3}
            ]},
            "indexing_policy": INDEXING | {"vectorIndexes": [{"path": "/v", "type": "quantizedFlat"}]},
        },
        {
            "vectorEmbeddingPolicy": {"vectorEmbeddings": [
                {"path": "/v", "dataType": "float32", "distanceFunction": "cosine", "dimensions": 3}
            ]},
            "indexingPolicy": {"vectorIndexes": [{"path": "/v", "type": "quantizedFlat"}]},
        },
    ),
    "full text": (
        {
            "full_text_policy": {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/t", "language": "en-US"}]},
            "indexing_policy": INDEXING | {"fullTextIndexes": [{"path": "/t"}]},
        },
        {
            "fullTextPolicy": {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/t", "language": "en-US"}]},
            "indexingPolicy": {"fullTextIndexes": [{"path": "/t"}]},
        },
    ),
    "conflicts": (
        {"conflict_resolution_policy": {"mode": "LastWriterWins", "conflictResolutionPath": "/stamp"}},
        {"conflictResolutionPolicy": {"mode": "LastWriterWins", "conflictResolutionPath": "/stamp"}},
    ),
    "analytical": ({"analytical_storage_ttl": -1}, {"analyticalStorageTtl": -1}),
    "change feed": (
        {"change_feed_policy": {"retentionDuration": 10}}, {"changeFeedPolicy": {"retentionDuration": 10}}
    ),
    "ttl": ({"default_ttl": 3600}, {"defaultTtl": 3600}),
    "ttl without default": ({"default_ttl": -1}, {"defaultTtl": -1}),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_are_told_again(db, setting):
    asked, told = SETTINGS[setting]
    made = db.create_container(fresh("c"), PartitionKey(path="/pk"), return_properties=True, **asked)
    container, properties = made
    assert contains(properties, told)
    assert contains(container.read(), told)


def test_settings_survive_a_replace_that_repeats_them(db):
    container = make(db, default_ttl=60, indexing_policy=INDEXING)
    before = container.read()
    db.replace_container(container, PartitionKey(path="/pk"), default_ttl=120, indexing_policy=INDEXING)
    after = container.read()
    assert after["defaultTtl"] == 120
    assert contains(after["indexingPolicy"], INDEXING)
    assert after["_rid"] == before["_rid"]
    assert after["_etag"] != before["_etag"]


def test_replace_leaves_out_what_is_left_out(db):
    container = make(db, default_ttl=60)
    db.replace_container(container, PartitionKey(path="/pk"))
    assert "defaultTtl" not in container.read()


def test_replacing_a_missing_container_is_404(db):
    with refused(404):
        db.replace_container(fresh("none"), PartitionKey(path="/pk"))


@pytest.mark.parametrize("ttl", [0, -2, -10, 2**31, 1.5, "60", True, []])
def test_bad_default_ttl_is_400(db, ttl):
    with refused(400):
        make(db, default_ttl=ttl)
    container = make(db, default_ttl=60)
    with refused(400):
        db.replace_container(container, PartitionKey(path="/pk"), default_ttl=ttl)
    assert container.read()["defaultTtl"] == 60
    container.create_item({"id": "still usable", "pk": "a"})


def test_ttl_needs_an_index(db):
    with refused(400):
        make(db, default_ttl=60, indexing_policy={"indexingMode": "none", "automatic": False})


def test_usage_is_exact(db):
    container = make(db)
    for n in range(3):
        container.create_item({"id": str(n), "pk": "a"})
    container.delete_item("0", "a")
    headers = container.read(populate_quota_info=True).get_response_headers()
    usage = dict(part.split("=") for part in headers["x-ms-resource-usage"].strip(";").split(";"))
    assert usage["documentsCount"] == "2"
    assert int(usage["documentsSize"]) >= 0


def test_statistics_when_asked(db):
    container = make(db)
    container.create_item({"id": "1", "pk": "a"})
    assert "statistics" not in container.read()
    statistics = container.read(populate_partition_key_range_statistics=True)["statistics"]
    assert sum(part["documentCount"] for part in statistics) == 1


VECTORS = {"vectorEmbeddings": [{"path": "/v", "dataType": "float32", "distanceFunction": "cosine", "dimensions": 3}]}


@pytest.mark.parametrize("settings", [
    {"indexing_policy": INDEXING | {"vectorIndexes": [{"path": "/v", "type": "flat"}]}},
    {"vector_embedding_policy": {"vectorEmbeddings": [VECTORS["vectorEmbeddings"][0] | {"dimensions": 5000}]}},
    {"vector_embedding_policy": {"vectorEmbeddings": [VECTORS["vectorEmbeddings"][0] | {"dataType": "text"}]}},
    {"full_text_policy": {"defaultLanguage": "xx-XX", "fullTextPaths": []}},
    {"full_text_policy": {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "no slash"}]}},
    {"computed_properties": [{"name": "x", "query": "DELETE"}]},
    {"unique_key_policy": {"uniqueKeys": [{"paths": []}]}},
    {"indexing_policy": INDEXING | {"spatialIndexes": [{"path": "/loc/*", "types": []}]}},
    {"indexing_policy": {"indexingMode": "sometimes"}},
], ids=lambda settings: next(iter(settings)))
def test_settings_that_cannot_be_meant_are_400(db, settings):
    with refused(400):
        make(db, **settings)
    assert list(db.list_containers()) == []


def test_partition_key_path_may_be_quoted(db):
    for path in ["/'level\" 1*()'/'le/vel2'", '/"quoted name"']:
        container = make(db, path=path)
        assert container.read()["partitionKey"]["paths"] == [path]


def test_ranges_cover_everything(container):
    ranges = list(container.read_feed_ranges())
    assert len(ranges) >= 1
    whole = container.feed_range_from_partition_key("a")
    assert any(container.is_feed_range_subset(each, whole) for each in ranges)


def test_conflicts_are_none(container):
    assert list(container.list_conflicts()) == []


def test_container_made_again_under_its_name_is_a_new_one(db):
    container = make(db)
    container.create_item({"id": "1", "pk": "a"})
    old = container.read()["_rid"]
    db.delete_container(container.id)
    db.create_container(container.id, PartitionKey(path="/pk"))
    # This client still believes in the old one until the server corrects it.
    container.create_item({"id": "1", "pk": "a", "fresh": True})
    assert container.read_item("1", "a")["fresh"] is True
    assert container.read()["_rid"] != old


def test_list_comes_in_pages(db):
    names = sorted(make(db).id for _ in range(5))
    pages = [list(page) for page in db.list_containers(max_item_count=2).by_page()]
    assert all(len(page) <= 2 for page in pages)
    assert sorted(each["id"] for page in pages for each in page) == names
