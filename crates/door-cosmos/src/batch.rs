//! Batches on the wire: JSON from most clients, HybridRow from .NET.

use http::StatusCode;
use lapsedb_service::items::{Action, Document, ItemOp, OpDone, Outcome, Patch};
use lapsedb_service::limits::BATCH_OPERATIONS_MAX;
use lapsedb_service::{Collection, Error, PartitionKey, Result, resource};
use lapsedb_value::json::{JsonError, JsonErrorKind};
use lapsedb_value::{Object, Value, json};

use crate::call::{DOCUMENT_LIMITS, invalid_payload, parse_body};
use crate::error;
use crate::hybrid_row;

/// Where a document stands in a batch: in an operation, in an array.
const DOCUMENT_DEPTH: usize = 3;

/// The two forms of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A JSON array.
    Json,
    /// HybridRow records.
    HybridRow,
}

/// A batch as it came.
pub struct Batch {
    /// How the answer must look.
    pub form: Form,
    /// The operations; one that could not be understood fails when its turn comes.
    pub ops: Vec<ItemOp>,
}

/// One operation before it is understood, in either form.
struct RawOp {
    verb: String,
    id: Option<String>,
    partition: Option<String>,
    body: Value,
    if_match: Option<String>,
    if_none_match: Option<String>,
    minimal: bool,
    /// What is wrong with it in itself.
    refused: Option<Error>,
}

impl Batch {
    /// Reads a batch; `partition` is the one of the request, for operations that name none.
    ///
    /// # Errors
    /// When it is no batch at all, or has too many operations.
    pub fn parse(body: &[u8], partition: Option<&PartitionKey>) -> Result<Batch> {
        let (form, raw) = if hybrid_row::is_hybrid_row(body) {
            (Form::HybridRow, hybrid_ops(body)?)
        } else {
            (Form::Json, json_ops(body)?)
        };
        if raw.is_empty() {
            return Err(Error::bad_request("Batch request has no operations."));
        }
        if raw.len() > BATCH_OPERATIONS_MAX {
            return Err(Error::bad_request(
                "Batch request has more operations than what is supported.",
            ));
        }
        let ops = raw.into_iter().map(|op| op.understand(partition)).collect();
        Ok(Batch { form, ops })
    }
}

impl Batch {
    /// Makes every write answer without its document; a read has nothing else to say.
    pub fn want_no_documents(&mut self) {
        for op in &mut self.ops {
            op.minimal |= op.action.writes();
        }
    }
}

/// The operations of a JSON batch. One whose document says twice what may be said once is refused by itself; a text that
/// is no JSON is refused as a whole.
fn json_ops(body: &[u8]) -> Result<Vec<RawOp>> {
    let strict = json::parse_with_documents_at(body, &DOCUMENT_LIMITS, DOCUMENT_DEPTH);
    match strict {
        Ok(batch) => ops_of(batch),
        Err(JsonError {
            kind: JsonErrorKind::Duplicate(_),
            ..
        }) => {
            let limits = json::Limits {
                duplicates_refused: &[],
                ..DOCUMENT_LIMITS
            };
            let batch = json::parse(body, &limits).map_err(|error| invalid_payload(&error))?;
            let mut ops = ops_of(batch)?;
            for (op, text) in ops.iter_mut().zip(elements(body)) {
                let parsed =
                    json::parse_with_documents_at(text, &DOCUMENT_LIMITS, DOCUMENT_DEPTH - 1);
                op.refused = parsed.err().map(|error| invalid_payload(&error));
            }
            Ok(ops)
        }
        Err(error) => Err(invalid_payload(&error)),
    }
}

/// The texts of a JSON array's elements; the text is known to be one.
fn elements(array: &[u8]) -> Vec<&[u8]> {
    let mut texts = Vec::new();
    let (mut depth, mut start, mut quoted, mut escaped) = (0usize, 0, false, false);
    for (at, byte) in array.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => {
                depth += 1;
                if depth == 1 {
                    start = at + 1;
                }
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    texts.extend(array.get(start..at));
                }
            }
            b',' if depth == 1 => {
                texts.extend(array.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    texts
}

fn ops_of(batch: Value) -> Result<Vec<RawOp>> {
    let Value::Array(elements) = batch else {
        return Err(Error::bad_request(
            "The request payload is invalid: a batch is a JSON array of operations.",
        ));
    };
    elements
        .into_iter()
        .enumerate()
        .map(|(at, element)| json_op(at, element))
        .collect()
}

fn json_op(at: usize, element: Value) -> Result<RawOp> {
    let Value::Object(mut object) = element else {
        return Err(Error::bad_request(format!(
            "Operation {at} of the batch is not an object."
        )));
    };
    let mut text = |name: &str| match object.remove(name) {
        Some(Value::String(text)) => Ok(Some(text.to_string())),
        None | Some(Value::Null) => Ok(None),
        Some(_) => Err(Error::bad_request(format!(
            "The member '{name}' of operation {at} must be a string."
        ))),
    };
    let verb = text("operationType")?.ok_or_else(|| {
        Error::bad_request(format!(
            "Operation {at} of the batch lacks 'operationType'."
        ))
    })?;
    let (id, partition) = (text("id")?, text("partitionKey")?);
    let (if_match, if_none_match) = (text("ifMatch")?, text("ifNoneMatch")?);
    let minimal = object
        .get("minimalReturnPreference")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let body = object.remove("resourceBody").unwrap_or_default();
    Ok(RawOp {
        verb,
        id,
        partition,
        body,
        if_match,
        if_none_match,
        minimal,
        refused: None,
    })
}

fn hybrid_ops(body: &[u8]) -> Result<Vec<RawOp>> {
    let operations = hybrid_row::decode(body).map_err(|error| {
        Error::bad_request(format!("The request payload is invalid HybridRow: {error}"))
    })?;
    operations
        .into_iter()
        .map(|op| {
            Ok(RawOp {
                verb: op.operation.name().to_owned(),
                id: op.id,
                partition: op.partition_key,
                body: op
                    .resource_body
                    .as_deref()
                    .map_or(Ok(Value::Undefined), parse_body)?,
                if_match: op.if_match,
                if_none_match: op.if_none_match,
                minimal: op.minimal_return_preference,
                refused: None,
            })
        })
        .collect()
}

impl RawOp {
    fn understand(self, partition: Option<&PartitionKey>) -> ItemOp {
        let own = match self.partition.as_deref().map(PartitionKey::parse) {
            None => Ok(partition.cloned()),
            Some(Ok(own)) => Ok(Some(own)),
            Some(Err(error)) => Err(Error::bad_request(error.to_string())),
        };
        let (if_match, if_none_match) = (self.if_match.clone(), self.if_none_match.clone());
        let minimal = self.minimal;
        let action = match self.refused.clone() {
            Some(error) => Action::Refused(error),
            None => self.action().unwrap_or_else(Action::Refused),
        };
        let (action, partition) = match own {
            Ok(partition) => (action, partition),
            Err(error) => (Action::Refused(error), None),
        };
        ItemOp {
            action,
            partition,
            if_match,
            if_none_match,
            minimal,
        }
    }

    fn action(self) -> Result<Action> {
        let verb = self.verb.to_ascii_lowercase();
        match verb.as_str() {
            "create" => Ok(Action::Create(document(self.body)?)),
            "upsert" => Ok(Action::Upsert(document(self.body)?)),
            "replace" => Ok(Action::Replace {
                id: needed(self.id)?,
                document: document(self.body)?,
            }),
            "patch" => Ok(Action::Patch {
                id: needed(self.id)?,
                patch: Patch::parse(&self.body)?,
            }),
            "delete" => Ok(Action::Delete {
                id: needed(self.id)?,
            }),
            "read" => Ok(Action::Read {
                id: needed(self.id)?,
            }),
            _ => Err(Error::bad_request(format!(
                "The operation '{}' is unknown; Create, Read, Replace, Upsert, Patch and Delete are allowed.",
                self.verb
            ))),
        }
    }
}

fn needed(id: Option<String>) -> Result<String> {
    id.ok_or_else(|| Error::bad_request("The operation lacks 'id'."))
}

fn document(body: Value) -> Result<Document> {
    match body {
        Value::Object(object) => Document::new(object),
        _ => Err(Error::bad_request(
            "The operation lacks 'resourceBody', an object.",
        )),
    }
}

/// The status of what an operation has done.
#[must_use]
pub const fn outcome_status(outcome: Outcome) -> StatusCode {
    match outcome {
        Outcome::Created => StatusCode::CREATED,
        Outcome::Ok => StatusCode::OK,
        Outcome::Deleted => StatusCode::NO_CONTENT,
        Outcome::NotModified => StatusCode::NOT_MODIFIED,
    }
}

/// The status of a batch: 200 only if every operation of it has one of the 200s.
#[must_use]
pub fn status(results: &[Result<OpDone>]) -> StatusCode {
    let succeeded = |result: &Result<OpDone>| match result {
        Ok(done) => outcome_status(done.outcome).is_success(),
        Err(_) => false,
    };
    match results.iter().all(succeeded) {
        true => StatusCode::OK,
        false => StatusCode::MULTI_STATUS,
    }
}

/// The body of a batch's answer.
///
/// # Errors
/// When a stored document cannot be read.
pub fn write(form: Form, collection: &Collection, results: &[Result<OpDone>]) -> Result<Vec<u8>> {
    match form {
        Form::Json => write_json(collection, results),
        Form::HybridRow => write_hybrid(collection, results),
    }
}

fn write_json(collection: &Collection, results: &[Result<OpDone>]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(256 * results.len());
    out.push(b'[');
    for (at, result) in results.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let mut head = Object::new();
        match result {
            Ok(done) => {
                let status = outcome_status(done.outcome);
                head.push("statusCode", i32::from(status.as_u16()));
                head.push("subStatusCode", 0);
                head.push("requestCharge", done.charge);
                if let Some(lsn) = done.lsn {
                    head.push("eTag", Value::String(resource::etag(lsn)));
                }
            }
            Err(failure) => {
                head.push(
                    "statusCode",
                    i32::from(error::status(&failure.kind).as_u16()),
                );
                head.push(
                    "subStatusCode",
                    i64::try_from(error::sub_status(&failure.kind)).unwrap_or(0),
                );
                head.push("requestCharge", failure.cost());
                head.push("message", Value::from(failure.message.as_str()));
            }
        }
        json::write(&Value::Object(head), &mut out);
        if let Ok(OpDone {
            item: Some(item), ..
        }) = result
        {
            out.pop();
            out.extend_from_slice(b",\"resourceBody\":");
            resource::write_item(collection, &item.header, &item.body, &mut out)?;
            out.push(b'}');
        }
    }
    out.push(b']');
    Ok(out)
}

fn write_hybrid(collection: &Collection, results: &[Result<OpDone>]) -> Result<Vec<u8>> {
    let mut rows = Vec::with_capacity(results.len());
    for result in results {
        rows.push(match result {
            Ok(done) => {
                let mut body = None;
                if let Some(item) = &done.item {
                    let mut text = Vec::with_capacity(item.body.len() + 256);
                    resource::write_item(collection, &item.header, &item.body, &mut text)?;
                    body = Some(text);
                }
                hybrid_row::BatchResult {
                    status_code: outcome_status(done.outcome).as_u16(),
                    sub_status_code: 0,
                    e_tag: done.lsn.map(|lsn| resource::etag(lsn).to_string()),
                    resource_body: body,
                    retry_after_ms: None,
                    request_charge: done.charge,
                }
            }
            Err(failure) => hybrid_row::BatchResult {
                status_code: error::status(&failure.kind).as_u16(),
                sub_status_code: u32::try_from(error::sub_status(&failure.kind)).unwrap_or(0),
                e_tag: None,
                resource_body: None,
                retry_after_ms: None,
                request_charge: failure.cost(),
            },
        });
    }
    Ok(hybrid_row::encode(&rows))
}
