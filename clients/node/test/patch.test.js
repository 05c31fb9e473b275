// Patch: each operation, the condition, and what is refused.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { refused, userPart } from "../lib/expect.js";
import { Server, makeContainer, makeDatabase } from "../lib/server.js";

const BODY = { id: "1", pk: "a", n: 5, text: "t", list: [1, 2, 3], deep: { x: 1 } };
let server, container, item;
before(async () => {
  server = await Server.start();
  container = await makeContainer(await makeDatabase(server.client()));
  item = container.item("1", "a");
});
beforeEach(() => container.items.upsert(BODY));
after(() => server.end());

const CASES = {
  "add a member": [[{ op: "add", path: "/fresh", value: { a: [1] } }], { fresh: { a: [1] } }],
  "add over a member": [[{ op: "add", path: "/text", value: 1 }], { text: 1 }],
  "add into a list": [[{ op: "add", path: "/list/1", value: 9 }], { list: [1, 9, 2, 3] }],
  "append to a list": [[{ op: "add", path: "/list/-", value: 9 }], { list: [1, 2, 3, 9] }],
  "set a member": [[{ op: "set", path: "/text", value: null }], { text: null }],
  "set in a list": [[{ op: "set", path: "/list/0", value: 9 }], { list: [9, 2, 3] }],
  replace: [[{ op: "replace", path: "/deep/x", value: 2 }], { deep: { x: 2 } }],
  remove: [[{ op: "remove", path: "/list/0" }], { list: [2, 3] }],
  increase: [[{ op: "incr", path: "/n", value: 2 }], { n: 7 }],
  decrease: [[{ op: "incr", path: "/n", value: -7.5 }], { n: -2.5 }],
  "increase nothing": [[{ op: "incr", path: "/count", value: 3 }], { count: 3 }],
  move: [[{ op: "move", from: "/text", path: "/deep/text" }], { text: undefined, deep: { x: 1, text: "t" } }],
};

for (const [name, [operations, change]] of Object.entries(CASES)) {
  test(name, async () => {
    const expected = JSON.parse(JSON.stringify({ ...BODY, ...change }));
    const before = (await item.read()).resource;
    const { resource, statusCode } = await item.patch(operations);
    assert.equal(statusCode, 200);
    assert.deepEqual(userPart(resource), expected);
    assert.deepEqual(userPart((await item.read()).resource), expected);
    assert.notEqual(resource._etag, before._etag);
    assert.equal(resource._rid, before._rid);
  });
}

test("a condition decides", async () => {
  const operations = [{ op: "incr", path: "/n", value: 1 }];
  assert.equal((await item.patch({ condition: "from c where c.n = 5", operations })).resource.n, 6);
  await refused(412, () => item.patch({ condition: "from c where c.n = 5", operations }));
  await refused(400, () => item.patch({ condition: "from c where where", operations }));
  assert.equal((await item.read()).resource.n, 6);
});

const REFUSED = {
  "replace of nothing": [{ op: "replace", path: "/absent", value: 1 }],
  "remove of nothing": [{ op: "remove", path: "/absent" }],
  "increase of text": [{ op: "incr", path: "/text", value: 1 }],
  "missing parent": [{ op: "add", path: "/a/b/c", value: 1 }],
  "the id": [{ op: "set", path: "/id", value: "2" }],
  "the partition key": [{ op: "set", path: "/pk", value: "b" }],
  "a system property": [{ op: "set", path: "/_ts", value: 1 }],
  "eleven operations": Array(11).fill({ op: "incr", path: "/n", value: 1 }),
  "one of two": [{ op: "incr", path: "/n", value: 1 }, { op: "remove", path: "/absent" }],
};

for (const [name, operations] of Object.entries(REFUSED)) {
  test(`refused wholly: ${name}`, async () => {
    const before = (await item.read()).resource;
    await refused(400, () => item.patch(operations));
    assert.deepEqual((await item.read()).resource, before);
  });
}
