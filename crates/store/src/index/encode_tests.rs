//! Order, equality and completeness of what is put into the index.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_value::{json, order};
use proptest::prelude::*;

use super::*;

fn value(text: &str) -> Value {
    json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap()
}

fn object(text: &str) -> Object {
    value(text).into_object().unwrap()
}

fn policy(text: &str) -> IndexPolicy {
    IndexPolicy::parse(&value(text)).unwrap()
}

fn path(text: &str) -> u64 {
    PathId::of(&Path::parse_pointer(text).unwrap()).0
}

/// Scalars of every kind in ascending order.
fn scalars() -> Vec<Value> {
    let mut all = vec![
        Value::Undefined,
        Value::Null,
        Value::Bool(false),
        Value::Bool(true),
    ];
    let numbers = [
        f64::NEG_INFINITY,
        f64::MIN,
        -2.5,
        -1.0,
        -f64::MIN_POSITIVE,
        0.0,
        f64::MIN_POSITIVE,
        0.5,
        1.0,
        2.0,
        10.0,
        2_147_483_648.0,
        f64::MAX,
        f64::INFINITY,
    ];
    all.extend(numbers.map(Value::number));
    let long = "m".repeat(STRING_PREFIX_BYTES_MAX);
    let texts = [
        "",
        "\0",
        "\0\0",
        "\0\u{1}",
        "\u{1}",
        "\u{1}a",
        "\u{2}",
        "A",
        "a",
        "a\0",
        "a\0b",
        "ab",
        "b",
        &long,
        "n",
        "é",
        "你",
        "\u{10FFFF}",
    ];
    all.extend(texts.map(Value::from));
    all
}

#[test]
fn scalars_sort_as_their_bytes_do() {
    let all = scalars();
    for (i, a) in all.iter().enumerate() {
        for (j, b) in all.iter().enumerate() {
            let bytes = value_bytes(a).cmp(&value_bytes(b));
            assert_eq!(bytes, i.cmp(&j), "{a:?} {b:?}");
            assert_eq!(bytes, order::compare_sql(a, b), "{a:?} {b:?}");
        }
        assert!(is_exact(a));
    }
}

#[test]
fn arrays_and_objects_come_last() {
    let last_scalar = value_bytes(scalars().last().unwrap());
    let array = value_bytes(&value("[]"));
    let object = value_bytes(&value("{}"));
    assert!(last_scalar < array && array < object);
    assert!(object < value_bytes(&Value::MinKey));
}

#[test]
fn no_bytes_begin_others() {
    let mut all = scalars();
    all.extend(["[]", "[1]", "{}", r#"{"a":1}"#].map(value));
    all.push(Value::from("m".repeat(STRING_PREFIX_BYTES_MAX + 1)));
    let encoded: Vec<_> = all.iter().map(value_bytes).collect();
    for (i, a) in encoded.iter().enumerate() {
        for (j, b) in encoded.iter().enumerate() {
            assert_eq!(b.starts_with(a), i == j, "{:?} {:?}", all[i], all[j]);
        }
    }
}

#[test]
fn the_same_number_has_the_same_bytes_whatever_its_kind() {
    let one = value_bytes(&Value::Int32(1));
    assert_eq!(value_bytes(&Value::Int64(1)), one);
    assert_eq!(value_bytes(&Value::Double(1.0)), one);
    assert_eq!(
        value_bytes(&Value::Double(-0.0)),
        value_bytes(&Value::Int32(0))
    );
    assert!(value_bytes(&Value::Double(f64::NAN)) < value_bytes(&Value::Double(f64::NEG_INFINITY)));
    for whole in [1i64 << 53, -(1 << 53), 1 << 60, -(1 << 60), i64::MIN] {
        assert_eq!(
            value_bytes(&Value::Int64(whole)),
            value_bytes(&Value::Double(whole as f64))
        );
    }
}

#[test]
fn the_bytes_of_numbers_near_zero_are_those_of_their_doubles() {
    for number in [-(1i64 << 53), -1, 0, 1, (1 << 53) - 1] {
        let bytes = value_bytes(&Value::Int64(number));
        assert_eq!(bytes[0], 0x05);
        assert_eq!(bytes[1..], number_bits(number as f64).to_be_bytes());
    }
}

#[test]
fn unique_entries_of_doubles_are_as_they_have_always_been() {
    let bytes = |value: &Value| {
        let mut out = Vec::new();
        whole(value, &mut out);
        out
    };
    for number in [
        0.5,
        1.0,
        2f64.powi(53),
        2f64.powi(60),
        2f64.powi(63),
        -1e300,
    ] {
        let old = [&[0x05][..], &number_bits(number).to_be_bytes()].concat();
        assert_eq!(bytes(&Value::Double(number)), old);
        assert_eq!(bytes(&Value::number(number)), old);
    }
    let neighbours: Vec<_> = (-4i64..4)
        .flat_map(|near| {
            [
                (1 << 53) + near,
                -(1 << 53) + near,
                (i64::MAX - 3) + near.min(3),
            ]
        })
        .map(|number| (number, bytes(&Value::Int64(number))))
        .collect();
    for (a, bytes_a) in &neighbours {
        for (b, bytes_b) in &neighbours {
            assert_eq!(bytes_a == bytes_b, a == b, "{a} {b}");
        }
    }
}

/// Integers and doubles, most of them near the places where one or the other has gaps.
fn number() -> impl Strategy<Value = Value> {
    let edge = prop_oneof![
        Just(0i64),
        Just(1 << 53),
        Just(-(1 << 53)),
        Just(1 << 62),
        Just(i64::MAX),
        Just(i64::MIN),
    ];
    let near = (edge, -3000i64..3000).prop_map(|(edge, near)| edge.saturating_add(near));
    prop_oneof![
        near.clone().prop_map(Value::Int64),
        near.clone().prop_map(|n| Value::Double(n as f64)),
        near.prop_map(|n| Value::Double(n as f64 / 2.0)),
        any::<i64>().prop_map(Value::Int64),
        any::<f64>().prop_map(Value::Double),
        (-4i32..4).prop_map(|n| Value::Double(f64::from(n) * 2f64.powi(62))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn numbers_of_all_kinds_sort_as_their_bytes_do(a in number(), b in number()) {
        let wanted = order::compare_sql(&a, &b);
        let (bytes_a, bytes_b) = (value_bytes(&a), value_bytes(&b));
        prop_assert_eq!(bytes_a.cmp(&bytes_b), wanted);
        prop_assert_eq!(bytes_a.starts_with(&bytes_b), wanted.is_eq());
        let (from, to) = kind_bounds(&a);
        prop_assert!(from <= bytes_b && bytes_b < to);
        prop_assert_eq!(lower_bound(&a) <= bytes_b, wanted.is_le());
        prop_assert_eq!(bytes_b < upper_bound(&a), wanted.is_ge());
        let mut sorted = [Vec::new(), Vec::new()];
        crate::index::order::identity_bytes(&a, &mut sorted[0]);
        crate::index::order::identity_bytes(&b, &mut sorted[1]);
        prop_assert_eq!(sorted[0].cmp(&sorted[1]), wanted);
        let mut unique = [Vec::new(), Vec::new()];
        whole(&a, &mut unique[0]);
        whole(&b, &mut unique[1]);
        prop_assert_eq!(unique[0] == unique[1], wanted.is_eq());
        let back = crate::index::order::decode(&bytes_a);
        let nan = a.as_f64().is_some_and(f64::is_nan);
        prop_assert_eq!(back.is_none(), nan);
        prop_assert!(back.is_none_or(|back| order::compare_sql(&back, &a).is_eq()
            && back.to_string() == a.to_string()));
    }
}

#[test]
fn long_strings_keep_their_beginning_and_a_hash() {
    let stem = "x".repeat(STRING_PREFIX_BYTES_MAX);
    let [a, b, c] = ["a", "b", "ab"].map(|tail| Value::from(format!("{stem}{tail}")));
    let exact = Value::from(stem.as_str());
    for long in [&a, &b, &c] {
        assert!(!is_exact(long));
        assert!(value_bytes(&exact) < value_bytes(long));
        assert!(value_bytes(long) < value_bytes(&Value::from("y")));
        assert!(value_bytes(long).len() <= 1 + STRING_PREFIX_BYTES_MAX + 1 + 8);
    }
    assert_ne!(value_bytes(&a), value_bytes(&b));
    assert_ne!(value_bytes(&a), value_bytes(&c));
    // A character cut in two does no harm.
    let wide = Value::from(format!(
        "{}{}",
        "x".repeat(STRING_PREFIX_BYTES_MAX - 1),
        "你好"
    ));
    assert!(value_bytes(&wide) > value_bytes(&exact));
}

#[test]
fn bounds_hold_everything_they_should() {
    let mut all = scalars();
    let stem = "m".repeat(STRING_PREFIX_BYTES_MAX);
    all.extend(["a", "b", "c"].map(|tail| Value::from(format!("{stem}{tail}"))));
    for bound in &all {
        let (kind_from, kind_to) = kind_bounds(bound);
        for other in &all {
            let bytes = value_bytes(other);
            let same_kind = std::mem::discriminant(bound) == std::mem::discriminant(other)
                || (bound.is_number() && other.is_number());
            assert_eq!(
                kind_from <= bytes && bytes < kind_to,
                same_kind,
                "{bound:?} {other:?}"
            );
            if !same_kind {
                continue;
            }
            let ordering = order::compare_sql(other, bound);
            if ordering.is_ge() {
                assert!(bytes >= lower_bound(bound), "{other:?} >= {bound:?}");
            }
            if ordering.is_le() {
                assert!(bytes < upper_bound(bound), "{other:?} <= {bound:?}");
            }
        }
    }
}

#[test]
fn a_beginning_finds_every_string_with_it() {
    let long = "m".repeat(2 * STRING_PREFIX_BYTES_MAX);
    for prefix in [
        "",
        "\0",
        "a",
        "a\0",
        "é",
        "mm",
        &long[..STRING_PREFIX_BYTES_MAX + 9],
    ] {
        let (from, to) = (string_prefix(prefix), after(string_prefix(prefix)));
        for text in [
            "", "\0", "\0x", "\u{1}", "a", "a\0", "a\0b", "ab", "b", "é!", "ê", "mm", "mn", &long,
        ] {
            let bytes = value_bytes(&Value::from(text));
            let inside = from <= bytes && bytes < to;
            assert_eq!(inside, text.starts_with(prefix), "{prefix:?} {text:?}");
        }
    }
    assert_eq!(
        after(SmallVec::from_slice(&[1, 0xFF, 0xFF])).as_slice(),
        [2]
    );
}

#[test]
fn equal_values_and_only_they_have_the_same_whole_bytes() {
    let texts = [
        "null",
        "true",
        "0",
        "1",
        "\"\"",
        "\"a\"",
        "[]",
        "[null]",
        "[[]]",
        "[1,2]",
        "[2,1]",
        "[[1],2]",
        "[[1,2]]",
        "{}",
        r#"{"a":1}"#,
        r#"{"a":1,"b":2}"#,
        r#"{"b":2,"a":1}"#,
        r#"{"a":{"b":2}}"#,
        r#"{"a":[]}"#,
        r#"{"a":"b"}"#,
        r#"["a","b"]"#,
        r#"{"a":1.0}"#,
    ];
    for a in texts.map(value) {
        for b in texts.map(value) {
            let [mut left, mut right] = [Vec::new(), Vec::new()];
            whole(&a, &mut left);
            whole(&b, &mut right);
            assert_eq!(left == right, order::deep_equal(&a, &b), "{a} {b}");
            assert_eq!(
                value_bytes(&a) == value_bytes(&b),
                order::deep_equal(&a, &b),
                "{a} {b}"
            );
        }
    }
}

#[test]
fn what_only_bson_knows_is_told_apart() {
    let empty = || Box::new("".into());
    let all = [
        Value::Date(0),
        Value::Timestamp(0),
        Value::ObjectId([0; 12]),
        Value::ObjectId([1; 12]),
        Value::Binary {
            subtype: 0,
            bytes: vec![],
        },
        Value::Binary {
            subtype: 1,
            bytes: vec![],
        },
        Value::Binary {
            subtype: 0,
            bytes: vec![0],
        },
        Value::Decimal128([0; 16]),
        Value::Regex {
            pattern: empty(),
            options: empty(),
        },
        Value::Code("".into()),
        Value::CodeWithScope {
            code: empty(),
            scope: Box::new(Object::new()),
        },
        Value::Symbol("".into()),
        Value::DbPointer {
            ns: empty(),
            id: [0; 12],
        },
        Value::MinKey,
        Value::MaxKey,
    ];
    for (i, a) in all.iter().enumerate() {
        for (j, b) in all.iter().enumerate() {
            assert_eq!(value_bytes(a) == value_bytes(b), i == j, "{a:?} {b:?}");
        }
    }
}

#[test]
fn path_numbers_never_change() {
    assert_eq!(PathId::ROOT.0, 0xCBF2_9CE4_8422_2325);
    let by_hand = fnv(FNV_START, b"\xFFtags\xFE\xFFname");
    assert_eq!(path("/tags/[]/name"), by_hand);
    // FNV-1a of "a" as published.
    assert_eq!(fnv(FNV_START, b"a"), 0xAF63_DC4C_8601_EC8C);
    let all = [
        "/a", "/b", "/a/b", "/b/a", "/ab", "/a/[]", "/a/[]/b", "/\"a/b\"", "/\"[]\"",
    ];
    for (i, a) in all.iter().enumerate() {
        for (j, b) in all.iter().enumerate() {
            assert_eq!(path(a) == path(b), i == j, "{a} {b}");
        }
    }
}

fn listed(policy: &IndexPolicy, item: &str) -> Vec<Term> {
    terms(policy, &object(item))
}

fn expected(list: &[(&str, &str)]) -> Vec<Term> {
    let mut all: Vec<Term> = list
        .iter()
        .map(|(at, text)| Term {
            path: path(at),
            bytes: value_bytes(&value(text)),
        })
        .collect();
    all.sort();
    all
}

#[test]
fn every_value_at_an_indexed_path_has_an_entry() {
    let default = IndexPolicy::default();
    assert_eq!(
        listed(
            &default,
            r#"{"id":"1","a":{"b":2},"tags":["x","y","x",[3]],"n":null,"_etag":"e","e":{},"l":[]}"#
        ),
        expected(&[
            ("/id", "\"1\""),
            ("/a", r#"{"b":2}"#),
            ("/a/b", "2"),
            ("/tags", r#"["x","y","x",[3]]"#),
            ("/tags/[]", "\"x\""),
            ("/tags/[]", "\"y\""),
            ("/tags/[]", "[3]"),
            ("/tags/[]/[]", "3"),
            ("/n", "null"),
            ("/e", "{}"),
            ("/l", "[]"),
        ])
    );
    assert_eq!(listed(&default, "{}"), []);
}

#[test]
fn what_is_not_indexed_has_none() {
    let some = policy(
        r#"{"includedPaths":[{"path":"/a/b/?"},{"path":"/t/[]/n/?"}],"excludedPaths":[{"path":"/*"}]}"#,
    );
    assert_eq!(
        listed(
            &some,
            r#"{"id":"1","a":{"b":[1],"c":2},"t":[{"n":1,"m":2},{"n":2}],"b":3}"#
        ),
        expected(&[("/a/b", "[1]"), ("/t/[]/n", "1"), ("/t/[]/n", "2")])
    );
    let most = policy(r#"{"excludedPaths":[{"path":"/a/*"}]}"#);
    assert_eq!(
        listed(&most, r#"{"a":{"b":1},"c":1}"#),
        expected(&[("/c", "1")])
    );
    // An indexed object is hashed with everything in it, indexed or not.
    let holes = policy(r#"{"excludedPaths":[{"path":"/a/b/*"}]}"#);
    assert_eq!(
        listed(&holes, r#"{"a":{"b":{"x":1},"c":1}}"#),
        expected(&[("/a", r#"{"c":1,"b":{"x":1}}"#), ("/a/c", "1")])
    );
    assert_eq!(
        listed(&policy(r#"{"indexingMode":"none"}"#), r#"{"a":1}"#),
        []
    );
    assert_eq!(listed(&policy(r#"{"automatic":false}"#), r#"{"a":1}"#), []);
}

#[test]
fn members_that_are_not_stored_can_be_indexed_too() {
    let item = object(r#"{"id":"1"}"#);
    let ts = Value::Int32(7);
    assert_eq!(
        terms_with(
            &IndexPolicy::default(),
            &item,
            &[("_ts", &ts), ("_etag", &ts)]
        ),
        expected(&[("/id", "\"1\""), ("/_ts", "7")])
    );
}
