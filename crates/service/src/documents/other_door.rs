//! Documents as the NoSQL door shows and takes them: relaxed extended JSON, with the text of `_id` as their `id`.

use lapsedb_store::Collection;
use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::{Object, Str, Value, extended};

use crate::documents::id::{self, DocumentId, ID};
use crate::error::{Error, Result};
use crate::resource::SYSTEM_PROPERTIES;

/// The member that names an item at the NoSQL door.
const NOSQL_ID: &str = "id";

/// Whether a collection's items are documents of the Mongo door.
pub(crate) const fn is_foreign(collection: &Collection) -> bool {
    collection.mongo.is_some()
}

/// An item's document with its `id` in front; a client's own `id` gives way to it.
pub(crate) fn with_id(document: &mut Object) {
    let text = id::shown(document.get(ID).unwrap_or(&Value::Null));
    document.remove(NOSQL_ID);
    let rest = std::mem::take(document);
    document.push(NOSQL_ID, text);
    for (name, value) in rest {
        document.push(name, value);
    }
}

/// The same as readers and queries see it: what a client calls by a name of the system's, such as `_ts`, is not shown, because
/// the door's own come in its place.
pub(crate) fn shown(document: &mut Object) {
    with_id(document);
    for name in SYSTEM_PROPERTIES {
        document.remove(name);
    }
}

/// An item that the NoSQL door writes, as a document: its `id` must be the text of its `_id`; without one it is a string.
///
/// # Errors
/// When they differ, the `_id` is not allowed, or a value of extended JSON cannot be read.
pub(crate) fn taken(object: &Object) -> Result<(DocumentId, Object)> {
    let text = object
        .get(NOSQL_ID)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut document = Object::with_capacity(object.len());
    let own = match object.get(ID) {
        Some(own) => typed(own.clone())?,
        None => Value::from(text.as_str()),
    };
    if id::shown(&own) != text {
        return Err(Error::bad_request(format!(
            "The container was made through the Mongo door: an item's id must be the text of its _id, which is '{}'.",
            id::shown(&own)
        )));
    }
    if id::check(&own).is_err() {
        return Err(Error::bad_request(
            "The _id may not be an array, a regular expression or an object with a '$' member.",
        ));
    }
    document.push(ID, own);
    for (name, value) in object.iter() {
        if name != ID && name != NOSQL_ID {
            document.push(name.clone(), typed(value.clone())?);
        }
    }
    Ok((DocumentId::of_document(&document), document))
}

/// A value with the types that relaxed extended JSON says.
///
/// # Errors
/// When an object has the name of a type and cannot be read as one.
fn typed(value: Value) -> Result<Value> {
    match value {
        Value::Array(elements) => elements
            .into_iter()
            .map(typed)
            .collect::<Result<_>>()
            .map(Value::Array),
        Value::Object(object) => match special(&object)? {
            Some(special) => Ok(special),
            None => object
                .into_iter()
                .map(|(name, value)| Ok((name, typed(value)?)))
                .collect::<Result<_>>()
                .map(Value::Object),
        },
        plain => Ok(plain),
    }
}

/// The types of extended JSON, each with what is allowed in it.
const SPECIAL: [(&str, &str); 13] = [
    ("$oid", "24 hexadecimal digits"),
    ("$numberLong", "a whole number of 64 bits, as a string"),
    ("$numberInt", "a whole number of 32 bits, as a string"),
    ("$numberDouble", "a number, as a string"),
    ("$numberDecimal", "a decimal128 number, as a string"),
    (
        "$date",
        "a time from 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z, with Z or an offset, or {\"$numberLong\":\"milliseconds\"}",
    ),
    ("$timestamp", "{\"t\":seconds,\"i\":number}"),
    (
        "$binary",
        "{\"base64\":\"text\",\"subType\":\"two hexadecimal digits\"}",
    ),
    (
        "$regularExpression",
        "{\"pattern\":\"text\",\"options\":\"text\"}",
    ),
    ("$symbol", "a string"),
    ("$code", "a string"),
    ("$minKey", "1"),
    ("$maxKey", "1"),
];

/// The value that an object of one `$` member stands for; none, if its name is that of no type.
fn special(object: &Object) -> Result<Option<Value>> {
    let [(name, inner)] = object.as_slice() else {
        return Ok(None);
    };
    let Some((name, allowed)) = SPECIAL.iter().find(|(known, _)| name == known) else {
        return Ok(None);
    };
    match read(name, inner) {
        Some(value) => Ok(Some(value)),
        None => Err(Error::bad_request(format!(
            "The value {{\"{name}\":{inner}}} is not extended JSON. The container was made through the MongoDB API; allowed \
             as {name}: {allowed}."
        ))),
    }
}

/// Reads what stands in an object under the name of a type.
fn read(name: &str, inner: &Value) -> Option<Value> {
    match (name, inner) {
        ("$oid", Value::String(text)) => {
            let hex = (text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()))
                .then_some(text)?;
            let mut bytes = [0; 12];
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
            }
            Some(Value::ObjectId(bytes))
        }
        ("$numberLong", Value::String(text)) => text.parse().ok().map(Value::Int64),
        ("$numberInt", Value::String(text)) => text.parse().ok().map(Value::Int32),
        ("$numberDouble", Value::String(text)) => text.parse().ok().map(Value::Double),
        ("$numberDecimal", Value::String(text)) => {
            let decimal: Decimal128 = text.parse().ok()?;
            Some(Value::Decimal128(decimal.to_bytes()))
        }
        ("$date", Value::String(text)) => extended::parse_date(text).map(Value::Date),
        ("$date", Value::Object(long)) => match long.as_slice() {
            [(name, Value::String(text))] if name == "$numberLong" => {
                text.parse().ok().map(Value::Date)
            }
            _ => None,
        },
        ("$timestamp", Value::Object(parts)) => {
            let part = |name: &str| {
                parts
                    .get(name)?
                    .as_i64()
                    .and_then(|n| u32::try_from(n).ok())
            };
            Some(Value::Timestamp(
                u64::from(part("t")?) << 32 | u64::from(part("i")?),
            ))
        }
        ("$binary", Value::Object(parts)) => {
            use base64::Engine as _;
            let text = parts.get("base64")?.as_str()?;
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(text)
                .ok()?;
            let subtype = u8::from_str_radix(parts.get("subType")?.as_str()?, 16).ok()?;
            Some(Value::Binary { subtype, bytes })
        }
        ("$regularExpression", Value::Object(parts)) => {
            let text = |name: &str| Some(Box::new(Str::new(parts.get(name)?.as_str()?)));
            Some(Value::Regex {
                pattern: text("pattern")?,
                options: text("options")?,
            })
        }
        ("$symbol", Value::String(text)) => Some(Value::Symbol(text.clone())),
        ("$code", Value::String(text)) => Some(Value::Code(text.clone())),
        ("$minKey", _) => Some(Value::MinKey),
        ("$maxKey", _) => Some(Value::MaxKey),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn object(text: &str) -> Object {
        let limits = lapsedb_value::json::Limits::DEFAULT;
        lapsedb_value::json::parse(text.as_bytes(), &limits)
            .unwrap()
            .into_object()
            .unwrap()
    }

    #[test]
    fn what_is_shown_can_be_taken_back() {
        for text in [
            r#"{"_id":"a","x":1}"#,
            r#"{"_id":{"$oid":"0102030405060708090a0b0c"},"d":{"$date":"2026-11-15T12:34:56.789Z"}}"#,
            r#"{"_id":7,"n":{"a":[{"$date":"1969-12-31T23:59:59Z"}]},"b":{"$binary":{"base64":"AQI=","subType":"04"}}}"#,
            r#"{"_id":true,"t":{"$timestamp":{"t":5,"i":6}},"k":{"$minKey":1}}"#,
        ] {
            let mut stored = typed(Value::Object(object(text)))
                .unwrap()
                .into_object()
                .unwrap();
            with_id(&mut stored);
            // Over the wire it goes as text.
            let shown = object(&Value::Object(stored).to_string());
            let (id, document) = taken(&shown).unwrap();
            assert_eq!(Value::Object(document.clone()).to_string(), text);
            assert_eq!(id, DocumentId::of_document(&document));
        }
    }

    #[test]
    fn an_id_that_is_not_the_text_of_the_other_is_refused() {
        assert!(taken(&object(r#"{"id":"b","_id":"a"}"#)).is_err());
        let (_, made) = taken(&object(r#"{"id":"b","x":1}"#)).unwrap();
        assert_eq!(Value::Object(made).to_string(), r#"{"_id":"b","x":1}"#);
    }

    #[test]
    fn what_cannot_be_read_as_the_type_it_names_is_refused() {
        for (name, _) in SPECIAL {
            let bad: &[&str] = match name {
                "$oid" => &["\"0102\"", "\"+1+1+1+1+1+1+1+1+1+1+1+1\"", "7"],
                "$numberLong" => &["\"9223372036854775808\"", "\"1.5\"", "\"\"", "7"],
                "$numberInt" => &["\"2147483648\"", "7"],
                "$numberDouble" => &["\"one\"", "7"],
                "$numberDecimal" => &["\"one\"", "7"],
                "$date" => &[
                    "\"2026-13-45T99:99:99Z\"",
                    "\"9223372036854775807-01-01T00:00:00Z\"",
                    "\"2026-02-30T00:00:00Z\"",
                    "{\"$numberLong\":\"9223372036854775808\"}",
                    "{\"$numberLong\":7}",
                    "7",
                ],
                "$timestamp" => &["{\"t\":-1,\"i\":1}", "{\"t\":1}", "7"],
                "$binary" => &["{\"base64\":\"*\",\"subType\":\"00\"}", "\"AQI=\""],
                "$regularExpression" => &["{\"pattern\":\"a\"}", "\"a\""],
                "$symbol" | "$code" => &["7"],
                // Anything is taken.
                "$minKey" | "$maxKey" => &[],
                other => panic!("no cases for {other}"),
            };
            for bad in bad {
                let text = format!("{{\"id\":\"a\",\"x\":[{{\"y\":{{\"{name}\":{bad}}}}}]}}");
                let refused = taken(&object(&text)).unwrap_err();
                assert!(refused.message.contains(name), "{text}: {refused}");
                assert_eq!(refused.kind, crate::Kind::BadRequest, "{text}");
            }
        }
        // A name that is of no type is a member like any other.
        assert!(taken(&object("{\"id\":\"a\",\"x\":{\"$other\":7}}")).is_ok());
    }
}
