// The examples of the README for JavaScript and mongosh do what their comments say.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { MongoClient } from "mongodb";

import { Server } from "../lib/server.js";

const run = promisify(execFile);
const readme = new URL("../../../README.md", import.meta.url);
// Beside the packages, so that the example finds them as in a folder of its own.
const script = fileURLToPath(new URL(`../node_modules/readme-${process.pid}.mjs`, import.meta.url));
const shell = fileURLToPath(new URL("../node_modules/.bin/mongosh", import.meta.url));

let server;
before(async () => {
  server = await Server.start("--virtual-clock", "--mongo-port", "0");
});
after(() => server.end());

/** The block of JavaScript that holds the text, with the server's ports instead of the usual ones. */
async function example(text) {
  const blocks = [...(await readFile(readme, "utf8")).matchAll(/^```js\n(.*?)^```$/gms)].map((block) => block[1]);
  const found = blocks.filter((block) => block.includes(text));
  assert.equal(found.length, 1, text);
  return found[0].replaceAll("localhost:8081", `127.0.0.1:${server.port}`);
}

test("the JavaScript example runs", async () => {
  await writeFile(script, await example("http://localhost:8081/"));
  try {
    const { stdout } = await run(process.execPath, [script]);
    assert.equal(stdout, "0\n");
  } finally {
    await rm(script);
  }
});

test("the mongosh example runs, and its times to live hold", async () => {
  const ids = async (database) =>
    (await database.collection("tokens").find().sort({ _id: 1 }).toArray()).map((token) => token._id);
  await server.align();
  await run(shell, ["--quiet", server.mongoUrl("shop"), "--eval", await example("// mongosh ")]);
  const client = await MongoClient.connect(server.mongoUrl());
  try {
    const database = client.db("shop");
    assert.deepEqual(await ids(database), [1, 2, 3]);
    await server.advance("60s");
    assert.deepEqual(await ids(database), [1, 3]);
    await server.advance("1h");
    assert.deepEqual(await ids(database), [3]);
    const indexes = await database.collection("offers").indexes();
    assert.equal(indexes.find((index) => index.key.until).expireAfterSeconds, 0);
  } finally {
    await client.close();
  }
});
