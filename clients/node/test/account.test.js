// Who may come in, by which protocol, and what the account says of itself.

import assert from "node:assert/strict";
import https from "node:https";
import { after, before, test } from "node:test";

import { refused, idsOf } from "../lib/expect.js";
import { READ_ONLY_KEY, Server, fresh, makeContainer, makeDatabase } from "../lib/server.js";

const WRONG_KEY = "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmc=";
let server;
before(async () => { server = await Server.start("--read-only-key", READ_ONLY_KEY); });
after(() => server.end());

test("the account names the endpoint the client used", async () => {
  const { resource } = await server.client().getDatabaseAccount();
  assert.deepEqual(resource.writableLocations.map((place) => place.databaseAccountEndpoint), [server.url()]);
  assert.equal(resource.consistencyPolicy, "Session");
});

test("http and https answer on one port", async () => {
  for (const scheme of ["http", "https"]) {
    const agent = scheme === "https" ? new https.Agent({ rejectUnauthorized: false }) : undefined;
    const client = server.client({ endpoint: server.url(scheme), agent });
    const database = await makeDatabase(client);
    assert.equal((await database.read()).resource.id, database.id);
    await database.delete();
    agent?.destroy();
  }
});

test("a wrong key is 401", () => refused(401, () => server.client({ key: WRONG_KEY }).databases.readAll().fetchAll()));

test("a read-only key reads and writes nothing", async () => {
  const database = await makeDatabase(server.client());
  const container = await makeContainer(database);
  await container.items.create({ id: "1", pk: "a" });
  const seen = server.client({ key: READ_ONLY_KEY }).database(database.id).container(container.id);
  assert.equal((await seen.item("1", "a").read()).resource.id, "1");
  assert.deepEqual(await idsOf(seen), ["1"]);
  assert.equal((await seen.items.query("SELECT * FROM c").fetchAll()).resources.length, 1);
  await refused(403, () => seen.items.create({ id: "2", pk: "a" }));
  await refused(403, () => seen.items.upsert({ id: "1", pk: "a", n: 1 }));
  await refused(403, () => seen.item("1", "a").replace({ id: "1", pk: "a", n: 1 }));
  await refused(403, () => seen.item("1", "a").patch([{ op: "add", path: "/n", value: 1 }]));
  await refused(403, () => seen.item("1", "a").delete());
  // Of a batch this client keeps the words of a refusal, not its status.
  await assert.rejects(() => seen.items.batch([{ operationType: "Delete", id: "1" }], "a"), /read-only key/);
  await refused(403, () => seen.delete());
  await refused(403, () => seen.database.client.databases.create({ id: fresh("db") }));
  assert.deepEqual(await idsOf(container), ["1"]);
});

test("every answer has a charge and an activity", async () => {
  const response = await makeContainer(await makeDatabase(server.client())).then((c) => c.items.create({ id: "1", pk: "a" }));
  assert.ok(response.requestCharge > 0);
  assert.ok(response.activityId);
});

test("a real clock cannot be moved", async () => {
  assert.equal((await server.admin("POST", "/_lapsedb/clock", { advance: "1s" })).status, 403);
});
