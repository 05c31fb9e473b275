// Time to live at the Mongo door, on a clock the test moves: the default on `_ts`, a document's own `ttl`, and indexes on dates.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Double, Int32, Long, MongoClient } from "mongodb";

import { Server, fresh } from "../lib/server.js";

let server, client, db, things;
before(async () => {
  server = await Server.start("--virtual-clock", "--mongo-port", "0");
  client = await MongoClient.connect(server.mongoUrl());
});
beforeEach(async () => {
  db = client.db(fresh("db"));
  things = db.collection("things");
  await server.align();
});
after(async () => { await client?.close(); await server.end(); });

/** What every way of looking agrees on. */
async function living(collection = things) {
  const found = (await collection.find().toArray()).map((document) => document._id);
  assert.equal(await collection.countDocuments(), found.length);
  assert.equal(await collection.estimatedDocumentCount(), found.length);
  assert.deepEqual(await collection.distinct("_id"), [...found].sort());
  return found;
}

const documents = [
  { _id: "double", ttl: new Double(20) },
  { _id: "int", ttl: new Int32(20) },
  { _id: "long", ttl: Long.fromNumber(20) },
  { _id: "fraction", ttl: 20.5 },
  { _id: "huge", ttl: Long.fromString("2147483649") },
  { _id: "text", ttl: "20" },
  { _id: "none" },
  { _id: "never", ttl: -1 },
];

test("a default on _ts, and documents that say otherwise", async () => {
  await things.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 });
  await things.insertMany(documents);
  await server.advance("9999ms");
  assert.equal((await living()).length, 8);
  await server.advance("1ms");
  assert.deepEqual(await living(), ["double", "int", "long", "never"]);
  await server.advance("9999ms");
  assert.equal((await living()).length, 4);
  await server.advance("1ms");
  assert.deepEqual(await living(), ["never"]);
});

test("the shell sees the same", async () => {
  const script = fileURLToPath(new URL("../lib/ttl_scenario.mongosh.js", import.meta.url));
  const shell = fileURLToPath(new URL("../node_modules/.bin/mongosh", import.meta.url));
  const url = server.mongoUrl(db.databaseName);
  const run = async (step) => {
    const args = [url, "--quiet", "--norc", "--eval", `var step = ${JSON.stringify(step)}`, "--file", script];
    const { stdout } = await promisify(execFile)(shell, args, { env: { ...process.env, HOME: server.store } });
    return JSON.parse(stdout.trim().split("\n").at(-1));
  };
  assert.equal((await run("fill")).length, 8);
  await server.advance("10s");
  assert.deepEqual(await run("look"), ["double", "int", "long", "never"]);
  await server.advance("10s");
  assert.deepEqual(await run("look"), ["never"]);
});

test("the default is the container's, and both doors may change it", async () => {
  await things.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 });
  const container = server.client().database(db.databaseName).container("things");
  assert.equal((await container.read()).resource.defaultTtl, 10);
  await things.insertOne({ _id: "a" });
  await db.command({ collMod: "things", index: { keyPattern: { _ts: 1 }, expireAfterSeconds: 5 } });
  assert.equal((await container.read()).resource.defaultTtl, 5);
  await server.advance("5s");
  assert.deepEqual(await living(), []);
  await things.dropIndex("_ts_1");
  assert.equal((await container.read()).resource.defaultTtl, undefined);
  assert.deepEqual(await living(), [], "switching it off brings nothing back");
});

test("an index on a date expires to the millisecond", async () => {
  await things.createIndex({ until: 1 }, { expireAfterSeconds: 2 });
  const now = (await server.admin("GET", "/_lapsedb/clock")).body.nowMillis;
  await things.insertMany([
    { _id: "date", until: new Date(now + 500) },
    { _id: "dates", until: [new Date(now + 9000), "x", new Date(now + 1500)] },
    { _id: "text", until: "2020-01-01" },
    { _id: "none" },
  ]);
  await server.advance("2499ms");
  assert.equal((await living()).length, 4);
  await server.advance("1ms");
  assert.deepEqual(await living(), ["dates", "text", "none"]);
  await server.advance("999ms");
  assert.equal((await living()).length, 3);
  await server.advance("1ms");
  assert.deepEqual(await living(), ["text", "none"]);
  await things.dropIndex("until_1");
  assert.deepEqual(await living(), ["text", "none"], "dropping the index brings nothing back");
  await things.insertOne({ _id: "late", until: new Date(0) });
  assert.deepEqual(await living(), ["text", "none", "late"], "nor does it touch what is written later");
});

test("a dead document is in nobody's way", async () => {
  await things.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 });
  await things.createIndex({ email: 1 }, { unique: true });
  await things.insertOne({ _id: 1, email: "a" });
  await server.advance("10s");
  await things.insertOne({ _id: 1, email: "b" });
  await things.insertOne({ _id: 2, email: "a" });
  await server.advance("10s");
  assert.equal((await things.updateMany({}, { $set: { x: 1 } })).matchedCount, 0);
  assert.equal((await things.deleteMany({})).deletedCount, 0);
  assert.equal((await things.updateOne({ _id: 1 }, { $set: { x: 1 } }, { upsert: true })).upsertedCount, 1);
});

test("a cursor skips what dies between its batches", async () => {
  await things.createIndex({ _ts: 1 }, { expireAfterSeconds: -1 });
  await things.insertMany(Array.from({ length: 10 }, (_, n) => (n % 2 ? { _id: n, ttl: 10 } : { _id: n })));
  const cursor = things.find({}, { batchSize: 3 });
  const seen = [(await cursor.next())._id, (await cursor.next())._id, (await cursor.next())._id];
  await server.advance("10s");
  for await (const document of cursor) seen.push(document._id);
  assert.deepEqual(seen, [0, 1, 2, 4, 6, 8]);
});
