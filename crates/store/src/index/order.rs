//! What can be read back from the bytes of an index: the order of values, and the values themselves where they are whole.

use lapsedb_value::Value;

use super::encode::{self, STRING_PREFIX_BYTES_MAX};

/// Bytes of a string that decide its place in a sorted result; strings that agree in so many tie.
pub const SORT_STRING_BYTES_MAX: usize = 1024;

const STRING: u8 = 0x08;
const END: u8 = 0x00;
const ESCAPE: u8 = 0x01;
const CUT: u8 = 0xFF;

/// Appends bytes that sort as values do in a result. Where the index keeps a value whole they are its bytes there; of a long
/// string more is kept, and what the index has kept of it comes first. Bytes of one value never begin those of another.
pub fn sort_bytes(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::String(text) if text.len() > STRING_PREFIX_BYTES_MAX => {
            out.extend_from_slice(&encode::string_prefix(text));
            out.push(CUT);
            let bytes = text.as_bytes();
            let kept = bytes.len().min(SORT_STRING_BYTES_MAX);
            for byte in bytes.get(STRING_PREFIX_BYTES_MAX..kept).unwrap_or_default() {
                if *byte <= ESCAPE {
                    out.extend_from_slice(&[ESCAPE, byte + 1]);
                } else {
                    out.push(*byte);
                }
            }
            out.push(if kept < bytes.len() { CUT } else { END });
        }
        _ => out.extend_from_slice(&encode::value_bytes(value)),
    }
}

/// Appends bytes that sort as values do and that two values share only if they are equal.
pub fn identity_bytes(value: &Value, out: &mut Vec<u8>) {
    sort_bytes(value, out);
    let whole = match value {
        Value::String(text) => text.len() <= SORT_STRING_BYTES_MAX,
        value => encode::is_exact(value),
    };
    if !whole {
        let mut bytes = Vec::new();
        encode::whole(value, &mut bytes);
        let hash = murmur3::murmur3_x64_128(&mut bytes.as_slice(), 0).unwrap_or_default();
        out.extend_from_slice(&hash.to_be_bytes());
    }
}

/// How many of the first bytes of an encoded value sort as the value does, if not all: what begins with the same ones must be
/// compared by the values themselves.
#[must_use]
pub fn tie_len(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&STRING) {
        return None;
    }
    // Neither byte occurs inside: zero is escaped, and FF is not UTF-8.
    let end = bytes.iter().position(|byte| matches!(*byte, END | CUT))?;
    (bytes.get(end) == Some(&CUT)).then_some(end + 1)
}

/// The same for several encoded values one behind the other, some of them inverted: see [`super::composite`].
#[must_use]
pub fn tie_len_of_parts(bytes: &[u8], falling: &[bool]) -> Option<usize> {
    let mut at = 0;
    for falling in falling {
        let turned = |byte: &u8| if *falling { !*byte } else { *byte };
        let rest = bytes.get(at..)?;
        let len = match encode::len_behind(turned(rest.first()?)) {
            None => {
                let end = rest
                    .iter()
                    .position(|byte| matches!(turned(byte), END | CUT))?;
                if rest.get(end).map(turned) == Some(CUT) {
                    return Some(at + end + 1);
                }
                end + 1
            }
            Some(behind) => 1 + behind,
        };
        at += len;
    }
    None
}

/// The value that an entry of the index was made from, if the entry tells.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Value> {
    match bytes {
        [0x01] => Some(Value::Null),
        [0x02] => Some(Value::Bool(false)),
        [0x03] => Some(Value::Bool(true)),
        [STRING, rest @ ..] => decode_string(rest),
        number => encode::decode_number(number),
    }
}

fn decode_string(bytes: &[u8]) -> Option<Value> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    loop {
        match *rest.next()? {
            END => break,
            CUT => return None,
            ESCAPE => text.push(rest.next()?.checked_sub(1)?),
            byte => text.push(byte),
        }
    }
    String::from_utf8(text).ok().map(Value::from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lapsedb_value::order::compare_sql;

    fn values() -> Vec<Value> {
        let long = "x".repeat(300);
        let mut values = vec![Value::Null, Value::Bool(false), Value::Bool(true)];
        values.extend([-1e300, -2.5, -1.0, 0.0, 0.5, 1.0, 3.0, 1e10, 1e300].map(Value::number));
        let edges = [i64::MIN, -(1 << 53), 1 << 53, i64::MAX - 1];
        values.extend(
            edges
                .into_iter()
                .flat_map(|edge| [edge, edge + 1])
                .map(Value::Int64),
        );
        let texts = [
            "",
            "\0",
            "\0\0",
            "\u{1}",
            "a",
            "a\0",
            "ab",
            "ä",
            "\u{10ffff}",
        ];
        values.extend(texts.map(Value::from));
        for end in ["", "a", "ab", "b"] {
            values.push(Value::from(format!("{long}{end}")));
        }
        values
    }

    #[test]
    fn sort_bytes_sort_as_the_values() {
        let bytes = |value: &Value| {
            let mut out = Vec::new();
            sort_bytes(value, &mut out);
            out
        };
        for a in values() {
            for b in values() {
                assert_eq!(bytes(&a).cmp(&bytes(&b)), compare_sql(&a, &b), "{a} {b}");
                let begins = bytes(&a).starts_with(&bytes(&b));
                assert_eq!(begins, compare_sql(&a, &b).is_eq(), "{a} {b}");
            }
        }
    }

    #[test]
    fn short_values_are_read_back_and_long_ones_are_not() {
        for value in values() {
            let bytes = encode::value_bytes(&value);
            let whole = value.as_str().is_none_or(|text| text.len() <= 256);
            let back = decode(&bytes);
            assert_eq!(back.is_some(), whole, "{value}");
            assert!(
                back.is_none_or(|back| compare_sql(&back, &value).is_eq()),
                "{value}"
            );
            let long = value.as_str().is_some_and(|text| text.len() > 256);
            assert_eq!(tie_len(&bytes), long.then_some(258), "{value}");
        }
        let list = Value::Array(vec![Value::Null]);
        assert!(decode(&encode::value_bytes(&list)).is_none());
    }
}
