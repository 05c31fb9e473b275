//! A loss of power starts cleanly, whatever the run before it had promised and the next one promises. What had to survive is there, or
//! the start refuses; what is dropped behind a fault is kept as a copy.

use std::path::PathBuf;

use super::log_damage::{Crashed, Noise, SECTOR, STARTS_ONE_IN, commits, flipped};
use super::*;
use crate::engines::rocksdb::durability::Durability;
use crate::engines::rocksdb::wal::{Crc32c, Verdict};
use crate::verify;

const COMMITS: usize = 8;
/// How many of them are in the older log.
const OLDER: usize = 5;
/// The type of the record by which a log describes its predecessor.
const PREDECESSOR: u8 = 130;

/// A store that crashed with two logs, both of which are needed. The newer one begins with the number and the length of the older.
struct TwoLogs {
    folder: tempfile::TempDir,
    written: Durability,
    older: PathBuf,
    newer: PathBuf,
    bytes: Bytes2,
    /// Where each commit ends in its log.
    ends: Vec<usize>,
}

/// The bytes of both logs; a log of none is not there.
#[derive(Clone, Debug)]
struct Bytes2 {
    older: Option<Vec<u8>>,
    newer: Vec<u8>,
}

/// What is expected of a start.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    Refused,
    /// So many commits are left, and the rest was never whole.
    Cut(usize),
    /// The same, and copies of the logs are kept.
    Dropped(usize),
}

impl TwoLogs {
    fn written(relaxed: bool) -> TwoLogs {
        let mut noise = Noise(21);
        let values: Vec<Vec<u8>> = (0..COMMITS).map(|_| noise.bytes(400)).collect();
        let one = Crashed::written(&values, relaxed);
        let split = one.ends[OLDER - 1];
        let number: u64 = one
            .log
            .file_stem()
            .unwrap()
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        let newer = one.log.with_file_name(format!("{:06}.log", number + 100));
        // A record has a header of 7 bytes, then the batch, which begins with its sequence number.
        let last = one.ends[OLDER - 2] + 7;
        let sequence = &one.bytes[last..last + 8];
        let said = [
            &number.to_le_bytes()[..],
            &(split as u64).to_le_bytes(),
            sequence,
        ];
        let mut newer_bytes = fragment(PREDECESSOR, &said.concat());
        let shift = split - newer_bytes.len();
        newer_bytes.extend(&one.bytes[split..]);
        let mut ends = one.ends;
        ends[OLDER..].iter_mut().for_each(|end| *end -= shift);
        TwoLogs {
            folder: one.folder,
            written: Durability::new(relaxed),
            older: one.log,
            newer,
            bytes: Bytes2 {
                older: Some(one.bytes[..split].to_vec()),
                newer: newer_bytes,
            },
            ends,
        }
    }

    fn older(&self) -> &[u8] {
        self.bytes.older.as_deref().unwrap()
    }

    fn write(&self, bytes: &Bytes2) {
        match &bytes.older {
            Some(older) => std::fs::write(&self.older, older).unwrap(),
            // It may be gone already.
            None => drop(std::fs::remove_file(&self.older)),
        }
        std::fs::write(&self.newer, &bytes.newer).unwrap();
    }

    /// What a start would do, without RocksDB.
    fn judge(&self, bytes: &Bytes2) -> Expected {
        self.write(bytes);
        let inspection = wal::inspect(self.older.parent().unwrap()).unwrap();
        let kept = inspection.kept.newest.map_or(0, |mark| mark.stamp.0) as usize;
        match inspection.fault.map(|found| found.verdict(self.written)) {
            None | Some(Verdict::Torn) => Expected::Cut(kept),
            Some(Verdict::Unsynced) => Expected::Dropped(kept),
            Some(Verdict::Damaged) => Expected::Refused,
        }
    }

    /// Starts a fresh copy that has these logs.
    fn start(&self, bytes: &Bytes2, relaxed: bool) -> Expected {
        self.write(bytes);
        let copy = crashed(self.folder.path());
        let Ok(engine) = open_as(copy.path(), 0, relaxed) else {
            let stored = Durability::stored(copy.path()).unwrap();
            assert_eq!(
                stored,
                Some(self.written),
                "a refused start promises nothing"
            );
            return Expected::Refused;
        };
        let stored = Durability::stored(copy.path()).unwrap();
        assert_eq!(stored, Some(Durability::new(relaxed)));
        let kept = commits(&engine) as usize;
        let dropped = std::fs::read_dir(copy.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.to_str().unwrap().contains("dropped-log"));
        let Some(dropped) = dropped else {
            return Expected::Cut(kept);
        };
        let kept_copy = |log: &Path| std::fs::read(dropped.join(log.file_name().unwrap()));
        assert_eq!(kept_copy(&self.newer).unwrap(), bytes.newer);
        if let (Ok(copy), Some(older)) = (kept_copy(&self.older), &bytes.older) {
            assert_eq!(&copy, older);
        }
        Expected::Dropped(kept)
    }

    /// How many commits lie before a place in the older log.
    fn before(&self, place: usize) -> usize {
        self.ends[..OLDER]
            .iter()
            .filter(|end| **end <= place)
            .count()
    }

    /// The same in the newer log.
    fn before_in_newer(&self, place: usize) -> usize {
        OLDER
            + self.ends[OLDER..]
                .iter()
                .filter(|end| **end <= place)
                .count()
    }

    /// What a store with less of its older log is: with sync it was durable, so that is damage.
    fn less(&self, left: usize) -> Expected {
        match self.written {
            Durability::Sync => Expected::Refused,
            Durability::Relaxed => Expected::Dropped(left),
        }
    }

    /// All kinds of damage, and what a start makes of them whatever it promises itself.
    fn cases(&self) -> Vec<(String, Bytes2, Expected)> {
        let mut cases = vec![(
            "whole".to_owned(),
            self.bytes.clone(),
            Expected::Cut(COMMITS),
        )];
        let newer = |newer: Vec<u8>| Bytes2 {
            newer,
            ..self.bytes.clone()
        };
        let older = |older: Option<Vec<u8>>| Bytes2 {
            older,
            ..self.bytes.clone()
        };
        for length in 0..self.bytes.newer.len() {
            let expected = Expected::Cut(self.before_in_newer(length));
            let bytes = newer(self.bytes.newer[..length].to_vec());
            cases.push((format!("the newest log cut at {length}"), bytes, expected));
        }
        let last = (self.bytes.newer.len() - 1) / SECTOR * SECTOR;
        let mut zeroed = self.bytes.newer.clone();
        zeroed[last..].fill(0);
        let expected = Expected::Cut(self.before_in_newer(last));
        cases.push(("the last sector zeroed".to_owned(), newer(zeroed), expected));
        for begin in (0..self.older().len()).step_by(SECTOR) {
            let mut zeroed = self.older().to_vec();
            let end = (begin + SECTOR).min(zeroed.len());
            zeroed[begin..end].fill(0);
            let what = format!("the sector at {begin} of the older log zeroed");
            cases.push((what, older(Some(zeroed)), self.less(self.before(begin))));
        }
        for length in 0..self.older().len() {
            let bytes = older(Some(self.older()[..length].to_vec()));
            let what = format!("the older log cut at {length}");
            cases.push((what, bytes, self.less(self.before(length))));
        }
        cases.push(("the older log gone".to_owned(), older(None), self.less(0)));
        let mut noise = Noise(4);
        let ends = self.ends[..OLDER].iter().map(|end| end * 8 - 1);
        for bit in (0..200)
            .map(|_| noise.below(self.older().len() * 8))
            .chain(ends)
        {
            let bytes = older(Some(flipped(self.older(), bit)));
            cases.push((
                format!("bit {bit} of the older log"),
                bytes,
                Expected::Refused,
            ));
        }
        for _ in 0..200 {
            let bit = noise.below(self.bytes.newer.len() * 8);
            let bytes = newer(flipped(&self.bytes.newer, bit));
            cases.push((
                format!("bit {bit} of the newest log"),
                bytes,
                Expected::Refused,
            ));
        }
        cases
    }
}

/// A whole fragment of a log.
fn fragment(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut checksum = Crc32c::new();
    checksum.update(&[kind]);
    checksum.update(payload);
    let mut bytes = checksum.masked().to_le_bytes().to_vec();
    bytes.extend((payload.len() as u16).to_le_bytes());
    bytes.push(kind);
    bytes.extend(payload);
    bytes
}

#[test]
fn every_promise_meets_every_damage_and_every_next_promise() {
    for relaxed in [false, true] {
        let store = TwoLogs::written(relaxed);
        let mut starts = 0;
        for (number, (what, bytes, expected)) in store.cases().iter().enumerate() {
            let what = format!("{what}, written with {:?}", store.written);
            assert_eq!(store.judge(bytes), *expected, "{what}");
            let cut_between_records = bytes.older.as_ref().is_some_and(|older| {
                older.len() < store.older().len() && store.ends.contains(&older.len())
            });
            let is_started = number % (STARTS_ONE_IN * STARTS_ONE_IN) == 0
                || what.contains("zeroed")
                || what.contains("gone")
                || cut_between_records;
            if is_started {
                starts += 1;
                for next in [false, true] {
                    assert_eq!(store.start(bytes, next), *expected, "{what}, next {next}");
                }
            }
        }
        assert!(starts > 20, "{starts}");
    }
}

#[test]
fn what_is_missing_in_one_log_ends_a_relaxed_one_and_is_kept_as_a_copy() {
    let mut noise = Noise(8);
    let values: Vec<Vec<u8>> = (0..20).map(|_| noise.bytes(2_000)).collect();
    let hole = 3 * 4096..4 * 4096;
    for (written, next) in [(false, false), (false, true), (true, false), (true, true)] {
        let store = Crashed::written(&values, written);
        let mut bytes = store.bytes.clone();
        bytes[hole.clone()].fill(0);
        std::fs::write(&store.log, &bytes).unwrap();
        let path = store.folder.path();
        let report = verify(path, false).unwrap();
        assert_eq!(report.damage.is_empty(), written, "{report:?}");
        let started = open_as(path, 0, next);
        if !written {
            assert!(damaged(started));
            continue;
        }
        let whole = store.ends.iter().filter(|end| **end <= hole.start).count();
        assert_eq!(commits(&started.unwrap()), whole as u64);
        let name = store.log.file_stem().unwrap().to_str().unwrap();
        let copies = path.join(format!("dropped-log-{name}-{}", store.ends[whole - 1]));
        let copy = copies.join(store.log.file_name().unwrap());
        assert_eq!(std::fs::read(copy).unwrap(), bytes);
    }
}

/// The first write after a start may be the one that is missing; the tables have all that came before.
#[test]
fn nothing_before_the_fault_is_needed_from_the_logs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let engine = open_as(path, 0, true).unwrap();
    put(&engine, &[0], &[1; 900]);
    wait(engine.close()).unwrap();
    drop(engine);
    let engine = open_as(path, 0, true).unwrap();
    for key in 1..4 {
        put(&engine, &[key], &[key; 900]);
    }
    let copy = crashed(path);
    let log = log_file(copy.path());
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[..SECTOR].fill(0);
    std::fs::write(&log, bytes).unwrap();
    assert_eq!(commits(&open(copy.path(), 0).unwrap()), 1);
}

#[test]
fn a_copy_is_never_written_over() {
    let store = TwoLogs::written(true);
    let bytes = Bytes2 {
        older: Some(store.older()[..store.ends[1] + 50].to_vec()),
        ..store.bytes.clone()
    };
    store.write(&bytes);
    let name = store.older.file_stem().unwrap().to_str().unwrap();
    let first = store
        .folder
        .path()
        .join(format!("dropped-log-{name}-{}", store.ends[1]));
    std::fs::create_dir(&first).unwrap();
    let copied_before = first.join(store.newer.file_name().unwrap());
    std::fs::write(&copied_before, b"from a start that was interrupted").unwrap();
    assert_eq!(commits(&open(store.folder.path(), 0).unwrap()), 2);
    let kept = std::fs::read(copied_before).unwrap();
    assert_eq!(kept, b"from a start that was interrupted");
    let second = first.with_file_name(format!(
        "{}-2",
        first.file_name().unwrap().to_str().unwrap()
    ));
    let copy = std::fs::read(second.join(store.newer.file_name().unwrap())).unwrap();
    assert_eq!(copy, bytes.newer);
}

#[test]
fn a_promise_is_stored_before_the_first_write_and_read_by_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    assert_eq!(Durability::stored(path).unwrap(), None);
    for relaxed in [true, false, false, true, true] {
        let engine = open_as(path, 0, relaxed).unwrap();
        let stored = Durability::stored(path).unwrap();
        assert_eq!(stored, Some(Durability::new(relaxed)));
        put(&engine, b"k", b"v");
        wait(engine.close()).unwrap();
    }
    // What cannot be read promises the most.
    std::fs::write(path.join("DURABILITY"), b"relaxee\n").unwrap();
    let stored = Durability::stored(path).unwrap();
    assert_eq!(stored, Some(Durability::Sync));
    open_as(path, 0, true).unwrap();
    let stored = Durability::stored(path).unwrap();
    assert_eq!(stored, Some(Durability::Relaxed));
}
