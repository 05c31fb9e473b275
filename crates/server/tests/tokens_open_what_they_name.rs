//! Resource tokens through the wire: of their own container alone, and as long as their permission is there.

use crate::common::{Reply, Server};

const QUERY: &str = r#"{"query":"SELECT * FROM c"}"#;

/// A request with a token.
fn with_token(server: &Server, token: &str, coll: &str, headers: &[&str]) -> Reply {
    let own = [
        format!("authorization: {token}"),
        "x-ms-version: 2018-12-31".to_owned(),
        "content-type: application/query+json".to_owned(),
    ];
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let path = format!("/dbs/d/colls/{coll}/docs");
    server.call("POST", &path, &[&own, headers].concat(), QUERY)
}

#[test]
fn a_query_plan_asks_for_access_as_the_query_does() {
    let server = Server::start(&["--memory"]);
    let make = |path: &str, body: &str| {
        let reply = server.cosmos("POST", path, &[], body);
        assert_eq!(reply.status, 201, "{reply:?}");
        reply
    };
    make("/dbs", r#"{"id":"d"}"#);
    for coll in ["own", "other"] {
        let key = r#""partitionKey":{"paths":["/id"],"kind":"Hash","version":2}"#;
        make("/dbs/d/colls", &format!(r#"{{"id":"{coll}",{key}}}"#));
    }
    make("/dbs/d/users", r#"{"id":"u"}"#);
    let permission = r#"{"id":"p","permissionMode":"Read","resource":"dbs/d/colls/own"}"#;
    let permission = make("/dbs/d/users/u/permissions", permission);
    let token = permission.member("_token").trim_matches('"').to_owned();

    let plan = ["x-ms-cosmos-is-query-plan-request: True"];
    let query = ["x-ms-documentdb-isquery: True"];
    for headers in [&plan, &query] {
        let reply = with_token(&server, &token, "own", headers);
        assert_eq!(reply.status, 200, "{headers:?}: {reply:?}");
        let reply = with_token(&server, &token, "other", headers);
        assert_eq!(reply.status, 403, "{headers:?}: {reply:?}");
    }
    let path = "/dbs/d/users/u/permissions/p";
    assert_eq!(server.cosmos("DELETE", path, &[], "").status, 204);
    for headers in [&plan, &query] {
        let reply = with_token(&server, &token, "own", headers);
        assert_eq!(reply.status, 403, "{headers:?}: {reply:?}");
    }
}

/// A name with a percent sign that is no escape, as the router and the signature understand it.
#[test]
fn what_is_no_escape_is_signed_and_found_as_it_stands() {
    let server = Server::start(&["--memory"]);
    let reply = server.cosmos("POST", "/dbs", &[], r#"{"id":"%+1"}"#);
    assert_eq!(reply.status, 201, "{reply:?}");
    let reply = server.cosmos("GET", "/dbs/%+1", &[], "");
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.body.contains(r#""id":"%+1""#), "{reply:?}");
}
