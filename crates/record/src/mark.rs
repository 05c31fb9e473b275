//! The TTL mark that every entry beside the record carries: index, log, due, order and unique entries.
//!
//! An answer given from such an entry alone asks the rule by the entry's own bytes, never by its presence.

use crate::dates::{self, Dates};
use crate::stored::Corrupt;
use crate::time::Secs;
use crate::ttl::{ItemTtl, Lens};

/// Bytes of the mark of a document without dates: kind, own ttl, write time. Dates follow, where there are some.
pub const MARK_BYTES: usize = 13;
/// Where the write time stands in a mark: the commit fills it.
pub const MARK_WRITTEN_AT: usize = 5;
/// Set in the kind of ttl when dates follow. Whatever it says, the rest of the mark means the same.
pub const DATED: u8 = 0x80;

/// Own ttl, write time and dates of the record an entry belongs to: all that the rule asks of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What the item says.
    pub ttl: ItemTtl,
    /// The second of its last write.
    pub written: Secs,
    /// Its dates under the collection's date indexes.
    pub dates: Dates,
}

impl Mark {
    /// The mark of a document without dates.
    #[must_use]
    pub fn undated(ttl: ItemTtl, written: Secs) -> Mark {
        Mark {
            ttl,
            written,
            dates: Dates::new(),
        }
    }

    /// Appends the mark's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (kind, secs) = ttl_bytes(self.ttl);
        out.push(if self.dates.is_empty() {
            kind
        } else {
            kind | DATED
        });
        out.extend_from_slice(&secs.to_be_bytes());
        out.extend_from_slice(&self.written.0.to_be_bytes());
        if !self.dates.is_empty() {
            dates::write(&self.dates, out);
        }
    }

    /// Reads the mark at the start of an entry.
    ///
    /// # Errors
    /// When the entry is too short or names a kind this version does not know.
    pub fn read(bytes: &[u8]) -> Result<Mark, Corrupt> {
        Mark::split(bytes).map(|(mark, _)| mark)
    }

    /// Reads the mark at the start of an entry, and gives what follows it.
    ///
    /// # Errors
    /// When the entry is too short or names a kind this version does not know.
    pub fn split(bytes: &[u8]) -> Result<(Mark, &[u8]), Corrupt> {
        let [kind, t0, t1, t2, t3, w @ ..] = bytes else {
            return Err(Corrupt::Short);
        };
        let Some((written, rest)) = w.split_first_chunk::<8>() else {
            return Err(Corrupt::Short);
        };
        let (dates, rest) = if kind & DATED == 0 {
            (Dates::new(), rest)
        } else {
            dates::split(rest)?
        };
        let mark = Mark {
            ttl: ttl_from(kind & !DATED, u32::from_be_bytes([*t0, *t1, *t2, *t3]))?,
            written: Secs(u64::from_be_bytes(*written)),
            dates,
        };
        Ok((mark, rest))
    }

    /// Whether the record this entry belongs to may be seen.
    #[must_use]
    pub fn is_live(&self, lens: &Lens) -> bool {
        lens.is_live(self)
    }
}

/// Kind and seconds as stored.
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
