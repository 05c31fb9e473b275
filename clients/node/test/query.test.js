// Queries: filters, parameters, counts, order, pages, partitions.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { everything, refused } from "../lib/expect.js";
import { Server, makeContainer, makeDatabase } from "../lib/server.js";

let server, container;
before(async () => {
  server = await Server.start();
  container = await makeContainer(await makeDatabase(server.client()));
  for (let n = 0; n < 20; n++) {
    await container.items.create({ id: `i${String(n).padStart(2, "0")}`, pk: `p${n % 4}`, n, even: n % 2 === 0 });
  }
});
after(() => server.end());

const upTo = (end) => Array.from({ length: end }, (_, n) => n);
const ask = (query, options) => everything(container.items.query(query, options));
const numbers = async (query, options) => (await ask(query, options)).map((item) => item.n).sort((a, b) => a - b);

test("everything", async () => assert.deepEqual(await numbers("SELECT * FROM c"), upTo(20)));

test("filter", async () => {
  assert.deepEqual(await numbers("SELECT * FROM c WHERE c.even = true AND c.n > 10"), [12, 14, 16, 18]);
});

test("parameters", async () => {
  const query = {
    query: "SELECT * FROM c WHERE c.n >= @low AND c.n < @high",
    parameters: [{ name: "@low", value: 3 }, { name: "@high", value: 6 }],
  };
  assert.deepEqual(await numbers(query), [3, 4, 5]);
});

test("value and projection", async () => {
  assert.deepEqual(await ask("SELECT VALUE c.n FROM c WHERE c.id = 'i07'"), [7]);
  assert.deepEqual(await ask("SELECT c.id, c.n AS number FROM c WHERE c.n = 7"), [{ id: "i07", number: 7 }]);
});

test("count", async () => {
  assert.deepEqual(await ask("SELECT VALUE COUNT(1) FROM c"), [20]);
  assert.deepEqual(await ask("SELECT VALUE COUNT(1) FROM c", { partitionKey: "p1" }), [5]);
});

test("order", async () => {
  assert.deepEqual(await ask("SELECT VALUE c.n FROM c ORDER BY c.n DESC"), upTo(20).reverse());
  assert.deepEqual(await ask("SELECT VALUE c.n FROM c ORDER BY c.id"), upTo(20));
});

test("one partition", async () => {
  assert.deepEqual(await numbers("SELECT * FROM c WHERE c.n > 5", { partitionKey: "p2" }), [6, 10, 14, 18]);
});

test("pages", async () => {
  const pages = container.items.query("SELECT * FROM c", { maxItemCount: 6 });
  const seen = [];
  while (pages.hasMoreResults()) {
    const { resources } = await pages.fetchNext();
    assert.ok((resources ?? []).length <= 6);
    seen.push(...(resources ?? []).map((item) => item.n));
  }
  assert.deepEqual(seen.sort((a, b) => a - b), upTo(20));
});

test("the plan path gives the same", async () => {
  for (const query of ["SELECT * FROM c", "SELECT * FROM c WHERE c.n >= 0"]) {
    assert.deepEqual(await numbers(query, { forceQueryPlan: true }), upTo(20));
  }
  assert.deepEqual(await ask("SELECT VALUE c.n FROM c ORDER BY c.n", { forceQueryPlan: true }), upTo(20));
  assert.deepEqual(await ask("SELECT VALUE COUNT(1) FROM c", { forceQueryPlan: true }), [20]);
});

for (const bad of ["SELEC * FROM c", "SELECT * FROM", "SELECT * FROM c WHERE"]) {
  test(`a bad query is 400: ${bad}`, () => refused(400, () => ask(bad)));
}
