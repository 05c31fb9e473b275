//! The order, equality and hash of BSON values.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hasher};

use lapsedb_value::bson::{type_alias, type_by_alias, type_name, type_number};
use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::order::{compare_bson, equal_bson, hash_bson, identical_bson};
use lapsedb_value::{Object, Str, Value};

fn decimal(text: &str) -> Value {
    Value::Decimal128(text.parse::<Decimal128>().expect("a decimal").to_bytes())
}

fn object(members: &[(&str, Value)]) -> Value {
    let mut object = Object::new();
    for (name, value) in members {
        object.push(*name, value.clone());
    }
    Value::Object(object)
}

fn text(text: &str) -> Box<Str> {
    Box::new(Str::new(text))
}

fn binary(subtype: u8, bytes: &[u8]) -> Value {
    let bytes = bytes.to_vec();
    Value::Binary { subtype, bytes }
}

/// Values in order; those of one row are equal.
fn ladder() -> Vec<Vec<Value>> {
    let one = || Value::Int32(1);
    vec![
        vec![Value::MinKey],
        vec![Value::Undefined, Value::Null],
        vec![Value::Double(f64::NAN), decimal("NaN")],
        vec![Value::Double(f64::NEG_INFINITY), decimal("-Infinity")],
        vec![decimal("-1E+400")],
        vec![
            Value::Int64(i64::MIN),
            Value::Double(-9223372036854775808.0),
            decimal("-9223372036854775808"),
        ],
        vec![
            Value::Int32(-1),
            Value::Int64(-1),
            Value::Double(-1.0),
            decimal("-1.00"),
        ],
        vec![
            Value::Int32(0),
            Value::Double(-0.0),
            Value::Double(0.0),
            decimal("-0"),
            decimal("0E+10"),
        ],
        vec![Value::Double(5e-324)],
        vec![decimal("0.1")],
        vec![Value::Double(0.1)],
        vec![Value::Double(0.5), decimal("0.5"), decimal("0.500")],
        vec![one(), Value::Int64(1), Value::Double(1.0), decimal("1")],
        vec![Value::Int64((1 << 53) + 1), decimal("9007199254740993")],
        vec![Value::Int64(i64::MAX), decimal("9223372036854775807")],
        vec![
            Value::Double(9223372036854775808.0),
            decimal("9223372036854775808"),
        ],
        vec![Value::Double(1e300)],
        vec![decimal("1E+400")],
        vec![Value::Double(f64::INFINITY), decimal("Infinity")],
        vec![Value::from("")],
        vec![Value::from("A")],
        vec![Value::from("a"), Value::Symbol(Str::new("a"))],
        vec![Value::from("ä")],
        vec![object(&[])],
        vec![object(&[("b", Value::Null)])],
        vec![
            object(&[("a", one())]),
            object(&[("a", Value::Double(1.0))]),
        ],
        vec![object(&[("a", one()), ("b", one())])],
        vec![object(&[("a", Value::Int32(2))])],
        // The type counts before the name, and the name before the value.
        vec![object(&[("b", Value::Int32(0))])],
        vec![object(&[("a", Value::from("x"))])],
        vec![Value::Array(vec![])],
        vec![Value::Array(vec![one()])],
        vec![Value::Array(vec![one(), one()])],
        vec![Value::Array(vec![Value::Int32(2)])],
        vec![binary(9, &[])],
        vec![binary(0, &[9])],
        vec![binary(1, &[0])],
        vec![binary(0, &[0, 0])],
        vec![Value::ObjectId([0; 12])],
        vec![Value::ObjectId([1; 12])],
        vec![Value::Bool(false)],
        vec![Value::Bool(true)],
        vec![Value::Date(-1)],
        vec![Value::Date(0)],
        vec![Value::Timestamp(0)],
        vec![Value::Timestamp(u64::MAX)],
        vec![Value::Regex {
            pattern: text("a"),
            options: text(""),
        }],
        vec![Value::Regex {
            pattern: text("a"),
            options: text("i"),
        }],
        vec![Value::Regex {
            pattern: text("b"),
            options: text(""),
        }],
        vec![Value::DbPointer {
            ns: text("b"),
            id: [0; 12],
        }],
        vec![Value::DbPointer {
            ns: text("aa"),
            id: [0; 12],
        }],
        vec![Value::Code(Str::new("a"))],
        vec![Value::CodeWithScope {
            code: text("a"),
            scope: Box::new(Object::new()),
        }],
        vec![Value::MaxKey],
    ]
}

fn hash(value: &Value) -> u64 {
    let mut state = DefaultHasher::new();
    hash_bson(value, &mut state);
    state.finish()
}

#[test]
fn every_pair_stands_as_its_rows_do() {
    let ladder = ladder();
    for (row_a, a) in ladder.iter().enumerate() {
        for (row_b, b) in ladder.iter().enumerate() {
            for (a, b) in a.iter().flat_map(|a| b.iter().map(move |b| (a, b))) {
                assert_eq!(compare_bson(a, b), row_a.cmp(&row_b), "{a:?} and {b:?}");
                assert_eq!(equal_bson(a, b), row_a == row_b, "{a:?} and {b:?}");
                let wrapped = (object(&[("k", a.clone())]), object(&[("k", b.clone())]));
                assert_eq!(
                    compare_bson(&wrapped.0, &wrapped.1),
                    row_a.cmp(&row_b),
                    "{a:?} and {b:?}"
                );
                if row_a == row_b {
                    assert_eq!(hash(a), hash(b), "{a:?} and {b:?}");
                }
            }
        }
    }
}

#[test]
fn the_order_of_members_counts_for_equality() {
    let ab = object(&[("a", Value::Int32(1)), ("b", Value::Int32(2))]);
    let ba = object(&[("b", Value::Int32(2)), ("a", Value::Int32(1))]);
    assert!(!equal_bson(&ab, &ba));
    assert_eq!(compare_bson(&ab, &ba), Ordering::Less);
}

#[test]
fn identity_tells_apart_what_only_equals() {
    assert!(identical_bson(
        &Value::Double(f64::NAN),
        &Value::Double(f64::NAN)
    ));
    assert!(!identical_bson(&Value::Double(0.0), &Value::Double(-0.0)));
    assert!(!identical_bson(&Value::Int32(1), &Value::Int64(1)));
    assert!(!identical_bson(&decimal("1.0"), &decimal("1.00")));
    assert!(!identical_bson(
        &Value::from("a"),
        &Value::Symbol(Str::new("a"))
    ));
    assert!(!identical_bson(
        &Value::Array(vec![Value::Int32(1)]),
        &Value::Array(vec![Value::Double(1.0)])
    ));
}

#[test]
fn types_have_the_names_and_numbers_of_mongodb() {
    for row in ladder() {
        for value in row.iter().filter(|value| !value.is_undefined()) {
            let number = type_number(value);
            assert_eq!(type_alias(number), Some(type_name(value)));
            assert_eq!(type_by_alias(type_name(value)), Some(number));
        }
    }
    assert_eq!(type_name(&Value::Undefined), "missing");
    assert_eq!(
        (type_number(&Value::MinKey), type_number(&Value::MaxKey)),
        (-1, 127)
    );
    assert_eq!(type_by_alias("number"), None);
}
