//! Looking up one member without decoding the rest.

use std::borrow::Cow;

use super::cursor::{Cursor, Step, name_text};
use super::{BsonError, BsonErrorKind, kind, read};
use crate::{Value, number};

/// A BSON value, borrowed and not decoded yet.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> Raw<'a> {
    /// The BSON type byte, see [`super::kind`].
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// The encoded value.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Decodes the value, checking everything.
    pub fn to_value(&self) -> Result<Value, BsonError> {
        let mut cursor = Cursor::new(self.bytes);
        let value = read::value(self.kind, &mut cursor)?;
        match cursor.is_at_end() {
            true => Ok(value),
            false => cursor.fail(BsonErrorKind::InvalidLength),
        }
    }

    /// The text, if this is a string and valid UTF-8.
    pub fn as_str(&self) -> Option<&'a str> {
        match self.kind {
            kind::STRING => Cursor::new(self.bytes).string().ok(),
            _ => None,
        }
    }

    /// The number, if this is one that JSON can say.
    pub fn as_f64(&self) -> Option<f64> {
        let mut cursor = Cursor::new(self.bytes);
        match self.kind {
            kind::INT32 => cursor.i32().ok().map(f64::from),
            kind::INT64 => cursor.i64().ok().map(|n| n as f64),
            kind::DOUBLE => cursor.array().ok().map(f64::from_le_bytes),
            _ => None,
        }
    }

    /// The number, if it has no fraction and fits.
    pub fn as_i64(&self) -> Option<i64> {
        let mut cursor = Cursor::new(self.bytes);
        match self.kind {
            kind::INT32 => cursor.i32().ok().map(i64::from),
            kind::INT64 => cursor.i64().ok(),
            kind::DOUBLE => cursor
                .array()
                .ok()
                .map(f64::from_le_bytes)
                .and_then(number::to_i64_exact),
            _ => None,
        }
    }
}

/// Looks up a nested member by names from the outermost document inwards; of members of the same
/// name it finds the first. Nothing is found inside arrays, and an empty path is the document.
///
/// Only what is passed over is checked, and only for its lengths.
pub fn find<'a>(bytes: &'a [u8], path: &[&str]) -> Result<Option<Raw<'a>>, BsonError> {
    let mut found = Raw {
        kind: kind::DOCUMENT,
        bytes,
    };
    let mut cursor = Cursor::new(bytes);
    for name in path {
        if found.kind != kind::DOCUMENT {
            return Ok(None);
        }
        let elements = cursor.document()?;
        match find_member(elements, name)? {
            Some((inside, member)) => (cursor, found) = (inside, member),
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// The member of that name and a cursor at its value.
fn find_member<'a>(mut cursor: Cursor<'a>, name: &str) -> Step<Option<(Cursor<'a>, Raw<'a>)>> {
    while !cursor.is_at_end() {
        let of_kind = cursor.byte()?;
        let stored = cursor.c_bytes()?;
        let inside = cursor;
        let rest = cursor.rest();
        cursor.skip(of_kind)?;
        if of_kind != kind::UNDEFINED && is_name(stored, name) {
            let bytes = &rest[..cursor.at - inside.at];
            return Ok(Some((
                inside,
                Raw {
                    kind: of_kind,
                    bytes,
                },
            )));
        }
    }
    Ok(None)
}

fn is_name(stored: &[u8], name: &str) -> bool {
    if stored == name.as_bytes() {
        return true;
    }
    // Only a name that holds a NUL is stored in other bytes than its own.
    name.contains('\0') && name_text(stored) == Some(Cow::Borrowed(name))
}
