//! Reading, extracting and encoding keys.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn text(value: &str) -> Component {
    Component::String(value.into())
}

fn key(components: impl IntoIterator<Item = Component>) -> PartitionKey {
    PartitionKey::new(components)
}

fn object(json_text: &str) -> Object {
    json::parse(json_text.as_bytes(), &json::Limits::DEFAULT)
        .unwrap()
        .into_object()
        .unwrap()
}

fn samples() -> Vec<Component> {
    let mut all = vec![
        Component::Undefined,
        Component::Null,
        Component::Bool(false),
        Component::Bool(true),
    ];
    let numbers = [
        f64::MIN,
        -1.5,
        -1.0,
        -f64::MIN_POSITIVE,
        0.0,
        f64::MIN_POSITIVE,
        1.0,
        255.0,
        256.0,
        f64::MAX,
    ];
    all.extend(numbers.map(Component::Number));
    // Behind all doubles, whose bytes are as they have always been.
    all.extend([-(1i64 << 53) - 1, (1 << 53) + 1, i64::MAX - 1, i64::MAX].map(Component::Integer));
    let texts = [
        "",
        "\0",
        "\0\0",
        "\0\u{1}",
        "\u{1}",
        "\u{1}\u{1}",
        "\u{2}",
        "a",
        "a\0",
        "a\0b",
        "ab",
        "é",
        "你好",
        "\u{10FFFF}",
    ];
    all.extend(texts.map(text));
    all
}

#[test]
fn headers_of_every_kind_are_read() {
    for (header, expected) in [
        (r#"["a"]"#, key([text("a")])),
        (r#"[""]"#, key([text("")])),
        (r#"[ "a" ]"#, key([text("a")])),
        (r#"["a\"b"]"#, key([text("a\"b")])),
        (r#"["a\\"]"#, key([text("a\\")])),
        (r#"["\u4f60\u597d"]"#, key([text("你好")])),
        (r#"["你好"]"#, key([text("你好")])),
        ("[1]", key([Component::Number(1.0)])),
        ("[1.0]", key([Component::Number(1.0)])),
        ("[-0]", key([Component::Number(0.0)])),
        ("[1e18]", key([Component::Number(1e18)])),
        ("[1000000000000000000]", key([Component::Number(1e18)])),
        (
            "[9007199254740993]",
            key([Component::Integer((1 << 53) + 1)]),
        ),
        ("[9223372036854775807]", key([Component::Integer(i64::MAX)])),
        (
            "[9223372036854775808]",
            key([Component::Number(2f64.powi(63))]),
        ),
        ("[null]", key([Component::Null])),
        ("[true]", key([Component::Bool(true)])),
        ("[false]", key([Component::Bool(false)])),
        ("[{}]", key([Component::Undefined])),
        ("[]", key([])),
        (r#"["x",1]"#, key([text("x"), Component::Number(1.0)])),
        (
            r#"["x","y",{}]"#,
            key([text("x"), text("y"), Component::Undefined]),
        ),
    ] {
        assert_eq!(PartitionKey::parse(header), Ok(expected), "{header}");
    }
}

#[test]
fn what_is_not_a_key_is_refused() {
    for header in [
        "",
        "a",
        "\"a\"",
        "1",
        "null",
        "{}",
        "[",
        "[\"",
        "[\"]",
        "[\"a\"",
        "[[]]",
        "[[1]]",
        r#"[{"a":1}]"#,
        "[1,]",
        "[NaN]",
        "[1e400]",
        r#"["a"] x"#,
        r#"["a","b]"#,
    ] {
        assert_eq!(
            PartitionKey::parse(header),
            Err(PartitionKeyError::Malformed),
            "{header}"
        );
    }
    assert_eq!(
        PartitionKey::parse("[1,2,3,4]"),
        Err(PartitionKeyError::TooMany)
    );
}

#[test]
fn a_key_is_written_as_it_is_read() {
    for first in samples() {
        for second in samples() {
            let pair = key([first.clone(), second.clone()]);
            assert_eq!(
                PartitionKey::parse(&pair.to_json()),
                Ok(pair.clone()),
                "{pair:?}"
            );
        }
        let one = key([first]);
        assert_eq!(PartitionKey::parse(&one.to_json()), Ok(one));
    }
    assert_eq!(
        key([text("x"), Component::Undefined, Component::Number(2.0)]).to_json(),
        r#"["x",{},2]"#
    );
    assert_eq!(key([]).to_json(), "[]");
}

#[test]
fn storage_bytes_are_read_back_and_begin_no_other() {
    let mut keys: Vec<PartitionKey> = vec![key([])];
    for first in samples() {
        keys.push(key([first.clone()]));
        keys.extend(
            samples()
                .into_iter()
                .map(|second| key([first.clone(), second])),
        );
    }
    let encoded: Vec<Vec<u8>> = keys
        .iter()
        .map(|key| {
            let mut out = Vec::new();
            key.encode_key(&mut out);
            out
        })
        .collect();
    for (i, bytes) in encoded.iter().enumerate() {
        let mut more = bytes.clone();
        more.extend_from_slice(b"\x00\x08id");
        assert_eq!(
            PartitionKey::decode_key(&more),
            Some((keys[i].clone(), bytes.len()))
        );
        for (j, other) in encoded.iter().enumerate() {
            assert_eq!(
                other.starts_with(bytes),
                i == j,
                "{:?} {:?}",
                keys[i],
                keys[j]
            );
        }
    }
}

#[test]
fn integers_that_no_double_is_are_keys_of_their_own() {
    let of = |number: i64| Component::of(&Value::Int64(number));
    for edge in [1i64 << 53, -(1 << 53), i64::MAX - 2000, i64::MIN + 2001] {
        for number in edge - 2000..=edge + 2000 {
            let rounded = number as f64;
            let exact = rounded as i128 == i128::from(number);
            assert_eq!(of(number) == Component::of(&Value::Double(rounded)), exact);
            assert_ne!(of(number), of(number - 1));
            let numbered = key([of(number)]);
            assert_eq!(*numbered.rounded(), key([Component::Number(rounded)]));
            let mut bytes = Vec::new();
            numbered.encode_key(&mut bytes);
            assert_eq!(
                PartitionKey::decode_key(&bytes),
                Some((numbered.clone(), bytes.len()))
            );
            assert_eq!(PartitionKey::parse(&numbered.to_json()), Ok(numbered));
        }
    }
}

#[test]
fn storage_bytes_sort_by_kind_then_value() {
    let encoded: Vec<Vec<u8>> = samples()
        .into_iter()
        .map(|component| {
            let mut out = Vec::new();
            key([component]).encode_key(&mut out);
            out
        })
        .collect();
    assert!(encoded.is_sorted());
}

#[test]
fn damaged_storage_bytes_are_refused() {
    let mut whole = Vec::new();
    key([text("a\0b"), Component::Number(1.0)]).encode_key(&mut whole);
    for len in 0..whole.len() {
        assert_eq!(PartitionKey::decode_key(&whole[..len]), None);
    }
    for bad in [
        &[4u8, 15][..],
        &[8, 1, 0, 15],
        &[8, 1, 3, 0, 15],
        &[8, 0xFF, 0, 15],
        &[8, 1],
    ] {
        assert_eq!(PartitionKey::decode_key(bad), None, "{bad:?}");
    }
}

#[test]
fn keys_are_extracted_from_items() {
    let def = PartitionKeyDef::new(&["/a/b"], Kind::Hash, Version::V2).unwrap();
    for (item, expected) in [
        (r#"{"a":{"b":"x"}}"#, text("x")),
        (r#"{"a":{"b":1.0}}"#, Component::Number(1.0)),
        (r#"{"a":{"b":-0.0}}"#, Component::Number(0.0)),
        (r#"{"a":{"b":null}}"#, Component::Null),
        (r#"{"a":{"b":false}}"#, Component::Bool(false)),
        (r#"{"a":{"b":[1]}}"#, Component::Undefined),
        (r#"{"a":{"b":{}}}"#, Component::Undefined),
        (r#"{"a":{}}"#, Component::Undefined),
        (r#"{"a":"b"}"#, Component::Undefined),
        (r#"{"a":[{"b":1}]}"#, Component::Undefined),
        (r#"{"a/b":1}"#, Component::Undefined),
        ("{}", Component::Undefined),
    ] {
        assert_eq!(def.extract(&object(item)), key([expected]), "{item}");
    }
    let levels = PartitionKeyDef::new(&["/t", "/u"], Kind::MultiHash, Version::V2).unwrap();
    assert_eq!(
        levels.extract(&object(r#"{"u":2}"#)),
        key([Component::Undefined, Component::Number(2.0)])
    );
    assert_eq!(
        Component::of(&Value::ObjectId([0xAB; 12])),
        text(&"ab".repeat(12))
    );
}

#[test]
fn a_key_is_whole_or_a_prefix_or_refused() {
    let two = PartitionKeyDef::new(&["/a", "/b"], Kind::MultiHash, Version::V2).unwrap();
    let [none, one, both] = [key([]), key([text("x")]), key([text("x"), text("y")])];
    let three = key([text("x"), text("y"), text("z")]);
    assert_eq!(
        two.whole(none.clone()),
        Ok(key([Component::Undefined, Component::Undefined]))
    );
    assert_eq!(two.whole(one.clone()), Err(PartitionKeyError::TooFew));
    assert_eq!(two.whole(both.clone()), Ok(both.clone()));
    assert_eq!(two.whole(three.clone()), Err(PartitionKeyError::TooMany));
    assert_eq!(two.prefix(none.clone()), Ok(none));
    assert_eq!(two.prefix(one.clone()), Ok(one));
    assert_eq!(two.prefix(both.clone()), Ok(both));
    assert_eq!(two.prefix(three), Err(PartitionKeyError::TooMany));
}

#[test]
fn a_key_may_be_long_but_not_too_long() {
    let bytes_max = PARTITION_KEY_BYTES_MAX;
    for version in [Version::V1, Version::V2] {
        let def = PartitionKeyDef::new(&["/a"], Kind::Hash, version).unwrap();
        assert!(def.whole(key([text(&"x".repeat(bytes_max))])).is_ok());
        let long = def.whole(key([text(&"x".repeat(bytes_max + 1))]));
        assert_eq!(long, Err(PartitionKeyError::TooLong(bytes_max)));
    }
    let header = format!(
        "[\"{}\\u0041\"]",
        "\\u0041".repeat(PARTITION_KEY_BYTES_MAX + 100)
    );
    assert!(matches!(
        PartitionKey::parse(&header),
        Err(PartitionKeyError::TooLong(_))
    ));
}

#[test]
fn definitions_of_containers_are_read() {
    let read = |text: &str| {
        let value = json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap();
        PartitionKeyDef::from_document(&value)
    };
    for (text, kind, version, levels) in [
        (r#"{"paths":["/pk"]}"#, Kind::Hash, Version::V1, 1),
        (
            r#"{"paths":["/pk"],"kind":"Hash"}"#,
            Kind::Hash,
            Version::V1,
            1,
        ),
        (
            r#"{"paths":["/pk"],"kind":"hash","version":1}"#,
            Kind::Hash,
            Version::V1,
            1,
        ),
        (
            r#"{"paths":["/a/b"],"kind":"Hash","version":2}"#,
            Kind::Hash,
            Version::V2,
            1,
        ),
        (
            r#"{"paths":["/\"a-b\""],"version":2.0}"#,
            Kind::Hash,
            Version::V2,
            1,
        ),
        (
            r#"{"paths":["/a"],"kind":"MultiHash","version":2}"#,
            Kind::MultiHash,
            Version::V2,
            1,
        ),
        (
            r#"{"paths":["/a","/b"],"kind":"MultiHash","version":2}"#,
            Kind::MultiHash,
            Version::V2,
            2,
        ),
        (
            r#"{"paths":["/a","/b","/c"],"kind":"MultiHash"}"#,
            Kind::MultiHash,
            Version::V2,
            3,
        ),
    ] {
        let def = read(text).unwrap();
        assert_eq!(
            (def.kind, def.version, def.paths.len(), def.system_key),
            (kind, version, levels, false),
            "{text}"
        );
    }
    assert!(
        read(r#"{"paths":["/_partitionKey"],"systemKey":true}"#)
            .unwrap()
            .system_key
    );
    for text in [
        "null",
        "[]",
        "\"/pk\"",
        "{}",
        r#"{"paths":[]}"#,
        r#"{"paths":"/pk"}"#,
        r#"{"paths":[1]}"#,
        r#"{"paths":["pk"]}"#,
        r#"{"paths":[""]}"#,
        r#"{"paths":["/"]}"#,
        r#"{"paths":["/a/"]}"#,
        r#"{"paths":["/*"]}"#,
        r#"{"paths":["/a/*"]}"#,
        r#"{"paths":["/a/?"]}"#,
        r#"{"paths":["/a/[]/b"]}"#,
        r#"{"paths":["/a","/b"]}"#,
        r#"{"paths":[],"kind":"MultiHash"}"#,
        r#"{"paths":["/a"],"kind":"MultiHash","version":1}"#,
        r#"{"paths":["/a","/b","/c","/d"],"kind":"MultiHash"}"#,
        r#"{"paths":["/a","/a"],"kind":"MultiHash"}"#,
        r#"{"paths":["/a","/b"],"kind":"MultiHash","version":1}"#,
        r#"{"paths":["/a"],"kind":"Range"}"#,
        r#"{"paths":["/a"],"kind":1}"#,
        r#"{"paths":["/a"],"version":3}"#,
        r#"{"paths":["/a"],"version":0}"#,
        r#"{"paths":["/a"],"version":"2"}"#,
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    assert_eq!(
        read(r#"{"paths":["pk"]}"#).unwrap_err().0,
        "The partition key component definition path 'pk' could not be accepted, failed near position '0'. Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character."
    );
}

#[test]
fn new_paths_hold_only_characters_that_need_no_quotes() {
    let of_new = |path: &str| {
        let mut object = Object::new();
        object.push("paths", Value::Array(vec![Value::from(path)]));
        PartitionKeyDef::of_new(&Value::Object(object))
    };
    for good in [
        "/id",
        "/__partitionKey",
        "/a/b",
        "/a-b",
        "/$type",
        "/größe",
        "/\"a b\"",
        "/\"a b\"/c",
        "/\"a\\\" b\"/c",
        "/'a\" b'/'c/ d'",
    ] {
        assert!(of_new(good).is_ok(), "{good}");
    }
    for (bad, near) in [
        ("/id ds", 3),
        ("/id\tds", 3),
        ("/a.b", 2),
        ("/a+b", 2),
        ("/\"a b\"/c d", 8),
        ("/@", 1),
    ] {
        let error = of_new(bad).unwrap_err().0;
        let words = format!(
            "path '{bad}' could not be accepted, failed near position '{near}'. Partition key paths must contain only valid characters"
        );
        assert!(error.contains(&words), "{error}");
    }
}
