//! The TTL mark that every entry beside the record carries: index, log, due, order and unique entries.
//!
//! An answer given from such an entry alone asks the rule by the entry's own bytes, never by its presence.

use crate::stored::Corrupt;
use crate::time::Secs;
use crate::ttl::{ItemTtl, Lens};

/// Bytes of a mark: kind, own ttl, write time.
pub const MARK_BYTES: usize = 13;
/// Where the write time stands in a mark: the commit fills it.
pub const MARK_WRITTEN_AT: usize = 5;

/// Own ttl and write time of the record an entry belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What the item says.
    pub ttl: ItemTtl,
    /// The second of its last write.
    pub written: Secs,
}

impl Mark {
    /// Appends the mark's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (kind, secs) = ttl_bytes(self.ttl);
        out.push(kind);
        out.extend_from_slice(&secs.to_be_bytes());
        out.extend_from_slice(&self.written.0.to_be_bytes());
    }

    /// Reads the mark at the start of an entry.
    ///
    /// # Errors
    /// When the entry is too short or names a kind this version does not know.
    pub fn read(bytes: &[u8]) -> Result<Mark, Corrupt> {
        let [kind, t0, t1, t2, t3, w @ ..] = bytes else {
            return Err(Corrupt::Short);
        };
        let Some((written, _)) = w.split_first_chunk::<8>() else {
            return Err(Corrupt::Short);
        };
        Ok(Mark {
            ttl: ttl_from(*kind, u32::from_be_bytes([*t0, *t1, *t2, *t3]))?,
            written: Secs(u64::from_be_bytes(*written)),
        })
    }

    /// Whether the record this entry belongs to may be seen.
    #[must_use]
    pub fn is_live(&self, lens: &Lens) -> bool {
        lens.is_live(self.ttl, self.written)
    }
}

/// Kind and seconds as stored. Kind 3 is kept for documents with a date of their own.
pub(crate) fn ttl_bytes(ttl: ItemTtl) -> (u8, u32) {
    match ttl {
        ItemTtl::Inherit => (0, 0),
        ItemTtl::Never => (1, 0),
        // A ttl is at most 2^31 - 1 seconds by construction; a larger one would be cut to it, never wrapped.
        ItemTtl::After(secs) => (2, u32::try_from(secs.0).unwrap_or(u32::MAX)),
    }
}

/// The reverse of [`ttl_bytes`].
pub(crate) fn ttl_from(kind: u8, secs: u32) -> Result<ItemTtl, Corrupt> {
    match kind {
        0 => Ok(ItemTtl::Inherit),
        1 => Ok(ItemTtl::Never),
        2 => Ok(ItemTtl::After(Secs(u64::from(secs)))),
        other => Err(Corrupt::TtlKind(other)),
    }
}
