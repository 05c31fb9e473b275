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
//! Everything else is *damage*: the store does not start, and names file and place.
//!
//! With `--durability relaxed` nothing confirms a record before the next. Any sector since the last sync may be missing, and as a new log
//! is begun before the old one is synced, the end of an older log too: by a cut within a record, by zeros, or right between two records,
//! which only the next log tells, because it begins with the length of its predecessor. Such an end is *unsynced*: it is dropped
//! with all that follows, as a consistent store needs, and copies are kept. It is damage nevertheless where the manifest says that the
//! log was synced up to there. RocksDB syncs a log and says so before a table has its writes (there are several column families),
//! so no table is ever ahead of an unsynced end.
//!
//! Which of both modes counts is that of the run that wrote the log, not of the one that reads it (`durability.rs`). Logs that
//! RocksDB will not replay are not looked at (`manifest.rs`).

mod block;
mod crc32c;
mod manifest;
mod reader;
mod repair;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

#[cfg(test)]
pub(super) use self::crc32c::Crc32c;
#[cfg(test)]
pub(super) use self::manifest::read as read_manifest;
use self::reader::{Predecessor, Reader, Stop, survey};
pub(super) use self::repair::{cut_torn_end, drop_damaged};
use super::database::{MARK_BYTES, MARK_KEY};
use super::durability::Durability;
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
    pub number: u64,
    pub path: PathBuf,
    /// Its length.
    bytes: u64,
}

/// What the logs hold that RocksDB will replay.
#[derive(Debug)]
pub(super) struct Inspection {
    /// Oldest first.
    pub logs: Vec<Log>,
    /// Whole write batches before the first fault.
    pub kept: Batches,
    /// The first fault, if there is one.
    pub fault: Option<Found>,
    /// Up to which log, exclusively, some column family has its writes in tables.
    pub in_tables: u64,
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

/// What a fault looks like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Trace {
    /// Bytes are not those that were written. No loss of power does that.
    Altered,
    /// A record is not there as a whole: the file ends within it, or a sector of it was never written.
    Unfinished,
    /// Whole records are missing at the end of a log that has a successor, or the log itself is.
    Short,
}

/// What is to be done about a fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// A write that a loss of power has interrupted, and nothing behind it: cut off.
    Torn,
    /// Writes that were not synced when the power was lost, and later ones of which some reached the disk: dropped, with copies.
    Unsynced,
    /// What was durable is not as it was: refused.
    Damaged,
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
    trace: Trace,
    /// The manifest says that the faulty part was synced.
    is_synced: bool,
    /// What follows in this log and later ones.
    pub following: Batches,
}

impl Found {
    /// What it is in a log that was written with this durability.
    pub fn verdict(&self, written: Durability) -> Verdict {
        match (self.trace, written) {
            _ if self.is_synced => Verdict::Damaged,
            (Trace::Altered, _) | (Trace::Short, Durability::Sync) => Verdict::Damaged,
            (Trace::Unfinished, _) | (Trace::Short, Durability::Relaxed)
                if self.following.begun == 0 =>
            {
                Verdict::Torn
            }
            (Trace::Unfinished, Durability::Sync) => Verdict::Damaged,
            (Trace::Unfinished | Trace::Short, Durability::Relaxed) => Verdict::Unsynced,
        }
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

/// Reads the logs in a folder that RocksDB will replay. Changes nothing.
pub(super) fn inspect(files: &Path) -> Result<Inspection, EngineError> {
    let manifest = manifest::read(files)?;
    let mut logs = logs(files)?;
    logs.retain(|log| manifest.replayed_from.is_none_or(|from| log.number >= from));
    let mut kept = Batches::default();
    let mut fault = None;
    for (at, log) in logs.iter().enumerate() {
        let mut batches = kept;
        let mut reader = Reader::new(&mut batches);
        let stop = open(log)
            .and_then(|mut file| reader.read(&mut file))
            .map_err(|error| failed(log, &error))?;
        let gap = reader
            .predecessor
            .and_then(|said| gap(&logs, at, said, manifest.replayed_from));
        if gap.is_none() {
            kept = batches;
        }
        if let Some((at, stop)) = gap.or(stop.map(|stop| (at, stop))) {
            fault = Some(found(&logs, at, stop, kept, &manifest.synced)?);
            break;
        }
    }
    Ok(Inspection {
        logs,
        kept,
        fault,
        in_tables: manifest.in_tables,
    })
}

fn open(log: &Log) -> std::io::Result<File> {
    File::open(&log.path)
}

fn failed(log: &Log, error: &std::io::Error) -> EngineError {
    EngineError::Io(format!("{}: {error}", log.path.display()))
}

/// What is missing before the log at `at`, which says this of its predecessor.
fn gap(logs: &[Log], at: usize, said: Predecessor, from: Option<u64>) -> Option<(usize, Stop)> {
    let missing = Stop {
        offset: 0,
        whole: 0,
        reason: "the log before this one is missing",
        trace: Trace::Short,
    };
    let Some(before) = at.checked_sub(1) else {
        // What RocksDB does not replay may be deleted.
        let is_replayed = from.is_some_and(|from| said.number >= from);
        return is_replayed.then_some((at, missing));
    };
    let log = &logs[before];
    if log.number != said.number {
        return Some((at, missing));
    }
    let short = Stop {
        offset: log.bytes,
        whole: log.bytes,
        reason: "records are missing at the end: the next log tells of more",
        trace: Trace::Short,
    };
    (log.bytes < said.bytes).then_some((before, short))
}

/// The fault, with all that can be read behind it.
fn found(
    logs: &[Log],
    at: usize,
    stop: Stop,
    kept: Batches,
    synced: &BTreeMap<u64, u64>,
) -> Result<Found, EngineError> {
    let mut following = Batches {
        sequence: kept.sequence,
        ..Batches::default()
    };
    let mut behind = Some(stop.offset);
    for log in &logs[at..] {
        open(log)
            .and_then(|mut file| survey(&mut file, behind.take(), &mut following))
            .map_err(|error| failed(log, &error))?;
    }
    let synced = synced.get(&logs[at].number);
    Ok(Found {
        log: at,
        offset: stop.offset,
        whole: stop.whole,
        reason: stop.reason,
        trace: stop.trace,
        is_synced: synced.is_some_and(|synced| stop.whole < *synced),
        following,
    })
}

/// The logs of a folder, oldest first.
fn logs(files: &Path) -> Result<Vec<Log>, EngineError> {
    let failed = |error| EngineError::Io(format!("{}: {error}", files.display()));
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(files).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let number = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        if let Some(number) =
            number.filter(|_| path.extension().is_some_and(|end| end == LOG_EXTENSION))
        {
            let bytes = entry.metadata().map_err(failed)?.len();
            logs.push(Log {
                number,
                path,
                bytes,
            });
        }
    }
    logs.sort_by_key(|log| log.number);
    Ok(logs)
}
