// Stored procedures, triggers and functions: kept, listed, and honestly not run.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { everything, idsOf, refused } from "../lib/expect.js";
import { Server, makeContainer, makeDatabase } from "../lib/server.js";

let server, container;
before(async () => { server = await Server.start(); container = await makeContainer(await makeDatabase(server.client())); });
after(() => server.end());

const KINDS = {
  storedProcedure: ["storedProcedures", { id: "s", body: "function () {}" }],
  trigger: ["triggers", { id: "s", body: "function () {}", triggerType: "Pre", triggerOperation: "All" }],
  userDefinedFunction: ["userDefinedFunctions", { id: "s", body: "function (x) { return x; }" }],
};

for (const [one, [many, body]] of Object.entries(KINDS)) {
  test(`kept and listed: ${many}`, async () => {
    const all = container.scripts[many];
    const created = await all.create(body);
    assert.equal(created.statusCode, 201);
    const script = container.scripts[one]("s");
    const { resource } = await script.read();
    for (const field of Object.keys(body)) assert.deepEqual(resource[field], body[field]);
    await refused(409, () => all.create(body));
    assert.deepEqual((await everything(all.readAll())).map((each) => each.id), ["s"]);
    assert.equal((await everything(all.query("SELECT * FROM s WHERE s.id = 's'"))).length, 1);
    const replaced = await script.replace({ ...body, body: "function () { return 2; }" });
    assert.equal(replaced.resource.body, "function () { return 2; }");
    assert.equal((await script.delete()).statusCode, 204);
    await refused(404, () => script.read());
  });
}

test("running is refused, not faked", async () => {
  await container.scripts.storedProcedures.create({ id: "run", body: "function () {}" });
  await refused(400, () => container.scripts.storedProcedure("run").execute("a", [1]));
  await container.scripts.triggers.create({ ...KINDS.trigger[1], id: "fire" });
  await refused(400, () => container.items.create({ id: "1", pk: "a" }, { preTriggerInclude: ["fire"] }));
  assert.deepEqual(await idsOf(container), []);
});
