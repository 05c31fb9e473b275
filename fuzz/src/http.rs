//! The NoSQL API in memory: one HTTP connection, no network. Requests are made from any bytes: method, address, headers and body
//! are mostly of the right form, what is in them is not; or the bytes themselves go over the connection.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use lapsedb_door_cosmos::auth::{KeyRole, Keys};
use lapsedb_door_cosmos::{Door, Scheme};
use lapsedb_service::items::{self, Action, Document, ItemOp, Mode};
use lapsedb_service::{Config, Ctx, PartitionKey, Service, Who, collections, databases};
use lapsedb_testkit::{EMULATOR_KEY, Signer, http_date};
use lapsedb_value::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::input::Input;

/// Bytes that lie in the pipe at once.
const PIPE_BYTES: usize = 1 << 20;
/// Requests of one input at most.
const REQUESTS_MAX: usize = 6;
const HEADERS_MAX: u8 = 10;
const SEGMENTS_MAX: u8 = 9;

const METHODS: [&str; 8] = [
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE",
];

const SEGMENTS: [&str; 34] = [
    "dbs",
    "d",
    "colls",
    "c",
    "docs",
    "a",
    "dbs",
    "d",
    "colls",
    "c",
    "docs",
    "b",
    "sprocs",
    "s",
    "triggers",
    "udfs",
    "users",
    "u",
    "permissions",
    "p",
    "offers",
    "pkranges",
    "0",
    "operations",
    "partitionkeydelete",
    "%2F",
    "%00",
    "%+1",
    "%FF",
    "..",
    "",
    "AAAAAA==",
    "conflicts",
    "media",
];

const HEADERS: [&str; 38] = [
    "x-ms-documentdb-partitionkey",
    "x-ms-documentdb-partitionkey",
    "x-ms-documentdb-isquery",
    "x-ms-documentdb-is-upsert",
    "x-ms-cosmos-is-batch-request",
    "x-ms-cosmos-batch-atomic",
    "x-ms-cosmos-batch-continue-on-error",
    "x-ms-cosmos-batch-ordered",
    "x-ms-documentdb-query-enablecrosspartition",
    "x-ms-cosmos-is-query-plan-request",
    "x-ms-cosmos-supported-query-features",
    "x-ms-continuation",
    "x-ms-max-item-count",
    "x-ms-session-token",
    "x-ms-consistency-level",
    "x-ms-indexing-directive",
    "x-ms-documentdb-partitionkeyrangeid",
    "x-ms-offer-throughput",
    "x-ms-cosmos-offer-autopilot-settings",
    "x-ms-version",
    "x-ms-cosmos-intended-collection-rid",
    "x-ms-start-epk",
    "x-ms-end-epk",
    "x-ms-read-key-type",
    "x-ms-cosmos-populateindexmetrics",
    "x-ms-documentdb-populatequerymetrics",
    "x-ms-documentdb-content-serialization-format",
    "x-ms-cosmos-supported-serialization-formats",
    "x-ms-documentdb-expiry-seconds",
    "x-ms-documentdb-responsecontinuationtokenlimitinkb",
    "a-im",
    "if-match",
    "if-none-match",
    "if-modified-since",
    "prefer",
    "content-type",
    "accept",
    "x-ms-activity-id",
];

const VALUES: [&str; 30] = [
    "[\"p\"]",
    "[\"p\"]",
    "[]",
    "[{}]",
    "[null]",
    "[1e400]",
    "true",
    "True",
    "false",
    "0",
    "-1",
    "1",
    "18446744073709551616",
    "*",
    "\"0\"",
    "application/query+json",
    "application/json",
    "application/json_patch+json",
    "2020-07-15",
    "Session",
    "0:-1#1",
    "0:0#99999999999",
    "Incremental Feed",
    "Full-Fidelity Feed",
    "Sun, 15 Nov 2026 17:51:40 GMT",
    "return=minimal",
    "CosmosBinary",
    "JsonText, CosmosBinary",
    "{\"maxThroughput\":4000}",
    "",
];

const BODIES: [&str; 14] = [
    "{\"id\":\"a\",\"pk\":\"p\"}",
    "{\"id\":\"n\",\"pk\":\"p\",\"ttl\":1}",
    "{\"query\":\"SELECT * FROM c\"}",
    "{\"query\":\"SELECT c.id FROM c WHERE c.n > @n ORDER BY c.n\",\"parameters\":[{\"name\":\"@n\",\"value\":1}]}",
    "{\"query\":\"SELECT VALUE COUNT(1) FROM c\"}",
    "{\"operations\":[{\"op\":\"incr\",\"path\":\"/n\",\"value\":1}]}",
    "{\"condition\":\"from c where c.n = 1\",\"operations\":[{\"op\":\"move\",\"from\":\"/n\",\"path\":\"/m\"}]}",
    "[{\"operationType\":\"Create\",\"resourceBody\":{\"id\":\"x\",\"pk\":\"p\"}},{\"operationType\":\"Read\",\"id\":\"a\"}]",
    "[{\"operationType\":\"Replace\",\"id\":\"a\",\"partitionKey\":\"[\\\"p\\\"]\",\"resourceBody\":{\"id\":\"z\",\"pk\":\"p\"}}]",
    "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2},\"defaultTtl\":5}",
    "{\"id\":\"h\",\"partitionKey\":{\"paths\":[\"/a\",\"/b\"],\"kind\":\"MultiHash\",\"version\":2},\"indexingPolicy\":{\"includedPaths\":[{\"path\":\"/*\"}]}}",
    "{\"id\":\"p\",\"permissionMode\":\"All\",\"resource\":\"dbs/d/colls/c\"}",
    "{\"id\":\"s\",\"body\":\"function () {}\"}",
    "{\"offerVersion\":\"V2\",\"content\":{\"offerThroughput\":400}}",
];

/// Some of the next bytes, without those that would end a line of a request's head.
fn line(input: &mut Input<'_>) -> String {
    let kept = |byte: &&u8| (0x21..0x7F).contains(*byte);
    let bytes = input.bytes().iter().filter(kept);
    bytes.map(|byte| char::from(*byte)).collect()
}

fn object(text: &str) -> Value {
    json::parse(text.as_bytes(), &json::Limits::DEFAULT).expect("the first bodies are JSON")
}

async fn door() -> Door {
    let service = Service::open(Config::in_memory(b"key".to_vec()))
        .await
        .expect("a store in memory opens");
    let ctx = Ctx::new(Arc::clone(&service), Who::Master);
    let database = object("{\"id\":\"d\"}").into_object().expect("an object");
    databases::create(&ctx, &database, None)
        .await
        .expect("a database is made");
    let collection = object(
        "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2},\"defaultTtl\":-1,\
         \"uniqueKeyPolicy\":{\"uniqueKeys\":[{\"paths\":[\"/u\"]}]}}",
    );
    collections::create(&ctx, "d", &collection, None)
        .await
        .expect("a collection is made");
    let ops: Vec<_> = ["a", "b"]
        .iter()
        .map(|id| {
            let text = format!("{{\"id\":\"{id}\",\"pk\":\"p\",\"n\":1,\"u\":\"{id}\"}}");
            let body = object(&text).into_object().expect("an object");
            ItemOp {
                action: Action::Create(Document::new(body).expect("an item")),
                partition: PartitionKey::parse("[\"p\"]").ok(),
                if_match: None,
                if_none_match: None,
            }
        })
        .collect();
    items::run(&ctx, ("d", "c"), None, &ops, Mode::Atomic)
        .await
        .expect("items are made");
    let mut keys = Keys::new();
    keys.add(EMULATOR_KEY, KeyRole::ReadWrite)
        .expect("a key is taken");
    Door::new(service, keys)
}

/// Sends requests one after the other, and looks at every answer.
pub fn converse(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime is made");
    runtime.block_on(async {
        let door = Arc::new(door().await);
        let (mut client, server) = tokio::io::duplex(PIPE_BYTES);
        let served = tokio::spawn(async move {
            let service = service_fn(|request| {
                let door = Arc::clone(&door);
                async move {
                    Ok::<_, Infallible>(door.handle(request, Scheme::Http).await.response)
                }
            });
            // What is no request ends the connection.
            let _ = http1::Builder::new()
                .half_close(true)
                .serve_connection(TokioIo::new(server), service)
                .await;
        });
        let mut input = Input(bytes);
        if input.byte() == 0xFF {
            raw(&mut client, input.0).await;
        } else {
            for _ in 0..REQUESTS_MAX {
                if input.is_empty() || !request(&mut client, &mut input).await {
                    break;
                }
            }
        }
        drop(client);
        served.await.expect("a connection ends by itself");
    });
}

/// The bytes as they are, then nothing more.
async fn raw(client: &mut DuplexStream, bytes: &[u8]) {
    let half = bytes.len().min(PIPE_BYTES / 2);
    if client.write_all(&bytes[..half]).await.is_ok() && client.shutdown().await.is_ok() {
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer).await;
    }
}

/// One request and its answer; false if the server has closed.
async fn request(client: &mut DuplexStream, input: &mut Input<'_>) -> bool {
    let method = input.one_of(&METHODS);
    let mut path = String::new();
    for _ in 0..input.byte() % SEGMENTS_MAX {
        path.push('/');
        match input.byte() {
            255 => path.push_str(&line(input)),
            _ => path.push_str(input.one_of(&SEGMENTS)),
        }
    }
    if path.is_empty() {
        path.push('/');
    }
    // A fragment or a query is not signed.
    let signed = path.split(['?', '#']).next().unwrap_or_default().to_owned();
    let date = http_date(0);
    let authorization = Signer::new(EMULATOR_KEY).authorization(method, &signed, &date);
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-ms-date: {date}\r\nauthorization: {authorization}\r\n"
    );
    for _ in 0..input.byte() % HEADERS_MAX {
        let name = input.one_of(&HEADERS);
        let value = match input.byte() {
            128.. => line(input),
            _ => input.one_of(&VALUES).to_owned(),
        };
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let body = match input.byte() {
        0..64 => input.bytes().to_vec(),
        64..192 => input.one_of(&BODIES).as_bytes().to_vec(),
        // One of them with some bytes changed.
        192.. => {
            let mut body = input.one_of(&BODIES).as_bytes().to_vec();
            for _ in 0..input.byte() % 4 {
                let at = usize::from(input.byte()) % body.len();
                body[at] = input.byte();
            }
            body
        }
    };
    head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    if client.write_all(head.as_bytes()).await.is_err() || client.write_all(&body).await.is_err() {
        return false;
    }
    answer(client, method, &path).await
}

/// Reads one answer, which says how long it is.
async fn answer(client: &mut DuplexStream, method: &str, path: &str) -> bool {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match client.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return false,
        }
    }
    let head = String::from_utf8(head).expect("the head of an answer is text");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status: u16 = status.expect("an answer has a status");
    assert!((200..600).contains(&status), "{head}");
    assert_ne!(status, 500, "{method} {path}: {head}");
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then_some(value.trim())
    });
    let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    if method != "HEAD" && status != 204 && status != 304 {
        let mut body = vec![0; length];
        if client.read_exact(&mut body).await.is_err() {
            return false;
        }
    }
    !head.to_ascii_lowercase().contains("connection: close")
}
