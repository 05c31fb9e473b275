//! Cosmos binary JSON to values and back.
//!
//! All numbers in it are little-endian. A length counts the bytes after itself and after the count
//! that may follow it. Strings may be references to earlier ones; what references unfold to is
//! bounded, so that a small body cannot become a huge document.

mod strings;
mod system_strings;
mod writer;

use crate::json::{
    DEPTH_CEILING, JsonError, JsonErrorKind as Kind, Limits, is_refused, settle_duplicates,
};
use crate::{Object, Str, Value};

pub use writer::{Open, begin, encode, open_array, open_object, write, write_str};

/// The first byte of binary JSON, which no JSON text can start with.
const FORMAT_BINARY: u8 = 0x80;

/// The most bytes that references and arrays without bytes of their own may add: four times the
/// largest item.
const UNFOLDED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What a value costs in memory that has no bytes in the body.
const EMPTY_VALUE_BYTES: usize = size_of::<Value>();

type Step<T> = Result<T, Box<JsonError>>;

/// Whether the bytes claim to be binary JSON.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.first() == Some(&FORMAT_BINARY)
}

/// Reads one value in binary JSON; names, numbers and limits mean what they mean in
/// [`crate::json::parse`].
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Value, JsonError> {
    let mut decoder = Decoder {
        bytes,
        at: 0,
        end: bytes.len(),
        depth: 0,
        depth_max: limits.depth_max.min(DEPTH_CEILING),
        refused: limits.duplicates_refused,
        unfolded: 0,
    };
    decoder.document().map_err(|error| *error)
}

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the innermost container ends.
    end: usize,
    depth: usize,
    depth_max: usize,
    refused: &'static [&'static str],
    /// Bytes that came out without having gone in.
    unfolded: usize,
}

impl<'a> Decoder<'a> {
    fn document(&mut self) -> Step<Value> {
        match self.byte()? {
            FORMAT_BINARY => {}
            other => return self.fail_at(0, Kind::UnexpectedByte(other)),
        }
        let value = self.value()?;
        match self.at == self.bytes.len() {
            true => Ok(value),
            false => self.fail_at(self.at, Kind::TrailingData),
        }
    }

    #[cold]
    fn fail_at<T>(&self, offset: usize, kind: Kind) -> Step<T> {
        Err(Box::new(JsonError::in_binary(kind, offset)))
    }

    fn take(&mut self, count: usize) -> Step<&'a [u8]> {
        match self.bytes[self.at..self.end].get(..count) {
            Some(bytes) => {
                self.at += count;
                Ok(bytes)
            }
            // A container that ends too early has the wrong length; else the body is cut off.
            None if self.end < self.bytes.len() => self.fail_at(self.at, Kind::InvalidLength),
            None => self.fail_at(self.at, Kind::UnexpectedEnd),
        }
    }

    fn array<const N: usize>(&mut self) -> Step<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Step<u8> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// An unsigned number of 1 to 4 bytes.
    fn unsigned(&mut self, width: usize) -> Step<usize> {
        let bytes = self.take(width)?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |n, byte| n << 8 | usize::from(*byte)))
    }

    /// Counts what comes out without having gone in.
    fn unfold(&mut self, bytes: usize) -> Step<()> {
        self.unfolded = self.unfolded.saturating_add(bytes);
        match self.unfolded <= UNFOLDED_BYTES_MAX {
            true => Ok(()),
            false => self.fail_at(self.at, Kind::TooLarge),
        }
    }

    fn value(&mut self) -> Step<Value> {
        let begin = self.at;
        let marker = self.byte()?;
        match marker {
            0x00..=0x1F => Ok(Value::Int32(i32::from(marker))),
            0x20..=0xC6 => Ok(Value::String(self.string(marker, begin)?)),
            0xC7..=0xCE | 0xD7..=0xDC => self.number(marker, begin),
            0xD0 => Ok(Value::Null),
            0xD1 => Ok(Value::Bool(false)),
            0xD2 => Ok(Value::Bool(true)),
            0xD3 => Ok(Value::String(self.guid_value()?)),
            0xDD..=0xDF => Ok(Value::String(self.blob(marker)?)),
            0xE0..=0xE7 => self.nested(|decoder| decoder.elements(marker)),
            0xE8..=0xEF => self.nested(|decoder| decoder.members(marker)),
            0xF0..=0xF3 => self.nested(|decoder| decoder.uniform_array(marker)),
            _ => self.fail_at(begin, Kind::InvalidMarker(marker)),
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Step<Value>) -> Step<Value> {
        if self.depth >= self.depth_max {
            return self.fail_at(self.at - 1, Kind::TooDeep);
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self, marker: u8, begin: usize) -> Step<Value> {
        let whole = match marker {
            0xC7 => {
                let n = u64::from_le_bytes(self.array()?);
                match i64::try_from(n) {
                    Ok(n) => n,
                    Err(_) => return Ok(Value::number(n as f64)),
                }
            }
            0xC8 | 0xD7 => i64::from(self.byte()?),
            0xC9 | 0xD9 => i64::from(i16::from_le_bytes(self.array()?)),
            0xCA | 0xDA => i64::from(i32::from_le_bytes(self.array()?)),
            0xCB | 0xDB => i64::from_le_bytes(self.array()?),
            0xCC | 0xCE => {
                let n = f64::from_le_bytes(self.array()?);
                return self.double(n, begin);
            }
            0xCD => {
                let n = f32::from_le_bytes(self.array()?);
                return self.double(f64::from(n), begin);
            }
            0xD8 => i64::from(i8::from_le_bytes(self.array()?)),
            0xDC => i64::from(u32::from_le_bytes(self.array()?)),
            _ => return self.fail_at(begin, Kind::InvalidMarker(marker)),
        };
        Ok(Value::from(whole))
    }

    fn double(&self, n: f64, begin: usize) -> Step<Value> {
        match n.is_finite() {
            true => Ok(Value::number(n)),
            false => self.fail_at(begin, Kind::NumberRange),
        }
    }

    /// Reads entries until a container ends, with the bounds and the count its marker announces:
    /// the low three bits say none, one, a length, or a length and a count.
    fn entries(&mut self, marker: u8, mut entry: impl FnMut(&mut Self) -> Step<()>) -> Step<()> {
        let form = marker & 7;
        if form <= 1 {
            return (0..form).try_for_each(|_| entry(self));
        }
        let width = [1, 2, 4][usize::from(form - 2) % 3];
        let begin = self.at;
        let length = self.unsigned(width)?;
        let announced = if form >= 5 {
            Some(self.unsigned(width)?)
        } else {
            None
        };
        let outer = self.end;
        match self.at.checked_add(length) {
            Some(end) if end <= outer => self.end = end,
            Some(_) if outer == self.bytes.len() => {
                return self.fail_at(outer, Kind::UnexpectedEnd);
            }
            Some(_) | None => return self.fail_at(begin, Kind::InvalidLength),
        }
        let mut count = 0;
        while self.at < self.end {
            entry(self)?;
            count += 1;
        }
        self.end = outer;
        match announced {
            Some(announced) if announced != count => self.fail_at(begin, Kind::InvalidLength),
            Some(_) | None => Ok(()),
        }
    }

    fn elements(&mut self, marker: u8) -> Step<Value> {
        let mut elements = Vec::new();
        self.entries(marker, |decoder| {
            elements.push(decoder.value()?);
            Ok(())
        })?;
        Ok(Value::Array(elements))
    }

    fn members(&mut self, marker: u8) -> Step<Value> {
        let mut members: Vec<(Str, Value)> = Vec::new();
        self.entries(marker, |decoder| {
            let begin = decoder.at;
            let marker = decoder.byte()?;
            let name = decoder.string(marker, begin)?;
            if decoder.depth == 1 && is_refused(&name, decoder.refused, &members) {
                return decoder.fail_at(begin, Kind::Duplicate(name));
            }
            members.push((name, decoder.value()?));
            Ok(())
        })?;
        settle_duplicates(&mut members, 0);
        Ok(Value::Object(Object::from(members)))
    }

    /// Arrays whose numbers all have one type, said once; and arrays of such arrays, all of one
    /// length. Counts are of 1 byte in the first form of each and of 2 bytes in the second.
    fn uniform_array(&mut self, marker: u8) -> Step<Value> {
        let width = 1 + usize::from(marker & 1);
        if marker < 0xF2 {
            let item = self.byte()?;
            let count = self.unsigned(width)?;
            return self.uniform_numbers(item, count);
        }
        let begin = self.at;
        let inner = self.byte()?;
        // The inner arrays are of the form with the same width of counts, and one level deeper.
        if inner != marker - 2 {
            return self.fail_at(begin, Kind::InvalidMarker(inner));
        }
        if self.depth >= self.depth_max {
            return self.fail_at(begin, Kind::TooDeep);
        }
        let item = self.byte()?;
        let (inner_count, count) = (self.unsigned(width)?, self.unsigned(width)?);
        let mut arrays = Vec::new();
        for _ in 0..count {
            if inner_count == 0 {
                self.unfold(EMPTY_VALUE_BYTES)?;
            }
            arrays.push(self.uniform_numbers(item, inner_count)?);
        }
        Ok(Value::Array(arrays))
    }

    fn uniform_numbers(&mut self, item: u8, count: usize) -> Step<Value> {
        let mut numbers = Vec::new();
        for _ in 0..count {
            numbers.push(self.number(item, self.at)?);
        }
        Ok(Value::Array(numbers))
    }
}
