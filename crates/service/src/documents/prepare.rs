//! A document before it is stored: `_id` first, within the limits.

use lapsedb_record::Millis;
use lapsedb_value::{Object, Value, bson};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::{self, ID};
use crate::documents::{DEPTH_MAX, DOCUMENT_BYTES_MAX, object_id};

/// A new document as it is stored: with an `_id`, which stands first, and within the limits.
///
/// # Errors
/// When the `_id` is not allowed, or the document too large or too deep.
pub(crate) fn prepare(document: Object, now: Millis) -> Result<Object> {
    let document = with_id(document, now)?;
    check(&document)?;
    Ok(document)
}

/// The document with the time where it asks for it: in empty time stamps at the top, as inserts and replacements have it. Those
/// that update operators and pipelines write stay empty, also in a document that an upsert makes. Without a time all stay.
pub(crate) fn stamped(mut document: Object, stamp: Option<u64>) -> Object {
    let Some(stamp) = stamp else {
        return document;
    };
    for (name, value) in document.iter_mut() {
        if matches!(value, Value::Timestamp(0)) && name != ID {
            *value = Value::Timestamp(stamp);
        }
    }
    document
}

/// The document with its `_id` in front; a new one, if it has none.
fn with_id(mut document: Object, now: Millis) -> Result<Object> {
    let leads = document.keys().next().is_some_and(|name| name == ID);
    if leads {
        id::check(document.get(ID).unwrap_or(&Value::Null))?;
        return Ok(document);
    }
    let own = document
        .remove(ID)
        .unwrap_or_else(|| Value::ObjectId(object_id(now)));
    id::check(&own)?;
    let mut first = Object::with_capacity(document.len() + 1);
    first.push(ID, own);
    for (name, value) in document {
        first.push(name, value);
    }
    Ok(first)
}

/// Refuses a document that is too large or too deep.
///
/// # Errors
/// When it is.
pub(crate) fn check(document: &Object) -> Result<()> {
    if document
        .values()
        .any(|value| deeper_than(value, DEPTH_MAX - 1))
    {
        return Err(Fault::new(
            code::OVERFLOW,
            format!("cannot insert document because it exceeds {DEPTH_MAX} levels of nesting"),
        ));
    }
    if bson::bytes_at_most(document) <= DOCUMENT_BYTES_MAX {
        return Ok(());
    }
    let mut bytes = Vec::new();
    bson::write_document(document, &mut bytes);
    check_size(bytes.len())
}

/// Refuses a document of so many bytes, if that is too many.
///
/// # Errors
/// When it is.
pub(crate) fn check_size(bytes: usize) -> Result<()> {
    if bytes > DOCUMENT_BYTES_MAX {
        return Err(Fault::new(
            code::BSON_OBJECT_TOO_LARGE,
            format!(
                "object to insert too large. size in bytes: {bytes}, max size: {DOCUMENT_BYTES_MAX}"
            ),
        ));
    }
    Ok(())
}

fn deeper_than(value: &Value, levels: usize) -> bool {
    let deeper = |inner: &Value| levels == 0 || deeper_than(inner, levels - 1);
    match value {
        Value::Array(elements) => levels == 0 || elements.iter().any(deeper),
        Value::Object(object) => levels == 0 || object.values().any(deeper),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_id_comes_first_and_is_made_where_it_is_missing() {
        let mut document = Object::new();
        document.push("a", 1);
        document.push(ID, 5);
        document.push("t", Value::Timestamp(0));
        let stored = stamped(prepare(document, Millis(0)).unwrap(), Some(7));
        assert_eq!(
            stored.keys().map(|name| name.as_str()).collect::<Vec<_>>(),
            [ID, "a", "t"]
        );
        assert!(matches!(stored.get("t"), Some(Value::Timestamp(7))));
        let made = prepare(Object::new(), Millis(0)).unwrap();
        assert!(matches!(made.get(ID), Some(Value::ObjectId(_))));
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        let nested = |levels: usize| {
            let mut value = Value::Int32(1);
            for _ in 0..levels {
                value = Value::Array(vec![value]);
            }
            let mut document = Object::new();
            document.push(ID, 1);
            document.push("a", value);
            document
        };
        assert!(check(&nested(DEPTH_MAX - 1)).is_ok());
        assert_eq!(check(&nested(DEPTH_MAX)).unwrap_err().code(), Some(15));
    }
}
