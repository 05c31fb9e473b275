//! The ready line is printed once, and what it promises holds.

use std::io::{Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener};

use crate::common::{Reply, Server, connect};

#[test]
fn a_database_can_be_created_at_once() {
    let server = Server::start(&["--memory"]);
    assert_eq!(server.ready, format!("ready nosql={}\n", server.address));
    let reply = server.cosmos("POST", "/dbs", &[], r#"{"id":"db"}"#);
    assert_eq!(reply.status, 201, "{reply:?}");
    server.signal("TERM");
    let (_, rest) = server.wait();
    assert_eq!(rest, "", "nothing else goes to standard output");
}

#[test]
fn health_needs_no_key() {
    let server = Server::start(&["--memory"]);
    for path in [
        "/alive", "/ready", "/status", "/livez", "/readyz", "/healthz",
    ] {
        let reply = server.call("GET", path, &[], "");
        assert_eq!(
            (reply.status, &reply.body[..1]),
            (200, "{"),
            "{path}: {reply:?}"
        );
    }
    assert_eq!(server.call("POST", "/ready", &[], "").status, 405);
}

#[test]
fn metrics_need_no_key_and_count_requests() {
    let server = Server::start(&["--memory"]);
    server.cosmos("POST", "/dbs", &[], r#"{"id":"db"}"#);
    let reply = server.call("GET", "/metrics", &[], "");
    assert_eq!(reply.status, 200);
    for row in [
        "lapsedb_requests_total{door=\"nosql\",verb=\"databases\",status=\"201\"} 1\n",
        "lapsedb_request_seconds_count 1\n",
        "\nlapsedb_request_units_total ",
        "\nlapsedb_items_live 0\n",
        "\nlapsedb_items_expired_unpurged 0\n",
        "\nlapsedb_purged_items_total 0\n",
        "\nlapsedb_purged_bytes_total 0\n",
        "\nlapsedb_purge_lag_seconds 0\n",
        "\nlapsedb_clock_suspect 0\n",
    ] {
        assert!(reply.body.contains(row), "{row}: {}", reply.body);
    }
}

#[test]
fn localhost_is_served_by_either_of_its_addresses() {
    let Ok(_) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        // A machine without IPv6 has only one of them.
        return;
    };
    let server = Server::start(&["--memory"]);
    let mut stream = connect(SocketAddr::new(
        Ipv6Addr::LOCALHOST.into(),
        server.address.port(),
    ));
    stream
        .write_all(b"GET /alive HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    assert_eq!(Reply::read(stream).status, 200);
}

#[test]
fn http_2_is_spoken_with_prior_knowledge() {
    let server = Server::start(&["--memory"]);
    let mut stream = server.connect();
    let empty_settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .unwrap();
    stream.write_all(&empty_settings).unwrap();
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).unwrap();
    assert_eq!(frame[3], 4, "the first frame back is SETTINGS");
}
