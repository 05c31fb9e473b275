//! A server whose write-ahead log is damaged does not start; `lapsedb verify` says what is lost without the damaged part, and drops it.

use std::path::{Path, PathBuf};

use crate::common::{Server, run};

/// The log of a store that was killed; of several the one that holds something.
fn log(folder: &Path) -> PathBuf {
    let files = std::fs::read_dir(folder.join("store/rocksdb")).unwrap();
    let mut logs: Vec<PathBuf> = files
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|end| end == "log"))
        .filter(|file| file.metadata().unwrap().len() > 0)
        .collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    logs.remove(0)
}

#[test]
fn a_flipped_bit_is_named_and_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let server = Server::on(folder.path(), &[]);
    server.cosmos("POST", "/dbs", &[], r#"{"id":"kept"}"#);
    let kept = log(folder.path()).metadata().unwrap().len();
    server.cosmos("POST", "/dbs", &[], r#"{"id":"lost"}"#);
    server.kill();
    assert_eq!(run(&["verify", "--data-path", path]).status.code(), Some(0));

    let file = log(folder.path());
    let mut bytes = std::fs::read(&file).unwrap();
    // Within the bytes of the second commit, whose length it makes wrong.
    bytes[kept as usize + 4] ^= 1 << 3;
    std::fs::write(&file, bytes).unwrap();

    let started = run(&["--data-path", path, "--port", "0", "--mongo-port", "off"]);
    assert_eq!(started.status.code(), Some(1));
    let text = String::from_utf8(started.stderr).unwrap();
    assert!(
        text.contains(&format!("{}: at byte {kept}", file.display())),
        "{text}"
    );
    assert!(text.contains("lapsedb verify"), "{text}");

    let looked = run(&["verify", "--data-path", path]);
    assert_eq!(looked.status.code(), Some(1), "{looked:?}");
    let text = String::from_utf8(looked.stderr).unwrap();
    assert!(text.contains("would be lost"), "{text}");

    let dropped = run(&["verify", "--data-path", path, "--drop-damaged-log"]);
    assert_eq!(dropped.status.code(), Some(0), "{dropped:?}");
    let server = Server::on(folder.path(), &[]);
    assert_eq!(server.cosmos("GET", "/dbs/kept", &[], "").status, 200);
    assert_eq!(server.cosmos("GET", "/dbs/lost", &[], "").status, 404);
}

#[test]
fn it_needs_a_store_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    assert_eq!(run(&["verify", "--data-path", path]).status.code(), Some(1));
    assert_eq!(run(&["verify", "--memory"]).status.code(), Some(2));
    assert_eq!(
        run(&["--memory", "--drop-damaged-log"]).status.code(),
        Some(2)
    );
    let server = Server::on(folder.path(), &[]);
    assert_eq!(run(&["verify", "--data-path", path]).status.code(), Some(3));
    drop(server);
}
