//! BSON bytes, case by case, and the JSON they leave as.

use lapsedb_value::bson::{self, BsonErrorKind as Kind};
use lapsedb_value::{Object, Value, json, order};

fn bytes_of(value: Value) -> Vec<u8> {
    let mut out = Vec::new();
    bson::write_document(&Object::from(vec![("v".into(), value)]), &mut out);
    out
}

/// The text of a value, after making sure that both writers and the reader agree on it.
fn text_of(value: Value) -> String {
    let bytes = bytes_of(value.clone());
    assert_eq!(lapsedb_value::fuzz::bson(&bytes), Ok(()));
    let object = bson::read_document(&bytes).unwrap();
    assert!(order::deep_equal(object.get("v").unwrap(), &value));
    json::to_string(&value)
}

#[test]
fn the_example_of_the_specification() {
    let expected = b"\x16\x00\x00\x00\x02hello\x00\x06\x00\x00\x00world\x00\x00";
    let mut object = Object::new();
    object.push("hello", "world");
    let mut out = Vec::new();
    bson::write_document(&object, &mut out);
    assert_eq!(out, expected);
    let value = json::parse(br#"{"BSON":["awesome",5.05,1986]}"#, &json::Limits::DEFAULT).unwrap();
    let expected =
        b"\x31\x00\x00\x00\x04BSON\x00\x26\x00\x00\x00\x020\x00\x08\x00\x00\x00awesome\x00\
        \x011\x00\x33\x33\x33\x33\x33\x33\x14\x40\x102\x00\xc2\x07\x00\x00\x00\x00";
    out.clear();
    bson::write_document(value.as_object().unwrap(), &mut out);
    assert_eq!(out, expected);
}

#[test]
fn dates_are_printed_by_the_calendar_where_it_has_four_digits() {
    for (millis, expected) in [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (951_782_400_000, "2000-02-29T00:00:00Z"),
        (1_709_164_800_120, "2024-02-29T00:00:00.120Z"),
        (4_107_542_399_000, "2100-02-28T23:59:59Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (-62_167_219_200_000, "0000-01-01T00:00:00Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00Z"),
        (-62_162_035_200_000, "0000-03-01T00:00:00Z"),
    ] {
        assert_eq!(
            text_of(Value::Date(millis)),
            format!("{{\"$date\":\"{expected}\"}}")
        );
    }
    for millis in [253_402_300_800_000, -62_167_219_200_001, i64::MAX, i64::MIN] {
        let expected = format!("{{\"$date\":{{\"$numberLong\":\"{millis}\"}}}}");
        assert_eq!(text_of(Value::Date(millis)), expected);
    }
}

/// Every day of the calendar that has four-digit years follows the one before it.
#[test]
fn no_day_is_missing() {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut millis = -62_167_219_200_000;
    for year in 0..10_000 {
        let february = if is_leap(year) { 29 } else { 28 };
        let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, length) in (1..).zip(lengths) {
            for day in [1, 2, length - 1, length] {
                let expected = format!("{{\"$date\":\"{year:04}-{month:02}-{day:02}T00:00:00Z\"}}");
                assert_eq!(
                    json::to_string(&Value::Date(millis + (day - 1) * 86_400_000)),
                    expected
                );
            }
            millis += length * 86_400_000;
        }
    }
}

#[test]
fn decimals_are_printed_with_all_their_digits() {
    // High and low halves, as the specification of the format lists them.
    for (high, low, expected) in [
        (0x3040_0000_0000_0000u64, 0u128, "0"),
        (0xB040_0000_0000_0000, 0, "-0"),
        (0x3040_0000_0000_0000, 1, "1"),
        (0xB040_0000_0000_0000, 1, "-1"),
        (0x3040_0000_0000_0000, 60, "60"),
        (0x303E_0000_0000_0000, 1, "0.1"),
        (0x303C_0000_0000_0000, 150, "1.50"),
        (0x3034_0000_0000_0000, 0x4D2, "0.001234"),
        (0x3036_0000_0000_0000, 0, "0.00000"),
        (0x3032_0000_0000_0000, 0, "0E-7"),
        (0x3046_0000_0000_0000, 0, "0E+3"),
        (0x3042_0000_0000_0000, 1, "1E+1"),
        (0x3044_0000_0000_0000, 12, "1.2E+3"),
        (0x302C_0000_0000_0000, 105, "1.05E-8"),
        (
            0x3040_0000_0000_0000,
            12_345_678_901_234_567,
            "12345678901234567",
        ),
        (
            0x2FFE_314D_C644_8D93,
            0x38C1_5B0A_0000_0000,
            "1.000000000000000000000000000000000",
        ),
        (
            0x5FFE_314D_C644_8D93,
            0x38C1_5B0A_0000_0000,
            "1.000000000000000000000000000000000E+6144",
        ),
        (
            0x5FFF_ED09_BEAD_87C0,
            0x378D_8E63_FFFF_FFFF,
            "9.999999999999999999999999999999999E+6144",
        ),
        (0x0000_0000_0000_0000, 1, "1E-6176"),
        (0x7800_0000_0000_0000, 0, "Infinity"),
        (0xF800_0000_0000_0000, 0, "-Infinity"),
        (0x7C00_0000_0000_0000, 0, "NaN"),
        (0xFC00_0000_0000_0012, 7, "NaN"),
        // More than 34 digits, and the form that implies as many: both mean zero.
        (0x3041_ED09_BEAD_87C0, 0x378D_8E64_0000_0000, "0"),
        (0x6C10_0000_0000_0000, 0, "0"),
    ] {
        let bits = u128::from(high) << 64 | low;
        let value = Value::Decimal128(bits.to_le_bytes());
        assert_eq!(
            text_of(value),
            format!("{{\"$numberDecimal\":\"{expected}\"}}"),
            "{high:x}"
        );
    }
}

#[test]
fn the_other_kinds_leave_as_relaxed_extended_json() {
    let id = [
        0x50, 0x7F, 0x1F, 0x77, 0xBC, 0xF8, 0x6C, 0xD7, 0x99, 0x43, 0x90, 0x11,
    ];
    for (value, expected) in [
        (
            Value::ObjectId(id),
            r#"{"$oid":"507f1f77bcf86cd799439011"}"#,
        ),
        (
            Value::Binary {
                subtype: 0,
                bytes: b"hello".to_vec(),
            },
            r#"{"$binary":{"base64":"aGVsbG8=","subType":"00"}}"#,
        ),
        (
            Value::Binary {
                subtype: 2,
                bytes: vec![0xFF],
            },
            r#"{"$binary":{"base64":"/w==","subType":"02"}}"#,
        ),
        (
            Value::Binary {
                subtype: 0x80,
                bytes: vec![],
            },
            r#"{"$binary":{"base64":"","subType":"80"}}"#,
        ),
        (
            Value::Timestamp(42 << 32 | 1),
            r#"{"$timestamp":{"t":42,"i":1}}"#,
        ),
        (
            Value::Timestamp(u64::MAX),
            r#"{"$timestamp":{"t":4294967295,"i":4294967295}}"#,
        ),
        (
            Value::Regex {
                pattern: Box::new("a\"b".into()),
                options: Box::new("im".into()),
            },
            r#"{"$regularExpression":{"pattern":"a\"b","options":"im"}}"#,
        ),
        (Value::Code("f()".into()), r#"{"$code":"f()"}"#),
        (
            Value::CodeWithScope {
                code: Box::new("f(x)".into()),
                scope: Box::new(vec![("x".into(), 1.into())].into()),
            },
            r#"{"$code":"f(x)","$scope":{"x":1}}"#,
        ),
        (Value::Symbol("s".into()), r#"{"$symbol":"s"}"#),
        (
            Value::DbPointer {
                ns: Box::new("d.c".into()),
                id,
            },
            r#"{"$dbPointer":{"$ref":"d.c","$id":{"$oid":"507f1f77bcf86cd799439011"}}}"#,
        ),
        (Value::MinKey, r#"{"$minKey":1}"#),
        (Value::MaxKey, r#"{"$maxKey":1}"#),
        (Value::Double(f64::NAN), r#"{"$numberDouble":"NaN"}"#),
        (Value::Double(60.0), "60"),
        (Value::Int64(i64::MAX), "9223372036854775807"),
    ] {
        assert_eq!(text_of(value), expected);
    }
}

#[test]
fn names_may_hold_anything_that_json_lets_them_hold() {
    let text = r#"{"":1,"\u0000":2,"a\u0000b\u0000":3,"ä\u0000中":4,"\"\\\n":5,"ä":{"\u0000":6}}"#;
    let value = json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap();
    let mut bytes = Vec::new();
    bson::write_document(value.as_object().unwrap(), &mut bytes);
    assert_eq!(lapsedb_value::fuzz::bson(&bytes), Ok(()));
    let mut members = Vec::new();
    assert_eq!(bson::json_members(&bytes, &mut members), Ok(6));
    assert_eq!(format!("{{{}}}", String::from_utf8(members).unwrap()), text);
    let found = bson::find(&bytes, &["ä", "\0"]).unwrap().unwrap();
    assert_eq!(found.as_i64(), Some(6));
    assert!(
        bson::find(&bytes, &["ä", "\u{c0}\u{80}"])
            .unwrap()
            .is_none()
    );
}

#[test]
fn members_are_found_through_documents_only() {
    let text = br#"{"a":{"b":{"c":"deep"}},"list":[{"b":1}],"n":1.5,"i":7,"s":"x"}"#;
    let value = json::parse(text, &json::Limits::DEFAULT).unwrap();
    let mut bytes = Vec::new();
    bson::write_document(value.as_object().unwrap(), &mut bytes);
    let find = |path: &[&str]| bson::find(&bytes, path).unwrap();
    assert_eq!(find(&["a", "b", "c"]).unwrap().as_str(), Some("deep"));
    assert_eq!(find(&["n"]).unwrap().as_f64(), Some(1.5));
    assert_eq!(find(&["n"]).unwrap().as_i64(), None);
    assert_eq!(find(&["i"]).unwrap().as_i64(), Some(7));
    assert_eq!(
        find(&["list"]).unwrap().to_value().unwrap().to_string(),
        r#"[{"b":1}]"#
    );
    assert_eq!(
        find(&["a", "b"]).unwrap().to_value().unwrap().to_string(),
        r#"{"c":"deep"}"#
    );
    assert_eq!(
        find(&[])
            .unwrap()
            .to_value()
            .unwrap()
            .to_string()
            .as_bytes(),
        text
    );
    for absent in [
        &["x"][..],
        &["a", "x"],
        &["list", "0"],
        &["s", "x"],
        &["a", "b", "c", "d"],
    ] {
        assert!(find(absent).is_none(), "{absent:?}");
    }
}

/// A document of one element from its parts.
fn framed(element: &[u8]) -> Vec<u8> {
    let length = (element.len() as i32 + 5).to_le_bytes();
    length.iter().chain(element).chain(&[0]).copied().collect()
}

#[test]
fn undefined_reads_as_absent() {
    let bytes = framed(b"\x06u\0\x04a\0\x0b\x00\x00\x00\x060\0\x0a1\0\0\x08t\0\x01");
    let object = bson::read_document(&bytes).unwrap();
    assert_eq!(
        Value::Object(object).to_string(),
        r#"{"a":[null,null],"t":true}"#
    );
    assert_eq!(lapsedb_value::fuzz::bson(&bytes), Ok(()));
    assert!(bson::find(&bytes, &["u"]).unwrap().is_none());
}

#[test]
fn members_of_the_same_name_are_all_kept() {
    let bytes = framed(b"\x10ttl\0\x0a\0\0\0\x10ttl\0\xff\xff\xff\xff");
    let object = bson::read_document(&bytes).unwrap();
    assert_eq!(Value::Object(object).to_string(), r#"{"ttl":10,"ttl":-1}"#);
    assert_eq!(
        bson::find(&bytes, &["ttl"]).unwrap().unwrap().as_i64(),
        Some(10)
    );
}

#[test]
fn broken_documents_are_refused_with_a_reason() {
    for (bytes, expected) in [
        (b"".to_vec(), Kind::UnexpectedEnd),
        (b"\x05\0\0".to_vec(), Kind::UnexpectedEnd),
        (b"\x04\0\0\0\0".to_vec(), Kind::InvalidLength),
        (b"\xff\xff\xff\xff\0".to_vec(), Kind::InvalidLength),
        (b"\x05\0\0\0\x01".to_vec(), Kind::InvalidLength),
        (b"\x05\0\0\0\0\0".to_vec(), Kind::InvalidLength),
        (b"\x06\0\0\0\0".to_vec(), Kind::InvalidLength),
        (framed(b"\x20a\0"), Kind::InvalidType(0x20)),
        (framed(b"\0a\0"), Kind::InvalidType(0)),
        (framed(b"\x10a\0\x01"), Kind::UnexpectedEnd),
        (framed(b"\x10a"), Kind::UnexpectedEnd),
        (framed(b"\x08a\0\x02"), Kind::InvalidBool),
        (framed(b"\x02a\0\0\0\0\0"), Kind::InvalidLength),
        (framed(b"\x02a\0\x02\0\0\0xy"), Kind::InvalidLength),
        (framed(b"\x02a\0\xff\xff\xff\xff\0"), Kind::InvalidLength),
        (framed(b"\x02a\0\x7f\0\0\0x\0"), Kind::UnexpectedEnd),
        (framed(b"\x02a\0\x03\0\0\0\xff\xff\0"), Kind::InvalidUtf8),
        (framed(b"\x0a\xff\0"), Kind::InvalidUtf8),
        (framed(b"\x0a\xc0\x81\0"), Kind::InvalidUtf8),
        (framed(b"\x03a\0\x06\0\0\0\0"), Kind::InvalidLength),
        (framed(b"\x05a\0\x01\0\0\0\x02x"), Kind::InvalidLength),
        (
            framed(b"\x05a\0\x05\0\0\0\x02\x02\0\0\0x"),
            Kind::InvalidLength,
        ),
        (
            framed(b"\x0fa\0\x0f\0\0\0\x01\0\0\0\0\x05\0\0\0\0"),
            Kind::InvalidLength,
        ),
    ] {
        let error = bson::read_document(&bytes).unwrap_err();
        assert_eq!(error.kind, expected, "{bytes:x?}");
        let mut out = b"kept".to_vec();
        assert_eq!(
            bson::json_members(&bytes, &mut out).unwrap_err().kind,
            expected
        );
        assert_eq!(out, b"kept");
        assert!(error.to_string().ends_with('.'));
    }
}
