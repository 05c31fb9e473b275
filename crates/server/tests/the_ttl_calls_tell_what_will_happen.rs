//! Preview, forecast, recount and an item's remaining life, through the admin API of a real server.

use crate::common::{self, Reply, Server};
use serde_json::{Value, json};

const COLL: &str = "/dbs/d/colls/c";
const PK: &str = r#"x-ms-documentdb-partitionkey: ["p"]"#;

/// A server whose clock stands at 2027-01-01T00:00:30Z, with a container of this default.
fn server(default_ttl: &Value) -> Server {
    let server = Server::start(&["--memory", "--virtual-clock"]);
    let set = r#"{"set":"2027-01-01T00:00:30Z"}"#;
    assert_eq!(server.admin("POST", "/_lapsedb/clock", set).status, 200);
    let made = server.cosmos("POST", "/dbs", &[], r#"{"id":"d"}"#);
    assert_eq!(made.status, 201, "{made:?}");
    let made = server.cosmos(
        "POST",
        "/dbs/d/colls",
        &[],
        &definition(default_ttl).to_string(),
    );
    assert_eq!(made.status, 201, "{made:?}");
    server
}

fn definition(default_ttl: &Value) -> Value {
    let key = json!({"paths":["/pk"],"kind":"Hash","version":2});
    let mut definition = json!({"id":"c","partitionKey":key});
    if !default_ttl.is_null() {
        definition["defaultTtl"] = default_ttl.clone();
    }
    definition
}

fn put(server: &Server, id: &str, ttl: &Value) {
    let mut item = json!({"id":id,"pk":"p","note":"n".repeat(id.len())});
    if !ttl.is_null() {
        item["ttl"] = ttl.clone();
    }
    let path = format!("{COLL}/docs");
    let made = server.cosmos("POST", &path, &[PK], &item.to_string());
    assert_eq!(made.status, 201, "{made:?}");
}

fn alter(server: &Server, default_ttl: &Value) {
    let body = definition(default_ttl).to_string();
    assert_eq!(server.cosmos("PUT", COLL, &[], &body).status, 200);
}

fn advance(server: &Server, seconds: u64) {
    let body = json!({"advanceMillis":seconds * 1000}).to_string();
    assert_eq!(server.admin("POST", "/_lapsedb/clock", &body).status, 200);
}

fn call(server: &Server, method: &str, rest: &str, body: &str) -> Reply {
    server.admin(method, &format!("/_lapsedb{COLL}{rest}"), body)
}

fn told(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{reply:?}");
    serde_json::from_str(&reply.body).unwrap()
}

fn figures(server: &Server) -> Value {
    told(&call(server, "GET", "/ttl", ""))
}

fn numbers(tally: &Value) -> (u64, u64) {
    (
        tally["items"].as_u64().unwrap(),
        tally["bytes"].as_u64().unwrap(),
    )
}

#[test]
fn a_preview_is_what_then_happens() {
    let settings = [json!(null), json!(-1), json!(1), json!(50), json!(1000)];
    for from in &settings {
        for to in &settings {
            let server = server(from);
            for (id, ttl) in [
                ("a", json!(null)),
                ("bb", json!(-1)),
                ("ccc", json!(40)),
                ("dddd", json!(500)),
            ] {
                put(&server, id, &ttl);
                advance(&server, 15);
            }
            let before = figures(&server);
            let body = json!({ "defaultTtl": to }).to_string();
            let preview = told(&call(&server, "POST", "/ttl/preview", &body));
            assert_eq!(figures(&server), before, "a preview changes nothing");
            alter(&server, to);
            let (at_once, later) = (
                numbers(&preview["expiresAtOnce"]),
                numbers(&preview["expiresLater"]),
            );
            let never = numbers(&preview["neverExpires"]);
            let live = numbers(&before["live"]);
            assert_eq!(live.0, at_once.0 + later.0 + never.0);
            let now = numbers(&figures(&server)["live"]);
            assert_eq!(
                (live.0 - at_once.0, live.1 - at_once.1),
                now,
                "{from} to {to}"
            );
            advance(&server, 100_000);
            let left = numbers(&figures(&server)["live"]);
            assert_eq!(left, never, "{from} to {to}: {preview}");
            let counted = told(&call(&server, "POST", "/ttl/recount", ""));
            assert_eq!(counted["bucketsWrong"], 0);
            assert_eq!(numbers(&counted["live"]), left);
        }
    }
}

#[test]
fn a_preview_takes_what_a_replacement_would_take() {
    let server = server(&json!(10));
    let text = call(&server, "POST", "/ttl/preview", r#"{"defaultTtl":0}"#);
    assert_eq!(text.status, 400);
    assert!(text.body.contains("The input defaultTtl '0' is invalid."));
    for body in [
        r#"{"defaultTtl":-2}"#,
        r#"{"defaultTtl":1.5}"#,
        r#"{"defaultTtl":2147483648}"#,
        r#"{"defaultTtl":"60"}"#,
        r#"{"defaultTtl":true}"#,
        r#"{"defaultTtl":[60]}"#,
        r#"{"defaultTtl":1,"defaultTtl":1}"#,
        r#"{"defaultTtl":1,"id":"c"}"#,
        r#"{"ttl":1}"#,
        "{}",
        "1",
        "",
    ] {
        let reply = call(&server, "POST", "/ttl/preview", body);
        let code = reply.member("code");
        assert_eq!((reply.status, code), (400, "\"BadRequest\""), "{body}");
    }
    for body in ["60", "60.0", "6e1", "-1", "null", "2147483647"] {
        let body = format!("{{\"defaultTtl\":{body}}}");
        assert_eq!(call(&server, "POST", "/ttl/preview", &body).status, 200);
    }
    assert_eq!(call(&server, "GET", "/ttl/preview", "").status, 405);
    let elsewhere = "/_lapsedb/dbs/d/colls/none/ttl/preview";
    let reply = server.admin("POST", elsewhere, r#"{"defaultTtl":1}"#);
    assert_eq!(reply.status, 404);
}

#[test]
fn a_forecast_begins_with_the_present_and_leaves_nothing_out() {
    let server = server(&json!(100));
    put(&server, "a", &json!(null));
    put(&server, "b", &json!(-1));
    put(&server, "c", &json!(29));
    put(&server, "d", &json!(7200));
    let forecast = told(&call(
        &server,
        "GET",
        "/ttl/forecast?by=minute&buckets=3",
        "",
    ));
    let buckets = forecast["buckets"].as_array().unwrap();
    let from: Vec<_> = buckets
        .iter()
        .map(|one| one["from"].as_str().unwrap())
        .collect();
    assert_eq!(
        from,
        [
            "2027-01-01T00:00:00.000Z",
            "2027-01-01T00:01:00.000Z",
            "2027-01-01T00:02:00.000Z"
        ]
    );
    let items: Vec<_> = buckets
        .iter()
        .map(|one| one["items"].as_u64().unwrap())
        .collect();
    assert_eq!(items, [1, 0, 1]);
    assert_eq!(forecast["after"]["items"], 1);
    assert_eq!(forecast["never"]["items"], 1);
    let sum: u64 = buckets
        .iter()
        .chain([&forecast["after"], &forecast["never"]])
        .map(|one| one["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, figures(&server)["live"]["bytes"].as_u64().unwrap());

    let hours = told(&call(&server, "GET", "/ttl/forecast", ""));
    assert_eq!(hours["buckets"].as_array().unwrap().len(), 48);
    assert_eq!(hours["buckets"][0]["items"], 2);
    assert_eq!(hours["buckets"][2]["items"], 1);
    let days = told(&call(
        &server,
        "GET",
        "/ttl/forecast?by=day&buckets=366",
        "",
    ));
    assert_eq!(days["buckets"][365]["from"], "2028-01-01T00:00:00.000Z");
    assert_eq!(days["buckets"][0]["items"], 3);
    for query in [
        "by=week",
        "by=",
        "by=Minute",
        "buckets=0",
        "buckets=367",
        "buckets=-1",
        "buckets=1.5",
        "buckets=x",
        "buckets=",
        "buckets=99999999999999999999",
        "by=day&by=day",
        "width=day",
        "by=%ff",
    ] {
        let reply = call(&server, "GET", &format!("/ttl/forecast?{query}"), "");
        assert_eq!(reply.status, 400, "{query}: {reply:?}");
    }
    let reply = call(&server, "GET", "/ttl/forecast?buckets=0", "");
    assert!(reply.body.contains("1 to 366"), "{reply:?}");
    let reply = call(&server, "GET", "/ttl/forecast?by=week", "");
    assert!(reply.body.contains("minute, hour or day"), "{reply:?}");
    assert_eq!(call(&server, "POST", "/ttl/forecast", "").status, 405);
}

#[test]
fn an_item_says_how_long_it_has_to_live() {
    let server = server(&json!(100));
    put(&server, "a", &json!(null));
    put(&server, "b", &json!(-1));
    put(&server, "ü 1", &json!(7));
    let life = |id: &str| {
        let path = format!("/_lapsedb{COLL}/docs/{id}/ttl");
        let authorization = format!("authorization: Bearer {}", common::KEY);
        let by_header = server.call("GET", &path, &[&authorization, PK], "");
        let by_query = server.admin("GET", &format!("{path}?partitionKey=%5B%22p%22%5D"), "");
        assert_eq!(
            (by_header.status, &by_header.body),
            (by_query.status, &by_query.body)
        );
        by_query
    };
    assert_eq!(
        life("a").body,
        r#"{"ttl":null,"expiresAt":"2027-01-01T00:02:10.000Z","secondsLeft":100}"#
    );
    assert_eq!(
        life("b").body,
        r#"{"ttl":-1,"expiresAt":null,"secondsLeft":null}"#
    );
    let moved = server.admin("POST", "/_lapsedb/clock", r#"{"advanceMillis":6999}"#);
    assert_eq!(moved.status, 200);
    assert_eq!(
        life("%C3%BC%201").body,
        r#"{"ttl":7,"expiresAt":"2027-01-01T00:00:37.000Z","secondsLeft":1}"#
    );
    let moved = server.admin("POST", "/_lapsedb/clock", r#"{"advanceMillis":1}"#);
    assert_eq!(moved.status, 200);
    assert_eq!(life("%C3%BC%201").status, 404);
    assert_eq!(life("none").status, 404);
    alter(&server, &json!(null));
    assert_eq!(
        life("a").body,
        r#"{"ttl":null,"expiresAt":null,"secondsLeft":null}"#
    );
    let path = format!("/_lapsedb{COLL}/docs/a/ttl");
    for query in ["", "?partitionKey=p", "?partitionKey=", "?pk=1"] {
        let reply = server.admin("GET", &format!("{path}{query}"), "");
        assert_eq!(reply.status, 400, "{query}: {reply:?}");
    }
    let both = format!("{path}?partitionKey=%5B%22p%22%5D");
    let authorization = format!("authorization: Bearer {}", common::KEY);
    assert_eq!(
        server.call("GET", &both, &[&authorization, PK], "").status,
        400
    );
    assert_eq!(server.admin("POST", &path, "").status, 405);
    assert_eq!(server.call("GET", &path, &[PK], "").status, 401);
}
