//! Scanning and printing of JSON text, shared by the parser and both writers.
//!
//! Most text needs no escape, so everything here looks for the end of such a run, eight or more
//! bytes at a step, and copies the run as a whole.

/// Bytes that are looked at together once a run is long.
const BLOCK: usize = 32;

/// How far a run may go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// To the first byte that a JSON string cannot hold as it is: a quote, a backslash or a
    /// control character.
    Special,
    /// To the first such byte or the first that is not ASCII.
    SpecialOrWide,
}

/// How many bytes at the start need no escape, and with [`Until::SpecialOrWide`] are ASCII.
#[inline]
pub(crate) fn plain_run(bytes: &[u8], until: Until) -> usize {
    match until {
        Until::Special => scan::<false>(bytes),
        Until::SpecialOrWide => scan::<true>(bytes),
    }
}

#[inline]
fn scan<const ASCII: bool>(bytes: &[u8]) -> usize {
    let mut at = 0;
    for word in bytes.as_chunks::<8>().0 {
        let stops = stops::<ASCII>(u64::from_le_bytes(*word));
        if stops != 0 {
            return at + (stops.trailing_zeros() / 8) as usize;
        }
        at += 8;
        // Short texts are the rule; blocks pay off only after some words.
        if at == BLOCK {
            return scan_long::<ASCII>(bytes);
        }
    }
    scan_tail::<ASCII>(bytes, at)
}

/// Goes on after the first block has been found plain.
fn scan_long<const ASCII: bool>(bytes: &[u8]) -> usize {
    let mut at = scan_blocks::<ASCII>(bytes, BLOCK);
    for word in bytes[at..].as_chunks::<8>().0 {
        let stops = stops::<ASCII>(u64::from_le_bytes(*word));
        if stops != 0 {
            return at + (stops.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    scan_tail::<ASCII>(bytes, at)
}

/// The last bytes, fewer than a word. They are looked at together with bytes before them that are
/// known to be plain, so that one step is enough.
#[inline]
fn scan_tail<const ASCII: bool>(bytes: &[u8], at: usize) -> usize {
    if let Some(word) = bytes.last_chunk::<8>() {
        let stops = stops::<ASCII>(u64::from_le_bytes(*word));
        let begin = bytes.len() - 8;
        return begin + (stops.trailing_zeros() / 8) as usize;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let first = u64::from(u32::from_le_bytes(*first));
        let last = u64::from(u32::from_le_bytes(*last));
        let index = (stops::<ASCII>(first | last << 32).trailing_zeros() / 8) as usize;
        // The upper half of the word is the end of the text.
        return if index < 4 {
            index
        } else {
            bytes.len() + index - 8
        };
    }
    let rest = bytes[at..].iter().position(|byte| is_stop::<ASCII>(*byte));
    rest.map_or(bytes.len(), |more| at + more)
}

/// Passes over whole blocks without a stop; the compiler turns the inner loop into vectors.
fn scan_blocks<const ASCII: bool>(bytes: &[u8], mut at: usize) -> usize {
    for block in bytes[at..].as_chunks::<BLOCK>().0 {
        let mut found = false;
        for byte in block {
            found |= is_stop::<ASCII>(*byte);
        }
        if found {
            break;
        }
        at += BLOCK;
    }
    at
}

#[inline]
fn is_stop<const ASCII: bool>(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\') | (ASCII & (byte >= 0x80))
}

/// Sets the top bit of every byte that is a stop. Bits above the lowest one may be wrong, because
/// the subtractions borrow, and so only the lowest may be used.
#[inline]
fn stops<const ASCII: bool>(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = quote.wrapping_sub(ONES) & !quote;
    let slash = slash.wrapping_sub(ONES) & !slash;
    let wide = if ASCII { word } else { 0 };
    (control | quote | slash | wide) & TOPS
}

/// Appends text as a quoted and escaped JSON string.
#[inline]
pub(crate) fn write_quoted(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    write_escaped(text.as_bytes(), out);
    out.push(b'"');
}

/// Appends the inside of a JSON string; the bytes are known to be UTF-8.
#[inline]
pub(crate) fn write_escaped(mut bytes: &[u8], out: &mut Vec<u8>) {
    loop {
        let run = plain_run(bytes, Until::Special);
        out.extend_from_slice(&bytes[..run]);
        let Some(byte) = bytes.get(run) else { return };
        write_escape(*byte, out);
        bytes = &bytes[run + 1..];
    }
}

pub(crate) fn write_escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        0x08 => b'b',
        0x09 => b't',
        0x0A => b'n',
        0x0C => b'f',
        0x0D => b'r',
        _ => {
            out.extend_from_slice(b"\\u00");
            write_hex(&[byte], out);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Appends lower-case hexadecimal digits.
pub(crate) fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        let (high, low) = (byte >> 4, byte & 0x0F);
        out.extend_from_slice(&[DIGITS[usize::from(high)], DIGITS[usize::from(low)]]);
    }
}

/// The 64 characters of ordinary base64.
pub(crate) const BASE64: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The 64 characters of base64 for addresses.
pub(crate) const BASE64_URL: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Appends padded base64.
pub(crate) fn write_base64(bytes: &[u8], alphabet: &[u8; 64], out: &mut Vec<u8>) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    let digit = |bits: u32| alphabet[(bits & 0x3F) as usize];
    let (triples, rest) = bytes.as_chunks::<3>();
    for [a, b, c] in triples {
        let bits = u32::from(*a) << 16 | u32::from(*b) << 8 | u32::from(*c);
        out.extend_from_slice(&[
            digit(bits >> 18),
            digit(bits >> 12),
            digit(bits >> 6),
            digit(bits),
        ]);
    }
    match rest {
        [a] => {
            let bits = u32::from(*a) << 16;
            out.extend_from_slice(&[digit(bits >> 18), digit(bits >> 12), b'=', b'=']);
        }
        [a, b] => {
            let bits = u32::from(*a) << 16 | u32::from(*b) << 8;
            out.extend_from_slice(&[digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), b'=']);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte at every place of texts of many lengths, against the plain definition.
    #[test]
    fn runs_end_where_the_definition_says() {
        for length in 0..90 {
            for place in 0..length {
                for byte in 0..=255u8 {
                    let mut text = vec![b'x'; length];
                    text[place] = byte;
                    let special = if is_stop::<false>(byte) {
                        place
                    } else {
                        length
                    };
                    let wide = if is_stop::<true>(byte) { place } else { length };
                    assert_eq!(plain_run(&text, Until::Special), special);
                    assert_eq!(plain_run(&text, Until::SpecialOrWide), wide);
                }
            }
        }
    }

    /// A stop must not hide or move an earlier or later one.
    #[test]
    fn the_first_of_two_stops_ends_the_run() {
        let interesting = [
            0x00, 0x1F, 0x20, 0x21, b'"', 0x23, b'[', b'\\', b']', 0x7F, 0x80, 0xA2, 0xFF,
        ];
        for first in interesting {
            for second in interesting {
                for (a, b) in [(0, 1), (1, 2), (0, 7), (6, 7), (7, 8), (3, 40), (39, 40)] {
                    let mut text = vec![b'x'; 48];
                    text[a] = first;
                    text[b] = second;
                    let expected = text
                        .iter()
                        .position(|byte| is_stop::<false>(*byte))
                        .unwrap_or(48);
                    assert_eq!(
                        plain_run(&text, Until::Special),
                        expected,
                        "{first} {second} {a} {b}"
                    );
                    let expected = text
                        .iter()
                        .position(|byte| is_stop::<true>(*byte))
                        .unwrap_or(48);
                    assert_eq!(plain_run(&text, Until::SpecialOrWide), expected);
                }
            }
        }
    }

    #[test]
    fn base64_has_padding() {
        for (bytes, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = Vec::new();
            write_base64(bytes.as_bytes(), BASE64, &mut out);
            assert_eq!(out, expected.as_bytes());
        }
    }
}
