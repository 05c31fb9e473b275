//! BSON documents: how bodies are stored, and how they leave as JSON without a tree.

use std::fmt;

use crate::{Object, Value};

/// Why bytes are not a BSON document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BsonError {
    /// Why.
    pub kind: BsonErrorKind,
    /// Where: bytes from the start.
    pub offset: usize,
}

/// Why bytes are not a BSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BsonErrorKind {
    /// The bytes stop in the middle.
    UnexpectedEnd,
    /// A length does not fit its surroundings.
    InvalidLength,
    /// A type byte that BSON does not have.
    InvalidType(u8),
    /// Text that is not UTF-8.
    InvalidUtf8,
    /// A boolean that is neither 0 nor 1.
    InvalidBool,
    /// Documents and arrays nest too deeply.
    TooDeep,
}

impl fmt::Display for BsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at byte {}", self.kind, self.offset)
    }
}

impl std::error::Error for BsonError {}

/// Appends the object as a BSON document.
pub fn write_document(object: &Object, out: &mut Vec<u8>) {
    let _ = (object, out);
}

/// Reads a BSON document that fills the bytes exactly, checking everything.
pub fn read_document(bytes: &[u8]) -> Result<Object, BsonError> {
    let _ = bytes;
    Err(BsonError { kind: BsonErrorKind::UnexpectedEnd, offset: 0 })
}

/// Appends the members of a BSON document as JSON, without the braces; returns how many.
pub fn json_members(bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, BsonError> {
    let _ = (bytes, out);
    Err(BsonError { kind: BsonErrorKind::UnexpectedEnd, offset: 0 })
}

/// A BSON element's value, borrowed and not decoded yet.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> Raw<'a> {
    /// The BSON type byte.
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// The encoded value.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Decodes the value, checking everything.
    pub fn to_value(&self) -> Result<Value, BsonError> {
        Err(BsonError { kind: BsonErrorKind::UnexpectedEnd, offset: 0 })
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&'a str> {
        None
    }
}

/// Looks up a nested member by names from the outermost document inwards, decoding nothing else.
pub fn find<'a>(bytes: &'a [u8], path: &[&str]) -> Result<Option<Raw<'a>>, BsonError> {
    let _ = (bytes, path);
    Ok(None)
}
