//! JSON text to values and back.

mod members;
mod parser;

use std::fmt;

use crate::{Object, Str, Value, extended, number, text};

pub(crate) use members::{is_refused, settle_duplicates};

/// What a parser lets through.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How deep arrays and objects may nest; a scalar has depth 0. At most [`DEPTH_CEILING`].
    pub depth_max: usize,
    /// Names that may not come twice in the outermost object.
    pub duplicates_refused: &'static [&'static str],
}

/// The deepest nesting any parser or reader here follows, whatever its limits say.
pub const DEPTH_CEILING: usize = 256;

impl Limits {
    /// 128 levels, as the service allows, and no names refused.
    pub const DEFAULT: Limits = Limits {
        depth_max: 128,
        duplicates_refused: &[],
    };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}

/// Why a text is not a value, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Why.
    pub kind: JsonErrorKind,
    /// Where: bytes from the start.
    pub offset: usize,
    /// The line it is on, counted from 1; 0 in binary JSON, which has none.
    pub line: usize,
}

/// Why a text is not a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// The text stops in the middle.
    UnexpectedEnd,
    /// A byte that cannot stand here.
    UnexpectedByte(u8),
    /// Something follows the value.
    TrailingData,
    /// A string holds bytes that are not UTF-8.
    InvalidUtf8,
    /// A backslash is followed by something else than JSON allows.
    InvalidEscape,
    /// A `\u` escape names half of a surrogate pair; such text cannot be stored as UTF-8.
    LoneSurrogate,
    /// A number is not written as JSON writes numbers.
    InvalidNumber,
    /// A number is too large for a double.
    NumberRange,
    /// Arrays and objects nest too deeply.
    TooDeep,
    /// A name that may come only once comes again.
    Duplicate(Str),
    /// Binary JSON: a type marker that is unknown or not allowed here.
    InvalidMarker(u8),
    /// Binary JSON: a length, count or reference that does not fit its surroundings.
    InvalidLength,
    /// Binary JSON: references make the value larger than it may become.
    TooLarge,
}

impl JsonError {
    /// Text from which only the place is known yet; the line is counted from it.
    pub(crate) fn in_text(kind: JsonErrorKind, bytes: &[u8], offset: usize) -> JsonError {
        let before = &bytes[..offset.min(bytes.len())];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        JsonError { kind, offset, line }
    }

    /// Binary JSON has no lines.
    pub(crate) fn in_binary(kind: JsonErrorKind, offset: usize) -> JsonError {
        JsonError {
            kind,
            offset,
            line: 0,
        }
    }
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonErrorKind::UnexpectedEnd => f.write_str("The JSON ends too early"),
            JsonErrorKind::UnexpectedByte(byte) if byte.is_ascii_graphic() => {
                write!(
                    f,
                    "The character '{}' cannot stand here in JSON",
                    char::from(*byte)
                )
            }
            JsonErrorKind::UnexpectedByte(byte) => {
                write!(f, "The byte 0x{byte:02X} cannot stand here in JSON")
            }
            JsonErrorKind::TrailingData => f.write_str("Something follows the JSON value"),
            JsonErrorKind::InvalidUtf8 => f.write_str("The JSON is not valid UTF-8"),
            JsonErrorKind::InvalidEscape => f.write_str("A JSON string holds an unknown escape"),
            JsonErrorKind::LoneSurrogate => {
                f.write_str("A JSON string holds half of a surrogate pair")
            }
            JsonErrorKind::InvalidNumber => f.write_str("A JSON number is malformed"),
            JsonErrorKind::NumberRange => f.write_str("A JSON number is out of range"),
            JsonErrorKind::TooDeep => f.write_str("The JSON is nested too deeply"),
            JsonErrorKind::Duplicate(name) => write!(f, "The member '{name}' comes twice"),
            JsonErrorKind::InvalidMarker(marker) => {
                write!(f, "The binary JSON type 0x{marker:02X} cannot stand here")
            }
            JsonErrorKind::InvalidLength => f.write_str("A length in the binary JSON is wrong"),
            JsonErrorKind::TooLarge => f.write_str("The binary JSON unfolds to too much"),
        }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JsonError { kind, offset, line } = self;
        match line {
            0 => write!(f, "{kind}, at byte {offset}."),
            _ => write!(f, "{kind}, at line {line}, byte {offset}."),
        }
    }
}

impl std::error::Error for JsonError {}

/// Reads one value, strictly by RFC 8259 but for one thing: no NaN, no leading zeros, no trailing
/// commas, no byte order mark, nothing after the value, and UTF-8 throughout. Control characters in
/// strings need no escape, as in the service; between values they are refused.
///
/// - Integers that fit 64 bits are exact; all other numbers become doubles, and [`Value::number`]
///   says in which kind. What overflows a double is an error, what underflows is zero.
/// - Of members of the same name the last one wins and takes the place of the first; names in
///   [`Limits::duplicates_refused`] are an error instead. Names are compared after unescaping.
/// - An escape that is half of a surrogate pair is an error: it has no UTF-8, and replacing it
///   would silently change the document.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Value, JsonError> {
    parser::parse(bytes, limits, 1)
}

/// The same, but names are refused in objects at this depth (the outermost has depth 1): for documents that come inside
/// of something else.
pub fn parse_with_documents_at(
    bytes: &[u8],
    limits: &Limits,
    depth: usize,
) -> Result<Value, JsonError> {
    parser::parse(bytes, limits, depth)
}

/// Appends the value as compact JSON.
///
/// [`Value::Undefined`] is left out: as a member, as an element, and as the root. The kinds that
/// only BSON has leave as relaxed extended JSON, as do the numbers that JSON cannot say.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Undefined => {}
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int32(n) => number::write_i64(i64::from(*n), out),
        Value::Int64(n) => number::write_i64(*n, out),
        Value::Double(n) => number::write_f64(*n, out),
        Value::String(text) => text::write_quoted(text, out),
        Value::Array(elements) => write_array(elements, out),
        Value::Object(object) => write_object(object, out),
        Value::Date(millis) => extended::write_date(*millis, out),
        Value::ObjectId(id) => extended::write_object_id(id, out),
        Value::Binary { subtype, bytes } => extended::write_binary(*subtype, bytes, out),
        Value::Decimal128(bytes) => extended::write_decimal128(bytes, out),
        Value::Timestamp(stamp) => extended::write_timestamp(*stamp, out),
        Value::Regex { pattern, options } => extended::write_regex(pattern, options, out),
        Value::Code(code) => extended::write_code(code, out),
        Value::CodeWithScope { code, scope } => {
            extended::open_code_with_scope(code, out);
            write_object(scope, out);
            out.push(b'}');
        }
        Value::Symbol(symbol) => extended::write_symbol(symbol, out),
        Value::DbPointer { ns, id } => extended::write_db_pointer(ns, id, out),
        Value::MinKey => extended::write_min_key(out),
        Value::MaxKey => extended::write_max_key(out),
    }
}

fn write_array(elements: &[Value], out: &mut Vec<u8>) {
    out.push(b'[');
    let mut first = true;
    for element in elements.iter().filter(|element| !element.is_undefined()) {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        write(element, out);
    }
    out.push(b']');
}

/// Appends the object as compact JSON, as [`write`] does.
pub fn write_object(object: &Object, out: &mut Vec<u8>) {
    out.push(b'{');
    write_members(object, out);
    out.push(b'}');
}

/// Appends the members without the braces, so that others can be put beside them; says how many.
pub fn write_members(object: &Object, out: &mut Vec<u8>) -> usize {
    let mut count = 0;
    for (name, value) in object.iter().filter(|(_, value)| !value.is_undefined()) {
        if count > 0 {
            out.push(b',');
        }
        text::write_quoted(name, out);
        out.push(b':');
        write(value, out);
        count += 1;
    }
    count
}

/// The value as compact JSON.
pub fn to_string(value: &Value) -> String {
    let mut out = Vec::new();
    write(value, &mut out);
    // Everything above prints UTF-8 only, so this neither fails nor copies.
    String::from_utf8(out).unwrap_or_default()
}

/// Appends the text as a JSON string, quoted and escaped.
pub fn write_str(text: &str, out: &mut Vec<u8>) {
    text::write_quoted(text, out);
}
