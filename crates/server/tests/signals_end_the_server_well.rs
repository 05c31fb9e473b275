//! SIGTERM and SIGINT: what is in flight is finished, the exit code is 0.

use std::io::Write;
use std::time::Duration;

use crate::common::{KEY, Reply, Server};

#[test]
fn both_signals_end_with_0() {
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::on(folder.path(), &[]);
        assert_eq!(server.call("GET", "/ready", &[], "").status, 200);
        server.signal(signal);
        assert_eq!(server.wait().0.code(), Some(0), "{signal}");
    }
}

#[test]
fn an_idle_connection_does_not_delay_the_end() {
    let server = Server::start(&["--memory"]);
    let mut idle = server.connect();
    idle.write_all(b"GET /alive HTTP/1.1\r\nhost: x\r\n\r\n")
        .unwrap();
    let silent = server.connect();
    server.signal("TERM");
    assert_eq!(server.wait().0.code(), Some(0));
    drop((idle, silent));
}

#[test]
fn a_request_in_flight_is_answered() {
    let server = Server::start(&["--memory", "--virtual-clock"]);
    let mut stream = server.connect();
    let head = format!(
        "POST /_lapsedb/clock HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\ncontent-length: 16\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"{\"advance\"").unwrap();
    // The server must have seen the beginning before the signal; another answered request shows that it is running.
    for _ in 0..3 {
        server.call("GET", "/alive", &[], "");
    }
    std::thread::sleep(Duration::from_millis(50));
    server.signal("TERM");
    std::thread::sleep(Duration::from_millis(50));
    stream.write_all(b":\"1h\"}").unwrap();
    assert_eq!(Reply::read(stream).status, 200);
    assert_eq!(server.wait().0.code(), Some(0));
}
