//! `$toHashedIndexKey`: the number by which a hashed index would keep a value.

use lapsedb_value::order::bson_class;
use lapsedb_value::{Object, Str};
use md5::{Digest, Md5};

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

/// The greatest whole number that a double can be without being taken for a 64-bit one that is too great.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// The argument is one value: an array is hashed as such.
fn parse(_: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    Ok(Expr::Call {
        run: Run::Plain(run),
        args: vec![Expr::parse(spec, names)?],
    })
}

fn run(args: &Args<'_>) -> Result<Value> {
    // A hash begins with its seed, which is always 0.
    let mut hash = Md5::new_with_prefix(0_i32.to_le_bytes());
    add(&args[0], None, &mut hash);
    let digest = hash.finalize();
    let first = digest.first_chunk::<8>().copied().unwrap_or_default();
    Ok(Value::Int64(i64::from_le_bytes(first)))
}

/// The type, the name inside a document, then what the value holds.
fn add(value: &Value, name: Option<&str>, hash: &mut Md5) {
    let class = match value {
        Value::MinKey => -1,
        other => i32::from(bson_class(other)),
    };
    hash.update(class.to_le_bytes());
    if let Some(name) = name {
        hash.update(name.as_bytes());
        hash.update([0]);
    }
    match value {
        Value::Object(object) => add_members(object, hash),
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                add(element, Some(&at.to_string()), hash);
            }
            end(hash);
        }
        Value::CodeWithScope { code, scope } => {
            hash.update(code.as_bytes());
            hash.update([0]);
            add_members(scope, hash);
        }
        other => match Num::of(other) {
            Some(number) => hash.update(whole(number).to_le_bytes()),
            None => add_payload(other, hash),
        },
    }
}

fn add_members(object: &Object, hash: &mut Md5) {
    for (name, value) in object {
        add(value, Some(name), hash);
    }
    end(hash);
}

/// A document ends with an element of type 0.
fn end(hash: &mut Md5) {
    hash.update(0_i32.to_le_bytes());
}

/// What follows the name in BSON.
fn add_payload(value: &Value, hash: &mut Md5) {
    let mut object = Object::with_capacity(1);
    object.push(Str::default(), value.clone());
    let mut bytes = Vec::new();
    bson::write_document(&object, &mut bytes);
    // The length, the type and the end of the name come before it, the end of the document behind it.
    let payload = 6..bytes.len().saturating_sub(1);
    hash.update(bytes.get(payload).unwrap_or_default());
}

/// Equal numbers of all kinds have one hash. Doubles lose their fraction, decimals are rounded; what is too great is the greatest there is.
fn whole(number: Num) -> i64 {
    match number {
        Num::Int(n) => i64::from(n),
        Num::Long(n) => n,
        // As MongoDB has always had it.
        Num::Double(TWO_TO_63) => i64::MIN,
        Num::Double(n) => n as i64,
        Num::Decimal(n) if n.is_nan() => 0,
        Num::Decimal(n) => {
            let edge = if n.is_negative() { i64::MIN } else { i64::MAX };
            n.round_to(0).to_i64_truncated().unwrap_or(edge)
        }
    }
}
