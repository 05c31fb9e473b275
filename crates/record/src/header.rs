//! The bytes before the body, versioned. `docs/record-format.md` shows them as a table.

use crate::dates::{self, Dates};
use crate::mark::{DATED, Mark, ttl_bytes, ttl_from};
use crate::stored::Corrupt;
use crate::time::Secs;
use crate::ttl::ItemTtl;

/// The format of a record without dates.
pub const FORMAT: u8 = 1;
/// The format of a record with dates: they stand between the header of format 1 and the body.
pub const FORMAT_DATED: u8 = 2;
/// Bytes of a header in format 1, and of the first part of one in format 2.
pub const HEADER_BYTES: usize = 40;
/// Where the commit fills in the write time, in seconds.
pub const WRITTEN_AT: usize = 8;
/// Where the commit fills in the lsn.
pub const LSN_AT: usize = 16;
/// Where the commit fills in the creation ordinal of a new record.
pub const ORDINAL_AT: usize = 24;

/// What is known of a record besides its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the item says of its own life.
    pub ttl: ItemTtl,
    /// Its place within the batch that wrote it; with the lsn it names its log entry.
    pub index: u16,
    /// The second of its last write: `_ts`.
    pub written: Secs,
    /// The commit that wrote it: `_etag` derives from it.
    pub lsn: u64,
    /// The order of its creation: `_rid` derives from it.
    pub ordinal: u64,
    /// What usage figures count for it, in bytes.
    pub charged: u32,
    /// Its dates under the collection's date indexes.
    pub dates: Dates,
}

impl Header {
    /// Appends header and body, with their checksum.
    ///
    /// Write time, lsn and (for a new record) ordinal are filled by the commit, so the checksum leaves them out;
    /// the engine's own checksums cover them on disk.
    pub fn write(&self, body: &[u8], out: &mut Vec<u8>) {
        let (kind, ttl) = ttl_bytes(self.ttl);
        let start = out.len();
        let dated = !self.dates.is_empty();
        out.push(if dated { FORMAT_DATED } else { FORMAT });
        out.push(if dated { kind | DATED } else { kind });
        out.extend_from_slice(&self.index.to_be_bytes());
        out.extend_from_slice(&ttl.to_be_bytes());
        out.extend_from_slice(&self.written.0.to_be_bytes());
        out.extend_from_slice(&self.lsn.to_be_bytes());
        out.extend_from_slice(&self.ordinal.to_be_bytes());
        out.extend_from_slice(&self.charged.to_be_bytes());
        let sum_at = out.len();
        out.extend_from_slice(&[0; 4]);
        if dated {
            dates::write(&self.dates, out);
        }
        out.extend_from_slice(body);
        let sum = checksum(
            &out[start..start + 8],
            self.charged,
            &out[start + HEADER_BYTES..],
        );
        out[sum_at..start + HEADER_BYTES].copy_from_slice(&sum.to_be_bytes());
    }

    /// What the rule asks of the record.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark {
            ttl: self.ttl,
            written: self.written,
            dates: self.dates.clone(),
        }
    }

    /// Bytes of this header: the body stands behind them.
    #[must_use]
    pub fn length(&self) -> usize {
        if self.dates.is_empty() {
            HEADER_BYTES
        } else {
            HEADER_BYTES + dates::length(self.dates.len())
        }
    }

    /// Reads the header of a record and checks its body.
    ///
    /// # Errors
    /// When the bytes are too short, of an unknown format, or do not match their checksum.
    pub fn read(bytes: &[u8]) -> Result<Header, Corrupt> {
        let header = Header::read_unchecked(bytes)?;
        let (head, rest) = bytes.split_at(HEADER_BYTES);
        let stored = u32::from_be_bytes([head[36], head[37], head[38], head[39]]);
        if checksum(&head[..8], header.charged, rest) != stored {
            return Err(Corrupt::Checksum);
        }
        Ok(header)
    }

    /// Reads the header alone: for those who never show the body.
    ///
    /// # Errors
    /// When the bytes are too short or of an unknown format.
    pub fn read_unchecked(bytes: &[u8]) -> Result<Header, Corrupt> {
        let Some((head, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Corrupt::Short);
        };
        let (kind, dates) = match head[0] {
            FORMAT => (head[1], Dates::new()),
            FORMAT_DATED => (head[1] & !DATED, dates::split(rest)?.0),
            other => return Err(Corrupt::Format(other)),
        };
        Ok(Header {
            ttl: ttl_from(
                kind,
                u32::from_be_bytes([head[4], head[5], head[6], head[7]]),
            )?,
            index: u16::from_be_bytes([head[2], head[3]]),
            written: Secs(u64_at(head, WRITTEN_AT)),
            lsn: u64_at(head, LSN_AT),
            ordinal: u64_at(head, ORDINAL_AT),
            charged: u32::from_be_bytes([head[32], head[33], head[34], head[35]]),
            dates,
        })
    }
}

fn u64_at(head: &[u8; HEADER_BYTES], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&head[at..at + 8]);
    u64::from_be_bytes(bytes)
}

/// Over what the commit does not fill; the rest is dates and body.
fn checksum(fixed: &[u8], charged: u32, rest: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(fixed);
    sum.update(&charged.to_be_bytes());
    sum.update(rest);
    sum.finalize()
}
