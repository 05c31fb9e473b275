//! A failed sync leaves it open whether a commit is on disk: no API says that it was not made, and the next start tells.

use lapsedb_testkit::MongoClient;
use serde_json::Value;

use crate::common::Server;
use crate::common::faulty_disk::{DiskFault, FaultyDisk};
use crate::common::machine::wait_until;

fn mongo(server: &Server) -> MongoClient {
    let (_, address) = server.ready.trim_end().split_once(" mongo=").unwrap();
    MongoClient::new(address)
}

fn run(client: &mut MongoClient, database: &str, command: &str) -> Value {
    client.command(database, command).unwrap()
}

#[test]
fn a_write_at_the_nosql_api() {
    let disk = FaultyDisk::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let server = disk.start(&["--data-path", path]);
    server.cosmos("POST", "/dbs", &[], r#"{"id":"before"}"#);
    disk.fail(DiskFault::Sync);
    let reply = server.cosmos("POST", "/dbs", &[], r#"{"id":"open"}"#);
    assert_eq!(reply.status, 408, "{reply:?}");
    assert!(
        reply
            .body
            .contains("It is not known whether the write was made"),
        "{reply:?}"
    );
    // Nothing of it is seen in this run, and later writes are refused for certain.
    assert_eq!(server.cosmos("GET", "/dbs/open", &[], "").status, 404);
    assert_eq!(server.cosmos("GET", "/dbs/before", &[], "").status, 200);
    assert_eq!(
        server
            .cosmos("POST", "/dbs", &[], r#"{"id":"later"}"#)
            .status,
        503
    );
    // Only a restart helps: a failed sync may hide more than the one write.
    let ready = server.call("GET", "/ready", &[], "");
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(
        ready.body.contains("writing has stopped until a restart"),
        "{ready:?}"
    );
    let metrics = server.call("GET", "/metrics", &[], "").body;
    assert!(
        metrics.contains("\nlapsedb_writing_halted 1\n"),
        "{metrics}"
    );
    server.kill();
    disk.heal();
    let server = disk.start(&["--data-path", path]);
    // The write reached the file; only its sync failed.
    assert_eq!(server.cosmos("GET", "/dbs/open", &[], "").status, 200);
    assert_eq!(server.cosmos("GET", "/dbs/later", &[], "").status, 404);
}

#[test]
fn a_write_at_the_mongodb_api() {
    let disk = FaultyDisk::new();
    let folder = tempfile::tempdir().unwrap();
    let server = disk.start(&[
        "--data-path",
        folder.path().to_str().unwrap(),
        "--mongo-port",
        "0",
    ]);
    let mut client = mongo(&server);
    let made = run(
        &mut client,
        "d",
        r#"{"insert": "c", "documents": [{"_id": 1}]}"#,
    );
    assert_eq!(made["ok"], 1.0, "{made}");
    disk.fail(DiskFault::Sync);
    let failed = run(
        &mut client,
        "d",
        r#"{"insert": "c", "documents": [{"_id": 2}]}"#,
    );
    // An entry of writeErrors would say that the statement was not executed.
    assert_eq!(
        (&failed["ok"], &failed["code"]),
        (&Value::from(0.0), &Value::from(64)),
        "{failed}"
    );
    assert_eq!(failed["errorLabels"], Value::Null, "{failed}");
}

#[test]
fn a_transaction_at_the_mongodb_api() {
    const SESSION: &str = r#""lsid": {"id": {"$uuid": "7c8a1a3e-0001-4000-8000-000000000001"}}, "txnNumber": {"$numberLong": "1"}, "autocommit": false"#;
    let disk = FaultyDisk::new();
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "--data-path",
        folder.path().to_str().unwrap(),
        "--mongo-port",
        "0",
    ];
    let server = disk.start(&args);
    let mut client = mongo(&server);
    run(
        &mut client,
        "d",
        r#"{"insert": "c", "documents": [{"_id": 1}]}"#,
    );
    let begun = format!(
        r#"{{"insert": "c", "documents": [{{"_id": 2}}], "startTransaction": true, {SESSION}}}"#
    );
    let begun = run(&mut client, "d", &begun);
    assert_eq!(begun["ok"], 1.0, "{begun}");
    disk.fail(DiskFault::Sync);
    let commit = format!(r#"{{"commitTransaction": 1, {SESSION}}}"#);
    for _ in 0..2 {
        let failed = run(&mut client, "admin", &commit);
        assert_eq!(failed["code"], 64, "{failed}");
        assert_eq!(
            failed["errorLabels"][0], "UnknownTransactionCommitResult",
            "{failed}"
        );
    }
    server.kill();
    disk.heal();
    let server = disk.start(&args);
    let mut client = mongo(&server);
    let done = run(&mut client, "admin", &commit);
    assert_eq!(done["ok"], 1.0, "{done}");
    let found = run(&mut client, "d", r#"{"find": "c", "filter": {"_id": 2}}"#);
    assert_eq!(found["cursor"]["firstBatch"][0]["_id"], 2, "{found}");
}

#[test]
fn a_transaction_is_answered_for_certain_once_the_disk_has_room() {
    /// No such transaction: it was not committed.
    const NO_SUCH_TRANSACTION: u32 = 251;
    let part = |number: u32| {
        format!(
            r#""lsid": {{"id": {{"$uuid": "7c8a1a3e-0002-4000-8000-000000000001"}}}}, "txnNumber": {{"$numberLong": "{number}"}}, "autocommit": false"#
        )
    };
    let insert = |number: u32| {
        format!(
            r#"{{"insert": "c", "documents": [{{"_id": {number}}}], "startTransaction": true, {}}}"#,
            part(number)
        )
    };
    let end = |command: &str, number: u32| format!(r#"{{"{command}": 1, {}}}"#, part(number));
    let disk = FaultyDisk::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let server = disk.start(&["--data-path", path, "--mongo-port", "0"]);
    let mut client = mongo(&server);
    run(&mut client, "d", r#"{"create": "c"}"#);
    let begun = run(&mut client, "d", &insert(1));
    assert_eq!(begun["ok"], 1.0, "{begun}");
    disk.fail(DiskFault::Space);
    for command in ["commitTransaction", "commitTransaction", "abortTransaction"] {
        let open = run(&mut client, "admin", &end(command, 1));
        assert_eq!(open["code"], 64, "{open}");
    }
    disk.heal();
    let mut last = Value::Null;
    wait_until("the commit is answered for certain", || {
        last = run(&mut client, "admin", &end("commitTransaction", 1));
        last["code"] != 64
    });
    assert_eq!(last["code"], NO_SUCH_TRANSACTION, "{last}");
    let ended = run(&mut client, "admin", &end("abortTransaction", 1));
    assert_eq!(ended["code"], NO_SUCH_TRANSACTION, "{ended}");
    let begun = run(&mut client, "d", &insert(2));
    assert_eq!(begun["ok"], 1.0, "{begun}");
    let done = run(&mut client, "admin", &end("commitTransaction", 2));
    assert_eq!(done["ok"], 1.0, "{done}");
    let found = run(&mut client, "d", r#"{"find": "c"}"#);
    let found = found["cursor"]["firstBatch"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["_id"], 2, "{found:?}");
}
