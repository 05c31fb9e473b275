// Offers: manual and autoscale throughput, and what happens when it is used up.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { everything, refused } from "../lib/expect.js";
import { Server, fresh, makeContainer, makeDatabase } from "../lib/server.js";

let server, client, database;
before(async () => { server = await Server.start(); client = server.client(); database = await makeDatabase(client); });
after(() => server.end());

test("manual throughput", async () => {
  const container = await makeContainer(database, { throughput: 500 });
  const { resource, offer } = await container.readOffer();
  assert.equal(resource.content.offerThroughput, 500);
  resource.content.offerThroughput = 600;
  assert.equal((await offer.replace(resource)).resource.content.offerThroughput, 600);
  assert.equal((await offer.read()).resource.content.offerThroughput, 600);
  assert.ok((await everything(client.offers.readAll())).some((each) => each.id === resource.id));
  const query = `SELECT * FROM root r WHERE r.id = "${resource.id}"`;
  assert.equal((await everything(client.offers.query(query))).length, 1);
});

test("a container that nobody asked throughput for has the standard offer", async () => {
  const { container } = await database.containers.create({ id: fresh("c"), partitionKey: "/pk" });
  const { resource, offer } = await container.readOffer();
  assert.equal(resource.content.offerThroughput, 400);
  for (const field of ["id", "_rid", "_self", "_etag", "resource"]) assert.ok(resource[field], field);
  assert.ok((await everything(client.offers.readAll())).some((each) => each.id === resource.id));
  resource.content.offerThroughput += 100;
  assert.equal((await offer.replace(resource)).resource.content.offerThroughput, 500);
  assert.equal((await container.readOffer()).resource._rid, resource._rid);
  await container.delete();
  await refused(404, () => offer.read());
});

test("autoscale throughput", async () => {
  const container = await makeContainer(database, { throughput: undefined, maxThroughput: 4000 });
  const { resource, offer } = await container.readOffer();
  assert.equal(resource.content.offerAutopilotSettings.maxThroughput, 4000);
  resource.content.offerAutopilotSettings.maxThroughput = 5000;
  await offer.replace(resource);
  assert.equal((await container.readOffer()).resource.content.offerAutopilotSettings.maxThroughput, 5000);
});

test("a database shares its throughput", async () => {
  const shared = await makeDatabase(client, { throughput: 700 });
  assert.equal((await shared.readOffer()).resource.content.offerThroughput, 700);
  const { container } = await shared.containers.create({ id: fresh("c"), partitionKey: "/pk" });
  assert.equal((await container.readOffer()).resource, undefined);
});

test("bad throughput is 400", async () => {
  for (const throughput of [100, 450, 2_000_000]) await refused(400, () => makeContainer(database, { throughput }));
  const { resource, offer } = await (await makeContainer(database, { throughput: 400 })).readOffer();
  resource.content.offerThroughput = 100;
  await refused(400, () => offer.replace(resource));
});

const BODY = { id: "1", pk: "a", text: "x".repeat(100_000) };
const ATTEMPTS_MAX = 400;

async function exhausted(container) {
  const hasty = server.client({ connectionPolicy: { retryOptions: { maxRetryAttemptCount: 0 } } });
  const seen = hasty.database(database.id).container(container.id);
  for (let n = 0; n < ATTEMPTS_MAX; n++) {
    try {
      await seen.items.upsert(BODY);
    } catch (error) {
      return error;
    }
  }
  return undefined;
}

test("too much is 429 and says when to come back", async () => {
  const error = await exhausted(await makeContainer(database, { throughput: 400 }));
  assert.equal(error?.code, 429);
  assert.equal(Number(error.substatus), 3200);
  assert.ok(Number(error.headers["x-ms-retry-after-ms"]) > 0);
});

test("a patient client is served in the end", async () => {
  const container = await makeContainer(database, { throughput: 400 });
  assert.equal((await exhausted(container))?.code, 429);
  const { headers } = await container.items.upsert({ ...BODY, n: 1 });
  assert.ok(Number(headers["x-ms-throttle-retry-count"] ?? 0) >= 0);
  assert.equal((await container.item("1", "a").read()).resource.n, 1);
});
