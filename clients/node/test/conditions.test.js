// ETags, conditional requests and session tokens.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { everything, refused } from "../lib/expect.js";
import { Server, makeContainer, makeDatabase } from "../lib/server.js";

const STALE = '"00000000-0000-0000-0000-000000000000"';
let server, database, container, item, made;
before(async () => { server = await Server.start(); database = await makeDatabase(server.client()); });
beforeEach(async () => {
  container = await makeContainer(database);
  item = container.item("1", "a");
  made = (await container.items.create({ id: "1", pk: "a", n: 0 })).resource;
});
after(() => server.end());

const ifSame = (condition) => ({ accessCondition: { type: "IfMatch", condition } });
const WRITES = {
  replace: (options) => item.replace({ id: "1", pk: "a", n: 1 }, options),
  upsert: (options) => container.items.upsert({ id: "1", pk: "a", n: 1 }, options),
  patch: (options) => item.patch([{ op: "set", path: "/n", value: 1 }], options),
};

for (const [name, write] of Object.entries(WRITES)) {
  test(`${name} if the etag matches`, async () => {
    await refused(412, () => write(ifSame(STALE)));
    assert.deepEqual((await item.read()).resource, made);
    assert.equal((await write(ifSame(made._etag))).resource.n, 1);
    await refused(412, () => write(ifSame(made._etag)));
  });
}

test("delete if the etag matches", async () => {
  await refused(412, () => item.delete(ifSame(STALE)));
  assert.equal((await item.delete(ifSame(made._etag))).statusCode, 204);
});

test("a read of what is known is 304", async () => {
  const known = await item.read({ accessCondition: { type: "IfNoneMatch", condition: made._etag } });
  assert.equal(known.statusCode, 304);
  const other = await item.read({ accessCondition: { type: "IfNoneMatch", condition: STALE } });
  assert.equal(other.statusCode, 200);
});

test("a container has an etag too", async () => {
  const { resource } = await container.read();
  await refused(412, () => container.replace(resource, ifSame(STALE)));
  await container.replace(resource, ifSame(resource._etag));
  await refused(412, () => container.delete(ifSame(resource._etag)));
});

const position = (token) => Number(token.split("#")[1]);

test("the session token moves with every write", async () => {
  const seen = [];
  for (let n = 0; n < 3; n++) seen.push(position((await container.items.upsert({ id: "1", pk: "a", n })).headers["x-ms-session-token"]));
  assert.deepEqual(seen, [...new Set(seen)].sort((a, b) => a - b));
});

test("a client with session consistency reads its writes", async () => {
  const client = server.client({ consistencyLevel: "Session" });
  const mine = client.database(database.id).container(container.id);
  for (let n = 1; n <= 5; n++) {
    await mine.items.upsert({ id: "1", pk: "a", n });
    assert.equal((await mine.item("1", "a").read()).resource.n, n);
    assert.equal((await everything(mine.items.query("SELECT * FROM c", { partitionKey: "a" })))[0].n, n);
  }
});

test("stronger consistency is 400", async () => {
  const strong = server.client({ consistencyLevel: "Strong" }).database(database.id).container(container.id);
  await refused(400, () => strong.item("1", "a").read());
});
