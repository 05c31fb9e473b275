//! A virtual clock stands still, moves when told, and an acknowledged move is never lost.

use crate::common::{self, Server};

const CLOCK: &str = "/_lapsedb/clock";

fn now(server: &Server) -> u64 {
    server
        .admin("GET", CLOCK, "")
        .member("nowMillis")
        .parse()
        .unwrap()
}

#[test]
fn it_stands_still_and_moves_by_what_it_is_told() {
    let server = Server::start(&["--memory", "--virtual-clock"]);
    let start = now(&server);
    assert_eq!(now(&server), start);
    let reply = server.admin("POST", CLOCK, r#"{"advance":"1h30m"}"#);
    assert_eq!(
        (
            reply.status,
            reply.member("virtual"),
            reply.member("suspect")
        ),
        (200, "true", "false")
    );
    assert_eq!(now(&server), start + 5_400_000);
    assert_eq!(
        server.admin("POST", CLOCK, r#"{"advanceMillis":1}"#).status,
        200
    );
    assert_eq!(now(&server), start + 5_400_001);
    let reply = server.admin("POST", CLOCK, r#"{"set":"2999-12-31T23:59:59.5Z"}"#);
    assert_eq!(
        (reply.status, reply.member("now")),
        (200, "\"2999-12-31T23:59:59.500Z\"")
    );
}

#[test]
fn it_does_not_go_back_and_takes_no_nonsense() {
    let server = Server::start(&["--memory", "--virtual-clock"]);
    let start = now(&server);
    for body in [
        r#"{"set":"2001-01-01T00:00:00Z"}"#,
        r#"{"advanceMillis":-1}"#,
        r#"{"advance":"-1s"}"#,
        r#"{"advance":"soon"}"#,
        r#"{"advance":"99999999d"}"#,
        r#"{"advance":"1s","advance":"2s"}"#,
        r#"{"trust":true}"#,
        "{}",
        "[]",
        "",
        "{",
    ] {
        let reply = server.admin("POST", CLOCK, body);
        assert_eq!(
            (reply.status, reply.member("code")),
            (400, "\"BadRequest\""),
            "{body}: {reply:?}"
        );
    }
    assert_eq!(now(&server), start);
}

#[test]
fn an_acknowledged_move_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path(), &["--virtual-clock"]);
    let mut moved = now(&server);
    server.kill();
    for _ in 0..3 {
        let server = Server::on(folder.path(), &["--virtual-clock"]);
        assert!(now(&server) >= moved);
        let reply = server.admin("POST", CLOCK, r#"{"advance":"30d"}"#);
        assert_eq!(reply.status, 200);
        moved = reply.member("nowMillis").parse().unwrap();
        server.kill();
        let server = Server::on(folder.path(), &["--virtual-clock"]);
        assert_eq!(now(&server), moved);
        server.kill();
    }
}

#[test]
fn a_store_keeps_its_kind_of_clock() {
    for (first, second) in [
        ("--virtual-clock", None),
        ("--purge=on", Some("--virtual-clock")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        Server::on(folder.path(), &[first]).kill();
        let mut args = vec![
            "--data-path",
            folder.path().to_str().unwrap(),
            "--port",
            "0",
            "--log-level",
            "off",
        ];
        args.extend(second);
        let output = common::run(&args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.contains("--virtual-clock") && error.lines().count() == 1,
            "{error}"
        );
    }
}

#[test]
fn a_real_clock_is_not_moved() {
    let server = Server::start(&["--memory"]);
    assert_eq!(server.admin("GET", CLOCK, "").member("virtual"), "false");
    for body in [
        r#"{"advance":"1s"}"#,
        r#"{"advanceMillis":0}"#,
        r#"{"set":"2999-01-01T00:00:00Z"}"#,
    ] {
        assert_eq!(server.admin("POST", CLOCK, body).status, 403, "{body}");
    }
    assert_eq!(server.admin("POST", CLOCK, r#"{"trust":true}"#).status, 200);
}
