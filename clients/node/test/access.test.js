// Users, permissions and the resource tokens that come of them.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { everything, refused } from "../lib/expect.js";
import { Server, fresh, makeContainer, makeDatabase } from "../lib/server.js";

let server, database, container;
before(async () => { server = await Server.start(); database = await makeDatabase(server.client()); });
beforeEach(async () => { container = await makeContainer(database); });
after(() => server.end());

const newUser = async () => (await database.users.create({ id: fresh("u") })).user;
const permissionFor = (resource, permissionMode = "read", more = {}) =>
  ({ id: fresh("p"), permissionMode, resource: resource.url, ...more });

test("users", async () => {
  const { user, statusCode } = await database.users.create({ id: fresh("u") });
  assert.equal(statusCode, 201);
  assert.equal((await user.read()).resource.id, user.id);
  await refused(409, () => database.users.create({ id: user.id }));
  await database.users.upsert({ id: user.id });
  assert.ok((await everything(database.users.readAll())).some((each) => each.id === user.id));
  const query = { query: "SELECT * FROM u WHERE u.id = @id", parameters: [{ name: "@id", value: user.id }] };
  assert.equal((await everything(database.users.query(query))).length, 1);
  const renamed = await user.replace({ id: fresh("renamed") });
  assert.equal((await database.user(renamed.resource.id).read()).resource.id, renamed.resource.id);
  await database.user(renamed.resource.id).delete();
  await refused(404, () => database.user(renamed.resource.id).read());
});

test("permissions", async () => {
  const user = await newUser();
  const body = permissionFor(container, "Read");
  const { permission, resource } = await user.permissions.create(body);
  assert.match(resource._token, /^type=resource&ver=1/);
  assert.equal(resource.permissionMode, "Read");
  assert.equal((await permission.read()).resource.id, body.id);
  assert.equal((await permission.replace({ ...body, permissionMode: "All" })).resource.permissionMode, "All");
  assert.equal((await user.permissions.upsert(body)).resource.permissionMode, "Read");
  assert.deepEqual((await everything(user.permissions.readAll())).map((each) => each.id), [body.id]);
  await permission.delete();
  await refused(404, () => permission.read());
});

const enter = (target, token) =>
  server.client({ resourceTokens: { [target.url]: token } }).database(database.id).container(target.id);

test("a read token reads and does not write", async () => {
  await container.items.create({ id: "1", pk: "a" });
  const { resource } = await (await newUser()).permissions.create(permissionFor(container, "Read"));
  const seen = enter(container, resource._token);
  assert.equal((await seen.item("1", "a").read()).resource.id, "1");
  assert.equal((await everything(seen.items.readAll())).length, 1);
  await refused(403, () => seen.items.create({ id: "2", pk: "a" }));
  await refused(403, () => seen.item("1", "a").delete());
});

test("a full token writes", async () => {
  const { resource } = await (await newUser()).permissions.create(permissionFor(container, "All"));
  const seen = enter(container, resource._token);
  await seen.items.create({ id: "1", pk: "a" });
  await seen.item("1", "a").patch([{ op: "set", path: "/n", value: 1 }]);
  assert.equal((await container.item("1", "a").read()).resource.n, 1);
});

test("a token opens its own container only", async () => {
  const other = await makeContainer(database);
  await other.items.create({ id: "1", pk: "a" });
  const { resource } = await (await newUser()).permissions.create(permissionFor(container, "All"));
  await refused(403, () => enter(other, resource._token).item("1", "a").read());
});

test("a token may be for one partition", async () => {
  for (const pk of ["mine", "theirs"]) await container.items.create({ id: "1", pk });
  const body = permissionFor(container, "All", { resourcePartitionKey: ["mine"] });
  const { resource } = await (await newUser()).permissions.create(body);
  const seen = enter(container, resource._token);
  assert.equal((await seen.item("1", "mine").read()).resource.pk, "mine");
  await refused(403, () => seen.item("1", "theirs").read());
});
