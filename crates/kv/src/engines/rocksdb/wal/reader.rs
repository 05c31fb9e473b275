//! Reads the records of one log: up to its first fault, or whatever can be found behind one.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::block::{self, BLOCK_BYTES, Fault, Fragment, Part};
use super::{BATCH_HEAD_BYTES, Batches, MARK_PUT_BYTES, Trace};
use crate::engines::rocksdb::database::{MARK_BYTES, MARK_KEY, mark_of_value};

/// A write batch of which only the beginning was read so far.
#[derive(Default)]
struct Open {
    head: Vec<u8>,
    /// Its newest bytes.
    tail: Vec<u8>,
}

impl Open {
    fn new(payload: &[u8]) -> Open {
        let mut open = Open::default();
        open.extend(payload);
        open
    }

    fn extend(&mut self, payload: &[u8]) {
        let missing = BATCH_HEAD_BYTES - self.head.len();
        self.head.extend(payload.iter().take(missing));
        let kept = payload.len().saturating_sub(MARK_PUT_BYTES);
        self.tail.extend(&payload[kept..]);
        self.tail
            .drain(..self.tail.len().saturating_sub(MARK_PUT_BYTES));
    }

    /// Sequence numbers and the mark, if these are the bytes of one of our write batches.
    fn end(self, batches: &mut Batches) {
        let Some((sequence, rest)) = self.head.split_first_chunk::<8>() else {
            return;
        };
        let count = rest
            .first_chunk::<4>()
            .map_or(0, |count| u32::from_le_bytes(*count));
        let last = u64::from_le_bytes(*sequence).saturating_add(u64::from(count).saturating_sub(1));
        batches.sequence = Some(last);
        let at = MARK_PUT_BYTES - MARK_BYTES;
        if let Some(value) = self.tail.get(at..)
            && self.tail[2..at - 1] == *MARK_KEY
            && let Ok(mark) = mark_of_value(value)
        {
            batches.newest = Some(mark);
        }
    }
}

/// Why reading stopped before the end of the file.
#[derive(Debug)]
pub(super) struct Stop {
    /// Where the fault is, in bytes.
    pub offset: u64,
    /// Up to where the log is whole, in bytes.
    pub whole: u64,
    pub reason: &'static str,
    pub trace: Trace,
}

/// What a log says of the one before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Predecessor {
    pub number: u64,
    /// Its length when it was closed.
    pub bytes: u64,
}

impl Predecessor {
    /// Number, length and last sequence number, each of 8 bytes.
    fn decode(payload: &[u8]) -> Option<Predecessor> {
        let (number, rest) = payload.split_first_chunk::<8>()?;
        Some(Predecessor {
            number: u64::from_le_bytes(*number),
            bytes: u64::from_le_bytes(*rest.first_chunk::<8>()?),
        })
    }
}

/// Reads one log up to its first fault.
pub(super) struct Reader<'a> {
    batches: &'a mut Batches,
    open: Option<Open>,
    /// Up to where whole records were read.
    whole: u64,
    pub predecessor: Option<Predecessor>,
}

impl Reader<'_> {
    pub fn new(batches: &mut Batches) -> Reader<'_> {
        Reader {
            batches,
            open: None,
            whole: 0,
            predecessor: None,
        }
    }

    pub fn read(&mut self, file: &mut File) -> std::io::Result<Option<Stop>> {
        let mut block = vec![0; BLOCK_BYTES];
        let mut start = 0;
        loop {
            let bytes = read_block(file, &mut block)?;
            let block = &block[..bytes];
            if let Some(stop) = self.read_block(block, start) {
                return Ok(Some(stop));
            }
            start += bytes as u64;
            if bytes < BLOCK_BYTES {
                break;
            }
        }
        // All fragments are right, but the last record has no end: the rest of it was never written.
        let open = self.open.take();
        Ok(open.map(|_| self.stop(start, Fault::Cut.reason(), Trace::Unfinished)))
    }

    fn read_block(&mut self, block: &[u8], start: u64) -> Option<Stop> {
        let mut at = 0;
        loop {
            let offset = start + at as u64;
            match block::fragment(block, at) {
                Ok(None) => return None,
                Ok(Some(fragment)) => {
                    if let Err(reason) = self.take(fragment) {
                        return Some(self.stop(offset, reason, Trace::Altered));
                    }
                    at = fragment.next;
                    if self.open.is_none() {
                        self.whole = start + at as u64;
                    }
                }
                Err(fault) => {
                    let is_unfinished = !block::was_whole(block, at)
                        && (fault == Fault::Cut || block::is_unwritten(block, at));
                    let trace = if is_unfinished {
                        Trace::Unfinished
                    } else {
                        Trace::Altered
                    };
                    return Some(self.stop(offset, fault.reason(), trace));
                }
            }
        }
    }

    fn stop(&self, offset: u64, reason: &'static str, trace: Trace) -> Stop {
        Stop {
            offset,
            whole: self.whole,
            reason,
            trace,
        }
    }

    fn take(&mut self, fragment: Fragment<'_>) -> Result<(), &'static str> {
        match (fragment.part, &mut self.open) {
            (Part::Aside, None) => self.predecessor = Predecessor::decode(fragment.payload),
            (Part::Full | Part::First, None) => {
                self.batches.begun += 1;
                let open = Open::new(fragment.payload);
                if fragment.part == Part::Full {
                    open.end(self.batches);
                } else {
                    self.open = Some(open);
                }
            }
            (Part::Middle, Some(open)) => open.extend(fragment.payload),
            (Part::Last, Some(open)) => {
                open.extend(fragment.payload);
                if let Some(open) = self.open.take() {
                    open.end(self.batches);
                }
            }
            (Part::Middle | Part::Last, None) => return Err("a record has no beginning"),
            (Part::Full | Part::First | Part::Aside, Some(_)) => {
                return Err("the record before this place has no end");
            }
        }
        Ok(())
    }
}

/// Counts the write batches behind a fault, or in a whole log. Fragments are found again at the beginning of each block and, where a
/// length is not to be trusted, by trying every place.
pub(super) fn survey(
    file: &mut File,
    behind: Option<u64>,
    batches: &mut Batches,
) -> std::io::Result<()> {
    let known = batches.sequence;
    let mut reader = Reader::new(batches);
    let mut block = vec![0; BLOCK_BYTES];
    let mut at = 0;
    if let Some(offset) = behind {
        let in_block = offset % BLOCK_BYTES as u64;
        file.seek(SeekFrom::Start(offset - in_block))?;
        at = in_block as usize;
    } else {
        file.rewind()?;
    }
    loop {
        let bytes = read_block(file, &mut block)?;
        let block = &block[..bytes];
        while at < block.len() {
            let trusted = block::fragment(block, at);
            let Ok(Some(fragment)) = trusted else {
                // Bytes of a value may look like a fragment: a batch that begins must also come later in order.
                at = next_place(block, at, known);
                reader.open = None;
                continue;
            };
            if reader.take(fragment).is_err() {
                reader.open = None;
                // The beginning of a record counts, whatever was before it.
                let _ = reader.take(fragment);
            }
            at = fragment.next;
        }
        at = 0;
        if bytes < BLOCK_BYTES {
            return Ok(());
        }
    }
}

/// The next place behind `at` where a fragment begins; the end of the block if there is none.
fn next_place(block: &[u8], at: usize, known: Option<u64>) -> usize {
    let is_fragment = |at: &usize| {
        let Some(Ok(Some(fragment))) =
            block::may_begin(block, *at).then(|| block::fragment(block, *at))
        else {
            return false;
        };
        match fragment.part {
            Part::Middle | Part::Last | Part::Aside => true,
            Part::Full | Part::First => fragment
                .payload
                .first_chunk::<8>()
                .filter(|_| fragment.payload.len() >= BATCH_HEAD_BYTES)
                .is_some_and(|first| known.is_none_or(|known| u64::from_le_bytes(*first) > known)),
        }
    };
    (at + 1..block.len())
        .find(is_fragment)
        .unwrap_or(block.len())
}

/// Fills a block from a file; fewer bytes at its end.
fn read_block(file: &mut File, block: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match file.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
