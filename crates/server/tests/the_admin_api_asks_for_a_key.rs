//! Nobody without a key sees or moves anything; the read-only key may look.

use crate::common::{self, Server};

const READ_ONLY: &str = "cmVhZCBvbmx5IHJlYWQgb25seQ==";

#[test]
fn who_may_do_what() {
    let server = Server::start(&["--memory", "--virtual-clock", "--read-only-key", READ_ONLY]);
    let bearer = |key: &str| format!("authorization: Bearer {key}");
    for (header, get, post) in [
        (bearer(common::KEY), 200, 200),
        (bearer(READ_ONLY), 200, 403),
        (bearer("bm90IGEga2V5"), 401, 401),
        (bearer(""), 401, 401),
        ("x-none: 1".to_owned(), 401, 401),
    ] {
        let reply = server.call("GET", "/_lapsedb/clock", &[&header], "");
        assert_eq!(reply.status, get, "{header}: {reply:?}");
        let reply = server.call("POST", "/_lapsedb/clock", &[&header], r#"{"advance":"1s"}"#);
        assert_eq!(reply.status, post, "{header}: {reply:?}");
    }
}

#[test]
fn a_signature_of_nothing_in_particular_will_do() {
    let server = Server::start(&["--memory"]);
    for (signed, status) in [("/", 200), ("/dbs", 401)] {
        let headers = common::signature("GET", signed, &common::http_date(0));
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let reply = server.call("GET", "/_lapsedb/clock", &headers, "");
        assert_eq!(reply.status, status, "{reply:?}");
    }
}

#[test]
fn what_is_not_there_is_404_and_what_is_not_meant_is_405() {
    let server = Server::start(&["--memory"]);
    for (method, path, status) in [
        ("GET", "/_lapsedb", 404),
        ("GET", "/_lapsedb/nothing", 404),
        ("DELETE", "/_lapsedb/clock", 405),
        ("GET", "/_lapsedb/dbs/no/colls/no/ttl", 404),
        ("POST", "/_lapsedb/dbs/no/colls/no/ttl/purge", 404),
        ("GET", "/_lapsedb/dbs/no/colls/no/ttl/purge", 405),
        ("GET", "/_lapsedb/dbs/%ff/colls/no/ttl", 400),
    ] {
        let reply = server.admin(method, path, "");
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
        assert!(
            reply.body.starts_with("{\"code\":\"") && reply.body.contains("\"message\":\""),
            "{reply:?}"
        );
    }
}

#[test]
fn the_figures_of_a_collection() {
    let server = Server::start(&["--memory", "--virtual-clock", "--purge-grace", "0"]);
    assert_eq!(
        server.cosmos("POST", "/dbs", &[], r#"{"id":"d"}"#).status,
        201
    );
    let container =
        r#"{"id":"c","partitionKey":{"paths":["/id"],"kind":"Hash","version":2},"defaultTtl":60}"#;
    assert_eq!(
        server.cosmos("POST", "/dbs/d/colls", &[], container).status,
        201
    );
    for id in ["a", "b"] {
        let key = format!("x-ms-documentdb-partitionkey: [\"{id}\"]");
        let reply = server.cosmos(
            "POST",
            "/dbs/d/colls/c/docs",
            &[&key],
            &format!("{{\"id\":\"{id}\"}}"),
        );
        assert_eq!(reply.status, 201, "{reply:?}");
    }
    let path = "/_lapsedb/dbs/d/colls/c/ttl";
    let reply = server.admin("GET", path, "");
    assert!(
        reply.body.contains(r#""defaultTtl":60,"live":{"items":2,"#),
        "{reply:?}"
    );
    assert!(
        reply.body.contains(r#""expired":{"items":0,"bytes":0}"#),
        "{reply:?}"
    );
    assert!(reply.member("nextExpiry").starts_with("\"2"), "{reply:?}");
    assert_eq!(
        server
            .admin("POST", "/_lapsedb/clock", r#"{"advance":"61s"}"#)
            .status,
        200
    );
    let reply = server.admin("GET", path, "");
    assert!(
        reply.body.contains(r#""live":{"items":0,"bytes":0}"#),
        "{reply:?}"
    );
    assert_eq!(reply.member("nextExpiry"), "null");
    let reply = server.admin("POST", &format!("{path}/purge"), "");
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(
        reply.body.starts_with(r#"{"purged":{"items":"#),
        "{reply:?}"
    );
    let reply = server.admin("GET", path, "");
    assert!(
        reply.body.contains(r#""expired":{"items":0,"bytes":0}"#),
        "{reply:?}"
    );
}
