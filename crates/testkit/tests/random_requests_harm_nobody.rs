//! Thousands of requests that were right until something in them was bent: never a 5xx, never a crash, and what they did not
//! name is as it was.

use lapsedb_testkit::{Client, Container, Engine, Random, Server};
use serde_json::json;

/// Requests of one run; `LAPSEDB_RANDOM_REQUESTS` sets another number.
const REQUESTS: usize = 6000;
/// A failure names its request by this seed and its number.
const SEED: u64 = 0x1a95_edb0;

/// Texts that are more often wrong than others.
const NASTY: [&str; 24] = [
    "",
    "\"",
    "{}",
    "[]",
    "null",
    "NaN",
    "-1",
    "0",
    "1e999",
    "-",
    "%",
    "%ff",
    "\u{fffd}",
    "\\u0000",
    "[[[[[[[[",
    "}}}}",
    "../..",
    "ttl",
    "_ts",
    "true",
    "9223372036854775808",
    "\"\"",
    "[{}]",
    "*",
];

/// Method, path, headers and body.
type Right = (
    &'static str,
    String,
    Vec<(&'static str, &'static str)>,
    Vec<u8>,
);

/// Requests as they should be.
fn templates() -> Vec<Right> {
    let docs = "/dbs/d/colls/c/docs".to_owned();
    let item = "/dbs/d/colls/c/docs/x".to_owned();
    let key = ("x-ms-documentdb-partitionkey", "[\"p\"]");
    let batch = ("x-ms-cosmos-is-batch-request", "true");
    let query = ("x-ms-documentdb-isquery", "true");
    let body =
        br#"{"id":"x","pk":"p","ttl":60,"n":[1,2.5,-3e4],"o":{"s":"t\u00e9xt","b":true,"z":null}}"#
            .to_vec();
    vec![
        ("POST", docs.clone(), vec![key], body.clone()),
        ("POST", docs.clone(), vec![key, ("x-ms-documentdb-is-upsert", "true")], body.clone()),
        ("PUT", item.clone(), vec![key, ("if-match", "\"*\"")], body),
        ("GET", item.clone(), vec![key, ("if-none-match", "*")], Vec::new()),
        ("DELETE", item.clone(), vec![key], Vec::new()),
        ("PATCH", item, vec![key], br#"{"condition":"from c where c.n > 1","operations":[{"op":"incr","path":"/n/0","value":1},{"op":"move","from":"/o","path":"/q"}]}"#.to_vec()),
        ("POST", docs.clone(), vec![key, batch, ("x-ms-cosmos-batch-atomic", "true")], br#"[{"operationType":"Upsert","resourceBody":{"id":"x","pk":"p"}},{"operationType":"Patch","id":"x","resourceBody":{"operations":[{"op":"set","path":"/ttl","value":5}]}},{"operationType":"Delete","id":"x","ifMatch":"*"}]"#.to_vec()),
        ("POST", docs.clone(), vec![("x-ms-documentdb-partitionkeyrangeid", "0"), batch, ("x-ms-cosmos-batch-continue-on-error", "true")], br#"[{"operationType":"Upsert","partitionKey":"[\"p\"]","resourceBody":{"id":"x","pk":"p"}}]"#.to_vec()),
        ("POST", docs.clone(), vec![key, batch], b"\x81\xf0\xd8\xff\x7f\x01\x0a\x00\x00\x00\x81\xf1\xd8\xff\x7f\x20\x00\x00\x00\x00\x00\x00\x00".to_vec()),
        ("POST", docs.clone(), vec![key], b"\x80\xed\x10\x03\x82id\x81x\x82pk\x81p\x81v\xe5\x02\x02\x02\x03".to_vec()),
        ("GET", docs.clone(), vec![("x-ms-max-item-count", "10"), ("x-ms-continuation", "AAAA"), ("a-im", "Incremental Feed"), ("if-none-match", "\"5\"")], Vec::new()),
        ("GET", docs.clone(), vec![("x-ms-start-epk", "00"), ("x-ms-end-epk", "FF"), ("x-ms-read-key-type", "EffectivePartitionKeyRange")], Vec::new()),
        ("POST", docs, vec![query, ("content-type", "application/query+json")], br#"{"query":"SELECT TOP 5 c.id, c.n[0] AS m FROM c JOIN t IN c.n WHERE c.pk = @p AND t > 1 ORDER BY c.id DESC","parameters":[{"name":"@p","value":"p"}]}"#.to_vec()),
        ("POST", "/dbs/d/colls".into(), vec![("x-ms-offer-throughput", "400")], br#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":5,"indexingPolicy":{"indexingMode":"consistent","includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"a b\"/?"}],"compositeIndexes":[[{"path":"/a","order":"ascending"},{"path":"/b"}]]},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u","/v"]}]}}"#.to_vec()),
        ("GET", "/dbs/d/colls/c/pkranges".into(), vec![("a-im", "Incremental Feed"), ("if-none-match", "\"1\"")], Vec::new()),
        ("POST", "/offers".into(), vec![query], br#"{"query":"SELECT * FROM root r WHERE r.resource = @l","parameters":[{"name":"@l","value":"x"}]}"#.to_vec()),
        ("POST", "/dbs/d/users".into(), vec![], br#"{"id":"u"}"#.to_vec()),
        ("POST", "/dbs/d/clientencryptionkeys".into(), vec![], br#"{"id":"k","encryptionAlgorithm":"A","wrappedDataEncryptionKey":"AQ==","keyWrapMetadata":{"type":"t","name":"n","value":"v"}}"#.to_vec()),
        ("POST", "/dbs/d/users/u/permissions".into(), vec![("x-ms-documentdb-expiry-seconds", "600")], br#"{"id":"p","permissionMode":"Read","resource":"dbs/d/colls/c"}"#.to_vec()),
        ("POST", "/dbs/d/colls/c/sprocs".into(), vec![], br#"{"id":"s","body":"function () {}"}"#.to_vec()),
        ("POST", "/dbs/d/colls/c/operations/partitionkeydelete".into(), vec![("x-ms-documentdb-partitionkey", "[\"q\"]")], Vec::new()),
    ]
}

/// Bends a run of bytes: flips, cuts, doubles, puts in something nasty.
fn bend(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len() + 1);
    match random.below(7) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 => bytes.truncate(at),
        2 => bytes.insert(at, u8::try_from(random.below(256)).unwrap()),
        3 if at < bytes.len() => {
            bytes.remove(at);
        }
        4 => {
            let nasty = random.pick(&NASTY).as_bytes().to_vec();
            bytes.splice(at..at, nasty);
        }
        5 => {
            let end = at + random.below(bytes.len() - at + 1);
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        _ => {
            let end = at + random.below(bytes.len() - at + 1);
            let nasty = random.pick(&NASTY).as_bytes().to_vec();
            bytes.splice(at..end, nasty);
        }
    }
}

/// Text for a header or a path: bent, but still something a client could send.
fn bend_text(random: &mut Random, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    bend(random, &mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.chars()
        .filter(|sign| sign.is_ascii_graphic())
        .collect()
}

/// One bent request, sent on the connection or, if its frame itself is bent, on one of its own.
fn throw(client: &mut Client, random: &mut Random, host: &str) -> (String, Option<u16>) {
    let templates = templates();
    let (method, path, headers, body) = random.pick(&templates).clone();
    let path = match random.percent(15) {
        true => format!("/{}", bend_text(random, &path[1..])),
        false => path,
    };
    let mut request = client.request(method, &path);
    let mut body = body;
    if random.percent(75) {
        for _ in 0..=random.below(3) {
            bend(random, &mut body);
        }
    }
    request = request.body(body);
    for (name, value) in headers {
        let value = match random.percent(20) {
            true => bend_text(random, value),
            false => value.to_owned(),
        };
        request = request.header(name, &value);
    }
    let mut bytes = request.to_bytes(host);
    let what = String::from_utf8_lossy(&bytes).into_owned();
    if random.percent(5) {
        bend(random, &mut bytes);
        return (what, client.raw(&bytes).map(|reply| reply.status));
    }
    (what, client.send(request).ok().map(|reply| reply.status))
}

fn run(engine: Engine, seed: u64, requests: usize) {
    let mut server = Server::plain(engine);
    server.database("d");
    server.database("kept");
    let more = json!({ "defaultTtl": 1000 });
    drop(server.container("d", "c", "/pk", &more));
    // A bent request may well delete the container it names, but never this one.
    let mut container: Container = server.container("kept", "kept", "/id", &more);
    container.put(&json!({ "id": "kept", "n": 1 }));
    let mut random = Random::new(seed);
    let mut client = server.client();
    let host = server.address().to_owned();
    let mut answered = 0;
    for number in 0..requests {
        let (what, status) = throw(&mut client, &mut random, &host);
        match status {
            Some(status) => {
                answered += 1;
                assert!(
                    status < 500 || status == 501,
                    "request {number} of seed {seed:#x} gave {status}:\n{what}\n{}",
                    server.log()
                );
            }
            None => assert!(
                server.is_running(),
                "request {number} of seed {seed:#x} ended the server:\n{what}\n{}",
                server.log()
            ),
        }
    }
    assert!(answered > requests / 2, "only {answered} answers");
    let reply = container.read("kept");
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json()["n"], 1);
    container.check_counts();
    assert!(server.is_running());
}

fn requests() -> usize {
    std::env::var("LAPSEDB_RANDOM_REQUESTS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(REQUESTS)
}

#[test]
fn random_requests_in_memory() {
    run(Engine::Memory, SEED, requests());
}

#[test]
fn random_requests_on_disk() {
    run(Engine::Disk, SEED + 1, requests() / 4);
}
