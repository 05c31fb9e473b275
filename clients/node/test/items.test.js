// Items: create, read, read feed, upsert, replace, delete, delete by partition key.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { everything, idsOf, refused, userPart } from "../lib/expect.js";
import { Server, makeContainer, makeDatabase } from "../lib/server.js";

let server, database, container;
before(async () => { server = await Server.start(); database = await makeDatabase(server.client()); });
beforeEach(async () => { container = await makeContainer(database); });
after(() => server.end());

/** This client answers a read of nothing with status 404 instead of an error. */
const absent = async (item) => assert.equal((await item.read()).statusCode, 404);

test("create, then read", async () => {
  const body = { id: "1", pk: "a", n: 1, deep: { list: [1, "two", null, { three: 3.5 }] } };
  const created = await container.items.create(body);
  assert.equal(created.statusCode, 201);
  const { resource, statusCode } = await container.item("1", "a").read();
  assert.equal(statusCode, 200);
  assert.deepEqual(userPart(resource), body);
  assert.deepEqual(resource, created.resource);
  for (const field of ["_rid", "_self", "_etag", "_ts", "_attachments"]) assert.ok(resource[field], field);
});

test("values come back as they went", async () => {
  const body = {
    id: "values", pk: "a", zero: 0, minus: -1, half: 0.5, big: 2 ** 53, huge: 1e300, tiny: 5e-324, yes: true, no: false,
    nothing: null, empty: "", list: [], object: {}, "": "empty name", ключ: "имя", nested: [[[[{ a: [{}] }]]]],
    text: 'quote " back \\ slash / tab \t line \n null \u0000 é 漢字 🎈',
  };
  await container.items.create(body);
  assert.deepEqual(userPart((await container.item("values", "a").read()).resource), body);
});

test("an id with a question mark", async () => {
  const id = "what?is=this";
  assert.equal((await container.items.create({ id, pk: "a" })).statusCode, 201);
  assert.equal((await container.item(id, "a").read()).resource.id, id);
  assert.equal((await container.item(id, "a").replace({ id, pk: "a", n: 1 })).statusCode, 200);
  assert.equal((await container.item(id, "a").delete()).statusCode, 204);
  await absent(container.item(id, "a"));
});

test("the same id twice is 409, but not in another partition", async () => {
  await container.items.create({ id: "1", pk: "a" });
  await refused(409, () => container.items.create({ id: "1", pk: "a" }));
  await container.items.create({ id: "1", pk: "b" });
});

test("a missing item is 404 without sub-status", async () => {
  await absent(container.item("none", "a"));
  await refused(404, () => container.item("none", "a").replace({ id: "none", pk: "a" }), 0);
  await refused(404, () => container.item("none", "a").delete(), 0);
  await refused(404, () => container.item("none", "a").patch([{ op: "set", path: "/n", value: 1 }]), 0);
});

test("the client may make an id", async () => {
  const { resource } = await container.items.create({ pk: "a" });
  assert.equal((await container.item(resource.id, "a").read()).resource.id, resource.id);
});

for (const odd of ["with space", "ünï-码", "per%20cent", "plus+", "quo'te\"s", "x".repeat(255), "a&b=c"]) {
  test(`the id may be odd: ${odd.slice(0, 20)}`, async () => {
    await container.items.create({ id: odd, pk: "a" });
    const item = container.item(odd, "a");
    assert.equal((await item.read()).resource.id, odd);
    assert.equal((await item.replace({ id: odd, pk: "a", n: 1 })).resource.n, 1);
    assert.equal((await item.delete()).statusCode, 204);
  });
}

test("upsert inserts, then replaces", async () => {
  const first = await container.items.upsert({ id: "1", pk: "a", old: true });
  const second = await container.items.upsert({ id: "1", pk: "a", fresh: true });
  assert.deepEqual([first.statusCode, second.statusCode], [201, 200]);
  assert.equal(first.resource._rid, second.resource._rid);
  assert.notEqual(first.resource._etag, second.resource._etag);
  assert.deepEqual(userPart(second.resource), { id: "1", pk: "a", fresh: true });
});

test("replace takes the place wholly", async () => {
  await container.items.create({ id: "1", pk: "a", old: true });
  const { resource, statusCode } = await container.item("1", "a").replace({ id: "1", pk: "a", fresh: true });
  assert.equal(statusCode, 200);
  assert.deepEqual(userPart(resource), { id: "1", pk: "a", fresh: true });
});

test("replace may give another id", async () => {
  for (const id of ["1", "taken"]) await container.items.create({ id, pk: "a" });
  assert.equal((await container.item("1", "a").replace({ id: "2", pk: "a" })).resource.id, "2");
  await absent(container.item("1", "a"));
  await refused(409, () => container.item("2", "a").replace({ id: "taken", pk: "a" }));
  assert.deepEqual(await idsOf(container), ["2", "taken"]);
});

test("a key other than the item's is refused", async () => {
  await container.items.create({ id: "1", pk: "a" });
  await refused(400, () => container.item("1", "a").replace({ id: "1", pk: "b" }), 1001);
});

test("delete", async () => {
  await container.items.create({ id: "1", pk: "a" });
  await container.item("1", "a").delete();
  await absent(container.item("1", "a"));
});

test("the read feed comes in pages", async () => {
  for (let n = 0; n < 10; n++) await container.items.create({ id: String(n), pk: `p${n % 3}` });
  const pages = container.items.readAll({ maxItemCount: 4 });
  const seen = [];
  while (pages.hasMoreResults()) {
    const { resources } = await pages.fetchNext();
    assert.ok((resources ?? []).length <= 4);
    seen.push(...(resources ?? []).map((item) => item.id));
  }
  assert.deepEqual(seen.sort(), [..."0123456789"]);
});

test("the read feed goes on from a token", async () => {
  for (let n = 0; n < 7; n++) await container.items.create({ id: String(n), pk: "a" });
  const first = await container.items.readAll({ maxItemCount: 3 }).fetchNext();
  assert.ok(first.continuationToken);
  const rest = await everything(container.items.readAll({ maxItemCount: 3, continuationToken: first.continuationToken }));
  assert.deepEqual([...first.resources, ...rest].map((item) => item.id).sort(), [..."0123456"]);
});

test("an item of two megabytes is too large", async () => {
  await refused(413, () => container.items.create({ id: "big", pk: "a", text: "x".repeat(2 * 1024 * 1024) }));
  await absent(container.item("big", "a"));
});

test("delete by partition key takes that partition only", async () => {
  for (const id of ["1", "2", "3"]) for (const pk of ["doomed", "kept"]) await container.items.create({ id, pk });
  await container.deleteAllItemsForPartitionKey("doomed");
  assert.deepEqual((await everything(container.items.readAll())).map((item) => item.pk), ["kept", "kept", "kept"]);
  await container.items.create({ id: "1", pk: "doomed" });
});

test("values of different type are different keys", async () => {
  const keys = ["1", 1, true, "true", "", 0, false, null];
  for (const pk of keys) await container.items.create({ id: "same", pk });
  for (const pk of keys) assert.equal((await container.item("same", pk).read()).resource.pk, pk);
});

test("an item may lack its key", async () => {
  await container.items.create({ id: "1" });
  assert.equal((await container.item("1", undefined).read()).resource.id, "1");
});

test("a key without version is the old hash", async () => {
  const old = await makeContainer(database, { partitionKey: { paths: ["/pk"] } });
  for (const pk of ["text", 7, true, null]) {
    await old.items.create({ id: "1", pk });
    assert.equal((await old.item("1", pk).read()).resource.pk, pk);
  }
});

test("hierarchical keys", async () => {
  const deep = await makeContainer(database, {
    partitionKey: { paths: ["/tenant", "/user", "/session"], kind: "MultiHash", version: 2 },
  });
  for (const tenant of ["t1", "t2"]) for (const user of ["u1", "u2"]) for (const session of [1, 2]) {
    await deep.items.create({ id: "x", tenant, user, session });
  }
  assert.equal((await deep.item("x", ["t1", "u2", 1]).read()).resource.user, "u2");
  await deep.item("x", ["t2", "u2", 2]).delete();
  await absent(deep.item("x", ["t2", "u2", 2]));
  const found = await everything(deep.items.query("SELECT * FROM c", { partitionKey: ["t2"] }));
  assert.deepEqual(found.map((item) => `${item.user}/${item.session}`).sort(), ["u1/1", "u1/2", "u2/1"]);
});

test("system properties from the client are ignored", async () => {
  const { resource } = await container.items.create({ id: "1", pk: "a", _ts: 1, _etag: "mine", _rid: "mine" });
  assert.ok(resource._ts > 1e9);
  assert.notEqual(resource._etag, "mine");
  assert.notEqual(resource._rid, "mine");
});

test("parallel creates of one id: one wins", async () => {
  const attempts = Array.from({ length: 20 }, (_, n) => container.items.create({ id: "same", pk: "a", n }));
  const settled = await Promise.allSettled(attempts);
  assert.equal(settled.filter((each) => each.status === "fulfilled").length, 1);
  assert.ok(settled.every((each) => each.status === "fulfilled" || each.reason.code === 409));
  assert.deepEqual(await idsOf(container), ["same"]);
});
