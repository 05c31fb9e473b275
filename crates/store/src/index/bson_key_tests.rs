//! Bytes sort as values do.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cmp::Ordering;

use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::order::compare_bson;
use lapsedb_value::{Object, Value};
use proptest::prelude::*;

use super::bson_key::{PART_BYTES_MAX, Part, class_prefix, prefix, push_part, push_whole};

fn whole(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_whole(Part::Value(value), &mut bytes);
    bytes
}

fn key(value: &Value, descending: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_part(Part::Value(value), descending, &mut bytes);
    bytes
}

fn decimal(text: &str) -> Value {
    Value::Decimal128(text.parse::<Decimal128>().unwrap().to_bytes())
}

fn finite(negative: bool, coefficient: u128, exponent: i32) -> Value {
    let decimal = Decimal128::Finite {
        negative,
        coefficient,
        exponent,
    };
    Value::Decimal128(decimal.to_bytes())
}

fn any_number() -> impl Strategy<Value = Value> {
    let near = prop_oneof![
        Just(0_i64),
        Just(1 << 53),
        Just(i64::MAX),
        Just(i64::MIN),
        Just(1 << 62),
        Just(10)
    ];
    let integer = (near, -3_i64..4).prop_map(|(near, by)| near.saturating_add(by));
    let coefficient = prop_oneof![
        0..20_u128,
        any::<u64>().prop_map(u128::from),
        0..10_u128.pow(34)
    ];
    let exponent = prop_oneof![-20..20_i32, -6176..6112_i32, Just(-1), Just(0), Just(308)];
    prop_oneof![
        2 => (-3..4_i32).prop_map(Value::Int32),
        2 => integer.clone().prop_map(Value::Int64),
        1 => any::<i64>().prop_map(Value::Int64),
        2 => integer.clone().prop_map(|n| Value::Double(n as f64)),
        1 => integer.prop_map(|n| Value::Decimal128(Decimal128::from(n).to_bytes())),
        2 => (-40..40_i32).prop_map(|n| Value::Double(f64::from(n) / 10.0)),
        2 => (-40..40_i32).prop_map(|n| finite(n < 0, u128::from(n.unsigned_abs()), -1)),
        1 => any::<f64>().prop_map(Value::Double),
        1 => any::<f64>().prop_map(|n| Value::Decimal128(Decimal128::from_f64_wide(n).to_bytes())),
        2 => (any::<bool>(), coefficient, exponent).prop_map(|(negative, coefficient, exponent)| {
            finite(negative, coefficient, exponent)
        }),
        1 => prop_oneof![
            Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0), Just(f64::MAX),
            Just(f64::MIN), Just(5e-324), Just(-5e-324)
        ].prop_map(Value::Double),
        1 => prop_oneof![Just("NaN"), Just("Infinity"), Just("-Infinity"), Just("1E+6000"), Just("-1E+6000"),
            Just("1E-6000"), Just("-1E-6000"), Just("0E+3"), Just("-0")].prop_map(decimal),
    ]
}

fn any_text() -> impl Strategy<Value = String> + Clone {
    "[\u{0}\u{1}\u{2}a\u{FF}]{0,4}"
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => any_number(),
        1 => prop_oneof![Just(Value::Null), Just(Value::MinKey), Just(Value::MaxKey), Just(Value::Undefined)],
        3 => any_text().prop_map(Value::from),
        1 => any_text().prop_map(|text| Value::Symbol(text.into())),
        1 => any_text().prop_map(|text| Value::Code(text.into())),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => prop_oneof![-2..3_i64, any::<i64>()].prop_map(Value::Date),
        1 => any::<u64>().prop_map(Value::Timestamp),
        1 => prop::array::uniform12(0..2_u8).prop_map(Value::ObjectId),
        1 => (0..3_u8, prop::collection::vec(0..3_u8, 0..3)).prop_map(|(subtype, bytes)| Value::Binary { subtype, bytes }),
        1 => (any_text(), any_text()).prop_map(|(pattern, options)| Value::Regex {
            pattern: Box::new(pattern.into()),
            options: Box::new(options.into()),
        }),
        1 => (any_text(), prop::array::uniform12(0..2_u8)).prop_map(|(ns, id)| Value::DbPointer { ns: Box::new(ns.into()), id }),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let members = prop::collection::vec((any_text(), inner.clone()), 0..3);
        let object = members.prop_map(|members| {
            let mut object = Object::new();
            for (name, value) in members {
                object.push(name.as_str(), value);
            }
            object
        });
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::Array),
            object.clone().prop_map(Value::Object),
            (any_text(), object).prop_map(|(code, scope)| Value::CodeWithScope {
                code: Box::new(code.into()),
                scope: Box::new(scope),
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_are_in_the_order_of_bson(a in any_value(), b in any_value()) {
        let order = compare_bson(&a, &b);
        prop_assert_eq!(whole(&a).cmp(&whole(&b)), order, "{:?} and {:?}", a, b);
        prop_assert_eq!(key(&a, true).cmp(&key(&b, true)), order.reverse());
        // Whatever follows cannot disturb the order, because no value begins another.
        if order != Ordering::Equal {
            prop_assert!(!whole(&a).starts_with(&whole(&b)));
        }
    }

    #[test]
    fn numbers_are_equal_in_bytes_when_they_are_equal(a in any_number(), b in any_number()) {
        prop_assert_eq!(whole(&a).cmp(&whole(&b)), compare_bson(&a, &b), "{:?} and {:?}", a, b);
    }

    #[test]
    fn compound_keys_sort_part_by_part(
        a in (any_number(), any_value()), b in (any_number(), any_value()), first: bool, second: bool,
    ) {
        let compound = |(x, y): &(Value, Value)| [key(x, first), key(y, second)].concat();
        let turned = |order: Ordering, descending: bool| if descending { order.reverse() } else { order };
        let order = turned(compare_bson(&a.0, &b.0), first).then(turned(compare_bson(&a.1, &b.1), second));
        prop_assert_eq!(compound(&a).cmp(&compound(&b)), order);
    }
}

#[test]
fn an_empty_array_lies_below_null_and_a_missing_field_is_null() {
    let part = |part: Part<'_>| {
        let mut bytes = Vec::new();
        push_part(part, false, &mut bytes);
        bytes
    };
    assert_eq!(part(Part::Missing), key(&Value::Null, false));
    assert!(part(Part::Empty) < key(&Value::Null, false));
    assert!(part(Part::Empty) > key(&Value::MinKey, false));
}

#[test]
fn one_is_one_in_every_kind_and_tenths_are_not_doubles() {
    let one = whole(&Value::Int32(1));
    for value in [
        Value::Int64(1),
        Value::Double(1.0),
        decimal("1"),
        decimal("1.000"),
    ] {
        assert_eq!(whole(&value), one, "{value:?}");
    }
    assert!(whole(&decimal("0.1")) < whole(&Value::Double(0.1)));
    assert!(whole(&decimal("0.5")) == whole(&Value::Double(0.5)));
}

#[test]
fn long_values_are_cut_and_still_lie_within_their_bounds() {
    let long = |tail: &str| Value::from("x".repeat(2 * PART_BYTES_MAX) + tail);
    for descending in [false, true] {
        for (a, b) in [("a", "b"), ("b", "a")] {
            let (a, b) = (long(a), long(b));
            assert_ne!(key(&a, descending), key(&b, descending));
            assert!(key(&a, descending).len() < PART_BYTES_MAX + 20);
            // A scan for one finds both: the document decides.
            let begin = prefix(Part::Value(&a), descending);
            assert!(key(&b, descending).starts_with(&begin));
            let class = lapsedb_value::order::bson_class(&a);
            assert!(key(&b, descending).starts_with(&[class_prefix(class, descending)]));
        }
    }
}
