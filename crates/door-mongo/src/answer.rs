//! Replies as bytes: what a command says, then what every reply says.

use lapsedb_service::cursors::Batch;
use lapsedb_service::documents::Namespace;
use lapsedb_value::bson::{kind, write_document};
use lapsedb_value::{Object, Value};

use crate::door::Door;
use crate::wire::REPLY_ROOM;

/// What a command answers.
pub(crate) enum Answer {
    /// A document.
    Plain(Object),
    /// A batch of documents, the first of a cursor or a later one.
    Cursor {
        /// What the array is called.
        field: &'static str,
        /// The documents.
        batch: Batch,
    },
}

impl Answer {
    /// Nothing but success.
    pub(crate) const fn ok() -> Answer {
        Answer::Plain(Object::new())
    }

    /// The same with what is said of the write concern.
    pub(crate) fn with_write_concern_error(self, concern: Object) -> Answer {
        self.with_labeled_concern_error(concern, Vec::new())
    }

    /// The same with what is said of the write concern, and labels for the reply as a whole.
    pub(crate) fn with_labeled_concern_error(self, concern: Object, labels: Vec<Value>) -> Answer {
        match self {
            Answer::Plain(mut document) => {
                if !labels.is_empty() {
                    document.insert("errorLabels", Value::Array(labels));
                }
                document.insert("writeConcernError", Value::Object(concern));
                Answer::Plain(document)
            }
            // Only a pipeline that writes has both, and it shows no documents.
            Answer::Cursor { field, batch } if batch.documents.is_empty() && batch.cursor == 0 => {
                let mut cursor = Object::with_capacity(3);
                cursor.push(field, Value::Array(Vec::new()));
                cursor.push("id", Value::Int64(0));
                cursor.push("ns", batch.namespace.to_string());
                let mut document = Object::with_capacity(2);
                document.push("cursor", Value::Object(cursor));
                Answer::Plain(document).with_labeled_concern_error(concern, labels)
            }
            cursor @ Answer::Cursor { .. } => cursor,
        }
    }

    /// Whether a cursor stays open behind this batch.
    pub(crate) const fn has_more(&self) -> bool {
        match self {
            Answer::Plain(_) => false,
            Answer::Cursor { batch, .. } => batch.cursor != 0,
        }
    }

    /// The whole reply of a command, with room for what the wire puts before it.
    pub(crate) fn encode(self, door: &Door) -> Vec<u8> {
        match self {
            Answer::Plain(document) => {
                let mut out = with_room(REPLY_BYTES);
                let whole = open_with(&document, &mut out);
                if !document.contains_key("ok") {
                    push_ok(&mut out);
                }
                push_times(door, &mut out);
                close(whole, &mut out);
                out
            }
            Answer::Cursor { field, batch } => cursor(door, field, &batch),
        }
    }
}

/// Bytes that most replies fit in, batches apart.
const REPLY_BYTES: usize = 512;

/// Bytes with room in front.
fn with_room(bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(REPLY_ROOM + bytes);
    out.resize(REPLY_ROOM, 0);
    out
}

/// A document as BSON, with room for what the wire puts before it.
pub(crate) fn encode_reply(document: &Object) -> Vec<u8> {
    let mut out = with_room(REPLY_BYTES);
    write_document(document, &mut out);
    out
}

/// A document as BSON.
pub(crate) fn encode(document: &Object) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    write_document(document, &mut bytes);
    bytes
}

/// What every reply that tells of no failure says.
fn push_ok(out: &mut Vec<u8>) {
    push_name(kind::DOUBLE, "ok", out);
    out.extend_from_slice(&1f64.to_le_bytes());
}

/// What every reply says: how far time has come.
fn push_times(door: &Door, out: &mut Vec<u8>) {
    let stamp = door
        .service
        .documents_state()
        .stamp(door.service.clock().now());
    let time = open_member(kind::DOCUMENT, "$clusterTime", out);
    push_name(kind::TIMESTAMP, "clusterTime", out);
    out.extend_from_slice(&stamp.to_le_bytes());
    let signature = open_member(kind::DOCUMENT, "signature", out);
    push_name(kind::BINARY, "hash", out);
    // Twenty bytes of the general kind.
    out.extend_from_slice(&20i32.to_le_bytes());
    out.extend_from_slice(&[0; 21]);
    push_long("keyId", 0, out);
    close(signature, out);
    close(time, out);
    push_name(kind::TIMESTAMP, "operationTime", out);
    out.extend_from_slice(&stamp.to_le_bytes());
}

/// A reply with a batch: its documents are copied as they are.
fn cursor(door: &Door, field: &str, batch: &Batch) -> Vec<u8> {
    let bytes: usize = batch
        .documents
        .iter()
        .map(|document| document.len() + 8)
        .sum();
    let mut out = with_room(bytes + REPLY_BYTES);
    let whole = open(&mut out);
    let inner = open_member(kind::DOCUMENT, "cursor", &mut out);
    let list = open_member(kind::ARRAY, field, &mut out);
    for (at, document) in batch.documents.iter().enumerate() {
        out.push(kind::DOCUMENT);
        push_number(at, &mut out);
        out.push(0);
        out.extend_from_slice(document);
    }
    close(list, &mut out);
    if let Some(token) = &batch.resume_token {
        push_name(kind::DOCUMENT, "postBatchResumeToken", &mut out);
        write_document(token, &mut out);
    }
    push_long("id", batch.cursor, &mut out);
    push_name(kind::STRING, "ns", &mut out);
    let Namespace {
        database,
        collection,
    } = &batch.namespace;
    let length = i32::try_from(database.len() + collection.len() + 2).unwrap_or(i32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    for part in [database.as_str(), ".", collection, "\0"] {
        out.extend_from_slice(part.as_bytes());
    }
    if let Some(stamp) = batch.read_at {
        push_name(kind::TIMESTAMP, "atClusterTime", &mut out);
        out.extend_from_slice(&stamp.to_le_bytes());
    }
    close(inner, &mut out);
    push_ok(&mut out);
    push_times(door, &mut out);
    close(whole, &mut out);
    out
}

/// Appends a number in decimal digits: the name of an array's element.
fn push_number(number: usize, out: &mut Vec<u8>) {
    let begin = out.len();
    let mut rest = number;
    loop {
        out.push(b'0' + u8::try_from(rest % 10).unwrap_or(0));
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out[begin..].reverse();
}

/// Begins a document with these members; it can go on with others.
fn open_with(document: &Object, out: &mut Vec<u8>) -> usize {
    let begin = out.len();
    write_document(document, out);
    out.pop();
    begin
}

fn push_long(name: &str, number: i64, out: &mut Vec<u8>) {
    push_name(kind::INT64, name, out);
    out.extend_from_slice(&number.to_le_bytes());
}

fn push_name(kind: u8, name: &str, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(name.as_bytes());
    out.push(0);
}

/// Leaves room for a length that is known only later.
fn open(out: &mut Vec<u8>) -> usize {
    let begin = out.len();
    out.extend_from_slice(&[0; 4]);
    begin
}

fn open_member(kind: u8, name: &str, out: &mut Vec<u8>) -> usize {
    push_name(kind, name, out);
    open(out)
}

fn close(begin: usize, out: &mut Vec<u8>) {
    out.push(0);
    let length = i32::try_from(out.len() - begin).unwrap_or(-1).to_le_bytes();
    if let Some(place) = out.get_mut(begin..begin + 4) {
        place.copy_from_slice(&length);
    }
}
