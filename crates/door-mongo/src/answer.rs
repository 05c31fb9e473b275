//! Replies as bytes: what a command says, then what every reply says.

use lapsedb_service::cursors::Batch;
use lapsedb_value::bson::{kind, write_document};
use lapsedb_value::{Object, Value};

use crate::door::Door;

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
    pub(crate) fn with_write_concern_error(self, mut concern: Object) -> Answer {
        match self {
            Answer::Plain(mut document) => {
                if let Some(labels) = concern.remove("errorLabels") {
                    document.insert("errorLabels", labels);
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
                Answer::Plain(document).with_write_concern_error(concern)
            }
            cursor @ Answer::Cursor { .. } => cursor,
        }
    }

    /// The whole reply of a command that succeeded.
    pub(crate) fn encode(self, door: &Door) -> Vec<u8> {
        match self {
            Answer::Plain(mut document) => {
                if !document.contains_key("ok") {
                    document.push("ok", Value::Double(1.0));
                }
                push_times(door, &mut document);
                encode(&document)
            }
            Answer::Cursor { field, batch } => cursor(door, field, &batch),
        }
    }

    /// The whole reply of a command that failed.
    pub(crate) fn encode_failed(self, door: &Door) -> Vec<u8> {
        self.encode(door)
    }
}

/// A document as BSON.
pub(crate) fn encode(document: &Object) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    write_document(document, &mut bytes);
    bytes
}

/// What every reply says: how far time has come.
fn push_times(door: &Door, document: &mut Object) {
    let stamp = door
        .service
        .documents_state()
        .stamp(door.service.clock().now());
    let mut signature = Object::with_capacity(2);
    signature.push(
        "hash",
        Value::Binary {
            subtype: 0,
            bytes: vec![0; 20],
        },
    );
    signature.push("keyId", Value::Int64(0));
    let mut time = Object::with_capacity(2);
    time.push("clusterTime", Value::Timestamp(stamp));
    time.push("signature", Value::Object(signature));
    document.push("$clusterTime", Value::Object(time));
    document.push("operationTime", Value::Timestamp(stamp));
}

/// A reply with a batch: its documents are copied as they are.
fn cursor(door: &Door, field: &str, batch: &Batch) -> Vec<u8> {
    let bytes: usize = batch
        .documents
        .iter()
        .map(|document| document.len() + 8)
        .sum();
    let mut out = Vec::with_capacity(bytes + 512);
    let whole = open(&mut out);
    let inner = open_member(kind::DOCUMENT, "cursor", &mut out);
    let list = open_member(kind::ARRAY, field, &mut out);
    for (at, document) in batch.documents.iter().enumerate() {
        out.push(kind::DOCUMENT);
        out.extend_from_slice(at.to_string().as_bytes());
        out.push(0);
        out.extend_from_slice(document);
    }
    close(list, &mut out);
    let mut rest = Object::with_capacity(3);
    if let Some(token) = &batch.resume_token {
        rest.push("postBatchResumeToken", Value::Object(token.clone()));
    }
    rest.push("id", Value::Int64(batch.cursor));
    rest.push("ns", batch.namespace.to_string());
    members(&rest, &mut out);
    close(inner, &mut out);
    let mut rest = Object::with_capacity(3);
    rest.push("ok", Value::Double(1.0));
    push_times(door, &mut rest);
    members(&rest, &mut out);
    close(whole, &mut out);
    out
}

/// Appends the members of a document without its length and its end.
fn members(document: &Object, out: &mut Vec<u8>) {
    let bytes = encode(document);
    out.extend_from_slice(bytes.get(4..bytes.len() - 1).unwrap_or_default());
}

/// Leaves room for a length that is known only later.
fn open(out: &mut Vec<u8>) -> usize {
    let begin = out.len();
    out.extend_from_slice(&[0; 4]);
    begin
}

fn open_member(kind: u8, name: &str, out: &mut Vec<u8>) -> usize {
    out.push(kind);
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    open(out)
}

fn close(begin: usize, out: &mut Vec<u8>) {
    out.push(0);
    let length = i32::try_from(out.len() - begin).unwrap_or(-1).to_le_bytes();
    if let Some(place) = out.get_mut(begin..begin + 4) {
        place.copy_from_slice(&length);
    }
}
