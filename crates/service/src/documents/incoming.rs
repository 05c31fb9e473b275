//! Documents that a client has sent.

use bytes::Bytes;
use lapsedb_value::bson::{self, BsonError};
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};

/// A document that is to be inserted.
#[derive(Clone, Debug)]
pub enum Incoming {
    /// One that has been read.
    Read(Object),
    /// One that is read when it is its turn.
    Raw(RawDocument),
}

/// A document as it came: it has been checked, and takes the room of its bytes. As a tree it can take thirty times as much.
#[derive(Clone, Debug)]
pub struct RawDocument {
    bytes: Bytes,
    tree_bytes: usize,
}

impl RawDocument {
    /// Checks a document's bytes.
    ///
    /// # Errors
    /// When they are not a document.
    pub fn new(bytes: Bytes) -> std::result::Result<RawDocument, BsonError> {
        let tree_bytes = bson::check_document(&bytes)?;
        Ok(RawDocument { bytes, tree_bytes })
    }

    /// Bytes that it takes now.
    #[must_use]
    pub fn raw_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that it takes once it is read.
    #[must_use]
    pub const fn tree_bytes(&self) -> usize {
        self.tree_bytes
    }

    /// Reads it.
    ///
    /// # Errors
    /// Never for bytes that were checked.
    pub fn read(&self) -> Result<Object> {
        bson::read_document(&self.bytes)
            .map_err(|error| Fault::new(code::BAD_VALUE, error.to_string()))
    }
}

impl Incoming {
    /// Reads it, if it has not been read.
    ///
    /// # Errors
    /// Never for bytes that were checked.
    pub(crate) fn into_object(self) -> Result<Object> {
        match self {
            Incoming::Read(object) => Ok(object),
            Incoming::Raw(raw) => raw.read(),
        }
    }
}

impl From<Object> for Incoming {
    fn from(object: Object) -> Incoming {
        Incoming::Read(object)
    }
}

impl From<RawDocument> for Incoming {
    fn from(raw: RawDocument) -> Incoming {
        Incoming::Raw(raw)
    }
}

/// Reads documents that are needed all at once.
///
/// # Errors
/// Never for bytes that were checked.
pub fn read_all(documents: &[RawDocument]) -> Result<Vec<Value>> {
    let read = |raw: &RawDocument| raw.read().map(Value::Object);
    documents.iter().map(read).collect()
}
