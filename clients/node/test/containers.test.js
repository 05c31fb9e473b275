// Containers: every setting is kept and told again, and replacing one changes what it should.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { everything, holds, refused } from "../lib/expect.js";
import { Server, fresh, makeContainer, makeDatabase } from "../lib/server.js";

const INDEXING = {
  indexingMode: "consistent",
  automatic: true,
  includedPaths: [{ path: "/*" }],
  excludedPaths: [{ path: '/"_etag"/?' }, { path: "/notes/*" }],
  compositeIndexes: [[{ path: "/a", order: "ascending" }, { path: "/b", order: "descending" }]],
  spatialIndexes: [{ path: "/loc/*", types: ["Point", "Polygon", "MultiPolygon", "LineString"] }],
};
const VECTOR = { path: "/v", dataType: "float32", distanceFunction: "cosine", dimensions: 3 };
const FULL_TEXT = { defaultLanguage: "en-US", fullTextPaths: [{ path: "/t", language: "en-US" }] };

let server, database;
before(async () => { server = await Server.start(); database = await makeDatabase(server.client()); });
after(() => server.end());

test("create, read, list, query, delete", async () => {
  const created = await database.containers.create({ id: fresh("c"), partitionKey: "/pk" });
  assert.equal(created.statusCode, 201);
  const { container } = created;
  const { resource } = await container.read();
  assert.deepEqual(resource.partitionKey.paths, ["/pk"]);
  for (const field of ["_rid", "_self", "_etag", "_ts", "_docs", "_sprocs"]) assert.ok(resource[field], field);
  assert.ok((await everything(database.containers.readAll())).some((each) => each.id === container.id));
  const query = { query: "SELECT * FROM root r WHERE r.id = @id", parameters: [{ name: "@id", value: container.id }] };
  assert.equal((await everything(database.containers.query(query))).length, 1);
  await refused(409, () => database.containers.create({ id: container.id, partitionKey: "/pk" }));
  assert.equal((await database.containers.createIfNotExists({ id: container.id, partitionKey: "/pk" })).statusCode, 200);
  assert.equal((await container.delete()).statusCode, 204);
  await refused(404, () => container.read());
});

test("the default indexing policy", async () => {
  const { resource } = await (await makeContainer(database)).read();
  holds(resource.indexingPolicy, { indexingMode: "consistent", automatic: true, includedPaths: [{ path: "/*" }] });
});

const SETTINGS = {
  "indexing policy": { indexingPolicy: INDEXING },
  "no index": { indexingPolicy: { indexingMode: "none", automatic: false } },
  "key of version 1": { partitionKey: { paths: ["/pk"], version: 1 } },
  "key of version 2": { partitionKey: { paths: ["/pk"], kind: "Hash", version: 2 } },
  "hierarchical key": { partitionKey: { paths: ["/a", "/b", "/c"], kind: "MultiHash", version: 2 } },
  "hierarchical key of one path": { partitionKey: { paths: ["/pk"], kind: "MultiHash", version: 2 } },
  "unique keys": { uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }, { paths: ["/first", "/last"] }] } },
  ttl: { defaultTtl: 3600 },
  "ttl without default": { defaultTtl: -1 },
  "computed properties": { computedProperties: [{ name: "lower", query: "SELECT VALUE LOWER(c.name) FROM c" }] },
  vectors: {
    vectorEmbeddingPolicy: { vectorEmbeddings: [VECTOR] },
    indexingPolicy: { ...INDEXING, vectorIndexes: [{ path: "/v", type: "quantizedFlat" }] },
  },
  "full text": { fullTextPolicy: FULL_TEXT, indexingPolicy: { ...INDEXING, fullTextIndexes: [{ path: "/t" }] } },
  conflicts: { conflictResolutionPolicy: { mode: "LastWriterWins", conflictResolutionPath: "/stamp" } },
  "geometry": { geospatialConfig: { type: "Geometry" } },
  "bounding box": {
    geospatialConfig: { type: "Geometry" },
    indexingPolicy: { spatialIndexes: [{ path: "/l/?", types: ["Point"], boundingBox: { xmin: 0, ymin: 0, xmax: 100, ymax: 100 } }] },
  },
  "language by number": { fullTextPolicy: { defaultLanguage: "1033", fullTextPaths: [{ path: "/t", language: "1033" }] } },
  "change feed": { changeFeedPolicy: { retentionDuration: 10 } },
  "analytical store": { analyticalStorageTtl: -1 },
};

for (const [name, setting] of Object.entries(SETTINGS)) {
  test(`kept and told again: ${name}`, async () => {
    const container = await makeContainer(database, setting);
    const { resource } = await container.read();
    holds(resource, setting);
    const replaced = await container.replace({ ...resource });
    holds(replaced.resource, setting);
    assert.equal(replaced.resource._rid, resource._rid);
    assert.notEqual(replaced.resource._etag, resource._etag);
  });
}

test("replace leaves out what is left out", async () => {
  const container = await makeContainer(database, { defaultTtl: 60 });
  const { resource } = await container.read();
  delete resource.defaultTtl;
  await container.replace(resource);
  assert.equal((await container.read()).resource.defaultTtl, undefined);
});

test("the partition key cannot change", async () => {
  const container = await makeContainer(database);
  await refused(400, () => container.replace({ id: container.id, partitionKey: { paths: ["/other"] } }));
});

for (const bad of [0, -2, 2 ** 31, 1.5, "60", true, []]) {
  test(`a bad defaultTtl is 400: ${JSON.stringify(bad)}`, async () => {
    await refused(400, () => makeContainer(database, { defaultTtl: bad }));
    const container = await makeContainer(database, { defaultTtl: 60 });
    const { resource } = await container.read();
    await refused(400, () => container.replace({ ...resource, defaultTtl: bad }));
    assert.equal((await container.read()).resource.defaultTtl, 60);
  });
}

test("unique keys are held within a partition", async () => {
  const container = await makeContainer(database, SETTINGS["unique keys"]);
  await container.items.create({ id: "1", pk: "a", email: "x", first: "A", last: "B" });
  await refused(409, () => container.items.create({ id: "2", pk: "a", email: "x", first: "C", last: "D" }));
  await refused(409, () => container.items.create({ id: "2", pk: "a", email: "y", first: "A", last: "B" }));
  await container.items.create({ id: "1", pk: "b", email: "x", first: "A", last: "B" });
  await container.item("1", "a").delete();
  await container.items.create({ id: "2", pk: "a", email: "x", first: "A", last: "B" });
});

test("usage is exact", async () => {
  const container = await makeContainer(database);
  for (const id of ["1", "2", "3"]) await container.items.create({ id, pk: "a" });
  await container.item("1", "a").delete();
  const { headers } = await container.read({ populateQuotaInfo: true });
  assert.match(headers["x-ms-resource-usage"], /documentsCount=2;/);
});

test("ranges tile the whole space", async () => {
  const container = await makeContainer(database);
  const ranges = (await everything(container.readPartitionKeyRanges())).sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1));
  assert.equal(ranges[0].minInclusive, "");
  assert.equal(ranges.at(-1).maxExclusive, "FF");
  ranges.slice(1).forEach((range, n) => assert.equal(range.minInclusive, ranges[n].maxExclusive));
  assert.ok((await container.getFeedRanges()).length >= 1);
});

test("there are no conflicts", async () => {
  assert.deepEqual(await everything((await makeContainer(database)).conflicts.readAll()), []);
});

test("a container made again under its name is a new one", async () => {
  const container = await makeContainer(database);
  await container.items.create({ id: "1", pk: "a" });
  await container.delete();
  await database.containers.create({ id: container.id, partitionKey: "/pk" });
  assert.equal((await container.item("1", "a").read()).statusCode, 404);
  await container.items.create({ id: "1", pk: "a" });
});
