//! Checks BSON bytes without building a tree.

use super::cursor::{Cursor, Step};
use super::{BsonError, BsonErrorKind, kind};
use crate::Str;
use crate::budget::{MEMBER_BYTES, VALUE_BYTES, text_bytes};

/// Checks what [`super::read_document`] checks, and says how many bytes the tree would take
/// ([`crate::budget::object_bytes`]).
///
/// # Errors
/// The same.
pub fn check_document(bytes: &[u8]) -> Result<usize, BsonError> {
    let mut cursor = Cursor::new(bytes);
    let elements = cursor.document()?;
    if !cursor.is_at_end() {
        return cursor.fail(BsonErrorKind::InvalidLength);
    }
    object(elements)
}

fn object(mut cursor: Cursor<'_>) -> Step<usize> {
    let mut bytes = 0;
    while !cursor.is_at_end() {
        let of_kind = cursor.byte()?;
        let name = cursor.c_text()?;
        let owned = owned(of_kind, &mut cursor)?;
        // The absence of a value, which is left out.
        if of_kind != kind::UNDEFINED {
            bytes += MEMBER_BYTES + text_bytes(name.len()) + owned;
        }
    }
    Ok(bytes)
}

fn array(mut cursor: Cursor<'_>) -> Step<usize> {
    let mut bytes = 0;
    while !cursor.is_at_end() {
        let of_kind = cursor.byte()?;
        cursor.c_bytes()?;
        bytes += VALUE_BYTES + owned(of_kind, &mut cursor)?;
    }
    Ok(bytes)
}

/// Bytes that a value owns beyond its own few.
fn owned(of_kind: u8, cursor: &mut Cursor<'_>) -> Step<usize> {
    Ok(match of_kind {
        kind::STRING | kind::CODE | kind::SYMBOL => text_bytes(cursor.string()?.len()),
        kind::DOCUMENT => object(cursor.document()?)?,
        kind::ARRAY => array(cursor.document()?)?,
        kind::BINARY => cursor.binary()?.1.len(),
        kind::BOOL => {
            cursor.bool()?;
            0
        }
        kind::REGEX => {
            let pattern = text_bytes(cursor.c_text()?.len());
            let options = text_bytes(cursor.c_text()?.len());
            2 * size_of::<Str>() + pattern + options
        }
        kind::DB_POINTER => {
            let ns = text_bytes(cursor.string()?.len());
            cursor.array::<12>()?;
            ns
        }
        kind::CODE_WITH_SCOPE => {
            let (code, scope) = cursor.code_with_scope()?;
            text_bytes(code.len()) + object(scope)?
        }
        _ => {
            cursor.skip(of_kind)?;
            0
        }
    })
}
