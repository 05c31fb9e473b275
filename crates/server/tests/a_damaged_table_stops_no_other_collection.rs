//! A damaged table costs what it holds: other collections are read and written, and the damage is told.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::common::Server;
use crate::common::machine::wait_until;

const KEY: &str = r#"x-ms-documentdb-partitionkey: ["p"]"#;
/// In every item of the collection whose table is damaged.
const MARKER: &str = "of the damaged table";

fn create(server: &Server, collection: &str, id: &str) -> u16 {
    let body = format!(r#"{{"id":"{id}","pk":"p","text":"{MARKER}","ttl":100}}"#);
    let path = format!("/dbs/d/colls/{collection}/docs");
    server.cosmos("POST", &path, &[KEY], &body).status
}

/// The tables that hold items.
fn tables(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder.join("store/rocksdb")).unwrap();
    files
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|end| end == "sst"))
        .filter(|file| {
            let bytes = std::fs::read(file).unwrap();
            bytes
                .windows(MARKER.len())
                .any(|window| window == MARKER.as_bytes())
        })
        .collect()
}

#[test]
fn met_while_purging() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let args = ["--data-path", path, "--virtual-clock"];
    let server = Server::start(&args);
    server.cosmos("POST", "/dbs", &[], r#"{"id":"d"}"#);
    for id in ["c", "other"] {
        let body = format!(
            r#"{{"id":"{id}","partitionKey":{{"paths":["/pk"],"kind":"Hash"}},"defaultTtl":-1,"indexingPolicy":{{"indexingMode":"consistent","automatic":true,"includedPaths":[],"excludedPaths":[{{"path":"/*"}}]}}}}"#
        );
        assert_eq!(
            server.cosmos("POST", "/dbs/d/colls", &[], &body).status,
            201
        );
    }
    assert_eq!(create(&server, "c", "a"), 201);
    server.signal("TERM");
    server.wait();
    let damaged = tables(folder.path());
    assert_eq!(damaged.len(), 1);
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&damaged[0])
        .unwrap();
    // Within its first block.
    file.write_all_at(b"damage", 20).unwrap();

    let server = Server::start(&args);
    assert_eq!(create(&server, "other", "b"), 201);
    server.admin("POST", "/_lapsedb/clock", r#"{"advance":"1h"}"#);
    let name = damaged[0].file_name().unwrap().to_str().unwrap();
    wait_until("the damage is told", || {
        server.admin("POST", "/_lapsedb/dbs/d/colls/c/ttl/purge", "");
        let ready = server.call("GET", "/ready", &[], "");
        assert_eq!(ready.status, 200, "{ready:?}");
        ready.body.contains("damage") && ready.body.contains(name)
    });
    let metrics = server.call("GET", "/metrics", &[], "").body;
    for line in ["lapsedb_damaged_tables 1", "lapsedb_writing_halted 0"] {
        assert!(metrics.contains(&format!("\n{line}\n")), "{metrics}");
    }
    assert_eq!(create(&server, "other", "c"), 201);
    let read = server.cosmos("GET", "/dbs/d/colls/other/docs/c", &[KEY], "");
    assert_eq!(read.status, 200, "{read:?}");
}
