//! A place in BSON bytes, and the checked steps forward from it.

use std::borrow::Cow;

use super::{BsonError, BsonErrorKind as Kind, DEPTH_MAX, NUL_IN_NAME, SUBTYPE_OLD_BINARY, kind};

pub(super) type Step<T> = Result<T, BsonError>;

/// Bytes of the smallest document: its length and its end.
const DOCUMENT_BYTES_MIN: usize = 5;

/// Reads forward; nothing beyond `end` is touched.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    end: usize,
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor {
            bytes,
            at: 0,
            end: bytes.len(),
            depth: 0,
        }
    }

    #[cold]
    pub(super) fn fail<T>(&self, kind: Kind) -> Step<T> {
        Err(BsonError {
            kind,
            offset: self.at,
        })
    }

    /// What is left to read.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..self.end]
    }

    #[inline]
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.end
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Step<&'a [u8]> {
        match self.rest().get(..count) {
            Some(bytes) => {
                self.at += count;
                Ok(bytes)
            }
            None => self.fail(Kind::UnexpectedEnd),
        }
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Step<[u8; N]> {
        match self.rest().first_chunk::<N>() {
            Some(bytes) => {
                self.at += N;
                Ok(*bytes)
            }
            None => self.fail(Kind::UnexpectedEnd),
        }
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Step<u8> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    #[inline]
    pub(super) fn i32(&mut self) -> Step<i32> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(super) fn i64(&mut self) -> Step<i64> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(super) fn bool(&mut self) -> Step<bool> {
        match self.rest().first() {
            Some(0) | Some(1) => Ok(self.byte()? == 1),
            Some(_) => self.fail(Kind::InvalidBool),
            None => self.fail(Kind::UnexpectedEnd),
        }
    }

    /// A length that is not negative.
    #[inline]
    fn length(&mut self) -> Step<usize> {
        let begin = self.at;
        let length = self.i32()?;
        match usize::try_from(length) {
            Ok(length) => Ok(length),
            Err(_) => {
                self.at = begin;
                self.fail(Kind::InvalidLength)
            }
        }
    }

    /// Bytes up to a NUL, which is passed over.
    #[inline]
    pub(super) fn c_bytes(&mut self) -> Step<&'a [u8]> {
        let rest = self.rest();
        // Most names end within a few bytes, before a call would pay off.
        let near = rest.first_chunk::<8>().and_then(first_zero);
        match near.or_else(|| memchr::memchr(0, rest)) {
            Some(length) => {
                let bytes = self.take(length)?;
                self.at += 1;
                Ok(bytes)
            }
            None => self.fail(Kind::UnexpectedEnd),
        }
    }

    /// A name or other text that ends at a NUL.
    pub(super) fn c_text(&mut self) -> Step<Cow<'a, str>> {
        let begin = self.at;
        let bytes = self.c_bytes()?;
        match name_text(bytes) {
            Some(text) => Ok(text),
            None => Err(BsonError {
                kind: Kind::InvalidUtf8,
                offset: begin,
            }),
        }
    }

    /// The bytes of a string with its length before and a NUL after; not checked for UTF-8.
    #[inline]
    pub(super) fn string_bytes(&mut self) -> Step<&'a [u8]> {
        let begin = self.at;
        let length = self.length()?;
        match self.take(length)? {
            [bytes @ .., 0] => Ok(bytes),
            _ => {
                self.at = begin;
                self.fail(Kind::InvalidLength)
            }
        }
    }

    pub(super) fn string(&mut self) -> Step<&'a str> {
        let begin = self.at;
        let bytes = self.string_bytes()?;
        std::str::from_utf8(bytes).map_err(|_| BsonError {
            kind: Kind::InvalidUtf8,
            offset: begin,
        })
    }

    /// Subtype and bytes of binary data; the repeated length of the old subtype is taken off.
    pub(super) fn binary(&mut self) -> Step<(u8, &'a [u8])> {
        let begin = self.at;
        let length = self.length()?;
        let subtype = self.byte()?;
        let bytes = self.take(length)?;
        if subtype != SUBTYPE_OLD_BINARY {
            return Ok((subtype, bytes));
        }
        let inner = bytes.split_first_chunk::<4>();
        match inner {
            Some((again, bytes)) if u32::from_le_bytes(*again) as usize == bytes.len() => {
                Ok((subtype, bytes))
            }
            Some(_) | None => {
                self.at = begin;
                self.fail(Kind::InvalidLength)
            }
        }
    }

    /// Steps over a document or array and returns a cursor for its elements.
    #[inline]
    pub(super) fn document(&mut self) -> Step<Cursor<'a>> {
        let begin = self.at;
        if self.depth >= DEPTH_MAX {
            return self.fail(Kind::TooDeep);
        }
        let length = self.length()?;
        let end = begin.checked_add(length).filter(|end| *end <= self.end);
        match end {
            Some(end) if length >= DOCUMENT_BYTES_MIN && self.bytes[end - 1] == 0 => {
                let inner = Cursor {
                    end: end - 1,
                    depth: self.depth + 1,
                    ..*self
                };
                self.at = end;
                Ok(inner)
            }
            Some(_) | None => {
                self.at = begin;
                self.fail(Kind::InvalidLength)
            }
        }
    }

    /// Steps over code with scope: the code, and a cursor for the scope's elements.
    pub(super) fn code_with_scope(&mut self) -> Step<(&'a str, Cursor<'a>)> {
        let begin = self.at;
        let length = self.length()?;
        let code = self.string()?;
        let scope = self.document()?;
        if self.at - begin == length {
            return Ok((code, scope));
        }
        self.at = begin;
        self.fail(Kind::InvalidLength)
    }

    /// Steps over a value without looking inside.
    pub(super) fn skip(&mut self, of_kind: u8) -> Step<()> {
        match of_kind {
            kind::DOUBLE | kind::DATE | kind::TIMESTAMP | kind::INT64 => self.take(8)?,
            kind::STRING | kind::CODE | kind::SYMBOL => self.string_bytes()?,
            kind::DOCUMENT | kind::ARRAY => {
                self.document()?;
                &[]
            }
            kind::BINARY => self.binary()?.1,
            kind::UNDEFINED | kind::NULL | kind::MIN_KEY | kind::MAX_KEY => &[],
            kind::OBJECT_ID => self.take(12)?,
            kind::BOOL => self.take(1)?,
            kind::REGEX => {
                self.c_bytes()?;
                self.c_bytes()?
            }
            kind::DB_POINTER => {
                self.string_bytes()?;
                self.take(12)?
            }
            kind::CODE_WITH_SCOPE => {
                let begin = self.at;
                let length = self.length()?;
                self.at = begin;
                self.take(length.max(4))?
            }
            kind::INT32 => self.take(4)?,
            kind::DECIMAL128 => self.take(16)?,
            _ => return self.fail(Kind::InvalidType(of_kind)),
        };
        Ok(())
    }
}

/// Where the first zero is, found in one step: subtracting one from each byte borrows into the top
/// bit of those that are zero, and only above them perhaps wrongly into others.
#[inline]
fn first_zero(bytes: &[u8; 8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(*bytes);
    let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
    (zeros != 0).then_some((zeros.trailing_zeros() / 8) as usize)
}

/// The text of a name as stored, or nothing if it is not UTF-8; see the module's header for NUL.
pub(super) fn name_text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(Cow::Borrowed(text));
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, &NUL_IN_NAME) {
        plain.extend_from_slice(&rest[..at]);
        plain.push(0);
        rest = &rest[at + NUL_IN_NAME.len()..];
    }
    plain.extend_from_slice(rest);
    String::from_utf8(plain).ok().map(Cow::Owned)
}
