//! BSON bytes to JSON bytes in one pass: the way a point read takes to the socket.
//!
//! No tree and no allocation per member; text is scanned once, for what needs an escape and for
//! what is not ASCII together, and copied by runs.

use super::cursor::{Cursor, Step, name_text};
use super::{BsonError, BsonErrorKind, kind};
use crate::text::{self, Until, plain_run};
use crate::{extended, number};

/// Appends the members of a BSON document as JSON, `"a":1,"b":2` without the braces, and returns
/// how many there are. The kinds that only BSON has leave as relaxed extended JSON.
///
/// Everything is checked as [`super::read_document`] does, and after an error `out` is as before.
pub fn json_members(bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, BsonError> {
    let begin = out.len();
    // JSON of a typical document is about as long as its BSON.
    out.reserve(bytes.len() + bytes.len() / 8);
    let written = transcode(bytes, out);
    if written.is_err() {
        out.truncate(begin);
    }
    written
}

fn transcode(bytes: &[u8], out: &mut Vec<u8>) -> Step<usize> {
    let mut cursor = Cursor::new(bytes);
    let elements = cursor.document()?;
    if !cursor.is_at_end() {
        return cursor.fail(BsonErrorKind::InvalidLength);
    }
    members(elements, out)
}

fn members(mut cursor: Cursor<'_>, out: &mut Vec<u8>) -> Step<usize> {
    let mut count = 0;
    while !cursor.is_at_end() {
        let of_kind = cursor.byte()?;
        if of_kind == kind::UNDEFINED {
            cursor.c_text()?;
            continue;
        }
        if count > 0 {
            out.push(b',');
        }
        out.push(b'"');
        name(&mut cursor, out)?;
        out.extend_from_slice(b"\":");
        value(of_kind, &mut cursor, out)?;
        count += 1;
    }
    Ok(count)
}

/// Copies a name; one scan finds its end and that it needs no escape.
#[inline]
fn name(cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Step<()> {
    let rest = cursor.rest();
    let run = plain_run(rest, Until::SpecialOrWide);
    if rest.get(run) == Some(&0) {
        out.extend_from_slice(&rest[..run]);
        cursor.at += run + 1;
        return Ok(());
    }
    let begin = cursor.at;
    let bytes = cursor.c_bytes()?;
    match name_text(bytes) {
        Some(name) => text::write_escaped(name.as_bytes(), out),
        None => {
            return Err(BsonError {
                kind: BsonErrorKind::InvalidUtf8,
                offset: begin,
            });
        }
    }
    Ok(())
}

fn elements(mut cursor: Cursor<'_>, out: &mut Vec<u8>) -> Step<()> {
    let mut first = true;
    while !cursor.is_at_end() {
        let of_kind = cursor.byte()?;
        cursor.c_bytes()?;
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        value(of_kind, &mut cursor, out)?;
    }
    Ok(())
}

fn value(of_kind: u8, cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Step<()> {
    match of_kind {
        kind::STRING => string(cursor, out)?,
        kind::INT32 => number::write_i64(i64::from(cursor.i32()?), out),
        kind::INT64 => number::write_i64(cursor.i64()?, out),
        kind::DOUBLE => number::write_f64(f64::from_le_bytes(cursor.array()?), out),
        kind::BOOL => match cursor.bool()? {
            true => out.extend_from_slice(b"true"),
            false => out.extend_from_slice(b"false"),
        },
        kind::NULL | kind::UNDEFINED => out.extend_from_slice(b"null"),
        kind::DOCUMENT => {
            out.push(b'{');
            members(cursor.document()?, out)?;
            out.push(b'}');
        }
        kind::ARRAY => {
            out.push(b'[');
            elements(cursor.document()?, out)?;
            out.push(b']');
        }
        _ => rare_value(of_kind, cursor, out)?,
    }
    Ok(())
}

/// Copies a string; its bytes are checked for UTF-8 only from the first that is not ASCII.
#[inline]
fn string(cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Step<()> {
    let begin = cursor.at;
    let mut bytes = cursor.string_bytes()?;
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    loop {
        let run = plain_run(bytes, Until::SpecialOrWide);
        out.extend_from_slice(&bytes[..run]);
        match bytes.get(run) {
            None => break,
            Some(byte) if byte.is_ascii() => {
                text::write_escape(*byte, out);
                bytes = &bytes[run + 1..];
            }
            Some(_) => {
                let rest = &bytes[run..];
                if std::str::from_utf8(rest).is_err() {
                    return Err(BsonError {
                        kind: BsonErrorKind::InvalidUtf8,
                        offset: begin,
                    });
                }
                text::write_escaped(rest, out);
                break;
            }
        }
    }
    out.push(b'"');
    Ok(())
}

fn rare_value(of_kind: u8, cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Step<()> {
    match of_kind {
        kind::BINARY => {
            let (subtype, bytes) = cursor.binary()?;
            extended::write_binary(subtype, bytes, out);
        }
        kind::OBJECT_ID => extended::write_object_id(&cursor.array()?, out),
        kind::DATE => extended::write_date(cursor.i64()?, out),
        kind::REGEX => {
            let pattern = cursor.c_text()?;
            extended::write_regex(&pattern, &cursor.c_text()?, out);
        }
        kind::DB_POINTER => {
            let ns = cursor.string()?;
            extended::write_db_pointer(ns, &cursor.array()?, out);
        }
        kind::CODE => extended::write_code(cursor.string()?, out),
        kind::SYMBOL => extended::write_symbol(cursor.string()?, out),
        kind::CODE_WITH_SCOPE => {
            let (code, scope) = cursor.code_with_scope()?;
            extended::open_code_with_scope(code, out);
            out.push(b'{');
            members(scope, out)?;
            out.extend_from_slice(b"}}");
        }
        kind::TIMESTAMP => extended::write_timestamp(u64::from_le_bytes(cursor.array()?), out),
        kind::DECIMAL128 => extended::write_decimal128(&cursor.array()?, out),
        kind::MIN_KEY => extended::write_min_key(out),
        kind::MAX_KEY => extended::write_max_key(out),
        _ => return cursor.fail(BsonErrorKind::InvalidType(of_kind)),
    }
    Ok(())
}
