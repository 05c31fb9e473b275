//! Any document: of JSON alone, and of everything BSON has.

#![allow(missing_docs)]

use lapsedb_value::{Object, Str, Value};
use proptest::prelude::*;

pub fn text() -> impl Strategy<Value = Str> {
    prop_oneof![
        "[a-z]{0,40}",
        "[ -~]{0,80}",
        "\\PC{0,20}",
        "[\u{0}-\u{1f}\"\\\\äß中😀]{0,12}",
    ]
    .prop_map(Str::from)
}

pub fn number() -> impl Strategy<Value = Value> {
    let finite = any::<f64>().prop_filter("JSON has only finite numbers", |n| n.is_finite());
    prop_oneof![
        any::<i32>().prop_map(|n| Value::number(f64::from(n))),
        any::<i64>().prop_map(Value::from),
        any::<i64>().prop_map(|n| Value::number(n as f64)),
        finite.prop_map(Value::number),
        (-1000i32..1000).prop_map(|n| Value::number(f64::from(n) / 8.0)),
    ]
}

/// Members of distinct names.
fn members(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Object> {
    prop::collection::vec((text(), value), 0..8).prop_map(|all| {
        let mut object = Object::new();
        for (name, value) in all {
            object.insert(name, value);
        }
        object
    })
}

fn nested(leaf: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
            members(inner).prop_map(Value::Object),
        ]
    })
}

fn json_leaf() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number(),
        text().prop_map(Value::String),
    ]
    .boxed()
}

fn bson_leaf() -> BoxedStrategy<Value> {
    prop_oneof![
        4 => json_leaf(),
        1 => any::<f64>().prop_map(Value::Double),
        1 => any::<i64>().prop_map(Value::Int64),
        1 => any::<i64>().prop_map(Value::Date),
        1 => (-62_200_000_000_000i64..253_500_000_000_000).prop_map(Value::Date),
        1 => any::<[u8; 12]>().prop_map(Value::ObjectId),
        1 => (any::<u8>(), prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(subtype, bytes)| Value::Binary { subtype, bytes }),
        1 => any::<[u8; 16]>().prop_map(Value::Decimal128),
        1 => any::<u64>().prop_map(Value::Timestamp),
        1 => (text(), text()).prop_map(|(pattern, options)| Value::Regex {
            pattern: Box::new(pattern),
            options: Box::new(options),
        }),
        1 => text().prop_map(Value::Code),
        1 => text().prop_map(Value::Symbol),
        1 => (text(), members(json_leaf())).prop_map(|(code, scope)| Value::CodeWithScope {
            code: Box::new(code),
            scope: Box::new(scope),
        }),
        1 => (text(), any::<[u8; 12]>())
            .prop_map(|(ns, id)| Value::DbPointer { ns: Box::new(ns), id }),
        1 => Just(Value::MinKey),
        1 => Just(Value::MaxKey),
    ]
    .boxed()
}

/// Anything JSON can say, in canonical form.
pub fn json_value() -> impl Strategy<Value = Value> {
    nested(json_leaf())
}

/// Anything BSON can say.
pub fn bson_value() -> impl Strategy<Value = Value> {
    nested(bson_leaf())
}

pub fn bson_object() -> impl Strategy<Value = Object> {
    members(bson_value())
}
