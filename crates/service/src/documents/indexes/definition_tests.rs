#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn spec(key: &[(&str, Value)], more: &[(&str, Value)]) -> Object {
    let object = |members: &[(&str, Value)]| {
        let mut object = Object::new();
        for (name, value) in members {
            object.push(*name, value.clone());
        }
        object
    };
    let mut spec = object(more);
    spec.push("key", Value::Object(object(key)));
    spec.push("name", "n");
    spec
}

fn code_of(key: &[(&str, Value)], more: &[(&str, Value)]) -> Option<i32> {
    read(spec(key, more)).err().and_then(|fault| fault.code())
}

fn one() -> Value {
    Value::Int32(1)
}

/// Rows M1 to M3 of `docs/ttl-cases.md`.
#[test]
fn the_index_on_ts_takes_what_a_default_ttl_may_be() {
    let on_ts = |value: Value| read(spec(&[("_ts", one())], &[("expireAfterSeconds", value)]));
    for (value, seconds) in [
        (Value::Int32(1), 1),
        (Value::Int64(2_147_483_647), 2_147_483_647),
        (Value::Int32(-1), -1),
        (Value::Double(5.0), 5),
    ] {
        assert!(matches!(on_ts(value), Ok(Wanted::DefaultTtl(n, _)) if n == seconds));
    }
    for value in [
        Value::Int32(0),
        Value::Int32(-2),
        Value::Int64(2_147_483_648),
        Value::Double(1.5),
        Value::Double(f64::NAN),
        Value::Double(f64::INFINITY),
        Value::Double(f64::NEG_INFINITY),
        Value::from("5"),
        Value::Bool(true),
        Value::Null,
        Value::Date(5),
    ] {
        assert_eq!(
            on_ts(value.clone()).unwrap_err().code(),
            Some(67),
            "{value:?}"
        );
    }
}

/// Rows M6, M7 and M10 of `docs/ttl-cases.md`.
#[test]
fn an_index_on_a_date_takes_seconds_from_nothing_on() {
    let on_date = |value: Value| read(spec(&[("e", one())], &[("expireAfterSeconds", value)]));
    for (value, seconds) in [
        (Value::Int32(0), 0),
        (Value::Double(1.9), 1),
        (Value::Int64(2_147_483_647), 2_147_483_647),
    ] {
        let Ok(Wanted::Named(definition)) = on_date(value) else {
            panic!("refused");
        };
        assert_eq!(definition.expire_after, Some(Secs(seconds)));
    }
    for value in [
        Value::Int32(-1),
        Value::Double(f64::NAN),
        Value::Double(f64::INFINITY),
        Value::Int64(2_147_483_648),
        Value::from("5"),
        Value::Bool(true),
        Value::Null,
    ] {
        assert_eq!(
            on_date(value.clone()).unwrap_err().code(),
            Some(67),
            "{value:?}"
        );
    }
    let expire = [("expireAfterSeconds", one())];
    assert_eq!(code_of(&[("a", one()), ("b", one())], &expire), Some(67));
    assert_eq!(code_of(&[("_id", one())], &expire), Some(197));
    // Row M14: taken, and nothing expires by it.
    assert_eq!(code_of(&[("a", Value::from("hashed"))], &expire), None);
}

#[test]
fn keys_and_options_that_cannot_be_are_refused() {
    for key in [
        vec![],
        vec![("a", Value::Int32(0))],
        vec![("a", Value::from("nonsense"))],
        vec![("a", Value::Bool(true))],
        vec![("", one())],
        vec![("a..b", one())],
        vec![("$a", one())],
    ] {
        assert_eq!(code_of(&key, &[]), Some(67), "{key:?}");
    }
    assert_eq!(code_of(&[("_id", Value::Int32(-1))], &[]), Some(2));
    assert_eq!(
        code_of(&[("_id", one())], &[("sparse", Value::Bool(true))]),
        Some(197)
    );
    assert_eq!(code_of(&[("a", one())], &[("nonsense", one())]), Some(197));
    let mut filter = Object::new();
    filter.push("a", one());
    let both = [
        ("sparse", Value::Bool(true)),
        ("partialFilterExpression", Value::Object(filter)),
    ];
    assert_eq!(code_of(&[("a", one())], &both), Some(67));
    let mut nameless = spec(&[("a", one())], &[]);
    nameless.remove("name");
    assert_eq!(read(nameless).unwrap_err().code(), Some(9));
}

#[test]
fn partial_indexes_ask_only_what_they_may() {
    let with = |operator: &str, operand: Value| {
        let mut condition = Object::new();
        condition.push(operator, operand);
        let mut filter = Object::new();
        filter.push("a", Value::Object(condition));
        code_of(
            &[("a", one())],
            &[("partialFilterExpression", Value::Object(filter))],
        )
    };
    assert_eq!(with("$gt", one()), None);
    assert_eq!(with("$exists", Value::Bool(true)), None);
    assert_eq!(with("$exists", Value::Bool(false)), Some(67));
    assert_eq!(with("$ne", one()), Some(67));
}
