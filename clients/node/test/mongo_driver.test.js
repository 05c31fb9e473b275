// The Node driver, as an application uses it: documents, indexes, transactions, retries, and the same data through both doors.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { Int32, Long, MongoClient, ObjectId } from "mongodb";

import { Server, fresh } from "../lib/server.js";

let server, client, db, things;
before(async () => {
  server = await Server.start("--virtual-clock", "--mongo-port", "0");
  client = await MongoClient.connect(server.mongoUrl());
});
beforeEach(async () => {
  db = client.db(fresh("db"));
  things = db.collection("things");
});
after(async () => { await client?.close(); await server.end(); });

const ids = async (cursor) => (await cursor.toArray()).map((document) => document._id);

test("what is inserted is found with its types", async () => {
  const document = {
    _id: new ObjectId(), text: "t", whole: new Int32(1), long: Long.fromString("9007199254740993"), part: 1.5, yes: true, none: null,
    when: new Date(0), list: [1, [2]], inner: { a: { b: 1 } }, bytes: Buffer.from("abc"), pattern: /a/i,
  };
  await things.insertOne(document);
  const found = await things.findOne({ _id: document._id }, { promoteValues: false, promoteLongs: false });
  assert.equal(found.whole._bsontype, "Int32");
  assert.equal(found.long.toString(), "9007199254740993");
  assert.equal(found.when.getTime(), 0);
  assert.deepEqual(Object.keys(found), Object.keys(document));
});

test("without a sort, documents come as they were inserted, and updates do not move them", async () => {
  await things.insertMany([3, 1, 2].map((_id) => ({ _id })));
  await things.updateOne({ _id: 3 }, { $set: { grown: "x".repeat(1000) } });
  assert.deepEqual(await ids(things.find()), [3, 1, 2]);
});

test("a cursor brings batch after batch", async () => {
  await things.insertMany(Array.from({ length: 250 }, (_, n) => ({ _id: n })));
  assert.deepEqual(await ids(things.find({}, { batchSize: 7 })), Array.from({ length: 250 }, (_, n) => n));
  assert.equal(await things.countDocuments({ _id: { $gte: 100 } }), 150);
  assert.equal(await things.estimatedDocumentCount(), 250);
});

test("a unique index refuses a second holder and says which", async () => {
  await things.createIndex({ email: 1 }, { unique: true });
  await things.insertOne({ _id: 1, email: "a" });
  await assert.rejects(things.insertOne({ _id: 2, email: "a" }), (error) => {
    assert.equal(error.code, 11000);
    assert.deepEqual(error.keyPattern, { email: 1 });
    assert.deepEqual(error.keyValue, { email: "a" });
    return true;
  });
  await things.deleteOne({ _id: 1 });
  await things.insertOne({ _id: 2, email: "a" });
});

test("a bulk of many kinds counts what it did", async () => {
  const done = await things.bulkWrite([
    { insertOne: { document: { _id: 1, n: 1 } } },
    { updateOne: { filter: { _id: 1 }, update: { $inc: { n: 1 } } } },
    { updateOne: { filter: { _id: 2 }, update: { $set: { n: 5 } }, upsert: true } },
    { replaceOne: { filter: { _id: 2 }, replacement: { n: 6 } } },
    { deleteOne: { filter: { _id: 1 } } },
  ]);
  assert.equal(done.insertedCount, 1);
  assert.equal(done.modifiedCount, 2);
  assert.equal(done.upsertedCount, 1);
  assert.equal(done.deletedCount, 1);
  assert.deepEqual(await things.find().toArray(), [{ _id: 2, n: 6 }]);
});

test("find and modify gives the document before or after", async () => {
  await things.insertOne({ _id: 1, n: 1 });
  assert.deepEqual(await things.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } }), { _id: 1, n: 1 });
  assert.deepEqual(await things.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } }, { returnDocument: "after" }), { _id: 1, n: 3 });
  assert.deepEqual(await things.findOneAndDelete({ _id: 1 }), { _id: 1, n: 3 });
});

test("a pipeline groups, joins and sorts", async () => {
  await things.insertMany([{ _id: 1, k: "a", n: 1 }, { _id: 2, k: "b", n: 2 }, { _id: 3, k: "a", n: 3 }]);
  await db.collection("names").insertMany([{ _id: "a", name: "first" }, { _id: "b", name: "second" }]);
  const rows = await things.aggregate([
    { $group: { _id: "$k", sum: { $sum: "$n" } } },
    { $lookup: { from: "names", localField: "_id", foreignField: "_id", as: "name" } },
    { $set: { name: { $first: "$name.name" } } },
    { $sort: { sum: -1 } },
  ]).toArray();
  assert.deepEqual(rows, [{ _id: "a", sum: 4, name: "first" }, { _id: "b", sum: 2, name: "second" }]);
});

test("a transaction is all or nothing, and its writes are seen by itself first", async () => {
  await things.insertMany([{ _id: "from", n: 10 }, { _id: "to", n: 0 }]);
  await client.withSession((session) => session.withTransaction(async () => {
    await things.updateOne({ _id: "from" }, { $inc: { n: -4 } }, { session });
    await things.updateOne({ _id: "to" }, { $inc: { n: 4 } }, { session });
    assert.equal((await things.findOne({ _id: "to" }, { session })).n, 4);
    assert.equal((await things.findOne({ _id: "to" })).n, 0);
  }));
  assert.deepEqual((await things.find().toArray()).map((one) => one.n), [6, 4]);
  const failed = client.withSession((session) => session.withTransaction(async () => {
    await things.updateOne({ _id: "from" }, { $inc: { n: -6 } }, { session });
    throw new Error("changed my mind");
  }));
  await assert.rejects(failed, /changed my mind/);
  assert.equal((await things.findOne({ _id: "from" })).n, 6);
});

test("of two transactions on one document one is told to try again", async () => {
  await things.insertOne({ _id: 1, n: 0 });
  const add = () => client.withSession((session) => session.withTransaction(async () => {
    const { n } = await things.findOne({ _id: 1 }, { session });
    await things.updateOne({ _id: 1 }, { $set: { n: n + 1 } }, { session });
  }));
  await Promise.all([add(), add(), add(), add()]);
  assert.equal((await things.findOne({ _id: 1 })).n, 4);
});

test("a change stream tells what happens, and goes on from a token", async () => {
  const stream = things.watch();
  const next = () => stream.next();
  const first = next();
  // The stream is open once the server has answered; a write before that is not its to tell.
  while (!stream.resumeToken) await new Promise((done) => setTimeout(done, 5));
  await things.insertOne({ _id: 1, n: 1 });
  await things.updateOne({ _id: 1 }, { $set: { n: 2 } });
  await things.deleteOne({ _id: 1 });
  const insert = await first;
  assert.equal(insert.operationType, "insert");
  assert.deepEqual(insert.fullDocument, { _id: 1, n: 1 });
  const update = await next();
  assert.deepEqual(update.updateDescription.updatedFields, { n: 2 });
  assert.equal((await next()).operationType, "delete");
  await stream.close();
  const again = things.watch([], { resumeAfter: insert._id });
  assert.equal((await again.next()).operationType, "update");
  await again.close();
});

test("a document made here is an item at the other door", async () => {
  await things.insertOne({ _id: "a", n: 1, when: new Date(0) });
  const { resource } = await server.client().database(db.databaseName).container("things").item("a", "a").read();
  assert.equal(resource.id, "a");
  assert.equal(resource.n, 1);
  assert.deepEqual(resource.when, { $date: "1970-01-01T00:00:00Z" });
});
