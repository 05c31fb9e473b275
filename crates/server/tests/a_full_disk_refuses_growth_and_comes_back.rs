//! A full disk refuses what makes the store larger. Reads, deletes and purging go on, and when there is room again, so do writes. So they
//! do after a used-up quota and a lack of file descriptors.

use lapsedb_testkit::MongoClient;

use crate::common::faulty_disk::{DiskFault, FaultyDisk};
use crate::common::machine::wait_until;
use crate::common::{Reply, Server};

const ITEMS: &str = "/dbs/d/colls/c/docs";
const KEY: &str = r#"x-ms-documentdb-partitionkey: ["p"]"#;

fn start(disk: &FaultyDisk, folder: &tempfile::TempDir) -> Server {
    let path = folder.path().to_str().unwrap();
    let server = disk.start(&["--data-path", path, "--mongo-port", "0", "--virtual-clock"]);
    server.cosmos("POST", "/dbs", &[], r#"{"id":"d"}"#);
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"},"defaultTtl":-1}"#;
    server.cosmos("POST", "/dbs/d/colls", &[], body);
    server
}

fn create(server: &Server, id: &str) -> Reply {
    let body = format!(r#"{{"id":"{id}","pk":"p","ttl":100}}"#);
    server.cosmos("POST", ITEMS, &[KEY], &body)
}

fn call(server: &Server, method: &str, id: &str) -> u16 {
    server
        .cosmos(method, &format!("{ITEMS}/{id}"), &[KEY], "")
        .status
}

#[test]
fn below_the_reserve_only_removing_is_allowed() {
    let disk = FaultyDisk::new();
    let folder = tempfile::tempdir().unwrap();
    let server = start(&disk, &folder);
    for id in ["a", "b", "c"] {
        assert_eq!(create(&server, id).status, 201);
    }
    let (_, address) = server.ready.trim_end().split_once(" mongo=").unwrap();
    let mut client = MongoClient::new(address);
    client
        .command("m", r#"{"insert": "c", "documents": [{"_id": 1}]}"#)
        .unwrap();

    disk.fail(DiskFault::Room);
    let refused = create(&server, "d");
    assert_eq!(refused.status, 507, "{refused:?}");
    assert!(
        refused.body.contains("kept for removing data"),
        "{refused:?}"
    );
    let refused = client
        .command("m", r#"{"insert": "c", "documents": [{"_id": 2}]}"#)
        .unwrap();
    assert_eq!(refused["code"], 14_031, "{refused}");
    // As whoever asks before sending writes wants to know.
    let ready = server.call("GET", "/ready", &[], "");
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(ready.body.contains("kept for removing data"), "{ready:?}");
    let metrics = server.call("GET", "/metrics", &[], "").body;
    assert!(
        metrics.contains("\nlapsedb_writing_halted 1\n"),
        "{metrics}"
    );
    assert_eq!(call(&server, "GET", "a"), 200);
    assert_eq!(call(&server, "DELETE", "a"), 204);
    let deleted = client
        .command(
            "m",
            r#"{"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]}"#,
        )
        .unwrap();
    assert_eq!(deleted["n"], 1, "{deleted}");
    server.admin("POST", "/_lapsedb/clock", r#"{"advance":"1h"}"#);
    // By the call or by the purge that goes on in the background, whichever is first.
    wait_until("expired items are purged", || {
        let purged = server.admin("POST", "/_lapsedb/dbs/d/colls/c/ttl/purge", "");
        assert_eq!(purged.status, 200, "{purged:?}");
        let metrics = server.call("GET", "/metrics", &[], "").body;
        metrics.contains("\nlapsedb_items_expired_unpurged 0\n")
    });

    disk.heal();
    assert_eq!(server.call("GET", "/ready", &[], "").status, 200);
    assert_eq!(create(&server, "d").status, 201);
}

#[test]
fn after_a_write_without_room_writing_comes_back() {
    for fault in [DiskFault::Space, DiskFault::Quota] {
        let disk = FaultyDisk::new();
        let folder = tempfile::tempdir().unwrap();
        let server = start(&disk, &folder);
        assert_eq!(create(&server, "a").status, 201);

        disk.fail(fault);
        // The first one was on its way to the disk; those behind it are not tried.
        let open = create(&server, "b");
        assert_eq!(open.status, 408, "{fault:?}: {open:?}");
        let refused = create(&server, "c");
        assert_eq!(refused.status, 507, "{fault:?}: {refused:?}");
        let ready = server.call("GET", "/ready", &[], "");
        assert_eq!(ready.status, 503, "{fault:?}: {ready:?}");
        assert!(
            ready.body.contains("the disk is full"),
            "{fault:?}: {ready:?}"
        );
        assert_eq!(call(&server, "GET", "a"), 200);

        disk.heal();
        comes_back(server, &disk, &folder, &["a"]);
    }
}

#[test]
fn without_file_descriptors_writing_waits_for_some() {
    let disk = FaultyDisk::new();
    let folder = tempfile::tempdir().unwrap();
    let server = start(&disk, &folder);
    assert_eq!(create(&server, "a").status, 201);

    // A new log is begun when the write buffer is full: so much is written that it must be.
    disk.fail(DiskFault::Files);
    let pad = "x".repeat(1_900_000);
    let mut written = vec!["a".to_owned()];
    let refused = loop {
        let id = format!("large{}", written.len());
        let body = format!(r#"{{"id":"{id}","pk":"p","pad":"{pad}"}}"#);
        let reply = server.cosmos("POST", ITEMS, &[KEY], &body);
        if reply.status != 201 {
            break reply;
        }
        written.push(id);
        assert!(written.len() < 100, "nothing had to be opened");
    };
    // It was on its way to the disk; those behind it are not tried.
    assert_eq!(refused.status, 408, "{refused:?}");
    let refused = create(&server, "c");
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(
        refused.body.contains("no more files can be opened"),
        "{refused:?}"
    );
    let ready = server.call("GET", "/ready", &[], "");
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(
        ready.body.contains("no more files can be opened"),
        "{ready:?}"
    );
    assert_eq!(call(&server, "GET", "a"), 200);

    disk.heal();
    let written: Vec<&str> = written.iter().map(String::as_str).collect();
    comes_back(server, &disk, &folder, &written);
}

/// Writing goes on by itself, and what was acknowledged is there after a crash.
fn comes_back(server: Server, disk: &FaultyDisk, folder: &tempfile::TempDir, written: &[&str]) {
    wait_until("writing goes on", || create(&server, "later").status == 201);
    assert_eq!(server.call("GET", "/ready", &[], "").status, 200);
    assert_eq!(create(&server, "last").status, 201);
    server.kill();
    let server = start(disk, folder);
    for id in written.iter().chain(&["later", "last"]) {
        assert_eq!(call(&server, "GET", id), 200, "{id}");
    }
    assert_eq!(call(&server, "GET", "c"), 404);
}
