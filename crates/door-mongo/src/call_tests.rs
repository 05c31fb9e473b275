//! What a command leaves behind when it panics, and whose sessions a client may name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::Ordering;

use lapsedb_service::sessions::SessionId;
use lapsedb_value::{Object, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::connection::{Connection, Peer};
use crate::testing::{Bench, code, document};

const INTERNAL_ERROR: i64 = 1;
const UNAUTHORIZED: i64 = 13;
const NO_SUCH_TRANSACTION: i64 = 251;
const MAX_TIME_EXPIRED: i64 = 50;
const CURSOR_NOT_FOUND: i64 = 43;
/// Bytes of a frame as it is sent here, before its document.
const BEFORE_DOCUMENT: usize = 21;

fn binary(subtype: u8, bytes: &[u8]) -> Value {
    Value::Binary {
        subtype,
        bytes: bytes.to_vec(),
    }
}

fn session(id: u8) -> Object {
    let mut session = Object::new();
    session.push("id", binary(4, &[id; 16]));
    session
}

/// A command as part of a transaction.
fn in_transaction(command: &str, database: &str, (id, number): (u8, i64), start: bool) -> Object {
    let mut body = document(command);
    body.push("lsid", session(id));
    body.push("txnNumber", Value::Int64(number));
    if start {
        body.push("startTransaction", true);
    }
    body.push("autocommit", false);
    body.push("$db", database);
    body
}

/// Makes the next command of a name panic once it is under way.
async fn will_panic(bench: &Bench, command: &str) {
    let point = format!(
        r#"{{"configureFailPoint":"failCommand","mode":{{"times":1}},"data":{{"failCommands":["{command}"],"panic":true}}}}"#
    );
    bench.succeed(&mut bench.master(), "admin", &point).await;
}

#[tokio::test]
async fn a_panic_is_answered_and_the_connection_goes_on() {
    let bench = Bench::new().await;
    let mut master = bench.master();
    for (name, command) in [
        ("insert", r#"{"insert":"c","documents":[{"_id":1}]}"#),
        ("find", r#"{"find":"c"}"#),
        (
            "aggregate",
            r#"{"aggregate":"c","pipeline":[],"cursor":{}}"#,
        ),
        (
            "update",
            r#"{"update":"c","updates":[{"q":{},"u":{"a":1}}]}"#,
        ),
        ("count", r#"{"count":"c"}"#),
        ("create", r#"{"create":"d"}"#),
    ] {
        will_panic(&bench, name).await;
        let reply = bench.ask(&mut master, "a", command).await;
        assert_eq!(code(&reply), INTERNAL_ERROR, "{command}: {reply:?}");
        bench.succeed(&mut master, "a", command).await;
    }
}

#[tokio::test]
async fn a_panic_ends_its_transaction_and_lets_go_what_it_held() {
    let bench = Bench::new().await;
    let mut master = bench.master();
    let insert = r#"{"insert":"c","documents":[{"_id":1,"n":0}]}"#;
    bench.succeed(&mut master, "a", insert).await;
    let update = r#"{"update":"c","updates":[{"q":{"_id":1},"u":{"$set":{"n":1}}}]}"#;
    let first = in_transaction(update, "a", (1, 1), true);
    assert_eq!(code(&bench.ask_raw(&mut master, first).await), 0);
    will_panic(&bench, "find").await;
    let find = in_transaction(r#"{"find":"c"}"#, "a", (1, 1), false);
    let reply = bench.ask_raw(&mut master, find.clone()).await;
    assert_eq!(code(&reply), INTERNAL_ERROR, "{reply:?}");
    // The session answers at once, and its transaction is over.
    let reply = bench.ask_raw(&mut master, find).await;
    assert_eq!(code(&reply), NO_SUCH_TRANSACTION, "{reply:?}");
    // What it was about to change is free, and unchanged.
    let next = in_transaction(update, "a", (2, 1), true);
    assert_eq!(code(&bench.ask_raw(&mut master, next).await), 0);
    let commit = in_transaction(r#"{"commitTransaction":1}"#, "admin", (2, 1), false);
    assert_eq!(code(&bench.ask_raw(&mut master, commit).await), 0);
    // A retryable write holds its session too.
    will_panic(&bench, "update").await;
    let mut write = document(update);
    write.push("lsid", session(3));
    write.push("txnNumber", Value::Int64(1));
    write.push("$db", "a");
    let reply = bench.ask_raw(&mut master, write.clone()).await;
    assert_eq!(code(&reply), INTERNAL_ERROR, "{reply:?}");
    assert_eq!(code(&bench.ask_raw(&mut master, write).await), 0);
}

#[tokio::test]
async fn a_commit_that_panicked_is_told_as_it_happened_when_it_is_sent_again() {
    let bench = Bench::new().await;
    let mut master = bench.master();
    let insert = |id: u8| format!(r#"{{"insert":"c","documents":[{{"_id":{id}}}]}}"#);
    bench.succeed(&mut master, "a", &insert(0)).await;
    let first = in_transaction(&insert(1), "a", (1, 1), true);
    assert_eq!(code(&bench.ask_raw(&mut master, first).await), 0);
    will_panic(&bench, "commitTransaction").await;
    let commit = in_transaction(r#"{"commitTransaction":1}"#, "admin", (1, 1), false);
    let reply = bench.ask_raw(&mut master, commit.clone()).await;
    assert_eq!(code(&reply), INTERNAL_ERROR, "{reply:?}");
    let labels = format!("{:?}", reply.get("errorLabels"));
    assert!(
        labels.contains("UnknownTransactionCommitResult"),
        "{labels}"
    );
    let again = bench.ask_raw(&mut master, commit).await;
    assert_eq!(code(&again), 0, "{again:?}");
    let counted = bench.succeed(&mut master, "a", r#"{"count":"c"}"#).await;
    assert_eq!(counted.get("n").and_then(Value::as_i64), Some(2));
}

/// Sends a command over a stream, and reads its reply.
async fn over(stream: &mut DuplexStream, command: &str) -> Object {
    let mut body = document(command);
    body.push("$db", "admin");
    let mut bytes = Vec::new();
    lapsedb_value::bson::write_document(&body, &mut bytes);
    let length = u32::try_from(BEFORE_DOCUMENT + bytes.len()).unwrap();
    let mut frame = Vec::new();
    for word in [length, 1, 0, 2013, 0] {
        frame.extend_from_slice(&word.to_le_bytes());
    }
    frame.push(0);
    frame.extend_from_slice(&bytes);
    stream.write_all(&frame).await.unwrap();
    let length = stream.read_u32_le().await.unwrap() as usize;
    let mut reply = vec![0; length - 4];
    stream.read_exact(&mut reply).await.unwrap();
    lapsedb_value::bson::read_document(&reply[BEFORE_DOCUMENT - 4..]).unwrap()
}

#[tokio::test]
async fn a_connection_whose_command_panicked_is_neither_lost_nor_left_in_the_lists() {
    let bench = Bench::open_to_all().await;
    let door = &bench.door;
    let operations = &door.service.documents_state().operations;
    let (mut client, server) = tokio::io::duplex(64 * 1024);
    let peer = Peer {
        client: ([127, 0, 0, 1], 1).into(),
        server: ([127, 0, 0, 1], 2).into(),
        tls: false,
    };
    let talk = async {
        will_panic(&bench, "listDatabases").await;
        let reply = over(&mut client, r#"{"listDatabases":1}"#).await;
        assert_eq!(code(&reply), INTERNAL_ERROR, "{reply:?}");
        assert_eq!(operations.running(), 0);
        let reply = over(&mut client, r#"{"listDatabases":1}"#).await;
        assert_eq!(code(&reply), 0, "{reply:?}");
        assert_eq!(door.connections.open.load(Ordering::Relaxed), 1);
        drop(client);
    };
    tokio::join!(talk, door.serve(server, peer, std::future::pending()));
    assert_eq!(door.connections.open.load(Ordering::Relaxed), 0);
}

/// Asserts that sessions of somebody cannot be named on a connection.
async fn assert_not_nameable(bench: &Bench, connection: &mut Connection, owner: [u8; 32]) {
    let mut session = session(1);
    session.push("uid", binary(0, &owner));
    for name in ["endSessions", "killSessions", "refreshSessions"] {
        let mut body = Object::new();
        body.push(name, Value::Array(vec![Value::Object(session.clone())]));
        body.push("$db", "admin");
        let reply = bench.ask_raw(connection, body).await;
        assert_eq!(code(&reply), UNAUTHORIZED, "{name}: {reply:?}");
    }
    for name in ["ping", "hello"] {
        let mut body = Object::new();
        body.push(name, 1);
        body.push("lsid", session.clone());
        body.push("$db", "admin");
        let reply = bench.ask_raw(connection, body).await;
        assert_eq!(code(&reply), UNAUTHORIZED, "{name}: {reply:?}");
    }
}

#[tokio::test]
async fn nobody_ends_the_sessions_of_another() {
    let bench = Bench::new().await;
    let mut owner = bench.user("a", "owner", &["readWrite@a"]).await;
    let insert = r#"{"insert":"c","documents":[{"_id":1}]}"#;
    bench.succeed(&mut owner, "a", insert).await;
    let find = |start| in_transaction(r#"{"find":"c"}"#, "a", (1, 1), start);
    assert_eq!(code(&bench.ask_raw(&mut owner, find(true)).await), 0);
    let digest = SessionId::user("owner", "a");
    assert_not_nameable(&bench, &mut bench.connection(None), digest).await;
    let mut other = bench.user("a", "other", &["readWrite@a"]).await;
    assert_not_nameable(&bench, &mut other, digest).await;
    // Its transaction has not noticed.
    assert_eq!(code(&bench.ask_raw(&mut owner, find(false)).await), 0);
    // Nor does anybody see it who has no right to.
    let list = r#"{"aggregate":1,"pipeline":[{"$listLocalSessions":{}}],"cursor":{}}"#;
    let listed = bench.succeed(&mut other, "admin", list).await;
    let listed = listed.get("cursor").unwrap().get("firstBatch");
    assert!(listed.as_array().unwrap().is_empty(), "{listed}");
    let listed = bench.succeed(&mut owner, "admin", list).await;
    let listed = listed.get("cursor").unwrap().get("firstBatch");
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn a_fail_point_for_a_program_sees_its_first_greeting() {
    let bench = Bench::open_to_all().await;
    let mut master = bench.master();
    let point = r#"{"configureFailPoint":"failCommand","mode":{"times":1},"data":{"failCommands":["hello"],"appName":"mine","errorCode":91}}"#;
    bench.succeed(&mut master, "admin", point).await;
    let greet =
        |name: &str| format!(r#"{{"hello":1,"client":{{"application":{{"name":"{name}"}}}}}}"#);
    let mut other = bench.connection(None);
    bench.succeed(&mut other, "admin", &greet("other")).await;
    let mut first = bench.connection(None);
    let reply = bench.ask(&mut first, "admin", &greet("mine")).await;
    assert_eq!(code(&reply), 91, "{reply:?}");
    bench.succeed(&mut first, "admin", &greet("mine")).await;
}

#[tokio::test]
async fn what_a_fail_point_says_of_a_write_concern_is_repeated_as_it_is() {
    let bench = Bench::open_to_all().await;
    let mut master = bench.master();
    let given = r#"{"code":91,"errorLabels":["Inner"]}"#;
    // What is beside it in the fail point, whether the write is one that drivers repeat, and the labels of the reply.
    for (beside, numbered, labels) in [
        ("", false, None),
        ("", true, Some(r#"["RetryableWriteError"]"#)),
        (r#","errorLabels":["Outer"]"#, false, Some(r#"["Outer"]"#)),
        (r#","errorLabels":["Outer"]"#, true, Some(r#"["Outer"]"#)),
        (r#","errorLabels":[]"#, true, None),
    ] {
        let point = format!(
            r#"{{"configureFailPoint":"failCommand","mode":{{"times":1}},"data":{{"failCommands":["insert"],"writeConcernError":{given}{beside}}}}}"#
        );
        bench.succeed(&mut master, "admin", &point).await;
        let mut insert = document(r#"{"insert":"c","documents":[{"a":1}]}"#);
        if numbered {
            insert.push("lsid", session(7));
            insert.push("txnNumber", Value::Int64(1));
        }
        insert.push("$db", "a");
        let reply = bench.ask_raw(&mut master, insert).await;
        let said = reply.get("writeConcernError").unwrap();
        let expected = Value::Object(document(given));
        assert_eq!(format!("{said:?}"), format!("{expected:?}"));
        let shown = reply.get("errorLabels").map(|labels| format!("{labels}"));
        assert_eq!(shown.as_deref(), labels, "{point}");
    }
}

/// A greeting that waits as long as it says for a change of the state that the server has named, as a whole message.
fn awaiting(greeted: &Object, milliseconds: u32, flags: u32) -> Vec<u8> {
    let mut body = document(r#"{"hello":1}"#);
    let version = greeted.get("topologyVersion").unwrap().clone();
    body.push("topologyVersion", version);
    body.push("maxAwaitTimeMS", Value::Int64(milliseconds.into()));
    body.push("$db", "admin");
    let mut bytes = Vec::new();
    lapsedb_value::bson::write_document(&body, &mut bytes);
    let length = u32::try_from(BEFORE_DOCUMENT + bytes.len()).unwrap();
    let mut frame = Vec::new();
    for word in [length, 1, 0, 2013, flags] {
        frame.extend_from_slice(&word.to_le_bytes());
    }
    frame.push(0);
    frame.extend_from_slice(&bytes);
    frame
}

/// The flags of the next reply, and its document.
async fn next_reply(stream: &mut DuplexStream) -> (u32, Object) {
    let length = stream.read_u32_le().await.unwrap() as usize;
    let mut reply = vec![0; length - 4];
    stream.read_exact(&mut reply).await.unwrap();
    let flags = u32::from_le_bytes(*reply[12..].first_chunk().unwrap());
    let document = lapsedb_value::bson::read_document(&reply[BEFORE_DOCUMENT - 4..]);
    (flags, document.unwrap())
}

const MORE_TO_COME: u32 = 1 << 1;
const EXHAUST_ALLOWED: u32 = 1 << 16;
const AN_HOUR_MS: u32 = 3_600_000;

/// Serves a connection while somebody talks, who may stop the server.
async fn talk<T: Future<Output = ()>>(
    talk: impl FnOnce(DuplexStream, tokio::sync::oneshot::Sender<()>) -> T,
) {
    let bench = Bench::open_to_all().await;
    let (client, server) = tokio::io::duplex(64 * 1024);
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let peer = Peer {
        client: ([127, 0, 0, 1], 1).into(),
        server: ([127, 0, 0, 1], 2).into(),
        tls: false,
    };
    let stopped = async {
        if stopped.await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let served = bench.door.serve(server, peer, stopped);
    tokio::join!(talk(client, stop), served);
}

#[tokio::test]
async fn a_greeting_that_waits_ends_with_the_server() {
    talk(async |mut client, stop| {
        let greeted = over(&mut client, r#"{"hello":1}"#).await;
        let greeting = awaiting(&greeted, AN_HOUR_MS, 0);
        client.write_all(&greeting).await.unwrap();
        tokio::task::yield_now().await;
        stop.send(()).unwrap();
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_greeting_that_waits_ends_with_its_client() {
    talk(async |mut client, _stop| {
        let greeted = over(&mut client, r#"{"hello":1}"#).await;
        let greeting = awaiting(&greeted, AN_HOUR_MS, EXHAUST_ALLOWED);
        client.write_all(&greeting).await.unwrap();
        tokio::task::yield_now().await;
        drop(client);
    })
    .await;
}

#[tokio::test]
async fn greetings_are_streamed_until_the_client_says_something() {
    talk(async |mut client, _stop| {
        let greeted = over(&mut client, r#"{"hello":1}"#).await;
        let greeting = awaiting(&greeted, 1, EXHAUST_ALLOWED);
        client.write_all(&greeting).await.unwrap();
        for _ in 0..3 {
            let (flags, reply) = next_reply(&mut client).await;
            assert_eq!(flags, MORE_TO_COME);
            let (before, now) = (greeted.get("topologyVersion"), reply.get("topologyVersion"));
            assert_eq!(format!("{before:?}"), format!("{now:?}"));
        }
        // What it says is answered behind the last greeting.
        let ping = awaiting(&greeted, 0, 0);
        client.write_all(&ping).await.unwrap();
        while next_reply(&mut client).await.0 == MORE_TO_COME {}
        let (flags, _) = next_reply(&mut client).await;
        assert_eq!(flags, 0);
        // Who waits for another state than this one is answered at once.
        let mut elsewhere = greeted.clone();
        let mut version = document(r#"{"counter":1L}"#);
        version.push("processId", Value::ObjectId([7; 12]));
        elsewhere.insert("topologyVersion", version);
        let greeting = awaiting(&elsewhere, AN_HOUR_MS, 0);
        client.write_all(&greeting).await.unwrap();
        assert_eq!(next_reply(&mut client).await.0, 0);
    })
    .await;
}

#[tokio::test]
async fn a_greeting_waits_for_no_time_that_is_none() {
    let bench = Bench::open_to_all().await;
    let mut master = bench.master();
    let greeted = bench.succeed(&mut master, "admin", r#"{"hello":1}"#).await;
    let version = greeted.get("topologyVersion").unwrap();
    for (wait, expected) in [
        (Value::Double(f64::NAN), 0),
        (Value::Double(-0.5), 0),
        (Value::Double(1e300), 159),
        (Value::Double(f64::INFINITY), 159),
        (Value::Int64(i64::MAX), 159),
        (Value::Double(-1e300), 51_024),
        (Value::Double(f64::NEG_INFINITY), 51_024),
        (Value::Int64(i64::MIN), 51_024),
        (Value::Int32(-1), 51_024),
        (Value::from("x"), 14),
        (Value::Bool(true), 14),
        (Value::Null, 31_368),
    ] {
        for name in ["hello", "isMaster"] {
            let mut body = Object::new();
            body.push(name, 1);
            body.push("topologyVersion", version.clone());
            body.push("maxAwaitTimeMS", wait.clone());
            body.push("$db", "admin");
            let reply = bench.ask_raw(&mut master, body).await;
            assert_eq!(code(&reply), expected, "{name} {wait:?}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn a_time_limit_counts_from_when_the_command_came() {
    let bench = Bench::new().await;
    let mut master = bench.master();
    let point = r#"{"configureFailPoint":"failCommand","mode":"alwaysOn","data":{"failCommands":["insert","find","ping","getMore"],"blockConnection":true,"blockTimeMS":20}}"#;
    bench.succeed(&mut master, "admin", point).await;
    for command in [
        r#"{"insert":"c","documents":[{"_id":1}],"maxTimeMS":1}"#,
        r#"{"find":"c","maxTimeMS":1}"#,
        r#"{"ping":1,"maxTimeMS":1}"#,
    ] {
        let reply = bench.ask(&mut master, "db", command).await;
        assert_eq!(code(&reply), MAX_TIME_EXPIRED, "{command}");
    }
    // What a getMore is given is how long it may wait.
    let late = r#"{"getMore":1L,"collection":"c","maxTimeMS":1}"#;
    let reply = bench.ask(&mut master, "db", late).await;
    assert_eq!(code(&reply), CURSOR_NOT_FOUND, "{reply:?}");
    let reply = bench.succeed(&mut master, "db", r#"{"count":"c"}"#).await;
    assert_eq!(reply.get("n").and_then(Value::as_i64), Some(0));
}
