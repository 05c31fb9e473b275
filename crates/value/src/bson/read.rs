//! BSON bytes to a tree.

use super::cursor::{Cursor, Step, name_text};
use super::{BsonError, BsonErrorKind, kind};
use crate::{Object, Str, Value};

/// Reads a BSON document that fills the bytes exactly, checking everything.
///
/// Members of the same name are all kept, in order, so that the caller can see them.
pub fn read_document(bytes: &[u8]) -> Result<Object, BsonError> {
    let mut cursor = Cursor::new(bytes);
    let elements = cursor.document()?;
    if !cursor.is_at_end() {
        return cursor.fail(BsonErrorKind::InvalidLength);
    }
    object(elements)
}

/// Reads the members of a document that have one of these names, in their order. What is passed over is checked only for its
/// lengths.
pub fn read_members(bytes: &[u8], names: &[Str]) -> Result<Object, BsonError> {
    let mut outer = Cursor::new(bytes);
    let mut cursor = outer.document()?;
    if !outer.is_at_end() {
        return outer.fail(BsonErrorKind::InvalidLength);
    }
    let mut object = Object::new();
    while !cursor.is_at_end() {
        let of_kind = cursor.byte()?;
        let begin = cursor;
        let own = cursor.c_bytes()?;
        if !names.iter().any(|name| is_name(own, name)) {
            cursor.skip(of_kind)?;
            continue;
        }
        cursor = begin;
        let name = cursor.c_text()?;
        let value = value(of_kind, &mut cursor)?;
        if !value.is_undefined() {
            object.push(Str::from(name), value);
        }
    }
    Ok(object)
}

/// Whether these bytes are how a name is stored, which is as it is, but for NULs in it: those make it longer.
fn is_name(stored: &[u8], name: &str) -> bool {
    stored == name.as_bytes()
        || (stored.len() > name.len()
            && name.contains('\0')
            && name_text(stored).is_some_and(|stored| stored == name))
}

/// Bytes of a document or array whose elements are counted before room is made for them. A list that grows step by step takes
/// up to three times the room while it grows, which only matters where it is large.
const COUNTED_BYTES_MIN: usize = 64 * 1024;

/// Elements that a large document or array has, up to the first that is not one; nothing for others.
fn elements(mut cursor: Cursor<'_>) -> usize {
    let mut count = 0;
    if cursor.rest().len() < COUNTED_BYTES_MIN {
        return count;
    }
    let mut pass = || {
        let of_kind = cursor.byte()?;
        cursor.c_bytes()?;
        cursor.skip(of_kind)
    };
    while pass().is_ok() {
        count += 1;
    }
    count
}

fn object(mut cursor: Cursor<'_>) -> Step<Object> {
    let mut object = Object::with_capacity(elements(cursor));
    while !cursor.is_at_end() {
        let of_kind = cursor.byte()?;
        let name = cursor.c_text()?;
        let value = value(of_kind, &mut cursor)?;
        if !value.is_undefined() {
            object.push(Str::from(name), value);
        }
    }
    Ok(object)
}

fn array(mut cursor: Cursor<'_>) -> Step<Vec<Value>> {
    let mut found = Vec::with_capacity(elements(cursor));
    while !cursor.is_at_end() {
        let of_kind = cursor.byte()?;
        // Only the order counts; what the elements are called does not.
        cursor.c_bytes()?;
        found.push(match value(of_kind, &mut cursor)? {
            Value::Undefined => Value::Null,
            value => value,
        });
    }
    Ok(found)
}

pub(super) fn value(of_kind: u8, cursor: &mut Cursor<'_>) -> Step<Value> {
    Ok(match of_kind {
        kind::DOUBLE => Value::Double(f64::from_le_bytes(cursor.array()?)),
        kind::STRING => Value::String(Str::new(cursor.string()?)),
        kind::DOCUMENT => Value::Object(object(cursor.document()?)?),
        kind::ARRAY => Value::Array(array(cursor.document()?)?),
        kind::BINARY => {
            let (subtype, bytes) = cursor.binary()?;
            Value::Binary {
                subtype,
                bytes: bytes.to_vec(),
            }
        }
        kind::UNDEFINED => Value::Undefined,
        kind::OBJECT_ID => Value::ObjectId(cursor.array()?),
        kind::BOOL => Value::Bool(cursor.bool()?),
        kind::DATE => Value::Date(cursor.i64()?),
        kind::NULL => Value::Null,
        kind::REGEX => {
            let pattern = Box::new(Str::from(cursor.c_text()?));
            let options = Box::new(Str::from(cursor.c_text()?));
            Value::Regex { pattern, options }
        }
        kind::DB_POINTER => {
            let ns = Box::new(Str::new(cursor.string()?));
            Value::DbPointer {
                ns,
                id: cursor.array()?,
            }
        }
        kind::CODE => Value::Code(Str::new(cursor.string()?)),
        kind::SYMBOL => Value::Symbol(Str::new(cursor.string()?)),
        kind::CODE_WITH_SCOPE => {
            let (code, scope) = cursor.code_with_scope()?;
            let (code, scope) = (Box::new(Str::new(code)), Box::new(object(scope)?));
            Value::CodeWithScope { code, scope }
        }
        kind::INT32 => Value::Int32(cursor.i32()?),
        kind::TIMESTAMP => Value::Timestamp(u64::from_le_bytes(cursor.array()?)),
        kind::INT64 => Value::Int64(cursor.i64()?),
        kind::DECIMAL128 => Value::Decimal128(cursor.array()?),
        kind::MIN_KEY => Value::MinKey,
        kind::MAX_KEY => Value::MaxKey,
        _ => return cursor.fail(BsonErrorKind::InvalidType(of_kind)),
    })
}
