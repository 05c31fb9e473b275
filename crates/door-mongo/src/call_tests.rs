//! Whose sessions a client may name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_service::sessions::SessionId;
use lapsedb_value::{Object, Value};

use crate::connection::Connection;
use crate::testing::{Bench, code, document};

const UNAUTHORIZED: i64 = 13;

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
