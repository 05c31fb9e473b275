//! Binary JSON: every form of every value, and what hostile bytes may not do.

use crate::common;
use lapsedb_value::json::{self, JsonErrorKind as Kind, Limits};
use lapsedb_value::{Value, cosmos_binary, fuzz};
use proptest::prelude::*;

fn decode(bytes: &[u8]) -> Result<Value, Kind> {
    cosmos_binary::decode(bytes, &Limits::DEFAULT).map_err(|error| error.kind)
}

/// The text of a body whose first byte is added.
fn text(body: &[u8]) -> String {
    let bytes: Vec<u8> = [0x80].iter().chain(body).copied().collect();
    assert!(cosmos_binary::is_binary(&bytes));
    assert_eq!(fuzz::cosmos_binary(&bytes), Ok(()));
    match decode(&bytes) {
        Ok(value) => value.to_string(),
        Err(kind) => format!("{kind:?}"),
    }
}

/// Writes what the Rust client writes: plain strings, 64-bit numbers, lengths with counts.
fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0xD0),
        Value::Bool(truth) => out.push(0xD1 + u8::from(*truth)),
        Value::Int32(n @ 0..32) => out.push(*n as u8),
        Value::Int32(n) => encode_fixed(0xCB, &i64::from(*n).to_le_bytes(), out),
        Value::Int64(n) if *n > 0 => encode_fixed(0xC7, &n.to_le_bytes(), out),
        Value::Int64(n) => encode_fixed(0xCB, &n.to_le_bytes(), out),
        Value::Double(n) => encode_fixed(0xCC, &n.to_le_bytes(), out),
        Value::String(text) => encode_str(text, out),
        Value::Array(elements) => {
            let mut body = Vec::new();
            elements
                .iter()
                .for_each(|element| encode(element, &mut body));
            encode_container(0xE5, elements.len(), &body, out);
        }
        Value::Object(object) => {
            let mut body = Vec::new();
            for (name, value) in object {
                encode_str(name, &mut body);
                encode(value, &mut body);
            }
            encode_container(0xED, object.len(), &body, out);
        }
        other => panic!("{other:?} is no JSON"),
    }
}

fn encode_fixed(marker: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(marker);
    out.extend_from_slice(bytes);
}

fn encode_str(text: &str, out: &mut Vec<u8>) {
    match text.len() {
        length @ 0..64 => out.push(0x80 | length as u8),
        length @ 64..256 => out.extend_from_slice(&[0xC0, length as u8]),
        length => encode_fixed(0xC1, &(length as u16).to_le_bytes(), out),
    }
    out.extend_from_slice(text.as_bytes());
}

fn encode_container(marker: u8, count: usize, body: &[u8], out: &mut Vec<u8>) {
    if body.len() < 256 {
        out.extend_from_slice(&[marker, body.len() as u8, count as u8]);
    } else {
        encode_fixed(marker + 2, &(body.len() as u32).to_le_bytes(), out);
        out.extend_from_slice(&(count as u32).to_le_bytes());
    }
    out.extend_from_slice(body);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_the_rust_client_writes_is_read(value in common::json_value()) {
        let mut bytes = vec![0x80];
        encode(&value, &mut bytes);
        prop_assert_eq!(format!("{:?}", decode(&bytes).unwrap()), format!("{value:?}"));
    }

    #[test]
    fn cut_off_or_with_a_flipped_bit(
        value in common::json_value(),
        cut in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let mut bytes = vec![0x80];
        encode(&value, &mut bytes);
        let at = cut.index(bytes.len());
        prop_assert!(decode(&bytes[..at]).is_err());
        bytes[at] ^= 1u8 << bit;
        prop_assert_eq!(fuzz::cosmos_binary(&bytes), Ok(()));
    }

    #[test]
    fn random_markers(body in prop::collection::vec(any::<u8>(), 0..64), first in any::<u8>()) {
        let bytes: Vec<u8> = [0x80, first].iter().chain(&body).copied().collect();
        prop_assert_eq!(fuzz::cosmos_binary(&bytes), Ok(()));
    }
}

#[test]
fn the_example_of_the_wire_specification() {
    let bytes = [
        0x80, 0xED, 0x0A, 0x02, 0x81, 0x61, 0x01, 0x81, 0x62, 0xE5, 0x02, 0x02, 0x02, 0x03,
    ];
    assert_eq!(decode(&bytes).unwrap().to_string(), r#"{"a":1,"b":[2,3]}"#);
}

#[test]
fn numbers_of_every_width() {
    for n in 0..32u8 {
        assert_eq!(text(&[n]), n.to_string());
    }
    for (body, expected) in [
        (
            &b"\xC7\xff\xff\xff\xff\xff\xff\xff\xff"[..],
            "1.8446744073709552e+19",
        ),
        (b"\xC7\x20\0\0\0\0\0\0\0", "32"),
        (b"\xC8\xff", "255"),
        (b"\xC9\xff\xff", "-1"),
        (b"\xCA\0\0\0\x80", "-2147483648"),
        (
            b"\xC7\xff\xff\xff\xff\xff\xff\xff\x7f",
            "9223372036854775807",
        ),
        (b"\xC7\0\0\0\0\0\0\0\x80", "9.223372036854776e+18"),
        (b"\xCB\0\0\0\0\0\0\0\x80", "-9223372036854775808"),
        (
            b"\xCB\xff\xff\xff\xff\xff\xff\xff\x7f",
            "9223372036854775807",
        ),
        (b"\xDB\x01\0\0\0\0\0\x20\0", "9007199254740993"),
        (b"\xCC\0\0\0\0\0\0\xf8\x3f", "1.5"),
        (b"\xCC\0\0\0\0\0\0\0\x80", "0"),
        (b"\xCC\0\0\0\0\0\0\xf0\x7f", "NumberRange"),
        (b"\xCC\0\0\0\0\0\0\xf8\x7f", "NumberRange"),
        (b"\xCD\0\0\xc0\x3f", "1.5"),
        (b"\xCE\0\0\0\0\0\0\xf8\x3f", "1.5"),
        (b"\xD7\xff", "255"),
        (b"\xD8\xff", "-1"),
        (b"\xD9\0\x80", "-32768"),
        (b"\xDA\xff\xff\xff\x7f", "2147483647"),
        (b"\xDB\x01\0\0\0\0\0\0\0", "1"),
        (b"\xDC\xff\xff\xff\xff", "4294967295"),
        (b"\xCF\0\0", "InvalidMarker(207)"),
    ] {
        assert_eq!(text(body), expected, "{body:x?}");
    }
}

#[test]
fn strings_of_every_form() {
    for (body, expected) in [
        (&b"\x20"[..], "\"$s\""),
        (b"\x2c", "\"id\""),
        (b"\x3f", "\"_id\""),
        (b"\x80", "\"\""),
        (b"\x83abc", "\"abc\""),
        (b"\xC0\x03abc", "\"abc\""),
        (b"\xC1\x03\0abc", "\"abc\""),
        (b"\xC2\x03\0\0\0abc", "\"abc\""),
        (b"\x78\x03\x21\x0f", "\"12f\""),
        (b"\x79\x04\xba\xdc", "\"ABCD\""),
        // 2015-06-30 23:45:13, two signs to a byte.
        (
            b"\x7A\x13\x13\x62\x1C\xC7\x14\x30\xB4\x65\x2B\x04",
            "\"2015-06-30 23:45:13\"",
        ),
        (b"\x7B\x03a\x10\x02", "\"abc\""),
        (b"\x7C\x03a\x20\x08", "\"abc\""),
        (b"\x7D\x03a\x40\x20\0", "\"abc\""),
        (b"\x7E\x03\x61\xf1\x18", "\"abc\""),
        (b"\x7F\x03\0\x61\xf1\x18", "\"abc\""),
        (
            b"\x75\x10\x32\x54\x76\x98\xba\xdc\xfe\x10\x32\x54\x76\x98\xba\xdc\xfe",
            "\"01234567-89ab-cdef-0123-456789abcdef\"",
        ),
        (
            b"\x76\x10\x32\x54\x76\x98\xba\xdc\xfe\x10\x32\x54\x76\x98\xba\xdc\xfe",
            "\"01234567-89AB-CDEF-0123-456789ABCDEF\"",
        ),
        (
            b"\x77\x10\x32\x54\x76\x98\xba\xdc\xfe\x10\x32\x54\x76\x98\xba\xdc\xfe",
            "\"\\\"01234567-89ab-cdef-0123-456789abcdef\\\"\"",
        ),
        (
            b"\xD3\x67\x45\x23\x01\xab\x89\xef\xcd\x01\x23\x45\x67\x89\xab\xcd\xef",
            "\"01234567-89ab-cdef-0123-456789abcdef\"",
        ),
        (b"\x71\x01\x00\xfb\xff\xbf", "\"+/+/\""),
        (b"\x73\x01\x00\xfb\xff\xbf", "\"-_-_\""),
        (b"\x71\x01\x02f", "\"Zg==\""),
        (b"\x71\x01\x01fo", "\"Zm8=\""),
        (b"\x72\x01\0\xfdf", "\"Zg\""),
        (b"\x74\x01\0\xfefo", "\"Zm8\""),
        (b"\x71\x00\x00", "\"\""),
        (b"\x71\x00\x01", "InvalidLength"),
        (b"\x71\x01\x80fo", "InvalidLength"),
        (b"\xDD\x05hello", "\"aGVsbG8=\""),
        (b"\xDE\x05\0hello", "\"aGVsbG8=\""),
        (b"\xDF\x05\0\0\0hello", "\"aGVsbG8=\""),
        (b"\x40", "InvalidMarker(64)"),
        (b"\x67\x00", "InvalidMarker(103)"),
        (b"\x70", "InvalidMarker(112)"),
        (b"\x82\xff\xff", "InvalidUtf8"),
        (b"\x7B\x01\xf0\x0f", "InvalidUtf8"),
        (b"\x83ab", "UnexpectedEnd"),
        (b"\xC2\xff\xff\xff\xffab", "UnexpectedEnd"),
    ] {
        assert_eq!(text(body), expected, "{body:x?}");
    }
}

#[test]
fn containers_of_every_form() {
    for (body, expected) in [
        (&b"\xE0"[..], "[]"),
        (b"\xE1\x05", "[5]"),
        (b"\xE2\x02\x01\x02", "[1,2]"),
        (b"\xE3\x02\0\x01\x02", "[1,2]"),
        (b"\xE4\x02\0\0\0\x01\x02", "[1,2]"),
        (b"\xE5\x02\x02\x01\x02", "[1,2]"),
        (b"\xE6\x02\0\x02\0\x01\x02", "[1,2]"),
        (b"\xE7\x02\0\0\0\x02\0\0\0\x01\x02", "[1,2]"),
        (b"\xE8", "{}"),
        (b"\xE9\x81a\x01", r#"{"a":1}"#),
        (b"\xEA\x03\x81a\x01", r#"{"a":1}"#),
        (b"\xEB\x03\0\x81a\x01", r#"{"a":1}"#),
        (b"\xEC\x03\0\0\0\x81a\x01", r#"{"a":1}"#),
        (b"\xED\x03\x01\x81a\x01", r#"{"a":1}"#),
        (b"\xEE\x03\0\x01\0\x81a\x01", r#"{"a":1}"#),
        (b"\xEF\x03\0\0\0\x01\0\0\0\x81a\x01", r#"{"a":1}"#),
        (b"\xF0\xD8\x03\x01\xff\x02", "[1,-1,2]"),
        (b"\xF1\xD9\x02\0\x01\0\xff\xff", "[1,-1]"),
        (b"\xF0\xCD\x01\0\0\xc0\x3f", "[1.5]"),
        (b"\xF2\xF0\xD7\x02\x02\x01\x02\x03\x04", "[[1,2],[3,4]]"),
        (b"\xF3\xF1\xD7\x01\0\x02\0\x01\x02", "[[1],[2]]"),
        (b"\xF0\xE0\x01\x00", "InvalidMarker(224)"),
        (b"\xF2\xF1\xD7\x01\x01\x01", "InvalidMarker(241)"),
        (b"\xF0\xD8\x03\x01", "UnexpectedEnd"),
        // Counts and lengths that do not fit what is there.
        (b"\xE5\x02\x03\x01\x02", "InvalidLength"),
        (b"\xE2\x03\x01\x02", "UnexpectedEnd"),
        (b"\xE2\x02\xE2\x03\x01\x02", "InvalidLength"),
        (b"\xE2\x01\xC8\x01", "InvalidLength"),
        (b"\xEA\x02\x81a\x01", "InvalidLength"),
        (b"\xE9\x01\x01", "InvalidMarker(1)"),
        (b"\xE1", "UnexpectedEnd"),
        (b"\x01\x02", "TrailingData"),
        (b"", "UnexpectedEnd"),
        (b"\xFF", "InvalidMarker(255)"),
    ] {
        assert_eq!(text(body), expected, "{body:x?}");
    }
}

#[test]
fn references_go_back_to_a_string_and_no_further() {
    for (body, expected) in [
        (&b"\xE2\x07\x84name\xC3\x03"[..], r#"["name","name"]"#),
        (b"\xE2\x08\x84name\xC4\x03\0", r#"["name","name"]"#),
        (b"\xE2\x09\x84name\xC5\x03\0\0", r#"["name","name"]"#),
        (b"\xE2\x0a\x84name\xC6\x03\0\0\0", r#"["name","name"]"#),
        (b"\xE2\x0a\xE9\x81a\x01\xE9\xC3\x04\x02", "UnexpectedEnd"),
        (
            b"\xE2\x08\xE9\x81a\x01\xE9\xC3\x04\x02",
            r#"[{"a":1},{"a":2}]"#,
        ),
        (b"\xC3\x01", "InvalidLength"),
        (b"\xC3\x00", "InvalidLength"),
        (b"\xC3\xff", "InvalidLength"),
        (b"\xE2\x03\x01\xC3\x03", "InvalidMarker(1)"),
        (b"\xE2\x06\x81a\xC3\x03\xC3\x05", "InvalidLength"),
    ] {
        assert_eq!(text(body), expected, "{body:x?}");
    }
}

#[test]
fn a_small_body_does_not_become_a_huge_document() {
    let long = vec![b'x'; 60_000];
    let mut body = vec![0xC1];
    body.extend_from_slice(&60_000u16.to_le_bytes());
    body.extend_from_slice(&long);
    for _ in 0..100_000 {
        body.extend_from_slice(&[0xC3, 0x06]);
    }
    let mut bytes = vec![0x80, 0xE4];
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&body);
    assert_eq!(decode(&bytes).unwrap_err(), Kind::TooLarge);
    // Arrays of arrays without elements have no bytes at all.
    let body = [0xF3, 0xF1, 0xD7, 0, 0, 0xFF, 0xFF].repeat(10_000);
    let mut bytes = vec![0x80, 0xE4];
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&body);
    assert_eq!(decode(&bytes).unwrap_err(), Kind::TooLarge);
}

#[test]
fn names_that_come_twice_are_treated_as_in_text() {
    let limits = Limits {
        depth_max: 128,
        duplicates_refused: &["id", "ttl"],
    };
    let twice = b"\x80\xEA\x06\x81a\x01\x81a\x02";
    assert_eq!(
        cosmos_binary::decode(twice, &limits).unwrap().to_string(),
        r#"{"a":2}"#
    );
    for body in [
        &b"\x80\xEA\x0a\x83ttl\x01\x83ttl\x02"[..],
        b"\x80\xEA\x0b\x83ttl\x01\xC0\x03ttl\x02",
    ] {
        let error = cosmos_binary::decode(body, &limits).unwrap_err();
        assert_eq!(error.kind, Kind::Duplicate("ttl".into()));
    }
    let nested = b"\x80\xE9\x81a\xEA\x0a\x83ttl\x01\x83ttl\x02";
    assert!(cosmos_binary::decode(nested, &limits).is_ok());
    assert!(json::parse(nested, &limits).is_err());
}
