//! SIGTERM and SIGINT: what is in flight is finished, the exit code is 0.

use std::io::{Read, Write};
use std::net::TcpStream;

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
    idle.write_all(b"GET /alive HTTP/1.1\r\nhost: localhost\r\n\r\n")
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
        "POST /_lapsedb/clock HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\ncontent-length: 16\r\n\
         expect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server asks for the rest when it has seen the beginning.
    let mut asked = [0; 25];
    stream.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{\"advance\"").unwrap();
    let address = stream.peer_addr().unwrap();
    server.signal("TERM");
    // It is about to end when nobody else is let in.
    while TcpStream::connect(address).is_ok() {
        std::thread::yield_now();
    }
    stream.write_all(b":\"1h\"}").unwrap();
    assert_eq!(Reply::read(stream).status, 200);
    assert_eq!(server.wait().0.code(), Some(0));
}
