//! The published key is known to every web page, so a server that accepts it answers none that is not of this machine.

use std::io::Write;

use crate::common::{self, OWN_KEY, Reply, Server};

const PAGE: &str = "https://app.example";

/// One request whose headers the test writes itself.
fn ask(server: &Server, method: &str, path: &str, headers: &[&str]) -> Reply {
    let mut stream = server.connect();
    write!(stream, "{method} {path} HTTP/1.1\r\nconnection: close\r\n").unwrap();
    for header in headers {
        write!(stream, "{header}\r\n").unwrap();
    }
    write!(stream, "\r\n").unwrap();
    Reply::read(stream)
}

#[test]
fn a_foreign_host_or_origin_is_refused_on_every_route() {
    let server = Server::start(&["--memory"]);
    let bearer = format!("authorization: Bearer {}", common::KEY);
    let own = format!("host: {}", server.address);
    for path in [
        "/_lapsedb/clock",
        "/metrics",
        "/alive",
        "/_explorer/emulator.pem",
        "/",
        "/dbs",
    ] {
        let signed = common::signature("GET", path, &common::http_date(0));
        let mut headers: Vec<&str> = signed.iter().map(String::as_str).collect();
        if path.starts_with("/_lapsedb") {
            headers = vec![&bearer];
        }
        for good in [
            vec![own.as_str()],
            vec!["host: localhost:8081"],
            vec!["host: [::1]:8081", "origin: http://localhost:3000"],
            vec!["host: 127.0.0.2", "origin: https://127.0.0.1"],
        ] {
            let reply = ask(&server, "GET", path, &[headers.as_slice(), &good].concat());
            assert_eq!(reply.status, 200, "{path} {good:?}: {reply:?}");
            assert!(!reply.head.contains("access-control"), "{reply:?}");
        }
        for bad in [
            vec!["host: rebound.evil.example:8081"],
            vec!["host: localhost.evil.example"],
            vec!["host: 127.0.0.1.evil.example"],
            vec![own.as_str(), "host: evil.example"],
            vec![own.as_str(), "origin: https://evil.example"],
            vec![own.as_str(), "origin: http://localhost.evil.example"],
            vec![own.as_str(), "origin: null"],
        ] {
            let reply = ask(&server, "GET", path, &[headers.as_slice(), &bad].concat());
            assert_eq!(reply.status, 403, "{path} {bad:?}: {reply:?}");
            assert!(reply.body.contains("published key"), "{reply:?}");
            assert!(!reply.head.contains("access-control"), "{reply:?}");
        }
    }
}

#[test]
fn no_page_is_told_that_it_may_send() {
    let question = ["access-control-request-method: POST", "host: localhost"];
    let own = Server::start(&["--memory", "--key", OWN_KEY, "--cors-origin", PAGE]);
    let published = Server::start(&["--memory"]);
    for (server, origin) in [
        (&published, "origin: https://evil.example"),
        (&published, "origin: http://localhost:3000"),
        (&own, "origin: https://evil.example"),
        (&own, "origin: https://app.example.evil.example"),
        (&own, "origin: http://app.example"),
    ] {
        for path in ["/dbs", "/_lapsedb/clock"] {
            let reply = ask(
                server,
                "OPTIONS",
                path,
                &[&[origin], &question[..]].concat(),
            );
            assert!(
                !reply.head.contains("access-control"),
                "{origin}: {reply:?}"
            );
            assert!(reply.status >= 400, "{origin}: {reply:?}");
        }
    }
}

#[test]
fn a_page_that_the_operator_names_may_ask_and_see_with_a_key() {
    let server = Server::start(&["--memory", "--key", OWN_KEY, "--cors-origin", PAGE]);
    let origin = format!("origin: {PAGE}");
    let allowed = format!("access-control-allow-origin: {PAGE}\r\n");
    for path in ["/dbs", "/_lapsedb/clock"] {
        let headers = [
            "host: db.example",
            &origin,
            "access-control-request-method: POST",
        ];
        let reply = ask(&server, "OPTIONS", path, &headers);
        assert_eq!(reply.status, 204, "{reply:?}");
        for says in [
            allowed.as_str(),
            "x-ms-documentdb-partitionkey",
            "vary: origin",
        ] {
            assert!(reply.head.contains(says), "{says}: {reply:?}");
        }
        let reply = ask(&server, "GET", path, &["host: db.example", &origin]);
        assert_eq!(reply.status, 401, "{reply:?}");
        assert!(reply.head.contains(&allowed), "{reply:?}");
        assert!(
            reply.head.contains("access-control-expose-headers: etag"),
            "{reply:?}"
        );
    }
    let bearer = format!("authorization: Bearer {OWN_KEY}");
    let headers = ["host: db.example", &origin, &bearer];
    let reply = ask(&server, "GET", "/_lapsedb/clock", &headers);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.head.contains(&allowed), "{reply:?}");
}
