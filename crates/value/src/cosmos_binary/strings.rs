//! The many forms of a string: by number, plain, packed, as bytes of another text, by reference.

use super::{Decoder, Step, system_strings};
use crate::Str;
use crate::json::JsonErrorKind as Kind;
use crate::text::{BASE64, BASE64_URL, write_base64, write_hex};

const HEX_LOWER: &[u8; 16] = b"0123456789abcdef";
const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";
const DATE_TIME: &[u8; 16] = b" 0123456789:-.TZ";

/// Before these bytes of a GUID its text has a dash.
const GUID_DASHES: [usize; 4] = [4, 6, 8, 10];

/// The markers of references.
const REFERENCES: std::ops::RangeInclusive<u8> = 0xC3..=0xC6;

impl Decoder<'_> {
    /// The string whose marker has been read, at `begin`.
    pub(super) fn string(&mut self, marker: u8, begin: usize) -> Step<Str> {
        match marker {
            0x20..=0x3F => Ok(Str::const_new(system_strings::text(marker))),
            0x71..=0x74 => self.base64(marker),
            0x75 => self.guid(HEX_LOWER, ""),
            0x76 => self.guid(HEX_UPPER, ""),
            0x77 => self.guid(HEX_LOWER, "\""),
            0x78 => self.nibbles(HEX_LOWER),
            0x79 => self.nibbles(HEX_UPPER),
            0x7A => self.nibbles(DATE_TIME),
            0x7B..=0x7D => self.packed(usize::from(marker - 0x7B) + 4, 1, true),
            0x7E => self.packed(7, 1, false),
            0x7F => self.packed(7, 2, false),
            0x80..=0xBF => self.plain(usize::from(marker & 0x7F)),
            0xC0..=0xC2 => {
                let length = self.unsigned(1 << (marker - 0xC0))?;
                self.plain(length)
            }
            0xC3..=0xC6 => self.reference(usize::from(marker - 0xC2), begin),
            // User strings, 0x40 to 0x67, are numbers in a dictionary that nobody sends.
            _ => self.fail_at(begin, Kind::InvalidMarker(marker)),
        }
    }

    fn plain(&mut self, length: usize) -> Step<Str> {
        let begin = self.at;
        let bytes = self.take(length)?;
        self.text(bytes, begin)
    }

    fn text(&self, bytes: &[u8], begin: usize) -> Step<Str> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Str::new(text)),
            Err(_) => self.fail_at(begin, Kind::InvalidUtf8),
        }
    }

    /// A string that stands earlier, by its place. It may not be a reference itself, so there are
    /// no chains, and what it adds is counted.
    fn reference(&mut self, width: usize, begin: usize) -> Step<Str> {
        let target = self.unsigned(width)?;
        let is_earlier = (1..begin).contains(&target);
        match self.bytes.get(target) {
            Some(marker) if is_earlier && !REFERENCES.contains(marker) => {
                let (at, end) = (self.at, self.end);
                (self.at, self.end) = (target + 1, begin);
                let text = self.string(*marker, target)?;
                (self.at, self.end) = (at, end);
                self.unfold(text.len())?;
                Ok(text)
            }
            Some(_) | None => self.fail_at(begin, Kind::InvalidLength),
        }
    }

    /// Bytes whose base64 is the text. A length in groups of four signs is followed by the number
    /// of padding signs, or its complement if the text has no padding but would need it.
    fn base64(&mut self, marker: u8) -> Step<Str> {
        let begin = self.at;
        let width = if marker % 2 == 1 { 1 } else { 2 };
        let alphabet = if marker <= 0x72 { BASE64 } else { BASE64_URL };
        let signs = self.unsigned(width)? * 4;
        let padding = self.byte()?;
        let is_padded = padding <= 2;
        let missing = usize::from(if is_padded { padding } else { !padding });
        if missing > 2 || missing > signs {
            return self.fail_at(begin, Kind::InvalidLength);
        }
        let bytes = self.take((signs - missing) * 3 / 4)?;
        let mut text = Vec::new();
        write_base64(bytes, alphabet, &mut text);
        if !is_padded {
            text.truncate(signs - missing);
        }
        self.text(&text, begin)
    }

    /// Text of at most sixteen different signs, two to a byte, the first in the low half.
    fn nibbles(&mut self, alphabet: &[u8; 16]) -> Step<Str> {
        let begin = self.at;
        let length = self.unsigned(1)?;
        let bytes = self.take(length.div_ceil(2))?;
        let mut text = Vec::with_capacity(length + 1);
        for byte in bytes {
            text.push(alphabet[usize::from(byte & 0x0F)]);
            text.push(alphabet[usize::from(byte >> 4)]);
        }
        text.truncate(length);
        self.text(&text, begin)
    }

    /// Text whose signs lie close together: so many bits each, least significant first, counted
    /// from a base sign.
    fn packed(&mut self, bits: usize, width: usize, has_base: bool) -> Step<Str> {
        let begin = self.at;
        let length = self.unsigned(width)?;
        let base = if has_base { self.byte()? } else { 0 };
        let bytes = self.take((length * bits).div_ceil(8))?;
        let mut text = Vec::with_capacity(length);
        let (mut window, mut available) = (0u32, 0);
        let mut bytes = bytes.iter();
        for _ in 0..length {
            if available < bits {
                let next = bytes.next().copied().unwrap_or_default();
                window |= u32::from(next) << available;
                available += 8;
            }
            let sign = (window & ((1 << bits) - 1)) as u8;
            text.push(sign.wrapping_add(base));
            window >>= bits;
            available -= bits;
        }
        self.text(&text, begin)
    }

    /// The text of a GUID; each byte holds two digits, the first in its low half.
    fn guid(&mut self, alphabet: &[u8; 16], quote: &str) -> Step<Str> {
        let bytes: [u8; 16] = self.array()?;
        let mut text = Str::from(quote);
        for (index, byte) in bytes.iter().enumerate() {
            if GUID_DASHES.contains(&index) {
                text.push('-');
            }
            text.push(char::from(alphabet[usize::from(byte & 0x0F)]));
            text.push(char::from(alphabet[usize::from(byte >> 4)]));
        }
        text.push_str(quote);
        Ok(text)
    }

    /// A GUID as a value of its own type: its first three groups are little-endian numbers.
    pub(super) fn guid_value(&mut self) -> Step<Str> {
        let begin = self.at;
        let mut bytes: [u8; 16] = self.array()?;
        bytes[..4].reverse();
        bytes[4..6].reverse();
        bytes[6..8].reverse();
        let mut text = Vec::with_capacity(36);
        for (index, byte) in bytes.iter().enumerate() {
            if GUID_DASHES.contains(&index) {
                text.push(b'-');
            }
            write_hex(&[*byte], &mut text);
        }
        self.text(&text, begin)
    }

    /// Binary data, which JSON can only say as base64.
    pub(super) fn blob(&mut self, marker: u8) -> Step<Str> {
        let begin = self.at;
        let length = self.unsigned(1 << (marker - 0xDD))?;
        let bytes = self.take(length)?;
        let mut text = Vec::new();
        write_base64(bytes, BASE64, &mut text);
        self.text(&text, begin)
    }
}
