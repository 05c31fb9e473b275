//! Text counted in UTF-16 code units, as the service counts it.

use lapsedb_value::Value;

/// How many units a text has.
pub(crate) fn length(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    }
}

/// The byte where that unit begins; the end if there are fewer. A unit inside a character counts for
/// the next one.
pub(crate) fn byte_at(text: &str, unit: usize) -> usize {
    if text.is_ascii() {
        return unit.min(text.len());
    }
    let mut passed = 0;
    for (at, c) in text.char_indices() {
        if passed >= unit {
            return at;
        }
        passed += c.len_utf16();
    }
    text.len()
}

/// So many units from that one on. Half of a character becomes the replacement character.
pub(crate) fn slice(text: &str, start: usize, count: usize) -> Value {
    if text.is_ascii() {
        let start = start.min(text.len());
        let end = start.saturating_add(count).min(text.len());
        return Value::from(text.get(start..end).unwrap_or_default());
    }
    let units: Vec<u16> = text.encode_utf16().skip(start).take(count).collect();
    Value::from(String::from_utf16_lossy(&units))
}
