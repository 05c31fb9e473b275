//! The order and equality of values, and the paths into them.

use crate::common;
use lapsedb_value::path::{End, Path, Segment};
use lapsedb_value::{Object, Value, json, number, order};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

fn value(text: &str) -> Value {
    json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap()
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    order::hash_into(value, &mut hasher);
    hasher.finish()
}

#[test]
fn values_in_order() {
    let ascending: Vec<Value> = [
        vec![Value::Undefined],
        ["null", "false", "true"].map(value).to_vec(),
        vec![Value::Double(f64::NAN), Value::Double(f64::NEG_INFINITY)],
        [
            "-1e300",
            "-9007199254740994",
            "-1.5",
            "-1",
            "0",
            "0.5",
            "1",
            "2147483648",
        ]
        .map(value)
        .to_vec(),
        vec![
            Value::Int64((1 << 53) - 1),
            Value::Double(9007199254740992.0),
            Value::Int64((1 << 53) + 1),
            Value::Int64(i64::MAX),
            Value::Double(9223372036854775808.0),
            Value::Double(f64::INFINITY),
        ],
        [
            r#""""#,
            r#""A""#,
            r#""a""#,
            r#""aa""#,
            r#""b""#,
            r#""ä""#,
            r#""\uffff""#,
            r#""😀""#,
        ]
        .map(value)
        .to_vec(),
        ["[]", "[null]", "[1]", "[1,1]", "[2]", r#"["a"]"#]
            .map(value)
            .to_vec(),
        [
            "{}",
            r#"{"a":1}"#,
            r#"{"b":0,"a":1}"#,
            r#"{"a":2}"#,
            r#"{"b":0}"#,
        ]
        .map(value)
        .to_vec(),
        vec![
            Value::MinKey,
            Value::Date(-1),
            Value::Date(1),
            Value::MaxKey,
        ],
    ]
    .concat();
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(order::compare_sql(a, b), i.cmp(&j), "{a:?} {b:?}");
            assert_eq!(order::deep_equal(a, b), i == j, "{a:?} {b:?}");
        }
    }
}

#[test]
fn the_same_document_in_other_clothes() {
    let with_undefined = {
        let mut object = Object::new();
        object.push("x", Value::Undefined);
        object.push("a", Value::Double(1.0));
        object.push("l", Value::Array(vec![Value::Undefined, Value::Int64(2)]));
        Value::Object(object)
    };
    for (a, b) in [
        (Value::Int32(1), Value::Double(1.0)),
        (Value::Int32(1), Value::Int64(1)),
        (Value::Double(-0.0), Value::Int32(0)),
        (Value::Double(f64::NAN), Value::Double(-f64::NAN)),
        (
            Value::Int64(i64::MIN),
            Value::Double(-9223372036854775808.0),
        ),
        (
            value(r#"{"a":1,"b":[{"c":2,"d":3}]}"#),
            value(r#"{"b":[{"d":3,"c":2}],"a":1}"#),
        ),
        (value(r#"{"a":1,"l":[2]}"#), with_undefined),
    ] {
        assert!(
            order::deep_equal(&a, &b) && order::deep_equal(&b, &a),
            "{a:?} {b:?}"
        );
        assert_eq!(order::compare_sql(&a, &b), Ordering::Equal);
        assert_eq!(hash(&a), hash(&b));
    }
    assert!(!order::deep_equal(
        &value(r#"{"a":1}"#),
        &value(r#"{"a":1,"b":null}"#)
    ));
    assert!(!order::deep_equal(&value("[1,2]"), &value("[2,1]")));
}

#[test]
fn integers_and_doubles_compare_exactly() {
    let integers = [
        0,
        1,
        -1,
        7,
        1 << 53,
        (1 << 53) + 1,
        -(1 << 53) - 1,
        i64::MAX,
        i64::MAX - 1,
        i64::MIN,
    ];
    let doubles = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.0,
        7.25,
        -7.25,
        9007199254740992.0,
        9.3e18,
        -9.3e18,
    ];
    let wide = |n: f64| (n * 4.0) as i128;
    for a in integers {
        for b in doubles {
            let expected = (i128::from(a) * 4).cmp(&wide(b));
            assert_eq!(number::compare_i64_f64(a, b), expected, "{a} {b}");
        }
        assert_eq!(number::compare_i64_f64(a, f64::INFINITY), Ordering::Less);
        assert_eq!(
            number::compare_i64_f64(a, f64::NEG_INFINITY),
            Ordering::Greater
        );
        assert_eq!(number::compare_i64_f64(a, f64::NAN), Ordering::Greater);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_order_is_total(mut values in prop::collection::vec(common::bson_value(), 3)) {
        values.sort_by(order::compare_sql);
        let [a, b, c] = &values[..] else { panic!("three values") };
        prop_assert_ne!(order::compare_sql(a, c), Ordering::Greater);
        for (x, y) in [(a, b), (b, c), (a, c), (a, a)] {
            let order = order::compare_sql(x, y);
            prop_assert_eq!(order, order::compare_sql(y, x).reverse());
            prop_assert_eq!(order::deep_equal(x, y), order == Ordering::Equal);
            if order == Ordering::Equal {
                prop_assert_eq!(hash(x), hash(y));
            }
        }
    }

    #[test]
    fn members_may_stand_in_any_order(object in common::bson_object()) {
        let mut members: Vec<_> = object.clone().into_iter().collect();
        members.reverse();
        let (a, b) = (Value::Object(object), Value::Object(members.into()));
        prop_assert!(order::deep_equal(&a, &b));
        prop_assert_eq!(hash(&a), hash(&b));
    }

    #[test]
    fn a_printed_path_reads_back(names in prop::collection::vec(common::text(), 1..5)) {
        let path = Path::new(names.into_iter().map(Segment::Member).collect());
        prop_assert_eq!(Path::parse_pointer(&path.to_string()).unwrap(), path);
    }

    #[test]
    fn no_text_breaks_the_path_reader(text in "[/\"\\\\\\[\\]?*a-c~01]{0,16}") {
        if let Ok((path, _)) = Path::parse_policy(&text)
            && !path.segments().is_empty()
        {
            prop_assert_eq!(Path::parse_pointer(&path.to_string()).unwrap(), path);
        }
        let _ = Path::parse_rfc6901(&text);
    }
}

#[test]
fn policy_paths() {
    let member = |name: &str| Segment::Member(name.into());
    for (text, segments, end) in [
        ("/*", vec![], End::Subtree),
        ("/?", vec![], End::Scalar),
        ("/a", vec![member("a")], End::Bare),
        ("/a/b", vec![member("a"), member("b")], End::Bare),
        ("/a/?", vec![member("a")], End::Scalar),
        ("/\"_etag\"/?", vec![member("_etag")], End::Scalar),
        ("/\"a-b\"", vec![member("a-b")], End::Bare),
        (
            "/\"a/b\"/c/*",
            vec![member("a/b"), member("c")],
            End::Subtree,
        ),
        (r#"/"a\"\\b""#, vec![member("a\"\\b")], End::Bare),
        ("/\"\"", vec![member("")], End::Bare),
        ("/\"[]\"", vec![member("[]")], End::Bare),
        (
            "/tags/[]/name",
            vec![member("tags"), Segment::Elements, member("name")],
            End::Bare,
        ),
        (
            "/tags/[]/?",
            vec![member("tags"), Segment::Elements],
            End::Scalar,
        ),
        ("/a b/ä", vec![member("a b"), member("ä")], End::Bare),
    ] {
        assert_eq!(
            Path::parse_policy(text),
            Ok((Path::new(segments), end)),
            "{text}"
        );
    }
    for text in [
        "", "/", "a", "a/b", "/a/", "//a", "/a//b", "/*/a", "/?/a", "/\"a", "/\"a\"b", "/a\"b\"",
        "/\"a\\",
    ] {
        let error = Path::parse_policy(text).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("The path '{text}' is not valid.")
        );
    }
    assert!(Path::parse_pointer("/a/*").is_err());
    assert!(Path::parse_policy(&"/a".repeat(10_000)).is_err());
}

#[test]
fn patch_pointers() {
    for (text, expected) in [
        ("", vec![]),
        ("/", vec![""]),
        ("/a/0/-", vec!["a", "0", "-"]),
        ("/a~1b/m~0n/~01", vec!["a/b", "m~n", "~1"]),
    ] {
        assert_eq!(Path::parse_rfc6901(text).unwrap(), expected);
    }
    for text in ["a", "/~", "/~2", "/a~"] {
        assert!(Path::parse_rfc6901(text).is_err(), "{text}");
    }
}

#[test]
fn paths_lead_to_values() {
    let document = value(r#"{"a":{"b":[1,2]},"tags":[{"n":1},{"n":2},{"m":3},[{"n":4}]],"s":"x"}"#);
    let get = |text: &str| {
        Path::parse_pointer(text)
            .unwrap()
            .get(&document)
            .to_string()
    };
    assert_eq!(get("/a/b"), "[1,2]");
    assert_eq!(get("/s"), "\"x\"");
    assert_eq!(get("/s/x"), "");
    assert_eq!(get("/a/b/0"), "");
    assert_eq!(get("/tags/[]/n"), "");
    let visit = |text: &str| {
        let mut found = Vec::new();
        Path::parse_pointer(text)
            .unwrap()
            .visit(&document, &mut |value| found.push(value.to_string()));
        found
    };
    assert_eq!(visit("/tags/[]/n"), ["1", "2"]);
    assert_eq!(visit("/a/b/[]"), ["1", "2"]);
    assert_eq!(visit("/a/b"), ["[1,2]"]);
    assert_eq!(visit("/none"), [""; 0]);
    assert_eq!(visit("/s/[]"), [""; 0]);
    assert_eq!(
        Path::parse_pointer("/a/b").unwrap().members(),
        Some(vec!["a", "b"])
    );
    assert_eq!(Path::parse_pointer("/a/[]").unwrap().members(), None);
}
