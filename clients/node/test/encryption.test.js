// Always Encrypted: the SDK encrypts and decrypts, the server keeps its wrapped keys and knows none of them.

import assert from "node:assert/strict";
import { createCipheriv, createDecipheriv, createHash } from "node:crypto";
import { after, before, test } from "node:test";

import { EncryptionQueryBuilder, PermissionMode } from "@azure/cosmos";

import { everything, refused } from "../lib/expect.js";
import { Server, fresh, makeDatabase } from "../lib/server.js";

const ALGORITHM = "AEAD_AES_256_CBC_HMAC_SHA256";

/** Wraps keys with what the address of the wrapping key hashes to, as a vault would with a key of its own. */
const VAULT = {
  encryptionKeyResolverName: "TEST_VAULT",
  secret(id) { return createHash("sha256").update(id).digest(); },
  async wrapKey(id, _algorithm, key) {
    const cipher = createCipheriv("aes-256-ecb", this.secret(id), null);
    return Buffer.concat([cipher.update(key), cipher.final()]);
  },
  async unwrapKey(id, _algorithm, wrapped) {
    const decipher = createDecipheriv("aes-256-ecb", this.secret(id), null);
    return Buffer.concat([decipher.update(wrapped), decipher.final()]);
  },
};

const metadata = (value) => ({ type: "TEST_VAULT", name: "wrapping", value, algorithm: "RSA-OAEP" });
const included = (path, clientEncryptionKeyId, encryptionType = "Deterministic") =>
  ({ path, clientEncryptionKeyId, encryptionType, encryptionAlgorithm: ALGORITHM });
const encrypting = () => server.client({ clientEncryptionOptions: { keyEncryptionKeyResolver: VAULT } });

let server, client, database;
before(async () => { server = await Server.start(); client = encrypting(); database = await makeDatabase(client); });
after(() => server.end());

test("a key is made, read and wrapped anew", async () => {
  const made = await database.createClientEncryptionKey("k", ALGORITHM, metadata("vault/1"));
  assert.equal(made.statusCode, 201);
  assert.ok(made.clientEncryptionKeyProperties.wrappedDataEncryptionKey.length > 0);
  await refused(409, () => database.createClientEncryptionKey("k", ALGORITHM, metadata("vault/2")));
  const read = await database.readClientEncryptionKey("k");
  assert.deepEqual(read.clientEncryptionKeyProperties, made.clientEncryptionKeyProperties);
  const wrapped = await database.rewrapClientEncryptionKey("k", metadata("vault/3"));
  assert.equal(wrapped.statusCode, 200);
  const again = (await database.readClientEncryptionKey("k")).clientEncryptionKeyProperties;
  assert.equal(again.encryptionKeyWrapMetadata.value, "vault/3");
  assert.notDeepEqual(again.wrappedDataEncryptionKey, made.clientEncryptionKeyProperties.wrappedDataEncryptionKey);
  await refused(404, () => database.readClientEncryptionKey("none"));
});

test("items are encrypted for the server and plain for the client", async () => {
  await database.createClientEncryptionKey("k1", ALGORITHM, metadata("vault/1"));
  await database.createClientEncryptionKey("k2", ALGORITHM, metadata("vault/2"));
  const includedPaths = [included("/id", "k1"), included("/pk", "k1"), included("/name", "k2"), included("/secret", "k2", "Randomized")];
  const { container } = await database.containers.create({
    id: fresh("c"), partitionKey: "/pk", clientEncryptionPolicy: { includedPaths, policyFormatVersion: 2 },
  });
  await container.initializeEncryption();
  const item = { id: "1", pk: "p", name: "Ada", secret: { of: ["hers"] }, open: 5 };
  const { resource: created } = await container.items.create(item);
  for (const [name, value] of Object.entries(item)) assert.deepEqual(created[name], value, name);
  const { resource: read } = await container.item("1", "p").read();
  assert.deepEqual(read, created);

  const stored = (await everything(server.client().database(database.id).container(container.id).items.readAll()))[0];
  assert.equal(stored.open, 5);
  for (const name of ["id", "pk", "name", "secret"]) assert.notDeepEqual(stored[name], item[name], name);

  const query = new EncryptionQueryBuilder("SELECT * FROM c WHERE c.name = @name");
  query.addParameter("@name", "Ada", "/name");
  const found = await (await container.items.getEncryptionQueryIterator(query)).fetchAll();
  assert.deepEqual(found.resources.map(({ id, secret }) => ({ id, secret })), [{ id: "1", secret: item.secret }]);

  const elsewhere = encrypting().database(database.id).container(container.id);
  assert.deepEqual((await elsewhere.item("1", "p").read()).resource.secret, item.secret);
  assert.equal((await container.item("1", "p").delete()).statusCode, 204);
});

test("a policy with a key that is not there is refused", async () => {
  const clientEncryptionPolicy = { includedPaths: [included("/name", "nobody")], policyFormatVersion: 1 };
  await refused(400, () => database.containers.create({ id: fresh("c"), partitionKey: "/pk", clientEncryptionPolicy }));
});

test("who holds a container's token makes no keys", async () => {
  const { container } = await database.containers.create({ id: fresh("c"), partitionKey: "/pk" });
  const { user } = await database.users.create({ id: fresh("u") });
  const { resource } = await user.permissions.create({ id: "p", permissionMode: PermissionMode.All, resource: container.url });
  const clientEncryptionOptions = { keyEncryptionKeyResolver: VAULT };
  const restricted = server.client({ resourceTokens: { [database.id]: resource._token }, clientEncryptionOptions });
  await refused(403, () => restricted.database(database.id).createClientEncryptionKey("x", ALGORITHM, metadata("vault/1")));
  await refused(403, () => restricted.database(database.id).rewrapClientEncryptionKey("x", metadata("vault/2")));
});

test("keys go with their database", async () => {
  const other = await makeDatabase(client);
  await other.createClientEncryptionKey("k", ALGORITHM, metadata("vault/1"));
  await other.delete();
  await client.databases.create({ id: other.id });
  await refused(404, () => client.database(other.id).readClientEncryptionKey("k"));
});
