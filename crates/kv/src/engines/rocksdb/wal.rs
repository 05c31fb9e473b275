//! Looks at the write-ahead log before RocksDB does, because RocksDB takes some damage for the end of the log.
//!
//! Every write of the sequencer is one record, a write batch, and with `--durability sync` the next one is written only
//! after the disk has confirmed this one. So of all records only the newest can be torn by a loss of power, and what was
//! acknowledged lies before it. The end of the log is *torn*, and is cut off, if
//!
//! 1. no record begins behind the fault: one that does proves that the faulty one was confirmed;
//! 2. the faulty bytes are not a whole record with a single wrong bit or a wrong length: that one was confirmed too;
//! 3. the file ends within the record, or a sector of it was never written. Sectors of one write reach the disk in any order, so
//!    later parts of the same record may well be there.
//!
//! Everything else is *damage*: the store does not start, and names file and place. With `--durability relaxed` nothing
//! confirms a record before the next, so there a sector that was never written ends the log whatever follows.

mod block;
mod crc32c;
mod repair;

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use self::block::{BLOCK_BYTES, Fault, Fragment, Part};
pub(super) use self::repair::{cut_torn_end, drop_damaged};
use super::database::{MARK_BYTES, MARK_KEY, mark_of_value};
use crate::engine::EngineError;
use crate::group::Mark;

/// Ends the name of a log.
const LOG_EXTENSION: &str = "log";
/// What a write batch begins with: its first sequence number (8 bytes) and how many it takes (4).
const BATCH_HEAD_BYTES: usize = 8 + 4;
/// What every write batch of the sequencer ends with: a put of the mark, as type, length of the key, key, length of the value, value.
const MARK_PUT_BYTES: usize = 1 + 1 + MARK_KEY.len() + 1 + MARK_BYTES;

/// A log file.
#[derive(Clone, Debug)]
pub(super) struct Log {
    number: u64,
    pub path: PathBuf,
}

/// What the logs hold.
#[derive(Debug)]
pub(super) struct Inspection {
    /// Oldest first.
    pub logs: Vec<Log>,
    /// Whole write batches before the first fault.
    pub kept: Batches,
    /// The first fault, if there is one.
    pub fault: Option<Found>,
}

/// Write batches of a stretch of the log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Batches {
    /// How many begin there.
    pub begun: u64,
    /// The last sequence number of the newest whole one.
    pub sequence: Option<u64>,
    /// The newest commit of the newest whole one.
    pub newest: Option<Mark>,
}

/// A fault, where it is, and what follows it.
#[derive(Debug)]
pub(super) struct Found {
    /// Which of the logs.
    pub log: usize,
    /// Where in it, in bytes.
    pub offset: u64,
    /// Up to where the log is whole, in bytes.
    pub whole: u64,
    reason: &'static str,
    /// A loss of power may leave it so.
    may_be_torn: bool,
    /// A sector of it was never written.
    is_unwritten: bool,
    /// What follows in this log and later ones.
    pub following: Batches,
}

impl Found {
    /// Whether this is no more than a write that a loss of power has interrupted.
    pub fn is_torn(&self, relaxed: bool) -> bool {
        if relaxed && self.is_unwritten {
            return true;
        }
        self.may_be_torn && self.following.begun == 0
    }
}

impl Inspection {
    /// Which commits the fault costs, in words.
    pub fn loss(&self) -> String {
        let Some(found) = &self.fault else {
            return "nothing is lost".to_owned();
        };
        let batches = found.following.begun;
        let first = self.kept.newest.map(|mark| mark.stamp.0 + 1);
        let last = found.following.newest.map(|mark| mark.stamp.0);
        let first = first.map_or_else(String::new, |first| format!(" from {first}"));
        let last = last.map_or_else(String::new, |last| format!(" to {last}"));
        format!("the commits{first}{last} (the damaged write and {batches} behind it)")
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(found) = &self.fault else {
            return write!(f, "the write-ahead log is whole");
        };
        let path = self.logs[found.log].path.display();
        write!(f, "{path}: at byte {}: {}", found.offset, found.reason)
    }
}

/// Reads all logs in a folder. Changes nothing.
pub(super) fn inspect(files: &Path) -> Result<Inspection, EngineError> {
    let logs = logs(files)?;
    let mut kept = Batches::default();
    for (at, log) in logs.iter().enumerate() {
        let failed = |error| EngineError::Io(format!("{}: {error}", log.path.display()));
        let mut file = File::open(&log.path).map_err(failed)?;
        let mut reader = Reader::new(&mut kept);
        let Some(mut found) = reader.read(&mut file).map_err(failed)? else {
            continue;
        };
        found.log = at;
        let mut behind = Batches {
            sequence: kept.sequence,
            ..Batches::default()
        };
        survey(&mut file, Some(found.offset), &mut behind).map_err(failed)?;
        for later in &logs[at + 1..] {
            let failed = |error| EngineError::Io(format!("{}: {error}", later.path.display()));
            let mut file = File::open(&later.path).map_err(failed)?;
            survey(&mut file, None, &mut behind).map_err(failed)?;
        }
        found.following = behind;
        return Ok(Inspection {
            logs,
            kept,
            fault: Some(found),
        });
    }
    Ok(Inspection {
        logs,
        kept,
        fault: None,
    })
}

/// The logs of a folder, oldest first.
fn logs(files: &Path) -> Result<Vec<Log>, EngineError> {
    let failed = |error| EngineError::Io(format!("{}: {error}", files.display()));
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(files).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let number = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        if let Some(number) =
            number.filter(|_| path.extension().is_some_and(|end| end == LOG_EXTENSION))
        {
            logs.push(Log { number, path });
        }
    }
    logs.sort_by_key(|log| log.number);
    Ok(logs)
}

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

/// Reads one log up to its first fault.
struct Reader<'a> {
    batches: &'a mut Batches,
    open: Option<Open>,
    /// Up to where whole records were read.
    whole: u64,
}

impl Reader<'_> {
    fn new(batches: &mut Batches) -> Reader<'_> {
        Reader {
            batches,
            open: None,
            whole: 0,
        }
    }

    fn read(&mut self, file: &mut File) -> std::io::Result<Option<Found>> {
        let mut block = vec![0; BLOCK_BYTES];
        let mut start = 0;
        loop {
            let bytes = read_block(file, &mut block)?;
            let block = &block[..bytes];
            if let Some(found) = self.read_block(block, start) {
                return Ok(Some(found));
            }
            start += bytes as u64;
            if bytes < BLOCK_BYTES {
                break;
            }
        }
        // All fragments are right, but the last record has no end: the rest of it was never written.
        Ok(self.open.take().map(|_| Found {
            may_be_torn: true,
            ..self.found(start, Fault::Cut.reason())
        }))
    }

    fn read_block(&mut self, block: &[u8], start: u64) -> Option<Found> {
        let mut at = 0;
        loop {
            let offset = start + at as u64;
            match block::fragment(block, at) {
                Ok(None) => return None,
                Ok(Some(fragment)) => {
                    if let Err(reason) = self.take(fragment) {
                        return Some(self.found(offset, reason));
                    }
                    at = fragment.next;
                    if self.open.is_none() {
                        self.whole = start + at as u64;
                    }
                }
                Err(fault) => {
                    let was_whole = block::was_whole(block, at);
                    let is_unwritten = !was_whole && block::is_unwritten(block, at);
                    return Some(Found {
                        is_unwritten,
                        may_be_torn: is_unwritten || (!was_whole && fault == Fault::Cut),
                        ..self.found(offset, fault.reason())
                    });
                }
            }
        }
    }

    fn found(&self, offset: u64, reason: &'static str) -> Found {
        Found {
            log: 0,
            offset,
            whole: self.whole,
            reason,
            may_be_torn: false,
            is_unwritten: false,
            following: Batches::default(),
        }
    }

    fn take(&mut self, fragment: Fragment<'_>) -> Result<(), &'static str> {
        match (fragment.part, &mut self.open) {
            (Part::Aside, None) => {}
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
fn survey(file: &mut File, behind: Option<u64>, batches: &mut Batches) -> std::io::Result<()> {
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
