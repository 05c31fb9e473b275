//! What JSON means here, case by case.

use lapsedb_value::json::{self, JsonErrorKind as Kind, Limits};
use lapsedb_value::{Object, Value};

fn parse(text: &str) -> Result<Value, Kind> {
    json::parse(text.as_bytes(), &Limits::DEFAULT).map_err(|error| error.kind)
}

fn same(text: &str) -> String {
    parse(text).unwrap().to_string()
}

#[test]
fn values_print_compactly() {
    for (text, expected) in [
        ("null", "null"),
        (" true ", "true"),
        ("\t\r\nfalse", "false"),
        ("[ ]", "[]"),
        ("{ }", "{}"),
        ("[1 , 2,3 ]", "[1,2,3]"),
        (
            "{ \"a\" : { \"b\" : [ ] } , \"c\":null }",
            "{\"a\":{\"b\":[]},\"c\":null}",
        ),
        (r#""\u0041\/\b\f\n\r\t\"\\""#, r#""A/\b\f\n\r\t\"\\""#),
        (r#""\u0000\u001f\u007f""#, "\"\\u0000\\u001f\u{7f}\""),
        (r#""\ud83d\ude00 \u4e2d""#, "\"😀 中\""),
        ("\"\u{2028}\u{10ffff}\"", "\"\u{2028}\u{10ffff}\""),
    ] {
        assert_eq!(same(text), expected, "{text}");
    }
}

#[test]
fn numbers_have_one_canonical_kind() {
    for (text, expected) in [
        ("0", "Int32(0)"),
        ("-0", "Int32(0)"),
        ("-0.0", "Int32(0)"),
        ("0e5", "Int32(0)"),
        ("1.0", "Int32(1)"),
        ("1e3", "Int32(1000)"),
        ("6E1", "Int32(60)"),
        ("2147483647", "Int32(2147483647)"),
        ("2147483648", "Int64(2147483648)"),
        ("-2147483648", "Int32(-2147483648)"),
        ("-2147483649", "Int64(-2147483649)"),
        ("2147483647.5", "Double(2147483647.5)"),
        ("9007199254740992", "Int64(9007199254740992)"),
        ("-9007199254740992", "Int64(-9007199254740992)"),
        // 2^53 + 1 is no double. With a point it is one, and rounded.
        ("9007199254740993", "Int64(9007199254740993)"),
        ("-9007199254740993", "Int64(-9007199254740993)"),
        ("9007199254740993.0", "Int64(9007199254740992)"),
        ("9007199254740994", "Int64(9007199254740994)"),
        ("1e18", "Int64(1000000000000000000)"),
        ("1000000000000000001", "Int64(1000000000000000001)"),
        ("9223372036854775807", "Int64(9223372036854775807)"),
        ("9223372036854775808", "Double(9.223372036854776e18)"),
        ("9999999999999999999", "Double(1e19)"),
        ("-9223372036854775807", "Int64(-9223372036854775807)"),
        ("-9223372036854775808", "Int64(-9223372036854775808)"),
        // The nearest double is the smallest integer.
        ("-9223372036854775809", "Int64(-9223372036854775808)"),
        ("-9223372036854777000", "Double(-9.223372036854778e18)"),
        ("18446744073709551615", "Double(1.8446744073709552e19)"),
        ("18446744073709551616", "Double(1.8446744073709552e19)"),
        // Digits that would be 1 if they wrapped around.
        ("18446744073709551617", "Double(1.8446744073709552e19)"),
        ("00", "InvalidNumber"),
        ("-0000000000000000000", "InvalidNumber"),
        ("1e308", "Double(1e308)"),
        ("1e-400", "Int32(0)"),
        ("-1e-400", "Int32(0)"),
        ("0.1", "Double(0.1)"),
        (
            "123456789012345678901234567890e-29",
            "Double(1.2345678901234567)",
        ),
        ("5e-324", "Double(5e-324)"),
    ] {
        let found =
            parse(text).map_or_else(|kind| format!("{kind:?}"), |value| format!("{value:?}"));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn control_characters_in_strings_need_no_escape_and_get_one() {
    for code in 0..0x20u8 {
        let raw = format!("{{\"a{0}\":\"{0}b{0}{0}\\n\"}}", char::from(code));
        let escaped =
            format!("{{\"a\\u{code:04x}\":\"\\u{code:04x}b\\u{code:04x}\\u{code:04x}\\n\"}}");
        assert_eq!(same(&raw), same(&escaped), "{code}");
        assert!(same(&raw).bytes().all(|byte| byte >= 0x20), "{code}");
    }
    // A long string takes another way through the parser.
    let long = format!("\"{}\n{}\"", "x".repeat(100), "y".repeat(100));
    assert_eq!(same(&long), long.replace('\n', "\\n"));
}

#[test]
fn numbers_print_as_they_are_read() {
    for (n, expected) in [
        (3.0, "3"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e18, "1000000000000000000"),
        (2f64.powi(60), "1152921504606846976"),
        (-(2f64.powi(63)), "-9223372036854775808"),
        (2f64.powi(63), "9.223372036854776e+18"),
        (-(2f64.powi(64)), "-1.8446744073709552e+19"),
        (1e20, "1e+20"),
        (1e21, "1e+21"),
        (123456789012345680000.0, "1.2345678901234568e+20"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (-1.5e300, "-1.5e+300"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (9007199254740992.0, "9007199254740992"),
        (9007199254740994.0, "9007199254740994"),
        (4294967296.5, "4294967296.5"),
        (f64::NAN, "{\"$numberDouble\":\"NaN\"}"),
        (f64::INFINITY, "{\"$numberDouble\":\"Infinity\"}"),
        (f64::NEG_INFINITY, "{\"$numberDouble\":\"-Infinity\"}"),
    ] {
        assert_eq!(Value::Double(n).to_string(), expected);
    }
    for n in [
        0,
        7,
        10,
        99,
        100,
        101,
        999,
        1000,
        -1,
        i64::MAX,
        i64::MIN,
        1 << 53,
        -(1 << 53) - 1,
    ] {
        assert_eq!(Value::Int64(n).to_string(), n.to_string());
    }
    for power in 0..19 {
        for near in [-1, 0, 1] {
            let n = 10i64.pow(power) + near;
            assert_eq!(Value::Int64(n).to_string(), n.to_string());
        }
    }
}

#[test]
fn what_is_not_json_is_refused() {
    for (text, expected) in [
        ("", Kind::UnexpectedEnd),
        ("  ", Kind::UnexpectedEnd),
        ("nul", Kind::UnexpectedEnd),
        ("nulL", Kind::UnexpectedByte(b'L')),
        ("truefalse", Kind::TrailingData),
        ("NaN", Kind::UnexpectedByte(b'N')),
        ("Infinity", Kind::UnexpectedByte(b'I')),
        ("-Infinity", Kind::InvalidNumber),
        ("060", Kind::InvalidNumber),
        ("-01", Kind::InvalidNumber),
        ("+60", Kind::UnexpectedByte(b'+')),
        ("0x3C", Kind::TrailingData),
        ("60.", Kind::UnexpectedEnd),
        ("60.,", Kind::InvalidNumber),
        (".5", Kind::UnexpectedByte(b'.')),
        ("1_000", Kind::TrailingData),
        ("1e", Kind::UnexpectedEnd),
        ("1e+", Kind::UnexpectedEnd),
        ("1e+x", Kind::InvalidNumber),
        ("-", Kind::UnexpectedEnd),
        ("1e400", Kind::NumberRange),
        ("-1e400", Kind::NumberRange),
        ("[1,]", Kind::UnexpectedByte(b']')),
        ("[,1]", Kind::UnexpectedByte(b',')),
        ("[1 2]", Kind::UnexpectedByte(b'2')),
        ("[1", Kind::UnexpectedEnd),
        ("[1}", Kind::UnexpectedByte(b'}')),
        ("{\"a\":1,}", Kind::UnexpectedByte(b'}')),
        ("{\"a\" 1}", Kind::UnexpectedByte(b'1')),
        ("{a:1}", Kind::UnexpectedByte(b'a')),
        ("{1:1}", Kind::UnexpectedByte(b'1')),
        ("{'a':1}", Kind::UnexpectedByte(b'\'')),
        ("{\"a\":}", Kind::UnexpectedByte(b'}')),
        ("{\"a\"", Kind::UnexpectedEnd),
        ("{}{}", Kind::TrailingData),
        ("1 2", Kind::TrailingData),
        ("\"a", Kind::UnexpectedEnd),
        ("\"a\n", Kind::UnexpectedEnd),
        ("\0\"\"", Kind::UnexpectedByte(0)),
        ("[1,\u{b}2]", Kind::UnexpectedByte(0x0B)),
        ("{\"a\"\u{1}:1}", Kind::UnexpectedByte(1)),
        ("\"\\", Kind::UnexpectedEnd),
        ("\"\\x\"", Kind::InvalidEscape),
        ("\"\\u12g4\"", Kind::InvalidEscape),
        ("\"\\u12", Kind::UnexpectedEnd),
        ("\"\\u12\"", Kind::InvalidEscape),
        ("\"\\ud800\"", Kind::LoneSurrogate),
        ("\"\\ud800x\"", Kind::LoneSurrogate),
        ("\"\\ud800\\n\"", Kind::LoneSurrogate),
        ("\"\\ud800\\ud800\"", Kind::LoneSurrogate),
        ("\"\\udc00\\ud800\"", Kind::LoneSurrogate),
        ("\u{feff}1", Kind::UnexpectedByte(0xEF)),
        ("// 1\n1", Kind::UnexpectedByte(b'/')),
        ("\u{a0}1", Kind::UnexpectedByte(0xC2)),
    ] {
        assert_eq!(
            parse(text).map(|value| value.to_string()),
            Err(expected),
            "{text}"
        );
    }
}

#[test]
fn bytes_that_are_not_utf8_are_refused() {
    for bytes in [
        &b"\"\xff\""[..],
        b"\"\xc0\x80\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\xe4\xb8\"",
    ] {
        let error = json::parse(bytes, &Limits::DEFAULT).unwrap_err();
        assert_eq!((error.kind, error.offset), (Kind::InvalidUtf8, 1));
    }
}

#[test]
fn errors_say_where() {
    let error = json::parse(b"{\n  \"a\": [1,\n  x]\n}", &Limits::DEFAULT).unwrap_err();
    assert_eq!((error.line, error.offset), (3, 15));
    assert_eq!(
        error.to_string(),
        "The character 'x' cannot stand here in JSON, at line 3, byte 15."
    );
}

#[test]
fn the_last_of_several_members_wins_in_the_first_place() {
    assert_eq!(same(r#"{"a":1,"b":2,"a":3}"#), r#"{"a":3,"b":2}"#);
    assert_eq!(same(r#"{"a":1,"\u0061":2}"#), r#"{"a":2}"#);
    assert_eq!(
        same(r#"[{"a":1,"a":{"x":1,"x":2}},{"a":1}]"#),
        r#"[{"a":{"x":2}},{"a":1}]"#
    );
    // The same with so many members that they are hashed.
    for total in 2..40 {
        let mut text: String = (0..total).map(|n| format!("\"k{n}\":{n},")).collect();
        text = format!("{{{text}\"k1\":-1,\"k0\":-2}}");
        let value = parse(&text).unwrap();
        let object = value.as_object().unwrap();
        assert_eq!(object.len(), total);
        assert_eq!(value.get("k0").as_i64(), Some(-2));
        assert_eq!(value.get("k1").as_i64(), Some(-1));
        assert!(
            object
                .keys()
                .enumerate()
                .all(|(n, name)| *name == format!("k{n}"))
        );
    }
}

#[test]
fn refused_names_may_not_come_twice_at_the_top() {
    let limits = Limits {
        depth_max: 128,
        duplicates_refused: &["id", "ttl"],
    };
    let parse = |text: &str| json::parse(text.as_bytes(), &limits);
    for text in [
        r#"{"ttl":10,"ttl":-1}"#,
        r#"{"ttl":1,"a":2,"ttl":1}"#,
        r#"{"ttl":1,"\u0074tl":1}"#,
        r#"{"\u0074tl":1,"ttl":1}"#,
    ] {
        assert_eq!(
            parse(text).unwrap_err().kind,
            Kind::Duplicate("ttl".into()),
            "{text}"
        );
    }
    let error = parse(r#"{"id":"a", "id":"a"}"#).unwrap_err();
    assert_eq!(
        (error.kind, error.offset),
        (Kind::Duplicate("id".into()), 11)
    );
    for text in [
        r#"{"ttl":1,"a":{"ttl":1,"ttl":2}}"#,
        r#"[{"ttl":1,"ttl":2}]"#,
        r#"{"ttl":1,"TTL":2,"ttl ":3}"#,
        r#"{"a":1,"a":2}"#,
    ] {
        parse(text).unwrap();
    }
}

#[test]
fn undefined_is_left_out() {
    let mut object = Object::new();
    object.push("a", Value::Undefined);
    object.push(
        "b",
        Value::Array(vec![Value::Undefined, 1.into(), Value::Undefined, 2.into()]),
    );
    object.push("c", Value::Undefined);
    assert_eq!(Value::Object(object).to_string(), r#"{"b":[1,2]}"#);
    assert_eq!(Value::Undefined.to_string(), "");
}

#[test]
fn values_stay_small() {
    assert!(size_of::<Value>() <= 32, "{}", size_of::<Value>());
}
