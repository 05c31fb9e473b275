// The change feed of latest versions: every start, every scope, continuations, TTL.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ChangeFeedStartFrom } from "@azure/cosmos";

import { Server, makeContainer, makeDatabase } from "../lib/server.js";

let server, database;
before(async () => {
  server = await Server.start("--virtual-clock");
  database = await makeDatabase(server.client());
});
after(() => server.end());

/** Reads until the server says 304; the pages' ids, and the continuation to go on from. */
async function follow(container, changeFeedStartFrom, options = {}) {
  const iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom, ...options });
  const pages = [];
  for (;;) {
    const answer = await iterator.readNext();
    if (answer.statusCode === 304) return { pages, continuation: answer.continuationToken };
    pages.push(answer.result);
  }
}

const ids = async (container, start, options) =>
  (await follow(container, start, options)).pages.flat().map((item) => item.id);
const goOn = (container, continuation) => ids(container, ChangeFeedStartFrom.Continuation(continuation));

async function filled() {
  const container = await makeContainer(database);
  for (let n = 0; n < 6; n++) await container.items.create({ id: `i${n}`, pk: `p${n % 2}`, n: 1 });
  return container;
}

test("from the beginning in the order of changes", async () => {
  const container = await filled();
  await container.items.upsert({ id: "i1", pk: "p1", n: 2 });
  await container.item("i4", "p0").delete();
  const { pages } = await follow(container, ChangeFeedStartFrom.Beginning());
  const found = pages.flat();
  assert.deepEqual(found.map((item) => [item.id, item.n]), [["i0", 1], ["i2", 1], ["i3", 1], ["i5", 1], ["i1", 2]]);
  for (const [at, item] of found.entries()) assert.ok(at === 0 || item._lsn > found[at - 1]._lsn);
});

test("from now on", async () => {
  const container = await filled();
  const { pages, continuation } = await follow(container, ChangeFeedStartFrom.Now());
  assert.deepEqual(pages, []);
  await container.items.create({ id: "new", pk: "p0" });
  await container.items.upsert({ id: "i3", pk: "p1" });
  assert.deepEqual(await goOn(container, continuation), ["new", "i3"]);
});

test("a continuation sees each change once", async () => {
  const container = await filled();
  let { continuation } = await follow(container, ChangeFeedStartFrom.Beginning());
  for (let round = 0; round < 3; round++) {
    await container.items.upsert({ id: "i2", pk: "p0", round });
    const next = await follow(container, ChangeFeedStartFrom.Continuation(continuation));
    assert.deepEqual(next.pages.flat().map((item) => item.round), [round]);
    continuation = next.continuation;
  }
  assert.deepEqual(await goOn(container, continuation), []);
});

test("one iterator goes on after the end", async () => {
  const container = await filled();
  const iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Now() });
  assert.equal((await iterator.readNext()).statusCode, 304);
  await container.items.create({ id: "new", pk: "p0" });
  assert.deepEqual((await iterator.readNext()).result.map((item) => item.id), ["new"]);
  assert.equal((await iterator.readNext()).statusCode, 304);
  assert.equal(iterator.hasMoreResults, true);
});

test("pages", async () => {
  const container = await filled();
  const { pages } = await follow(container, ChangeFeedStartFrom.Beginning(), { maxItemCount: 4 });
  assert.deepEqual(pages.map((page) => page.map((item) => item.id)), [["i0", "i1", "i2", "i3"], ["i4", "i5"]]);
});

test("a batch is one change", async () => {
  const container = await makeContainer(database);
  await container.items.batch(
    [0, 1, 2].map((n) => ({ operationType: "Create", resourceBody: { id: `b${n}`, pk: "p" } })),
    "p",
  );
  await container.items.create({ id: "c", pk: "p" });
  const { pages } = await follow(container, ChangeFeedStartFrom.Beginning(), { maxItemCount: 1 });
  assert.deepEqual(pages.map((page) => page.map((item) => item.id)), [["b0", "b1", "b2"], ["c"]]);
});

test("one partition", async () => {
  const container = await filled();
  const { pages, continuation } = await follow(container, ChangeFeedStartFrom.Beginning("p1"));
  assert.deepEqual(pages.flat().map((item) => item.id), ["i1", "i3", "i5"]);
  await container.items.upsert({ id: "i0", pk: "p0" });
  await container.items.upsert({ id: "i1", pk: "p1" });
  assert.deepEqual(await goOn(container, continuation), ["i1"]);
  assert.deepEqual(await ids(container, ChangeFeedStartFrom.Beginning("other")), []);
});

test("the first levels of a hierarchical key", async () => {
  const partitionKey = { paths: ["/a", "/b"], kind: "MultiHash", version: 2 };
  const container = await makeContainer(database, { partitionKey });
  for (const [id, a, b] of [["1", "x", "y"], ["2", "z", "y"], ["3", "x", "w"]]) {
    await container.items.create({ id, a, b });
  }
  assert.deepEqual(await ids(container, ChangeFeedStartFrom.Beginning(["x"])), ["1", "3"]);
  assert.deepEqual(await ids(container, ChangeFeedStartFrom.Beginning(["x", "w"])), ["3"]);
});

test("feed ranges", async () => {
  const container = await filled();
  const found = [];
  for (const range of await container.getFeedRanges()) {
    found.push(...(await ids(container, ChangeFeedStartFrom.Beginning(range))));
  }
  assert.deepEqual(found, ["i0", "i1", "i2", "i3", "i4", "i5"]);
});

test("two halves of a range are the whole", async () => {
  const container = await filled();
  const [whole] = await container.getFeedRanges();
  const half = (minInclusive, maxExclusive) => {
    const range = Object.create(Object.getPrototypeOf(whole));
    return Object.assign(range, { minInclusive, maxExclusive });
  };
  const halves = [half("", "1FFFFFFF"), half("1FFFFFFF", "FF")];
  const found = await Promise.all(halves.map((range) => ids(container, ChangeFeedStartFrom.Beginning(range))));
  assert.deepEqual(found.flat().sort(), ["i0", "i1", "i2", "i3", "i4", "i5"]);
  assert.deepEqual(new Set(found.flat()).size, 6);
});

test("from a point in time", async () => {
  const container = await makeContainer(database);
  const zero = await server.align();
  for (let n = 0; n < 5; n++) {
    await container.items.create({ id: `i${n}`, pk: "p" });
    await server.advance("2s");
  }
  const at = (seconds) => ChangeFeedStartFrom.Time(new Date(zero + seconds * 1000));
  const { pages, continuation } = await follow(container, at(4));
  assert.deepEqual(pages.flat().map((item) => item.id), ["i3", "i4"], "the second that is named is not in it");
  assert.deepEqual(await ids(container, at(3)), ["i2", "i3", "i4"]);
  assert.deepEqual(await ids(container, at(4), { maxItemCount: 1 }), ["i3", "i4"]);
  await container.items.upsert({ id: "i0", pk: "p" });
  assert.deepEqual(await goOn(container, continuation), ["i0"]);
});

test("nothing expired is in it", async () => {
  await server.align();
  const container = await makeContainer(database, { defaultTtl: 10 });
  await container.items.create({ id: "default", pk: "p" });
  await container.items.create({ id: "short", pk: "p", ttl: 5 });
  await container.items.create({ id: "kept", pk: "p", ttl: -1 });
  const all = () => ids(container, ChangeFeedStartFrom.Beginning());
  assert.deepEqual(await all(), ["default", "short", "kept"]);
  await server.advance("4999ms");
  assert.deepEqual(await all(), ["default", "short", "kept"]);
  await server.advance("1ms");
  assert.deepEqual(await all(), ["default", "kept"]);
  await server.advance("5s");
  assert.deepEqual(await all(), ["kept"]);
});

test("the older iterator", async () => {
  const container = await filled();
  const iterator = container.items.changeFeed("p0", { startFromBeginning: true });
  const { result, etag } = await iterator.fetchNext();
  assert.deepEqual(result.map((item) => item.id), ["i0", "i2", "i4"]);
  await container.items.upsert({ id: "i2", pk: "p0" });
  const next = await container.items.changeFeed("p0", { continuation: etag }).fetchNext();
  assert.deepEqual(next.result.map((item) => item.id), ["i2"]);
});
