// The change feed of all versions and deletes: every event, expiries among them, and the lease pattern on top.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ChangeFeedMode, ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, ChangeFeedStartFrom } from "@azure/cosmos";

import { refused } from "../lib/expect.js";
import { Server, makeContainer, makeDatabase } from "../lib/server.js";

let server, database;
before(async () => {
  server = await Server.start("--virtual-clock");
  database = await makeDatabase(server.client());
});
after(() => server.end());

const changeFeedMode = ChangeFeedMode.AllVersionsAndDeletes;

/** Reads until the server says 304; the events, and the continuation to go on from. */
async function follow(container, changeFeedStartFrom = ChangeFeedStartFrom.Now(), options = {}) {
  const iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom, changeFeedMode, ...options });
  const events = [];
  for (;;) {
    const answer = await iterator.readNext();
    if (answer.statusCode === 304) return { events, continuation: answer.continuationToken };
    events.push(...answer.result);
  }
}

const goOn = (container, continuation) => follow(container, ChangeFeedStartFrom.Continuation(continuation));

/** What happened to which item; an exclamation mark says that its time was up. */
const short = (events) =>
  events.map(({ current, metadata }) => {
    const gone = metadata.operationType === "delete";
    return `${metadata.operationType}${metadata.timeToLiveExpired ? "!" : ""} ${gone ? metadata.id : current.id}`;
  });

test("every change is an event", async () => {
  const container = await makeContainer(database);
  const { continuation } = await follow(container);
  await container.items.create({ id: "a", pk: "p", n: 1 });
  await container.items.upsert({ id: "a", pk: "p", n: 2 });
  await container.item("a", "p").delete();
  const { events } = await goOn(container, continuation);
  assert.deepEqual(short(events), ["create a", "replace a", "delete a"]);
  assert.deepEqual(events.map((event) => event.current.n), [1, 2, undefined]);
  assert.deepEqual(events.map((event) => event.previous?.n), [undefined, undefined, 2]);
  const [created, replaced, deleted] = events.map((event) => event.metadata);
  assert.equal(created.previousImageLSN, 0);
  assert.equal(replaced.previousImageLSN, created.lsn);
  assert.equal(deleted.previousImageLSN, replaced.lsn);
  assert.deepEqual(deleted.partitionKey, { pk: "p" });
});

test("an expiry is told once, with its moment, before the next life of its id", async () => {
  const zero = await server.align();
  const container = await makeContainer(database, { defaultTtl: 10 });
  const { continuation } = await follow(container);
  await container.items.create({ id: "a", pk: "p" });
  await server.advance("3d");
  await container.items.create({ id: "a", pk: "p" });
  const { events, continuation: then } = await goOn(container, continuation);
  assert.deepEqual(short(events), ["create a", "delete! a", "create a"]);
  assert.equal(events[1].metadata.crts, zero / 1000 + 10);
  await server.advance("10s");
  const last = await goOn(container, then);
  assert.deepEqual(short(last.events), ["delete! a"]);
  assert.deepEqual((await goOn(container, last.continuation)).events, []);
});

test("one partition, the first levels of its key, and feed ranges", async () => {
  const partitionKey = { paths: ["/a", "/b"], kind: "MultiHash", version: 2 };
  const container = await makeContainer(database, { partitionKey });
  const starts = {};
  for (const key of [["x"], ["x", "w"], ["z", "y"]]) {
    starts[key] = (await follow(container, ChangeFeedStartFrom.Now(key))).continuation;
  }
  const [range] = await container.getFeedRanges();
  const ofRange = (await follow(container, ChangeFeedStartFrom.Now(range))).continuation;
  for (const [id, a, b] of [["1", "x", "y"], ["2", "z", "y"], ["3", "x", "w"]]) {
    await container.items.create({ id, a, b });
  }
  const of = async (continuation) => short((await goOn(container, continuation)).events);
  assert.deepEqual(await of(starts[["x"]]), ["create 1", "create 3"]);
  assert.deepEqual(await of(starts[["x", "w"]]), ["create 3"]);
  assert.deepEqual(await of(starts[["z", "y"]]), ["create 2"]);
  assert.deepEqual(await of(ofRange), ["create 1", "create 2", "create 3"]);
});

test("the retention is the policy's", async () => {
  const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
  const container = await makeContainer(database, { changeFeedPolicy });
  const { continuation } = await follow(container);
  await container.items.create({ id: "a", pk: "p" });
  await server.advance("9m");
  assert.deepEqual(short((await goOn(container, continuation)).events), ["create a"]);
  await server.advance("2m");
  await refused(400, () => goOn(container, continuation));
});

test("it cannot be read from the beginning", async () => {
  const container = await makeContainer(database);
  await refused(400, () => follow(container, ChangeFeedStartFrom.Beginning()));
});

test("leases guarded by etags: no event is lost or noted twice, whoever stalls", async () => {
  const container = await makeContainer(database, { defaultTtl: 3600 });
  const leases = await makeContainer(database, { partitionKey: { paths: ["/id"], version: 2 } });
  let seed = 42;
  const dice = (sides) => (seed = (seed * 1103515245 + 12345) % 2147483648) % sides;
  const first = await follow(container);
  await leases.items.create({ id: "lease", owner: null, continuation: first.continuation });
  const noted = [];
  const inHand = [];
  let lost = 0;
  const work = async (owner) => {
    const { resource: lease } = await leases.item("lease", "lease").read();
    const { resource: own } = await save({ ...lease, owner });
    const iterator = container.items.getChangeFeedIterator({
      changeFeedMode,
      changeFeedStartFrom: ChangeFeedStartFrom.Continuation(own.continuation),
      maxItemCount: 2,
    });
    const answer = await iterator.readNext();
    const events = answer.statusCode === 304 ? [] : answer.result;
    return { events, lease: { ...own, continuation: answer.continuationToken } };
  };
  const save = (lease) =>
    leases.item("lease", "lease").replace(lease, { accessCondition: { type: "IfMatch", condition: lease._etag } });
  const note = async ({ events, lease }) => {
    try {
      await save(lease);
      noted.push(...events);
    } catch (error) {
      assert.equal(error.code, 412);
      lost += 1;
    }
  };
  const told = [];
  for (let step = 0; step < 150; step++) {
    const chance = dice(7);
    if (chance < 2) {
      const id = `i${dice(5)}`;
      await container.items.upsert({ id, pk: "p", step, ttl: [20, 3600][dice(2)] });
      told.push(`${id} ${step}`);
    } else if (chance === 2) await server.advance(["1s", "21s", "2h"][dice(3)]);
    else if (chance < 5) inHand.push(await work(`worker ${dice(3)}`));
    else if (inHand.length > 0) await note(inHand.splice(dice(inHand.length), 1)[0]);
  }
  await server.advance("1d");
  for (let page = null; page?.events.length !== 0; ) await note((page = await work("the last")));
  const writes = noted.filter((event) => event.metadata.operationType !== "delete");
  assert.deepEqual(writes.map(({ current }) => `${current.id} ${current.step}`), told);
  const alive = new Set();
  for (const { current, metadata } of noted) {
    if (metadata.operationType === "delete") {
      assert.ok(metadata.timeToLiveExpired && alive.delete(metadata.id));
    } else {
      assert.equal(metadata.operationType === "create", !alive.has(current.id));
      alive.add(current.id);
    }
  }
  assert.equal(alive.size, 0, "all have expired, and each was told");
  assert.ok(lost > 0, "no lease was ever lost: the test shows nothing");
});

test("a continuation survives a restart", async () => {
  const own = await Server.start("--virtual-clock");
  try {
    const container = await makeContainer(await makeDatabase(own.client()), { defaultTtl: 60 });
    const { continuation } = await follow(container);
    await container.items.create({ id: "a", pk: "p" });
    await own.stop();
    await own.start();
    await own.advance("1h");
    const again = own.client().database(container.database.id).container(container.id);
    assert.deepEqual(short((await goOn(again, continuation)).events), ["create a", "delete! a"]);
  } finally {
    await own.end();
  }
});
