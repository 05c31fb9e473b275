// The Node driver logs in: users and their roles, compressed messages, and a connection string of Cosmos as it is.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { MongoClient } from "mongodb";

import { KEY, Server, fresh } from "../lib/server.js";

const wait = { serverSelectionTimeoutMS: 5000 };
let server, master;
before(async () => {
  server = await Server.start("--mongo-port", "0", "--mongo-auth", "on");
  master = await MongoClient.connect(server.mongoUrl(), { auth: { username: "lapsedb", password: KEY }, ...wait });
});
after(async () => { await master?.close(); await server.end(); });

const using = async (url, options, run) => {
  const client = await MongoClient.connect(url, { ...wait, ...options });
  try { return await run(client); } finally { await client.close(); }
};
const refused = (code) => (error) => error.code === code;

for (const authMechanism of ["SCRAM-SHA-1", "SCRAM-SHA-256", undefined]) {
  test(`a user logs in by ${authMechanism ?? "what the server offers"} and does what its role allows`, async () => {
    const db = fresh("db");
    await master.db(db).command({ createUser: "ada", pwd: "p=,q", roles: ["read"], mechanisms: authMechanism ? [authMechanism] : ["SCRAM-SHA-1"] });
    const options = { auth: { username: "ada", password: "p=,q" }, authSource: db, ...(authMechanism && { authMechanism }) };
    await using(server.mongoUrl(), options, async (ada) => {
      assert.equal(await ada.db(db).collection("c").findOne(), null);
      await assert.rejects(ada.db(db).collection("c").insertOne({}), refused(13));
    });
    const wrong = { ...options, auth: { username: "ada", password: "wrong" } };
    await assert.rejects(using(server.mongoUrl(), wrong, (ada) => ada.db(db).collection("c").findOne()), refused(18));
    await master.db(db).removeUser("ada");
  });
}

test("messages may be compressed", async () => {
  const options = { auth: { username: "lapsedb", password: KEY }, compressors: ["zlib"], zlibCompressionLevel: 9 };
  await using(server.mongoUrl(), options, async (client) => {
    const things = client.db(fresh("db")).collection("c");
    await things.insertOne({ text: "y".repeat(100_000) });
    assert.equal((await things.findOne()).text.length, 100_000);
  });
});

test("a connection string of Cosmos works as it is", async () => {
  const options = "ssl=true&replicaSet=globaldb&retrywrites=false&maxIdleTimeMS=120000&appName=@acct@";
  const url = `mongodb://acct:${encodeURIComponent(KEY)}@127.0.0.1:${server.mongoPort}/?${options}`;
  await using(url, { tlsAllowInvalidCertificates: true }, async (client) => {
    const db = client.db(fresh("db"));
    await db.collection("c").insertOne({ _id: 1 });
    assert.deepEqual(await db.collection("c").findOne(), { _id: 1 });
    await db.dropDatabase();
  });
});
