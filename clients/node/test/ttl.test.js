// Time to live, on a clock the test moves: `_ts + ttl` is the first second without the item.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { everything, idsOf, refused } from "../lib/expect.js";
import { Server, makeContainer, makeDatabase } from "../lib/server.js";

let server, real, database, container;
before(async () => {
  server = await Server.start("--virtual-clock");
  real = await Server.start();
  database = await makeDatabase(server.client());
});
beforeEach(async () => {
  container = await makeContainer(database, { defaultTtl: 10 });
  await server.align();
});
after(async () => { await server.end(); await real.end(); });

const absent = async (id) => assert.equal((await container.item(id, "a").read()).statusCode, 404);

/** What every way of listing agrees on. */
async function ids() {
  const fed = await idsOf(container);
  assert.deepEqual(await everything(container.items.query("SELECT VALUE c.id FROM c ORDER BY c.id")), fed);
  assert.deepEqual(await everything(container.items.query("SELECT VALUE COUNT(1) FROM c")), [fed.length]);
  return fed;
}

test("an item lives to the last millisecond", async () => {
  const { resource } = await container.items.create({ id: "1", pk: "a" });
  assert.equal(await server.advance("9999ms"), (resource._ts + 10) * 1000 - 1);
  assert.deepEqual((await container.item("1", "a").read()).resource, resource);
  assert.deepEqual(await ids(), ["1"]);
  await server.advance("1ms");
  await absent("1");
  assert.deepEqual(await ids(), []);
});

test("the item's own ttl wins, shorter and longer", async () => {
  for (const [id, ttl] of [["short", 5], ["default", undefined], ["long", 20], ["never", -1]]) {
    await container.items.create({ id, pk: "a", ttl });
  }
  await server.advance("5s");
  assert.deepEqual(await ids(), ["default", "long", "never"]);
  await server.advance("5s");
  assert.deepEqual(await ids(), ["long", "never"]);
  await server.advance("3650d");
  assert.deepEqual(await ids(), ["never"]);
});

test("a write renews, a read does not", async () => {
  await container.items.create({ id: "1", pk: "a" });
  await container.items.create({ id: "2", pk: "a" });
  await server.advance("9s");
  await container.item("1", "a").patch([{ op: "set", path: "/n", value: 1 }]);
  await container.item("2", "a").read();
  await server.advance("9s");
  assert.deepEqual(await ids(), ["1"]);
});

test("the dead are not found by any write and leave their id free", async () => {
  const { resource: dead } = await container.items.create({ id: "1", pk: "a", old: true });
  await server.advance("10s");
  const same = { accessCondition: { type: "IfMatch", condition: dead._etag } };
  await refused(404, () => container.item("1", "a").replace({ id: "1", pk: "a" }, same), 0);
  await refused(404, () => container.item("1", "a").patch([{ op: "set", path: "/n", value: 1 }], same), 0);
  await refused(404, () => container.item("1", "a").delete(same), 0);
  const upserted = await container.items.upsert({ id: "1", pk: "a" });
  assert.equal(upserted.statusCode, 201);
  assert.notEqual(upserted.resource._rid, dead._rid);
  assert.equal(upserted.resource.old, undefined);
});

test("the dead do not hold unique keys", async () => {
  container = await makeContainer(database, { defaultTtl: 10, uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] } });
  await container.items.create({ id: "1", pk: "a", email: "x" });
  await refused(409, () => container.items.create({ id: "2", pk: "a", email: "x" }));
  await server.advance("10s");
  await container.items.create({ id: "2", pk: "a", email: "x" });
});

for (const later of [20, -1, undefined]) {
  test(`the dead stay dead when the default becomes ${later}`, async () => {
    await container.items.create({ id: "1", pk: "a" });
    await server.advance("10s");
    const { resource } = await container.read();
    await container.replace({ ...resource, defaultTtl: later });
    assert.deepEqual(await ids(), []);
    await absent("1");
  });
}

test("a longer default lengthens the living, a shorter acts at once", async () => {
  await container.items.create({ id: "1", pk: "a" });
  await server.advance("9s");
  const { resource } = await container.read();
  await container.replace({ ...resource, defaultTtl: 20 });
  await server.advance("5s");
  assert.deepEqual(await ids(), ["1"]);
  await container.replace({ ...resource, defaultTtl: 12 });
  assert.deepEqual(await ids(), []);
});

test("bulk sees no dead", async () => {
  await container.items.create({ id: "1", pk: "a" });
  await server.advance("10s");
  const answers = await container.items.bulk([
    { operationType: "Read", id: "1", partitionKey: "a" },
    { operationType: "Create", resourceBody: { id: "1", pk: "a" } },
  ], { continueOnError: true });
  assert.deepEqual(answers.map((each) => each.statusCode), [404, 201]);
});

for (const ttl of [0, -2, 2 ** 31, 2 ** 32 + 1, 1.5, "60", null, true, [], {}]) {
  test(`a bad ttl is 400 by every way in: ${JSON.stringify(ttl)}`, async () => {
    const { resource: kept } = await container.items.create({ id: "kept", pk: "a" });
    const body = { id: "bad", pk: "a", ttl };
    await refused(400, () => container.items.create(body));
    await refused(400, () => container.items.upsert(body));
    await refused(400, () => container.item("kept", "a").replace({ ...body, id: "kept" }));
    await refused(400, () => container.item("kept", "a").patch([{ op: "set", path: "/ttl", value: ttl }]));
    const bulk = await container.items.bulk([{ operationType: "Create", resourceBody: body }], { continueOnError: true });
    assert.equal(bulk[0].statusCode, 400);
    assert.deepEqual(await ids(), ["kept"]);
    assert.deepEqual((await container.item("kept", "a").read()).resource, kept);
  });
}

test("the real clock expires without help", async () => {
  container = await makeContainer(await makeDatabase(real.client()), { defaultTtl: -1 });
  await container.items.create({ id: "1", pk: "a", ttl: 2 });
  await container.items.create({ id: "2", pk: "a" });
  const deadline = Date.now() + 5000;
  while ((await idsOf(container)).length > 1 && Date.now() < deadline) await new Promise((go) => setTimeout(go, 50));
  assert.deepEqual(await ids(), ["2"]);
});
