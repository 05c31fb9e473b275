// Transactional batch and the two ways of bulk.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { idsOf, userPart } from "../lib/expect.js";
import { Server, makeContainer, makeDatabase } from "../lib/server.js";

let server, database, container;
before(async () => { server = await Server.start(); database = await makeDatabase(server.client()); });
beforeEach(async () => { container = await makeContainer(database); });
after(() => server.end());

const create = (id, pk = "a") => ({ operationType: "Create", partitionKey: pk, resourceBody: { id, pk } });
const statuses = (answers) => answers.map((answer) => answer.statusCode);

test("every operation of a batch", async () => {
  for (const id of ["read", "replace", "patch", "delete", "upsert"]) await container.items.create({ id, pk: "a", n: 1 });
  const { result, code } = await container.items.batch([
    create("created"),
    { operationType: "Upsert", resourceBody: { id: "upsert", pk: "a", n: 2 } },
    { operationType: "Upsert", resourceBody: { id: "upserted", pk: "a" } },
    { operationType: "Replace", id: "replace", resourceBody: { id: "replace", pk: "a", n: 2 } },
    { operationType: "Patch", id: "patch", resourceBody: { operations: [{ op: "incr", path: "/n", value: 1 }] } },
    { operationType: "Read", id: "read" },
    { operationType: "Delete", id: "delete" },
  ], "a");
  assert.equal(code, 200);
  assert.deepEqual(statuses(result), [201, 200, 201, 200, 200, 200, 204]);
  assert.deepEqual(userPart(result[5].resourceBody), { id: "read", pk: "a", n: 1 });
  assert.deepEqual(await idsOf(container), ["created", "patch", "read", "replace", "upsert", "upserted"]);
});

test("one failure undoes the batch", async () => {
  await container.items.create({ id: "old", pk: "a" });
  const { result, code } = await container.items.batch([create("1"), create("old"), create("2")], "a");
  assert.equal(code, 207);
  assert.deepEqual(statuses(result), [424, 409, 424]);
  assert.deepEqual(await idsOf(container), ["old"]);
});

test("a stale etag undoes the batch", async () => {
  const { resource } = await container.items.create({ id: "old", pk: "a", n: 1 });
  const replace = { operationType: "Replace", id: "old", resourceBody: { id: "old", pk: "a", n: 2 } };
  const stale = await container.items.batch([create("1"), { ...replace, ifMatch: '"stale"' }], "a");
  assert.deepEqual(statuses(stale.result), [424, 412]);
  const right = await container.items.batch([create("1"), { ...replace, ifMatch: resource._etag }], "a");
  assert.deepEqual(statuses(right.result), [201, 200]);
});

test("a hundred operations and no more", async () => {
  const many = Array.from({ length: 101 }, (_, n) => create(String(n)));
  // This client counts for itself and sends nothing.
  await assert.rejects(() => container.items.batch(many, "a"), /100/);
  assert.deepEqual(await idsOf(container), []);
  assert.equal((await container.items.batch(many.slice(1), "a")).result.length, 100);
});

test("a batch can answer without bodies", async () => {
  const quiet = { contentResponseOnWriteEnabled: false };
  const { result } = await container.items.batch([create("1"), create("2")], "a", quiet);
  assert.deepEqual(statuses(result), [201, 201]);
  assert.ok(result.every((answer) => answer.resourceBody === undefined && answer.eTag));
});

/** The operations of a bulk, one of each, and the statuses they deserve; every operation stands alone. */
async function mixed() {
  for (const id of ["read", "replace", "patch", "delete", "clash"]) await container.items.create({ id, pk: "a", n: 1 });
  const operations = [
    create("created", "a"),
    create("created", "b"),
    create("clash"),
    { operationType: "Upsert", partitionKey: "c", resourceBody: { id: "upserted", pk: "c" } },
    { operationType: "Read", id: "read", partitionKey: "a" },
    { operationType: "Read", id: "none", partitionKey: "a" },
    { operationType: "Replace", id: "replace", partitionKey: "a", resourceBody: { id: "replace", pk: "a", n: 2 } },
    { operationType: "Patch", id: "patch", partitionKey: "a", resourceBody: { operations: [{ op: "incr", path: "/n", value: 1 }] } },
    { operationType: "Delete", id: "delete", partitionKey: "a" },
  ];
  return { operations, deserved: [201, 201, 409, 201, 200, 404, 200, 200, 204] };
}
const LEFT = ["clash", "created", "created", "patch", "read", "replace", "upserted"];

test("bulk", async () => {
  const { operations, deserved } = await mixed();
  const answers = await container.items.bulk(operations, { continueOnError: true });
  assert.deepEqual(statuses(answers), deserved);
  assert.deepEqual(await idsOf(container), LEFT);
});

test("executeBulkOperations", async () => {
  const { operations, deserved } = await mixed();
  const answers = await container.items.executeBulkOperations(operations);
  assert.deepEqual(answers.map((each) => each.response?.statusCode ?? each.error?.code), deserved);
  assert.deepEqual(await idsOf(container), LEFT);
});

test("bulk of many", async () => {
  const operations = Array.from({ length: 500 }, (_, n) => create(String(n), `p${n % 7}`));
  const answers = await container.items.executeBulkOperations(operations);
  assert.ok(answers.every((each) => each.response?.statusCode === 201));
  assert.equal((await idsOf(container)).length, 500);
});

test("bulk with hierarchical keys", async () => {
  const deep = await makeContainer(database, { partitionKey: { paths: ["/t", "/u"], kind: "MultiHash", version: 2 } });
  const operations = ["1", "2"].map((id) => ({ operationType: "Create", resourceBody: { id, t: "x", u: id } }));
  assert.deepEqual(statuses(await deep.items.bulk(operations)), [201, 201]);
  assert.equal((await deep.item("2", ["x", "2"]).read()).resource.id, "2");
});

test("a bulk operation with a bad ttl fails by itself, also where TTL is off", async () => {
  const operation = (id, ttl) => ({ operationType: "Create", partitionKey: "a", resourceBody: { id, pk: "a", ttl } });
  const answers = await container.items.executeBulkOperations([operation("bad", -10), operation("good", 10)]);
  assert.deepEqual(answers.map((each) => each.error?.code ?? each.response.statusCode), [400, 201]);
});

test("a bulk whose answer would be too large is sent again in parts", async () => {
  const text = "x".repeat(100_000);
  const ids = Array.from({ length: 60 }, (_, n) => `large${n}`);
  for (const id of ids) await container.items.create({ id, pk: "a", text });
  const read = (id) => ({ operationType: "Read", partitionKey: "a", id });
  const answers = await container.items.executeBulkOperations(ids.map(read));
  assert.deepEqual(answers.map((answer) => answer.response?.statusCode), ids.map(() => 200));
});
