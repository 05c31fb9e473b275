// What was acknowledged is there after a restart, under the same names and with the same marks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { idsOf, refused } from "../lib/expect.js";
import { Server } from "../lib/server.js";

test("everything is there again", async () => {
  const server = await Server.start();
  const { database } = await server.client().databases.create({ id: "db" });
  const { container } = await database.containers.create({ id: "c", partitionKey: "/pk", defaultTtl: 3600, throughput: 1000 });
  const items = [];
  for (let n = 0; n < 20; n++) items.push((await container.items.create({ id: String(n), pk: `p${n % 3}` })).resource);
  const properties = (await container.read()).resource;

  await server.stop();
  await server.start();

  const again = server.client().database("db").container("c");
  assert.deepEqual((await again.read()).resource, properties);
  assert.equal((await again.readOffer()).resource.content.offerThroughput, 1000);
  for (const item of items) assert.deepEqual((await again.item(item.id, item.pk).read()).resource, item);
  await refused(409, () => again.items.create({ id: "0", pk: "p0" }));
  await server.end();
});

test("virtual time and the dead survive", async () => {
  const server = await Server.start("--virtual-clock");
  const { database } = await server.client().databases.create({ id: "db" });
  const { container } = await database.containers.create({ id: "c", partitionKey: "/pk", defaultTtl: 10 });
  await container.items.create({ id: "dies", pk: "a" });
  await container.items.create({ id: "lives", pk: "a", ttl: -1 });
  const moment = await server.advance("10s");
  await server.stop();
  await server.start();
  assert.equal((await server.admin("GET", "/_lapsedb/clock")).body.nowMillis, moment);
  assert.deepEqual(await idsOf(server.client().database("db").container("c")), ["lives"]);
  await server.end();
});
