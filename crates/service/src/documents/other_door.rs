//! Documents as the NoSQL door shows and takes them: relaxed extended JSON, with the text of `_id` as their `id`.

use lapsedb_store::Collection;
use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::{Object, Str, Value};

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
/// When they differ, or the `_id` is not allowed.
pub(crate) fn taken(object: &Object) -> Result<(DocumentId, Object)> {
    let text = object
        .get(NOSQL_ID)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut document = Object::with_capacity(object.len());
    let own = match object.get(ID) {
        Some(own) => typed(own.clone()),
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
            document.push(name.clone(), typed(value.clone()));
        }
    }
    Ok((DocumentId::of_document(&document), document))
}

/// A value with the types that relaxed extended JSON says.
fn typed(value: Value) -> Value {
    match value {
        Value::Array(elements) => Value::Array(elements.into_iter().map(typed).collect()),
        Value::Object(object) => special(&object).unwrap_or_else(|| {
            Value::Object(
                object
                    .into_iter()
                    .map(|(name, value)| (name, typed(value)))
                    .collect(),
            )
        }),
        plain => plain,
    }
}

/// The value that an object of one `$` member stands for.
fn special(object: &Object) -> Option<Value> {
    let [(name, inner)] = object.as_slice() else {
        return None;
    };
    match (name.as_str(), inner) {
        ("$oid", Value::String(text)) => {
            let hex = (text.len() == 24 && text.is_ascii()).then_some(text)?;
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
        ("$date", Value::String(text)) => date(text).map(Value::Date),
        ("$date", Value::Object(long)) => long
            .get("$numberLong")?
            .as_str()?
            .parse()
            .ok()
            .map(Value::Date),
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

/// Milliseconds of a date such as `2026-11-15T12:00:00.123Z`.
fn date(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z')?;
    let (day, time) = text.split_once('T')?;
    let mut parts = day.split('-').map(str::parse::<i64>);
    let (year, month, day) = (
        parts.next()?.ok()?,
        parts.next()?.ok()?,
        parts.next()?.ok()?,
    );
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = clock.split(':').map(str::parse::<i64>);
    let (hour, minute, second) = (
        parts.next()?.ok()?,
        parts.next()?.ok()?,
        parts.next()?.ok()?,
    );
    let millis: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    // The year is taken to begin in March, so that the odd day of leap years comes last.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some((days * 86_400 + hour * 3600 + minute * 60 + second) * 1000 + millis)
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
            let mut stored = typed(Value::Object(object(text))).into_object().unwrap();
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
}
