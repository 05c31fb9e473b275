// Runs inside mongosh: fills a collection with every kind of ttl, or looks at what is left. `step` is set by the caller.
if (step === "fill") {
  db.shell.createIndex({ _ts: 1 }, { expireAfterSeconds: 10 });
  db.shell.insertMany([
    { _id: "double", ttl: 20.0 },
    { _id: "int", ttl: NumberInt(20) },
    { _id: "long", ttl: NumberLong(20) },
    { _id: "fraction", ttl: 20.5 },
    { _id: "huge", ttl: NumberLong("2147483649") },
    { _id: "text", ttl: "20" },
    { _id: "none" },
    { _id: "never", ttl: -1 },
  ]);
}
print(JSON.stringify(db.shell.find({}, { _id: 1 }).toArray().map((one) => one._id)));
