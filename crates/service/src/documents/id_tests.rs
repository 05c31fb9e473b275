#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn decimal_of(digits: u128, exponent: i32, negative: bool) -> Value {
    let biased = u128::try_from(exponent + DECIMAL_EXPONENT_BIAS).unwrap();
    let bits = u128::from(negative) << 127 | biased << 113 | digits;
    Value::Decimal128(bits.to_le_bytes())
}

/// Values that are one and the same `_id`, a row each.
fn rows() -> Vec<Vec<Value>> {
    let member = |value: Value| {
        let mut object = Object::new();
        object.push("a", value);
        Value::Object(object)
    };
    vec![
        vec![
            Value::Int32(1),
            Value::Int64(1),
            Value::Double(1.0),
            decimal_of(1, 0, false),
            decimal_of(100, -2, false),
        ],
        vec![Value::Int32(0), Value::Double(-0.0), decimal_of(0, 5, true)],
        vec![Value::Int32(-7), decimal_of(7, 0, true)],
        vec![Value::Double(0.5), decimal_of(5, -1, false)],
        vec![Value::Double(0.1)],
        vec![decimal_of(1, -1, false)],
        vec![Value::Int64(i64::MAX)],
        vec![Value::Int64(i64::MAX - 1)],
        vec![Value::Double(1e300)],
        vec![Value::Double(f64::NAN)],
        vec![Value::from("1")],
        vec![Value::from("n1")],
        vec![Value::Null],
        vec![Value::Bool(true)],
        vec![Value::Bool(false)],
        vec![Value::from("0102030405060708090a0b0c")],
        vec![Value::ObjectId([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])],
        vec![Value::Date(1)],
        vec![Value::Timestamp(1)],
        vec![Value::Binary {
            subtype: 0,
            bytes: vec![1],
        }],
        vec![Value::Binary {
            subtype: 4,
            bytes: vec![1],
        }],
        vec![member(Value::Int32(1)), member(Value::Double(1.0))],
        vec![member(Value::from("1"))],
        vec![Value::Object(Object::new())],
        vec![Value::from("x".repeat(2000))],
        vec![Value::from("x".repeat(2001))],
    ]
}

#[test]
fn equal_values_have_one_address_and_others_another() {
    let rows = rows();
    for (at, row) in rows.iter().enumerate() {
        for (other_at, other) in rows.iter().enumerate() {
            for a in row {
                for b in other {
                    assert_eq!(
                        DocumentId::of(a) == DocumentId::of(b),
                        at == other_at,
                        "{a:?} {b:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_other_door_finds_a_document_by_its_text() {
    for id in rows().iter().flatten() {
        let own = DocumentId::of(id);
        let found = candidates(own.partition(), &shown(id));
        let addressable = matches!(
            id,
            Value::String(_)
                | Value::ObjectId(_)
                | Value::Null
                | Value::Bool(_)
                | Value::Int32(_)
                | Value::Int64(_)
        ) && !matches!(id, Value::String(text) if text.len() > KEY_TEXT_BYTES_MAX);
        if addressable {
            assert!(found.contains(&own), "{id:?}");
        }
    }
}

#[test]
fn arrays_and_expressions_are_no_ids() {
    let pattern = || Box::new(Str::new("a"));
    for id in [
        Value::Array(Vec::new()),
        Value::Regex {
            pattern: pattern(),
            options: pattern(),
        },
    ] {
        assert_eq!(check(&id).unwrap_err().code(), Some(53));
    }
    let mut dollar = Object::new();
    dollar.push("$a", 1);
    assert_eq!(check(&Value::Object(dollar)).unwrap_err().code(), Some(52));
    assert!(check(&Value::Null).is_ok());
}
