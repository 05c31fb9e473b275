//! The physical layer of RocksDB's log: blocks of 32 KiB, and in each of them fragments of records, each with a header of
//! checksum (4 bytes), length (2) and type (1), least significant byte first. No fragment crosses a block; fewer bytes
//! than a header at the end of a block are filled with zeros. The checksum covers type and payload, not the length.

use super::crc32c::{Crc32c, differ_by_one_bit};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 32 * 1024;
/// Bytes of a header.
const HEADER_BYTES: usize = 7;
const TYPE_AT: usize = 6;
/// The least a disk writes at once, in bytes. After a loss of power a sector is as it was before or as it was to become.
const SECTOR_BYTES: usize = 512;
/// The type of the record by which a log describes its predecessor.
const PREDECESSOR: u8 = 130;

/// Which part of a record a fragment is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// All of it.
    Full,
    First,
    Middle,
    Last,
    /// Not a write batch: what a log says about its predecessor.
    Aside,
}

/// A fragment whose checksum is right.
#[derive(Clone, Copy, Debug)]
pub struct Fragment<'a> {
    pub part: Part,
    pub payload: &'a [u8],
    /// Where the next one begins, within the block.
    pub next: usize,
}

/// Why there is no fragment where one must be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// The file ends within it.
    Cut,
    /// Type and length are zero: nothing was written here.
    Empty,
    /// It would reach beyond its block.
    Length,
    /// Its bytes are not those that were written.
    Checksum,
    /// A type that this program never writes.
    Type,
}

impl Fault {
    /// What is wrong, for people.
    pub const fn reason(self) -> &'static str {
        match self {
            Fault::Cut => "the file ends within a record",
            Fault::Empty => "there are zeros where a record must be",
            Fault::Length => "the length of a record is wrong",
            Fault::Checksum => "the checksum of a record does not match",
            Fault::Type => "a record has an unknown type",
        }
    }
}

/// The fragment that begins at `at`; none at the end of the block.
pub fn fragment(block: &[u8], at: usize) -> Result<Option<Fragment<'_>>, Fault> {
    let rest = block.get(at..).unwrap_or_default();
    let Some(header) = rest.first_chunk::<HEADER_BYTES>() else {
        let is_whole_block = block.len() == BLOCK_BYTES;
        return if is_whole_block || rest.is_empty() {
            Ok(None)
        } else {
            Err(Fault::Cut)
        };
    };
    let length = length(header);
    let kind = header[TYPE_AT];
    if kind == 0 && length == 0 {
        return Err(Fault::Empty);
    }
    let Some(payload) = rest.get(HEADER_BYTES..HEADER_BYTES + length) else {
        let may_be_cut = block.len() < BLOCK_BYTES && at + HEADER_BYTES + length <= BLOCK_BYTES;
        return Err(if may_be_cut {
            Fault::Cut
        } else {
            Fault::Length
        });
    };
    let mut checksum = Crc32c::new();
    checksum.update(&[kind]);
    checksum.update(payload);
    if checksum.masked() != stored_checksum(header) {
        return Err(Fault::Checksum);
    }
    Ok(Some(Fragment {
        part: part(kind).ok_or(Fault::Type)?,
        payload,
        next: at + HEADER_BYTES + length,
    }))
}

/// Whether a fragment of a known type could begin at `at`: spares the checksum of most other places.
pub fn may_begin(block: &[u8], at: usize) -> bool {
    block
        .get(at + TYPE_AT)
        .is_some_and(|kind| part(*kind).is_some())
}

fn part(kind: u8) -> Option<Part> {
    match kind {
        1 => Some(Part::Full),
        2 => Some(Part::First),
        3 => Some(Part::Middle),
        4 => Some(Part::Last),
        PREDECESSOR => Some(Part::Aside),
        _ => None,
    }
}

fn length(header: &[u8; HEADER_BYTES]) -> usize {
    usize::from(u16::from_le_bytes([header[4], header[5]]))
}

fn stored_checksum(header: &[u8; HEADER_BYTES]) -> u32 {
    u32::from_le_bytes([header[0], header[1], header[2], header[3]])
}

/// Whether the bytes at a fault are those of a whole fragment, but for one bit or for the length. A write that a loss of
/// power has torn does not look like that: the fragment was written whole, and damaged later.
pub fn was_whole(block: &[u8], at: usize) -> bool {
    let rest = block.get(at..).unwrap_or_default();
    let Some(header) = rest.first_chunk::<HEADER_BYTES>() else {
        return false;
    };
    let stored = stored_checksum(header);
    let checksummed = &rest[TYPE_AT..];
    // The checksum does not cover the length: with the right one it matches.
    let mut checksum = Crc32c::new();
    if part(header[TYPE_AT]).is_some() {
        for byte in checksummed {
            checksum.update(std::slice::from_ref(byte));
            if checksum.masked() == stored {
                return true;
            }
        }
    }
    let Some(checksummed) = checksummed.get(..=length(header)) else {
        return false;
    };
    let mut checksum = Crc32c::new();
    checksum.update(checksummed);
    (checksum.masked() ^ stored).count_ones() == 1
        || differ_by_one_bit(stored, checksum, checksummed.len())
}

/// Whether what should be a fragment at `at` covers a sector, or its part of one, that was never written: it reads as zeros.
pub fn is_unwritten(block: &[u8], at: usize) -> bool {
    let rest = block.get(at..).unwrap_or_default();
    let covered = match rest.first_chunk::<HEADER_BYTES>() {
        // The length is in the part that is missing; the next sector will tell as well.
        Some(header) if header[TYPE_AT] == 0 => HEADER_BYTES + SECTOR_BYTES,
        Some(header) => HEADER_BYTES + length(header),
        None => rest.len(),
    };
    let end = (at + covered).min(block.len());
    let mut begin = at;
    while begin < end {
        // Blocks begin with a sector.
        let sector_end = (begin / SECTOR_BYTES + 1) * SECTOR_BYTES;
        if block[begin..sector_end.min(end)]
            .iter()
            .all(|byte| *byte == 0)
        {
            return true;
        }
        begin = sector_end;
    }
    false
}
