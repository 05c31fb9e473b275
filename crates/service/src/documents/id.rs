//! Where a document lies: the address made of its `_id`. `docs/decisions/0010-mongo-documents.md` says why so.

use std::fmt::Write;

use lapsedb_store::partition_key::{Component, PartitionKey};
use lapsedb_store::{Collection, ItemKey};
use lapsedb_value::{Object, Str, Value, json};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::kept::is_time_series;

/// The name of the member that names a document.
pub const ID: &str = "_id";

/// The longest text of an `_id` that stands in a key as it is; longer ones are told apart by their hash.
const KEY_TEXT_BYTES_MAX: usize = 1024;

/// The address of a document in its collection: equal for equal values, whatever their numeric types.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DocumentId {
    partition: PartitionKey,
    text: String,
}

impl DocumentId {
    /// The address of a value of `_id`.
    #[must_use]
    pub fn of(id: &Value) -> DocumentId {
        let mut text = String::new();
        let number = write_key(id, &mut text);
        if text.len() > KEY_TEXT_BYTES_MAX {
            text = hashed(&text);
        }
        let component = match (number, id) {
            (Some(number), _) => Component::Number(number),
            // The hash stands for a long text in the partition too.
            (None, Value::String(long)) if long.len() > KEY_TEXT_BYTES_MAX => {
                Component::String(Str::new(&text))
            }
            (None, other) => Component::of(other),
        };
        DocumentId {
            partition: PartitionKey::new([component]),
            text,
        }
    }

    /// The address of a document that has an `_id`.
    #[must_use]
    pub fn of_document(document: &Object) -> DocumentId {
        DocumentId::of(document.get(ID).unwrap_or(&Value::Null))
    }

    /// The address of a document that lies under a key: its own, unless another one of a time series had that already.
    #[must_use]
    pub fn of_stored(collection: &Collection, key: &ItemKey, document: &Object) -> DocumentId {
        let own = DocumentId::of_document(document);
        let text = match is_time_series(collection) {
            true => key.id_under(collection, &own.partition).map(str::to_owned),
            false => None,
        };
        DocumentId {
            text: text.unwrap_or(own.text),
            partition: own.partition,
        }
    }

    /// An address beside its own, which nothing else has: for a further document of a time series with one `_id`.
    #[must_use]
    pub fn beside(&self) -> DocumentId {
        DocumentId {
            partition: self.partition.clone(),
            text: format!("{}\0{}", self.text, uuid::Uuid::new_v4()),
        }
    }

    /// Its partition: the value of `_id`, as far as a partition key can say it.
    #[must_use]
    pub const fn partition(&self) -> &PartitionKey {
        &self.partition
    }

    /// Its key in a collection.
    #[must_use]
    pub fn key(&self, collection: &Collection) -> ItemKey {
        ItemKey::new(collection, &self.partition, &self.text)
    }
}

/// The addresses that an id and a partition key of the NoSQL door may mean, the likeliest first.
#[must_use]
pub fn candidates(partition: &PartitionKey, id: &str) -> Vec<DocumentId> {
    let mut values = vec![Value::from(id)];
    if let Some(bytes) = object_id(id) {
        values.push(Value::ObjectId(bytes));
    }
    if let [component] = partition.components() {
        match component {
            Component::Number(number) => {
                let integer = id.parse::<i64>().ok().map(Value::Int64);
                values = vec![integer.unwrap_or(Value::Double(*number))];
            }
            Component::Integer(number) => {
                let integer = id.parse().ok().filter(|id| id == number);
                values = integer.map(Value::Int64).into_iter().collect();
            }
            Component::Null | Component::Bool(_) => values = vec![component.to_value()],
            Component::String(_) | Component::Undefined => {}
        }
    }
    let found: Vec<_> = values.iter().map(DocumentId::of).collect();
    let partition = partition.rounded();
    found
        .into_iter()
        .filter(|found| found.partition == *partition)
        .collect()
}

fn object_id(text: &str) -> Option<[u8; 12]> {
    if text.len() != 24 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; 12];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// The text by which the NoSQL door knows a document: strings and object ids as they are, the rest as JSON.
#[must_use]
pub fn shown(id: &Value) -> String {
    match id {
        Value::String(text) => text.to_string(),
        Value::ObjectId(bytes) => hex(bytes),
        other => json::to_string(other),
    }
}

/// Refuses a value that cannot be an `_id`.
///
/// # Errors
/// When it is an array or a regular expression, or an object with a `$` member.
pub fn check(id: &Value) -> Result<()> {
    match id {
        Value::Array(_) => Err(Fault::new(
            code::INVALID_ID_FIELD,
            "The '_id' value cannot be of type array",
        )),
        Value::Regex { .. } => Err(Fault::new(
            code::INVALID_ID_FIELD,
            "The '_id' value cannot be of type regex",
        )),
        Value::Undefined => Err(Fault::new(
            code::INVALID_ID_FIELD,
            "The '_id' value cannot be of type undefined",
        )),
        Value::Object(object) => match object.keys().find(|name| name.starts_with('$')) {
            Some(name) => Err(Fault::new(
                code::DOLLAR_PREFIXED_FIELD_NAME,
                format!(
                    "_id fields may not contain '$'-prefixed fields: {name} is not valid for storage."
                ),
            )),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Appends a text that differs for different values and is the same for equal numbers. Says the number, if it is one.
fn write_key(id: &Value, out: &mut String) -> Option<f64> {
    match id {
        Value::Int32(n) => return Some(write_integer(i64::from(*n), out)),
        Value::Int64(n) => return Some(write_integer(*n, out)),
        Value::Double(n) => return Some(write_double(*n, out)),
        Value::Decimal128(bytes) => return write_decimal(bytes, out),
        Value::String(text) | Value::Symbol(text) => {
            out.push('s');
            out.push_str(text);
        }
        Value::ObjectId(bytes) => {
            out.push('o');
            out.push_str(&hex(bytes));
        }
        Value::Object(object) => write_members('m', object.iter(), out),
        Value::Array(elements) => {
            let nameless = Str::default();
            write_members(
                'a',
                elements.iter().map(|element| (&nameless, element)),
                out,
            );
        }
        other => {
            // The rest are told apart by their bytes: a document with the one value.
            let mut document = Object::with_capacity(1);
            document.push("", other.clone());
            let mut bytes = Vec::new();
            lapsedb_value::bson::write_document(&document, &mut bytes);
            out.push('x');
            out.push_str(&hex(&bytes));
        }
    }
    None
}

fn write_members<'a>(
    tag: char,
    members: impl Iterator<Item = (&'a Str, &'a Value)>,
    out: &mut String,
) {
    out.push(tag);
    for (name, value) in members {
        let mut inner = String::new();
        write_key(value, &mut inner);
        // Lengths before texts keep two lists apart.
        let _ = write!(out, "{}:{name}{}:{inner}", name.len(), inner.len());
    }
    out.push('.');
}

fn write_integer(n: i64, out: &mut String) -> f64 {
    let _ = write!(out, "n{n}");
    n as f64
}

fn write_double(n: f64, out: &mut String) -> f64 {
    if n.is_nan() {
        out.push_str("nNaN");
        return f64::NAN;
    }
    match lapsedb_value::number::to_i64_exact(n) {
        Some(integer) => write_integer(integer, out),
        None => {
            let _ = write!(out, "n{n:e}");
            n
        }
    }
}

/// A decimal that is a double's value is written as that double; any other by its digits.
fn write_decimal(bytes: &[u8; 16], out: &mut String) -> Option<f64> {
    match decimal(bytes) {
        Decimal::NotANumber => Some(write_double(f64::NAN, out)),
        Decimal::Infinite(negative) => Some(write_double(
            if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            },
            out,
        )),
        Decimal::Finite {
            negative,
            digits,
            exponent,
        } => {
            if let Some(integer) = exact_integer(negative, digits, exponent) {
                return Some(write_integer(integer, out));
            }
            if let Some(double) = exact_double(negative, digits, exponent) {
                return Some(write_double(double, out));
            }
            let sign = if negative { "-" } else { "" };
            let _ = write!(out, "d{sign}{digits}e{exponent}");
            None
        }
    }
}

enum Decimal {
    NotANumber,
    Infinite(bool),
    Finite {
        negative: bool,
        digits: u128,
        exponent: i32,
    },
}

const DECIMAL_EXPONENT_BIAS: i32 = 6176;
const DECIMAL_DIGITS_MAX: u128 = 10u128.pow(34) - 1;

/// Takes a decimal apart; trailing zeros go into the exponent.
fn decimal(bytes: &[u8; 16]) -> Decimal {
    let bits = u128::from_le_bytes(*bytes);
    let negative = bits >> 127 == 1;
    let combination = (bits >> 122) & 0x1F;
    match combination {
        0x1F => return Decimal::NotANumber,
        0x1E => return Decimal::Infinite(negative),
        _ => {}
    }
    // The second form can only say numbers beyond the largest, which count as zero.
    let (exponent, mut digits) = if combination >> 3 == 3 {
        ((bits >> 111) & 0x3FFF, 0)
    } else {
        ((bits >> 113) & 0x3FFF, bits & ((1 << 113) - 1))
    };
    let mut exponent = i32::try_from(exponent).unwrap_or(0) - DECIMAL_EXPONENT_BIAS;
    if digits > DECIMAL_DIGITS_MAX {
        digits = 0;
    }
    if digits == 0 {
        return Decimal::Finite {
            negative: false,
            digits: 0,
            exponent: 0,
        };
    }
    while digits % 10 == 0 {
        digits /= 10;
        exponent += 1;
    }
    Decimal::Finite {
        negative,
        digits,
        exponent,
    }
}

fn exact_integer(negative: bool, digits: u128, exponent: i32) -> Option<i64> {
    let power = u32::try_from(exponent).ok().filter(|power| *power <= 19)?;
    let magnitude = i128::try_from(digits.checked_mul(10u128.pow(power))?).ok()?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// The double with exactly this value, if there is one: the nearest one, if its own digits are these.
fn exact_double(negative: bool, digits: u128, exponent: i32) -> Option<f64> {
    let sign = if negative { "-" } else { "" };
    let nearest: f64 = format!("{sign}{digits}e{exponent}").parse().ok()?;
    // A double with a fraction has at least as many decimal places as binary ones; more than a decimal holds is no match.
    let exact = format!("{:.*e}", 40, nearest.abs());
    let (mantissa, power) = exact.split_once('e')?;
    let all: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let trimmed = all.trim_end_matches('0');
    let power: i32 = power.parse().ok()?;
    let places = i32::try_from(trimmed.len()).ok()? - 1;
    let same = trimmed == digits.to_string() && power - places == exponent;
    (same && nearest.is_finite()).then_some(nearest)
}

fn hashed(text: &str) -> String {
    use sha2::Digest;
    format!("h{}", hex(&sha2::Sha256::digest(text.as_bytes())))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
#[path = "id_tests.rs"]
mod tests;
