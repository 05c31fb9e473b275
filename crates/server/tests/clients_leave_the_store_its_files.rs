//! However many clients come, the store can open its files: connections never take the last descriptors.

use std::process::Command;

use crate::common::Server;

/// More clients than there are descriptors.
const CLIENTS: usize = 400;

#[test]
fn a_write_succeeds_beside_more_clients_than_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "ulimit -S -n 100 && ulimit -H -n 300 && exec \"$0\" \"$@\"",
    ]);
    shell.arg(lapsedb_testkit::binary());
    let data = folder.path().to_str().unwrap();
    let server = Server::start_by(shell, &["--log-level", "error", "--data-path", data]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let open_files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let words: Vec<&str> = open_files.unwrap().split_whitespace().collect();
    assert_eq!(words[3..5], ["300", "300"], "raised to the hard limit");

    let clients: Vec<_> = (0..CLIENTS).map(|_| server.connect()).collect();
    let reply = server.cosmos("POST", "/dbs", &[], r#"{"id":"d"}"#);
    assert_eq!(reply.status, 201, "{reply:?}");
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap();
    assert!(open.count() < 250);
    drop(clients);
}
