//! BSON documents: how bodies are stored, and how they leave as JSON without a tree.
//!
//! Names in BSON end at the first NUL, but JSON allows NUL in a name. Such a NUL is stored as the
//! two bytes `C0 80`, which are not valid UTF-8 and so cannot mean anything else; reading turns
//! them back.
//!
//! BSON's deprecated `undefined` is the absence of a value here: as a member it is left out, as an
//! element of an array it reads as null so that the others keep their places.

mod check;
mod cursor;
mod find;
mod read;
mod transcode;
mod types;
mod write;

use std::fmt;

pub use check::check_document;
pub use find::{Raw, find};
pub use read::{read_document, read_members};
pub use transcode::json_members;
pub use types::{type_alias, type_by_alias, type_name, type_number};
pub use write::{bytes_at_most, write_document};

/// Documents and arrays nested more deeply are refused by every reader.
pub const DEPTH_MAX: usize = crate::json::DEPTH_CEILING;

/// The type bytes of BSON elements.
pub mod kind {
    #![allow(missing_docs, reason = "the names are those of the BSON specification")]
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    pub const ARRAY: u8 = 0x04;
    pub const BINARY: u8 = 0x05;
    pub const UNDEFINED: u8 = 0x06;
    pub const OBJECT_ID: u8 = 0x07;
    pub const BOOL: u8 = 0x08;
    pub const DATE: u8 = 0x09;
    pub const NULL: u8 = 0x0A;
    pub const REGEX: u8 = 0x0B;
    pub const DB_POINTER: u8 = 0x0C;
    pub const CODE: u8 = 0x0D;
    pub const SYMBOL: u8 = 0x0E;
    pub const CODE_WITH_SCOPE: u8 = 0x0F;
    pub const INT32: u8 = 0x10;
    pub const TIMESTAMP: u8 = 0x11;
    pub const INT64: u8 = 0x12;
    pub const DECIMAL128: u8 = 0x13;
    pub const MAX_KEY: u8 = 0x7F;
    pub const MIN_KEY: u8 = 0xFF;
}

/// The binary subtype whose bytes carry their length a second time.
const SUBTYPE_OLD_BINARY: u8 = 0x02;

/// How a NUL inside a name is stored.
const NUL_IN_NAME: [u8; 2] = [0xC0, 0x80];

/// Why bytes are not a BSON document, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        match self.kind {
            BsonErrorKind::UnexpectedEnd => f.write_str("The BSON ends too early")?,
            BsonErrorKind::InvalidLength => f.write_str("A length in the BSON is wrong")?,
            BsonErrorKind::InvalidType(kind) => write!(f, "The BSON type 0x{kind:02X} is unknown")?,
            BsonErrorKind::InvalidUtf8 => f.write_str("A text in the BSON is not valid UTF-8")?,
            BsonErrorKind::InvalidBool => f.write_str("A BSON boolean is neither 0 nor 1")?,
            BsonErrorKind::TooDeep => f.write_str("The BSON is nested too deeply")?,
        }
        write!(f, ", at byte {}.", self.offset)
    }
}

impl std::error::Error for BsonError {}
