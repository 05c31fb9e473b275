//! A server of the Mongo door in memory: one connection, no network, a clock that stands.

use std::net::SocketAddr;
use std::sync::Arc;

use lapsedb_door_mongo::{Door, Peer, Settings};
use lapsedb_service::{Config, Service};
use lapsedb_value::{Object, Value, bson};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::bson::Document;

/// Bytes that lie in the pipe at once.
const PIPE_BYTES: usize = 1 << 20;

/// The documents that every input finds, as extended as they can be in a few lines.
fn seed() -> Vec<u8> {
    let mut array = Document::new();
    for (at, number) in [3i32, 1, 2].iter().enumerate() {
        array.push(0x10, &at.to_string(), &number.to_le_bytes());
    }
    let array = array.end();
    let mut inner = Document::new();
    inner.push(0x10, "c", &7i32.to_le_bytes());
    inner.push(0x04, "b", &array);
    let inner = inner.end();
    let mut elements = Document::new();
    elements.push(0x03, "0", &inner);
    elements.push(0x03, "1", &inner);
    let elements = elements.end();
    let mut list = Document::new();
    for at in 0..6i32 {
        let mut one = Document::new();
        one.push(0x10, "_id", &at.to_le_bytes());
        match at {
            0 => one.push(0x10, "a", &5i32.to_le_bytes()),
            1 => one.push(0x04, "a", &array),
            2 => one.push(0x03, "a", &inner),
            3 => one.push(0x04, "a", &elements),
            4 => one.text(0x02, "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"),
            _ => one.push(0x09, "date", &1_600_000_000_000i64.to_le_bytes()),
        }
        one.push(0x01, "b", &f64::from(at).to_le_bytes());
        list.push(0x03, &at.to_string(), &one.end());
    }
    let mut command = Document::new();
    command.text(0x02, "insert", "c");
    command.push(0x04, "documents", &list.end());
    command.text(0x02, "$db", "t");
    command.end()
}

async fn door(auth: bool) -> Arc<Door> {
    let service = Service::open(Config::in_memory(b"key".to_vec()))
        .await
        .expect("a store in memory opens");
    let settings = Settings {
        auth,
        advertise: None,
        test_commands: false,
        master_key: "a2V5".to_owned(),
        read_only_key: None,
        version: "0.0.0".to_owned(),
    };
    Arc::new(Door::new(service, settings, |_| {}))
}

/// Runs a conversation on a connection of its own, and sees to it that the connection ends.
pub fn with_connection(auth: bool, conversation: impl AsyncFnOnce(&mut DuplexStream)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime is made");
    runtime.block_on(async {
        let door = door(auth).await;
        let (mut client, server) = tokio::io::duplex(PIPE_BYTES);
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let peer = Peer {
            client: address,
            server: address,
            tls: false,
        };
        let served =
            tokio::spawn(async move { door.serve(server, peer, std::future::pending()).await });
        conversation(&mut client).await;
        drop(client);
        served.await.expect("a connection ends by itself");
    });
}

/// Sends commands one after the other, and looks at every answer. Cursors are read to their end, within reason.
pub fn converse(commands: &[Vec<u8>]) {
    with_connection(false, async |client| {
        let first = ask(client, &seed()).await;
        assert!(first.is_some(), "the first documents are inserted");
        for command in commands {
            // A message that closes the connection ends the conversation.
            let Some(reply) = ask(client, command).await else {
                break;
            };
            follow(client, &reply).await;
        }
    });
}

/// Fetches a few batches of the cursor that a reply names.
async fn follow(client: &mut DuplexStream, reply: &Object) {
    const BATCHES_MAX: usize = 3;
    let mut id = cursor(reply);
    for _ in 0..BATCHES_MAX {
        let Some((number, collection)) = id.take() else {
            return;
        };
        let mut command = Document::new();
        command.push(0x12, "getMore", &number.to_le_bytes());
        command.text(0x02, "collection", &collection);
        command.push(0x10, "batchSize", &2i32.to_le_bytes());
        // What waits for changes must not wait for long.
        command.text(0x02, "$db", "t");
        let Some(reply) = ask(client, &command.end()).await else {
            return;
        };
        id = cursor(&reply);
    }
}

fn cursor(reply: &Object) -> Option<(i64, String)> {
    let cursor = reply.get("cursor")?;
    let id = cursor.get("id").as_i64().filter(|id| *id != 0)?;
    let (_, collection) = cursor.get("ns").as_str()?.split_once('.')?;
    // A stream of changes waits for what nobody will do.
    let changes = !matches!(cursor.get("postBatchResumeToken"), Value::Undefined);
    (!changes).then(|| (id, collection.to_owned()))
}

/// One command and its answer; none if the server has closed.
pub async fn ask(client: &mut DuplexStream, command: &[u8]) -> Option<Object> {
    let length = i32::try_from(16 + 5 + command.len()).ok()?;
    let mut frame = Vec::with_capacity(21 + command.len());
    for number in [length, 7, 0, 2013, 0] {
        frame.extend_from_slice(&number.to_le_bytes());
    }
    frame.push(0);
    frame.extend_from_slice(command);
    client.write_all(&frame).await.ok()?;
    let length = client.read_i32_le().await.ok()?;
    let mut rest = vec![0; usize::try_from(length).expect("a reply has a length") - 4];
    client.read_exact(&mut rest).await.ok()?;
    let document = rest.get(17..).expect("a reply has a document");
    let reply = bson::read_document(document).expect("a reply is BSON");
    let ok = reply.get("ok").and_then(Value::as_f64);
    assert!(ok.is_some(), "a reply says whether it went well");
    let code = reply.get("code").and_then(Value::as_i64);
    assert_ne!(
        code,
        Some(1),
        "an internal error: {:?}",
        reply.get("errmsg")
    );
    Some(reply)
}
