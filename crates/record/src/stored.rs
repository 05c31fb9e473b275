//! `Stored` (opaque) becomes `Live` by `reveal(&Lens)`; there is no other way to a body.

use crate::header::Header;
use crate::ttl::{Expiry, Lens};

/// Bytes that are not what was written. They are reported, never served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// Fewer bytes than the format needs.
    #[error("a stored entry is too short")]
    Short,
    /// A format this version does not know.
    #[error("a stored record has the unknown format {0}")]
    Format(u8),
    /// A kind of ttl this version does not know.
    #[error("a stored entry has the unknown kind of ttl {0}")]
    TtlKind(u8),
    /// Header and body do not match their checksum.
    #[error("a stored record does not match its checksum")]
    Checksum,
    /// The body or an entry beside it cannot be read.
    #[error("a stored entry cannot be read")]
    Body,
}

/// A record as the engine gave it: nothing can be read from it but whether it lives.
#[derive(Clone)]
pub struct Stored<B> {
    bytes: B,
}

/// A record that may be seen. Only [`Stored::reveal`] makes one.
#[derive(Clone)]
pub struct Live<B> {
    header: Header,
    bytes: B,
}

impl<B: AsRef<[u8]>> Stored<B> {
    /// Takes what the engine returned.
    pub const fn new(bytes: B) -> Stored<B> {
        Stored { bytes }
    }

    /// The record, if it is alive through this lens.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub fn reveal(self, lens: &Lens) -> Result<Option<Live<B>>, Corrupt> {
        let header = Header::read(self.bytes.as_ref())?;
        if !lens.is_live(&header.mark()) {
            return Ok(None);
        }
        Ok(Some(Live {
            header,
            bytes: self.bytes,
        }))
    }

    /// The header, for those who replace or remove the record: never shown to a client.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub fn header(&self) -> Result<Header, Corrupt> {
        Header::read_unchecked(self.bytes.as_ref())
    }

    /// The record as it is stored, for keeping it as a version of the past: never shown as the present.
    pub fn as_version(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The body of a record whether it lives or not, for removing the entries that belong to it.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub fn remains(&self) -> Result<&[u8], Corrupt> {
        let header = Header::read(self.bytes.as_ref())?;
        self.bytes
            .as_ref()
            .get(header.length()..)
            .ok_or(Corrupt::Short)
    }
}

impl<B: AsRef<[u8]>> Live<B> {
    /// Write time, lsn, ordinal, own ttl, size.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The body: a BSON document without system properties.
    pub fn body(&self) -> &[u8] {
        self.bytes
            .as_ref()
            .get(self.header.length()..)
            .unwrap_or_default()
    }

    /// The record's bytes and where in them the body begins, for showing it without a copy.
    pub fn into_bytes(self) -> (B, usize) {
        let begin = self.header.length();
        (self.bytes, begin)
    }

    /// When it will end under the lens's setting.
    pub fn expiry(&self, lens: &Lens) -> Expiry {
        lens.expiry(&self.header.mark())
    }
}
