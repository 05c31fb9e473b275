//! Binary JSON as it is written: the bytes of every form, and that they say what JSON text says.

use crate::common;
use lapsedb_value::json::{self, DEPTH_CEILING, Limits};
use lapsedb_value::{Value, cosmos_binary, fuzz};
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    depth_max: DEPTH_CEILING,
    duplicates_refused: &[],
};

fn of_text(text: &str) -> Value {
    json::parse(text.as_bytes(), &LIMITS).unwrap()
}

/// Whether a value survives, kinds of numbers and order of members included.
fn survives(value: &Value) {
    let bytes = cosmos_binary::encode(value);
    let again = cosmos_binary::decode(&bytes, &LIMITS).unwrap();
    assert_eq!(format!("{again:?}"), format!("{value:?}"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_json_value_survives(value in common::json_value()) {
        survives(&value);
        prop_assert_eq!(fuzz::json(json::to_string(&value).as_bytes()), Ok(()));
    }

    #[test]
    fn documents_of_the_mongodb_api_say_what_they_say_in_text(object in common::bson_object()) {
        let value = Value::Object(object);
        let text = of_text(&json::to_string(&value));
        let binary = cosmos_binary::decode(&cosmos_binary::encode(&value), &LIMITS).unwrap();
        prop_assert_eq!(format!("{binary:?}"), format!("{text:?}"));
    }
}

#[test]
fn each_form_has_its_bytes() {
    for (text, expected) in [
        ("null", &b"\xD0"[..]),
        ("false", b"\xD1"),
        ("true", b"\xD2"),
        ("0", b"\x00"),
        ("-0.0", b"\x00"),
        ("31", b"\x1F"),
        ("32", b"\xC8\x20"),
        ("255", b"\xC8\xFF"),
        ("256", b"\xC9\x00\x01"),
        ("-1", b"\xC9\xFF\xFF"),
        ("-32768", b"\xC9\x00\x80"),
        ("32767", b"\xC9\xFF\x7F"),
        ("32768", b"\xCA\x00\x80\x00\x00"),
        ("-32769", b"\xCA\xFF\x7F\xFF\xFF"),
        ("2147483647", b"\xCA\xFF\xFF\xFF\x7F"),
        ("2147483648", b"\xCB\x00\x00\x00\x80\x00\x00\x00\x00"),
        (
            "9223372036854775807",
            b"\xCB\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F",
        ),
        (
            "-9223372036854775808",
            b"\xCB\x00\x00\x00\x00\x00\x00\x00\x80",
        ),
        ("9007199254740993", b"\xCB\x01\x00\x00\x00\x00\x00\x20\x00"),
        ("1.5", b"\xCC\x00\x00\x00\x00\x00\x00\xF8\x3F"),
        (
            "9223372036854775808",
            b"\xCC\x00\x00\x00\x00\x00\x00\xE0\x43",
        ),
        // Strings: by their number, and with their length.
        (r#""$s""#, b"\x20"),
        (r#""id""#, b"\x2C"),
        (r#""_id""#, b"\x3F"),
        (r#""i""#, b"\x81i"),
        (r#""""#, b"\x80"),
        (r#""\u00e9""#, b"\x82\xC3\xA9"),
        // Containers: empty, of one, with a length, with a length and a count.
        ("[]", b"\xE0"),
        ("[[]]", b"\xE1\xE0"),
        ("[7,8]", b"\xE5\x02\x02\x07\x08"),
        ("{}", b"\xE8"),
        (r#"{"id":{}}"#, b"\xE9\x2C\xE8"),
        (r#"{"id":1,"a":[2]}"#, b"\xEA\x06\x2C\x01\x81a\xE1\x02"),
    ] {
        let bytes = cosmos_binary::encode(&of_text(text));
        assert_eq!(bytes, [b"\x80", expected].concat(), "{text}");
    }
}

/// The marker behind the first byte, and the lengths behind the marker.
#[test]
fn lengths_are_as_wide_as_they_must_be() {
    for (length, head) in [
        (63, &b"\xBF"[..]),
        (64, b"\xC0\x40"),
        (255, b"\xC0\xFF"),
        (256, b"\xC1\x00\x01"),
        (65535, b"\xC1\xFF\xFF"),
        (65536, b"\xC2\x00\x00\x01\x00"),
    ] {
        let text = Value::from("x".repeat(length));
        survives(&text);
        let bytes = cosmos_binary::encode(&text);
        assert!(bytes[1..].starts_with(head), "{length}: {:x?}", &bytes[..6]);
        assert_eq!(bytes.len(), 1 + head.len() + length);
    }
    for (count, head) in [
        (255, &b"\xE5\xFF\xFF"[..]),
        (256, b"\xE6\x00\x01\x00\x01"),
        (65535, b"\xE6\xFF\xFF\xFF\xFF"),
        (65536, b"\xE7\x00\x00\x01\x00\x00\x00\x01\x00"),
    ] {
        let elements = Value::Array(vec![Value::Int32(1); count]);
        survives(&elements);
        let bytes = cosmos_binary::encode(&elements);
        assert!(bytes[1..].starts_with(head), "{count}: {:x?}", &bytes[..10]);
    }
    // Beside the text are its marker and length, a name of two bytes before it, and a member of three behind it.
    for (length, head) in [
        (248, &b"\xEA\xFF"[..]),
        (249, b"\xEB\x00\x01"),
        (65527, b"\xEB\xFF\xFF"),
        (65528, b"\xEC\x00\x00\x01\x00"),
    ] {
        let text = "x".repeat(length);
        let object = of_text(&format!(r#"{{"a":"{text}","b":1}}"#));
        survives(&object);
        let bytes = cosmos_binary::encode(&object);
        assert!(bytes[1..].starts_with(head), "{length}: {:x?}", &bytes[..6]);
    }
}

#[test]
fn strings_with_a_number_are_written_by_it() {
    for marker in 0x20..0x40 {
        let value = cosmos_binary::decode(&[0x80, marker], &LIMITS).unwrap();
        assert_eq!(cosmos_binary::encode(&value), [0x80, marker]);
        let object = [0x80, 0xE9, marker, 0xD0];
        let value = cosmos_binary::decode(&object, &LIMITS).unwrap();
        assert_eq!(cosmos_binary::encode(&value), object);
    }
}

#[test]
fn what_is_undefined_is_left_out() {
    let undefined = Value::Array(vec![Value::Undefined, Value::Int32(1), Value::Undefined]);
    assert_eq!(cosmos_binary::encode(&undefined), b"\x80\xE1\x01");
    let mut object = of_text(r#"{"a":1,"b":2}"#);
    if let Value::Object(members) = &mut object {
        members.insert("a", Value::Undefined);
    }
    assert_eq!(cosmos_binary::encode(&object), b"\x80\xE9\x81b\x02");
}

#[test]
fn containers_written_entry_by_entry_are_read() {
    let mut out = cosmos_binary::begin(0);
    let object = cosmos_binary::open_object(&mut out);
    cosmos_binary::write_str("rows", &mut out);
    let rows = cosmos_binary::open_array(&mut out);
    cosmos_binary::write(&of_text(r#"{"id":"a"}"#), &mut out);
    cosmos_binary::write(&Value::Int32(7), &mut out);
    rows.close(2, &mut out);
    cosmos_binary::write_str("none", &mut out);
    cosmos_binary::open_array(&mut out).close(0, &mut out);
    object.close(2, &mut out);
    let value = cosmos_binary::decode(&out, &LIMITS).unwrap();
    assert_eq!(value.to_string(), r#"{"rows":[{"id":"a"},7],"none":[]}"#);
}

#[test]
fn the_deepest_value_survives() {
    let deep = format!("{}{}", "[".repeat(DEPTH_CEILING), "]".repeat(DEPTH_CEILING));
    survives(&of_text(&deep));
    let long = "x".repeat(300);
    let deep = format!(
        "{}\"{long}\"{}",
        r#"{"a":0,"b":"#.repeat(200),
        "}".repeat(200)
    );
    survives(&of_text(&deep));
}
