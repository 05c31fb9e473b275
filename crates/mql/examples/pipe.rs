//! Runs the language over a pipe: BSON requests in, BSON replies out. For tests that compare it with another implementation.
//!
//! A request names its `op` and brings what it needs; a reply has `result`, or `code` and `message`.

use std::io::{self, Read, Write};
use std::sync::Arc;

use lapsedb_mql::collation::Collation;
use lapsedb_mql::distinct::Distinct;
use lapsedb_mql::expressions::Env;
use lapsedb_mql::filter::{Filter, Options};
use lapsedb_mql::projection::Projection;
use lapsedb_mql::sort::Sort;
use lapsedb_mql::update::Update;
use lapsedb_mql::{MqlError, Result};
use lapsedb_value::bson::{read_document, write_document};
use lapsedb_value::{Object, Value};

/// The time of every request: milliseconds since 1970.
const NOW: i64 = 1_600_000_000_000;

fn main() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut length = [0u8; 4];
    while input.read_exact(&mut length).is_ok() {
        let mut bytes = length.to_vec();
        bytes.resize(u32::from_le_bytes(length) as usize, 0);
        input.read_exact(&mut bytes[4..])?;
        let request = read_document(&bytes).map_err(io::Error::other)?;
        let mut reply = Object::new();
        match answer(&request) {
            Ok(result) => {
                reply.push("result", result);
            }
            Err(error) => {
                reply.push("code", Value::Int32(error.code));
                reply.push("message", error.message);
            }
        }
        let mut out = Vec::new();
        write_document(&reply, &mut out);
        output.write_all(&out)?;
        output.flush()?;
    }
    Ok(())
}

fn answer(request: &Object) -> Result<Value> {
    match request.get("op").and_then(Value::as_str) {
        Some("filter") => filter(request),
        Some("find") => find(request),
        Some("distinct") => distinct(request),
        Some("update") => update(request),
        Some("upsert") => upsert(request),
        _ => Err(MqlError::bad_value("unknown op")),
    }
}

fn options(request: &Object) -> Result<Options> {
    let mut options = Options {
        env: Arc::new(Env::new(NOW, 1)),
        ..Options::default()
    };
    if let Some(Value::Object(collation)) = request.get("collation") {
        options.collation = Collation::parse(collation)?.map(Arc::new);
    }
    Ok(options)
}

fn object(request: &Object, name: &str) -> Object {
    let member = request.get(name).and_then(Value::as_object);
    member.cloned().unwrap_or_default()
}

fn documents(request: &Object) -> Vec<Object> {
    let documents = request.get("docs").and_then(Value::as_array);
    let documents = documents.unwrap_or_default().iter();
    documents
        .filter_map(|value| value.as_object().cloned())
        .collect()
}

fn id(document: &Object) -> Value {
    document.get("_id").cloned().unwrap_or_default()
}

/// The ids of the documents that match.
fn filter(request: &Object) -> Result<Value> {
    let filter = Filter::parse(&object(request, "filter"), &options(request)?)?;
    let mut ids = Vec::new();
    for document in documents(request) {
        if filter.matches(&document)? {
            ids.push(id(&document));
        }
    }
    Ok(Value::Array(ids))
}

fn read_update(request: &Object) -> Result<Update> {
    let filters = request.get("arrayFilters").and_then(Value::as_array);
    let filters = filters.unwrap_or_default().iter();
    let filters: Vec<Object> = filters
        .filter_map(|filter| filter.as_object().cloned())
        .collect();
    let update = request.get("update").unwrap_or(Value::undefined());
    Update::parse(update, &filters, &options(request)?)
}

/// The first document that matches, after the update, and whether it changed.
fn update(request: &Object) -> Result<Value> {
    let update = read_update(request)?;
    let filter = Filter::parse(&object(request, "filter"), &options(request)?)?;
    for document in documents(request) {
        if let Some(found) = filter.match_with_position(&document)? {
            let updated = update.apply(&document, found)?;
            let mut result = Object::new();
            let described = &updated.described;
            let description = described.description(&document, &updated.document);
            result.push("modified", updated.modified);
            result.push("document", updated.document);
            if let Some(description) = description {
                result.push("description", description.to_object(false));
            }
            return Ok(Value::Object(result));
        }
    }
    Ok(Value::Null)
}

/// The document that an upsert makes.
fn upsert(request: &Object) -> Result<Value> {
    let update = read_update(request)?;
    let new_id = request.get("newId").cloned().unwrap_or_default();
    Ok(Value::Object(
        update.upsert(&object(request, "filter"), new_id)?,
    ))
}

/// The documents that match, in order, as the projection shows them.
fn find(request: &Object) -> Result<Value> {
    let options = options(request)?;
    let filter = Filter::parse(&object(request, "filter"), &options)?;
    let projection = Projection::parse(&object(request, "projection"), &options)?;
    let mut documents = documents(request);
    if let Some(sort) = Sort::parse_find(&object(request, "sort"), &options)? {
        let mut matching = Vec::new();
        for document in documents {
            if filter.matches(&document)? {
                matching.push(document);
            }
        }
        sort.order(&mut matching)?;
        documents = matching;
    }
    let mut shown = Vec::new();
    for document in documents {
        if let Some(found) = filter.match_with_position(&document)? {
            shown.push(Value::Object(projection.apply(document, found, None)?));
        }
    }
    Ok(Value::Array(shown))
}

/// The distinct values at a path of the documents that match.
fn distinct(request: &Object) -> Result<Value> {
    let options = options(request)?;
    let filter = Filter::parse(&object(request, "filter"), &options)?;
    let key = request
        .get("key")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut distinct = Distinct::new(key, options.collation.clone());
    for document in documents(request) {
        if filter.matches(&document)? {
            distinct.add(&document);
        }
    }
    Ok(Value::Array(distinct.into_values()))
}
