//! A continuation token is taken by the request that it was given for, and refused by every other.

use lapsedb_testkit::{Client, Engine, Request, Server};
use serde_json::json;

const WITHIN_A: [(&str, &str); 3] = [
    ("x-ms-start-epk", "3A5381E1114EB8D3FCC90795045B49B7"),
    ("x-ms-end-epk", "3A5381E1114EB8D3FCC90795045B49B8"),
    ("x-ms-read-key-type", "EffectivePartitionKeyRange"),
];
const LOWER: [(&str, &str); 3] = [
    ("x-ms-start-epk", ""),
    ("x-ms-end-epk", "20"),
    ("x-ms-read-key-type", "EffectivePartitionKeyRange"),
];
const ALL: [(&str, &str); 3] = [
    ("x-ms-start-epk", ""),
    ("x-ms-end-epk", "FF"),
    ("x-ms-read-key-type", "EffectivePartitionKeyRange"),
];
/// Parts of a container: what they are, and the headers that select them. What is the same has the same name.
const PARTS: [(&str, &[(&str, &str)]); 7] = [
    ("all", &[]),
    ("all", &[("x-ms-documentdb-partitionkeyrangeid", "0")]),
    ("all", &ALL),
    ("a", &[("x-ms-documentdb-partitionkey", "[\"a\"]")]),
    ("b", &[("x-ms-documentdb-partitionkey", "[\"b\"]")]),
    ("within a", &WITHIN_A),
    ("lower", &LOWER),
];
/// Queries: what decides their order, and their texts. The filter decides nothing.
const QUERIES: [(&str, &str); 12] = [
    ("items", "SELECT * FROM c"),
    ("items", "SELECT c.n FROM c WHERE c.n >= 0"),
    ("n", "SELECT * FROM c ORDER BY c.n"),
    (
        "n",
        "SELECT c._rid, [{\"item\": c.n}] AS orderByItems, c AS payload FROM c WHERE (c.n >= 0) ORDER BY c.n",
    ),
    ("n falling", "SELECT * FROM c ORDER BY c.n DESC"),
    ("m", "SELECT * FROM c ORDER BY c.m"),
    ("distinct n", "SELECT DISTINCT c.n FROM c"),
    ("distinct m", "SELECT DISTINCT c.m FROM c"),
    (
        "distinct n by n",
        "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n",
    ),
    ("group n", "SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n"),
    ("group m", "SELECT c.m, COUNT(1) AS k FROM c GROUP BY c.m"),
    ("group n, m", "SELECT c.n, c.m FROM c GROUP BY c.n, c.m"),
];
const CONTAINERS: [&str; 2] = ["c", "e"];

/// A way to read pages: what it reads, and how.
struct Way {
    reads: String,
    request: Request,
}

fn ways(client: &Client) -> Vec<Way> {
    let mut ways = Vec::new();
    for container in CONTAINERS {
        for (part, headers) in PARTS {
            let path = format!("/dbs/d/colls/{container}/docs");
            let with = |request: Request| {
                let mut request = request.header("x-ms-max-item-count", "1");
                for (name, value) in headers {
                    request = request.header(name, value);
                }
                request
            };
            ways.push(Way {
                reads: format!("feed of {part} of {container}"),
                request: with(client.request("GET", &path)),
            });
            // All queries of some parts of one container, and some of the other: every pair of ways is tried.
            let queries = match (container, part) {
                ("c", "all" | "a" | "lower") if headers != ALL => &QUERIES[..],
                _ => &QUERIES[..3],
            };
            for (order, text) in queries {
                let query = client
                    .request("POST", &path)
                    .json(&json!({ "query": text }))
                    .header("x-ms-documentdb-isquery", "True");
                ways.push(Way {
                    reads: format!("query {order} of {part} of {container}"),
                    request: with(query),
                });
            }
        }
    }
    for path in [
        "/dbs",
        "/dbs/d/colls",
        "/dbs/d/users",
        "/dbs/d/users/u0/permissions",
        "/dbs/d/users/u1/permissions",
        "/dbs/d/colls/c/sprocs",
        "/dbs/d/colls/c/udfs",
        "/dbs/d/colls/e/udfs",
        "/offers",
    ] {
        let request = client
            .request("GET", path)
            .header("x-ms-max-item-count", "1");
        ways.push(Way {
            reads: path.to_owned(),
            request,
        });
    }
    ways
}

fn fill(server: &Server) {
    for database in ["d", "f"] {
        server.database(database);
    }
    for id in CONTAINERS {
        let mut container = server.container("d", id, "/pk", &json!({}));
        for n in 0..6 {
            let pk = if n % 2 == 0 { "a" } else { "b" };
            container.put(&json!({ "id": format!("i{n}"), "pk": pk, "n": n, "m": n }));
        }
    }
    let mut client = server.client();
    let mut post = |path: &str, body: serde_json::Value| {
        let reply = client.must(client.request("POST", path).json(&body));
        assert_eq!(reply.status, 201, "{path}: {reply:?}");
    };
    for n in 0..2 {
        post("/dbs/d/users", json!({ "id": format!("u{n}") }));
        post(
            "/dbs/d/colls/c/sprocs",
            json!({ "id": format!("s{n}"), "body": "x" }),
        );
        for container in CONTAINERS {
            let path = format!("/dbs/d/colls/{container}/udfs");
            post(&path, json!({ "id": format!("f{n}"), "body": "x" }));
        }
    }
    for user in ["u0", "u1"] {
        for (n, container) in CONTAINERS.iter().enumerate() {
            let resource = format!("dbs/d/colls/{container}");
            let permission =
                json!({ "id": format!("p{n}"), "permissionMode": "Read", "resource": resource });
            post(&format!("/dbs/d/users/{user}/permissions"), permission);
        }
    }
}

#[test]
fn a_token_is_refused_by_every_other_request() {
    let server = Server::plain(Engine::Memory);
    fill(&server);
    let mut client = server.client();
    let ways = ways(&client);
    let tokens: Vec<String> = ways
        .iter()
        .map(|way| {
            let reply = client.must(way.request.clone());
            let token = reply.header("x-ms-continuation").map(str::to_owned);
            token.unwrap_or_else(|| panic!("{}: no token: {reply:?}", way.reads))
        })
        .collect();
    for (given, token) in ways.iter().zip(&tokens) {
        for used in &ways {
            let request = used.request.clone().header("x-ms-continuation", token);
            let reply = client.must(request);
            let expected = if given.reads == used.reads { 200 } else { 400 };
            let (given, used) = (&given.reads, &used.reads);
            assert_eq!(reply.status, expected, "{given} -> {used}: {reply:?}");
        }
        let path = "/dbs/d/colls/c/docs";
        for mode in ["Incremental Feed", "Full-Fidelity Feed"] {
            let changes = client
                .request("GET", path)
                .header("A-IM", mode)
                .header("If-None-Match", "*");
            let reply = client.must(changes.clone().header("x-ms-continuation", token));
            assert_eq!(reply.status, 400, "{} -> changes: {reply:?}", given.reads);
            let reply = client.must(changes.header("If-None-Match", token));
            assert_eq!(reply.status, 400, "{} -> changes: {reply:?}", given.reads);
        }
    }
}

/// A cursor of the change feed is the number of a commit, as the service's is: a place in the log of the container, whatever
/// part of it was read. It goes on behind that commit wherever it is sent.
#[test]
fn a_cursor_is_a_place_in_the_log() {
    let server = Server::plain(Engine::Memory);
    fill(&server);
    let mut client = server.client();
    let mut read = |headers: &[(&str, &str)], cursor: Option<&str>| {
        let mut request = client
            .request("GET", "/dbs/d/colls/c/docs")
            .header("A-IM", "Incremental Feed");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(cursor) = cursor {
            // Older clients send it in both.
            request = request
                .header("If-None-Match", cursor)
                .header("x-ms-continuation", cursor);
        }
        let reply = client.must(request);
        let ids = match reply.status {
            200 => reply.json()["Documents"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["id"].as_str().unwrap().to_owned())
                .collect(),
            304 => Vec::new(),
            _ => panic!("{reply:?}"),
        };
        let etag = reply.header("etag").unwrap().to_owned();
        (ids, etag)
    };
    for (part, headers) in PARTS {
        let (all, end) = read(headers, None);
        let page: Vec<_> = headers
            .iter()
            .copied()
            .chain([("x-ms-max-item-count", "1")])
            .collect();
        let (first, cursor) = read(&page, None);
        assert_eq!(first, &all[..1], "{part}");
        for (other, headers) in PARTS {
            let (expected, _) = read(headers, None);
            let later: Vec<String> = expected.into_iter().filter(|id| *id > first[0]).collect();
            assert_eq!(read(headers, Some(&cursor)).0, later, "{part} -> {other}");
            assert_eq!(read(headers, Some(&end)).0, [""; 0], "{part} -> {other}");
        }
    }
}
