// Databases: create, read, list, query, delete.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { everything, refused } from "../lib/expect.js";
import { Server, fresh, makeContainer, makeDatabase } from "../lib/server.js";

let server, client;
before(async () => { server = await Server.start(); client = server.client(); });
after(() => server.end());

test("create, read, delete", async () => {
  const created = await client.databases.create({ id: fresh("db") });
  assert.equal(created.statusCode, 201);
  const read = await created.database.read();
  assert.deepEqual(read.resource, created.resource);
  assert.equal(read.resource._colls, "colls/");
  assert.equal((await created.database.delete()).statusCode, 204);
  await refused(404, () => created.database.read());
  await refused(404, () => created.database.delete());
});

test("the same name twice is 409", async () => {
  const database = await makeDatabase(client);
  await refused(409, () => client.databases.create({ id: database.id }));
  const again = await client.databases.createIfNotExists({ id: database.id });
  assert.equal(again.statusCode, 200);
});

test("list and query", async () => {
  const database = await makeDatabase(client);
  assert.ok((await everything(client.databases.readAll())).some((each) => each.id === database.id));
  const query = { query: "SELECT * FROM root r WHERE r.id = @id", parameters: [{ name: "@id", value: database.id }] };
  assert.deepEqual((await everything(client.databases.query(query))).map((each) => each.id), [database.id]);
});

test("the list comes in pages", async () => {
  const names = [];
  for (let n = 0; n < 5; n++) names.push((await makeDatabase(client)).id);
  const seen = [];
  const pages = client.databases.readAll({ maxItemCount: 2 });
  while (pages.hasMoreResults()) {
    const page = (await pages.fetchNext()).resources ?? [];
    assert.ok(page.length <= 2);
    seen.push(...page.map((each) => each.id));
  }
  assert.deepEqual(names.filter((name) => !seen.includes(name)), []);
  assert.equal(new Set(seen).size, seen.length);
});

for (const odd of ["with space", "ümläut-数据库", "per%41cent", "plus+sign", "colls", "quo'te\"s"]) {
  test(`the name may be odd: ${odd}`, async () => {
    const { database } = await client.databases.create({ id: `${fresh("db")} ${odd}` });
    assert.equal((await database.read()).resource.id, database.id);
    await database.delete();
  });
}

test("bad names are 400", async () => {
  await refused(400, () => client.databases.create({ id: "x".repeat(256) }));
  await refused(400, () => client.databases.create({ id: "tab\there" }));
});

test("deleting takes the containers along", async () => {
  const database = await makeDatabase(client);
  const container = await makeContainer(database);
  await container.items.create({ id: "1", pk: "a" });
  await database.delete();
  await client.databases.create({ id: database.id });
  assert.deepEqual(await everything(database.containers.readAll()), []);
});
