// A small application as people write them: web sessions in connect-mongo, a shop's models in Mongoose.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, afterEach, before, beforeEach, test } from "node:test";

import connectMongo from "connect-mongo";
import session from "express-session";
import mongoose from "mongoose";

import { Server, fresh } from "../lib/server.js";

const MongoStore = connectMongo.default ?? connectMongo;

let server;
before(async () => { server = await Server.start("--virtual-clock", "--mongo-port", "0"); });
after(async () => { await server.end(); });

const length = (store) => new Promise((done, fail) => store.length((error, number) => (error ? fail(error) : done(number))));

/** A web page that counts its visits in the session. */
async function site(store) {
  const remember = session({ secret: "s", resave: false, saveUninitialized: true, store, cookie: { maxAge: 60_000 } });
  const http = createServer((request, response) => remember(request, response, () => {
    request.session.visits = (request.session.visits ?? 0) + 1;
    request.session.save(() => response.end(String(request.session.visits)));
  }));
  await new Promise((done) => http.listen(0, "127.0.0.1", done));
  let cookie;
  const visit = async () => {
    const answer = await fetch(`http://127.0.0.1:${http.address().port}/`, { headers: cookie ? { cookie } : {} });
    cookie ??= answer.headers.get("set-cookie")?.split(";")[0];
    return Number(await answer.text());
  };
  return { visit, close: () => new Promise((done) => http.close(done)) };
}

test("a web session lives as long as its cookie says, and not a second longer", async () => {
  const store = MongoStore.create({ mongoUrl: server.mongoUrl(fresh("web")), ttl: 60 });
  const { visit, close } = await site(store);
  assert.equal(await visit(), 1);
  assert.equal(await visit(), 2);
  assert.equal(await length(store), 1);
  // The store dates a session by the wall, which has moved on while the virtual clock stood.
  await server.advance("2h");
  assert.equal(await length(store), 0);
  assert.equal(await visit(), 1, "the visitor is new again");
  await close();
  await store.close();
});

let shop, Customer, Order;
beforeEach(async () => {
  shop = await mongoose.createConnection(server.mongoUrl(fresh("shop"))).asPromise();
  Customer = shop.model("Customer", new mongoose.Schema({ email: { type: String, unique: true, required: true }, name: String }, { timestamps: true }));
  Order = shop.model("Order", new mongoose.Schema({
    customer: { type: mongoose.Schema.Types.ObjectId, ref: "Customer" },
    lines: [{ what: String, price: Number }],
    reservedUntil: { type: Date, expires: 0 },
    state: { type: String, enum: ["open", "paid"], default: "open" },
  }));
  await Promise.all([Customer.init(), Order.init()]);
});

afterEach(async () => { await shop.close(); });

test("models are validated, unique, populated and queried", async () => {
  const ann = await Customer.create({ email: "ann@example.org", name: "Ann" });
  await assert.rejects(Customer.create({ email: "ann@example.org" }), { code: 11000 });
  await assert.rejects(Customer.create({ name: "nobody" }), { name: "ValidationError" });
  await Order.create({ customer: ann._id, lines: [{ what: "tea", price: 3 }, { what: "pot", price: 20 }] });
  const order = await Order.findOne({ "lines.what": "tea" }).populate("customer").exec();
  assert.equal(order.customer.name, "Ann");
  order.state = "paid";
  order.lines[0].price = 4;
  await order.save();
  const [sum] = await Order.aggregate([{ $unwind: "$lines" }, { $group: { _id: null, sum: { $sum: "$lines.price" } } }]);
  assert.equal(sum.sum, 24);
  assert.equal(await Order.countDocuments({ state: "paid" }), 1);
});

test("a reservation ends by itself", async () => {
  const now = (await server.admin("GET", "/_lapsedb/clock")).body.nowMillis;
  await Order.create({ lines: [], reservedUntil: new Date(now + 15 * 60_000) });
  await Order.create({ lines: [] });
  await server.advance("14m59s999ms");
  assert.equal(await Order.countDocuments(), 2);
  await server.advance("1ms");
  assert.equal(await Order.countDocuments(), 1);
});

test("an order is paid in one transaction", async () => {
  const ann = await Customer.create({ email: "ann@example.org" });
  await Order.createCollection();
  await shop.transaction(async (session) => {
    const [order] = await Order.create([{ customer: ann._id, lines: [] }], { session });
    order.state = "paid";
    await order.save({ session });
  });
  assert.equal(await Order.countDocuments({ state: "paid" }), 1);
  await assert.rejects(shop.transaction(async (session) => {
    await Order.create([{ lines: [] }], { session });
    throw new Error("no");
  }), /no/);
  assert.equal(await Order.countDocuments(), 1);
});
