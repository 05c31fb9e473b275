// Starts real servers for the tests and opens clients to them.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { CosmosClient } from "@azure/cosmos";

// The key every emulator publishes; a server on a loopback address takes it by default.
export const KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
export const READ_ONLY_KEY =
  "cmVhZCBvbmx5IGtleSBvZiB0aGUgY2xpZW50IHRlc3RzLCBub3QgYSBzZWNyZXQgYXQgYWxsLCA2NCBieXRlcyE=";
const READY_MS_MAX = 30_000;
const LOG_CHARS_MAX = 4_000;
// Enough that no test is throttled unless it wants to be.
const ROOMY_THROUGHPUT = 100_000;

/** One server process on a free port. Its store outlives `stop`, so that it can be started again. */
export class Server {
  #flags;
  #process;
  #clients = [];
  #log = "";

  constructor(...flags) {
    this.#flags = flags;
    this.store = mkdtempSync(join(tmpdir(), "lapsedb-"));
  }

  static async start(...flags) {
    return new Server(...flags).start();
  }

  async start() {
    const binary = process.env.LAPSEDB_BIN;
    if (!binary) throw new Error("LAPSEDB_BIN names the server to test; `make test` sets it");
    const mongo = this.#flags.includes("--mongo-port") ? [] : ["--mongo-port", "off"];
    const args = ["--port", "0", ...mongo, "--data-path", this.store, ...this.#flags];
    this.#process = spawn(binary, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#process.stderr.on("data", (chunk) => {
      this.#log = (this.#log + chunk).slice(-LOG_CHARS_MAX);
    });
    const late = setTimeout(() => this.#process.kill("SIGKILL"), READY_MS_MAX);
    const lines = createInterface(this.#process.stdout);
    const [line] = await Promise.race([once(lines, "line"), once(lines, "close").then(() => [""])]);
    clearTimeout(late);
    const ready = /^ready nosql=127\.0\.0\.1:(\d+)(?: mongo=127\.0\.0\.1:(\d+))?/.exec(line);
    if (!ready) throw new Error(`not ready: ${line}\n${this.#log}`);
    this.port = Number(ready[1]);
    this.mongoPort = Number(ready[2]);
    return this;
  }

  /** Asks the server to stop as an operator would, and holds it to exit code 0. */
  async stop() {
    for (const client of this.#clients.splice(0)) client.dispose();
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGTERM");
    const [code] = await ended;
    if (code !== 0) throw new Error(`exit code ${code}\n${this.#log}`);
  }

  /** Stops the server and forgets its store. */
  async end() {
    await this.stop();
    rmSync(this.store, { recursive: true, force: true });
  }

  url(scheme = "http") {
    return `${scheme}://127.0.0.1:${this.port}/`;
  }

  /** Where a Mongo client connects, if the server was started with a port for it. */
  mongoUrl(database = "") {
    return `mongodb://127.0.0.1:${this.mongoPort}/${database}`;
  }

  client(options = {}) {
    const credential = options.resourceTokens || options.permissionFeed ? {} : { key: KEY };
    const client = new CosmosClient({ endpoint: this.url(), ...credential, ...options });
    this.#clients.push(client);
    return client;
  }

  /** Calls the server's own API. */
  async admin(method, path, body, key = KEY) {
    const answer = await fetch(new URL(path, this.url()), {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  }

  /** Moves the virtual clock: "30d", "1h30m", "1ms". */
  async advance(span) {
    const { status, body } = await this.admin("POST", "/_lapsedb/clock", { advance: span });
    if (status !== 200) throw new Error(`clock: ${status} ${JSON.stringify(body)}`);
    return body.nowMillis;
  }

  /** Moves the virtual clock to the start of a second, so that `_ts` is exact. */
  async align() {
    const { body } = await this.admin("GET", "/_lapsedb/clock");
    return this.advance(`${1000 - (body.nowMillis % 1000)}ms`);
  }
}

export const fresh = (prefix) => `${prefix}-${randomBytes(6).toString("hex")}`;

/** A database with a name nobody has used. */
export async function makeDatabase(client, options = {}) {
  const { database } = await client.databases.create({ id: fresh("db"), ...options });
  return database;
}

/** A container with a name nobody has used, by `/pk` unless told otherwise. */
export async function makeContainer(database, options = {}) {
  const { container } = await database.containers.create({
    id: fresh("c"),
    partitionKey: { paths: ["/pk"], version: 2 },
    throughput: ROOMY_THROUGHPUT,
    ...options,
  });
  return container;
}
