//! A start has everything that was acknowledged, or it refuses and says where the log is damaged. Losses of power refuse nothing.

use std::path::PathBuf;

use super::*;
use crate::engines::rocksdb::durability::Durability;
use crate::engines::rocksdb::wal::Verdict;
use crate::verify;

const BLOCK: usize = 32 * 1024;
const PAGE: usize = 4 * 1024;
pub(super) const SECTOR: usize = 512;
/// RocksDB itself is started for one in so many cases; all are judged.
pub(super) const STARTS_ONE_IN: usize = 16;

/// Numbers that look random and are the same in every run.
pub(super) struct Noise(pub u64);

impl Noise {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

/// The newest commit of a store where each one puts an item of its own.
pub(super) fn commits(engine: &AnyEngine) -> u64 {
    let snapshot = wait(engine.snapshot()).unwrap();
    let newest = snapshot.stamp().0;
    let page = wait(snapshot.scan(Scan::prefix(Space::Items, b""))).unwrap();
    assert_eq!(page.rows.len() as u64, newest, "a hole within the commits");
    newest
}

/// A store that crashed after `commits`, with its only log.
pub(super) struct Crashed {
    pub folder: tempfile::TempDir,
    pub log: PathBuf,
    pub bytes: Vec<u8>,
    /// The length of the log after each commit.
    pub ends: Vec<usize>,
}

impl Crashed {
    fn after(values: &[Vec<u8>]) -> Crashed {
        Crashed::written(values, false)
    }

    pub fn written(values: &[Vec<u8>], relaxed: bool) -> Crashed {
        let folder = tempfile::tempdir().unwrap();
        let engine = open_as(folder.path(), 7, relaxed).unwrap();
        let mut ends = Vec::new();
        for (key, value) in values.iter().enumerate() {
            put(&engine, &[key as u8], value);
            ends.push(log_file(folder.path()).metadata().unwrap().len() as usize);
        }
        let copy = crashed(folder.path());
        let log = log_file(copy.path());
        let bytes = std::fs::read(&log).unwrap();
        Crashed {
            folder: copy,
            log,
            bytes,
            ends,
        }
    }

    /// Opens a fresh copy whose log has these bytes; says which commit is the newest, or why it refuses.
    fn start(&self, bytes: &[u8]) -> Result<u64, String> {
        std::fs::write(&self.log, bytes).unwrap();
        let copy = crashed(self.folder.path());
        let engine = open(copy.path(), 0).map_err(|error| error.to_string())?;
        Ok(commits(&engine))
    }

    /// What a start would do, without RocksDB: go on with so many commits, or refuse.
    fn judge(&self, bytes: &[u8]) -> Result<usize, String> {
        std::fs::write(&self.log, bytes).unwrap();
        let inspection = wal::inspect(self.log.parent().unwrap()).unwrap();
        let kept = inspection.kept.newest.map_or(0, |mark| mark.stamp.0);
        match inspection
            .fault
            .as_ref()
            .map(|found| found.verdict(Durability::Sync))
        {
            None | Some(Verdict::Torn) => Ok(kept as usize),
            Some(Verdict::Damaged) => Err(inspection.to_string()),
            Some(Verdict::Unsynced) => panic!("with sync all is synced"),
        }
    }

    /// The start has everything or refuses with file and place.
    fn loses_nothing(&self, bytes: &[u8], what: &str) -> bool {
        let result = match self.judge(bytes) {
            // What is let through must be seen in the store itself.
            Ok(_) => self.start(bytes),
            Err(refusal) => Err(refusal),
        };
        match result {
            Ok(newest) => {
                assert_eq!(
                    newest,
                    self.ends.len() as u64,
                    "{what}: commits were dropped"
                );
                false
            }
            Err(refusal) => {
                let file = self.log.file_name().unwrap().to_str().unwrap();
                assert!(refusal.contains(file), "{what}: {refusal}");
                assert!(refusal.contains(": at byte "), "{what}: {refusal}");
                true
            }
        }
    }
}

pub(super) fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

/// Where fragments begin in the last block of a log.
fn last_headers(bytes: &[u8]) -> Vec<usize> {
    let mut at = bytes.len() / BLOCK * BLOCK;
    let mut headers = Vec::new();
    while at + 7 <= bytes.len() {
        headers.push(at);
        at += 7 + usize::from(u16::from_le_bytes([bytes[at + 4], bytes[at + 5]]));
    }
    headers
}

/// Small values, one of several blocks, and zeros in which a torn sector would not stand out.
fn values(noise: &mut Noise) -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> = (0..6).map(|_| noise.bytes(900)).collect();
    values.push(noise.bytes(70_000));
    values.push(vec![0; 3_000]);
    values.extend((0..4).map(|_| noise.bytes(300)));
    values.push(vec![0; 3_000]);
    values
}

#[test]
fn no_flipped_bit_of_the_log_drops_a_commit() {
    let mut noise = Noise(12);
    let store = Crashed::after(&values(&mut noise));
    let headers = last_headers(&store.bytes);
    assert!(headers.len() >= 6, "{headers:?}");
    for header in headers {
        let refusal = store.start(&flipped(&store.bytes, header * 8 + 40));
        assert!(refusal.is_err(), "{header}");
        for bit in header * 8..(header + 7) * 8 {
            let what = format!("bit {bit} of the header at {header}");
            assert!(
                store.loses_nothing(&flipped(&store.bytes, bit), &what),
                "{what}"
            );
        }
    }
    for _ in 0..200 {
        let bit = noise.below(store.bytes.len() * 8);
        store.loses_nothing(&flipped(&store.bytes, bit), &format!("bit {bit}"));
    }
    assert_eq!(store.start(&store.bytes), Ok(store.ends.len() as u64));
}

/// A store whose last write, of these bytes, was under way when the power was lost. `missing` are the parts of the file that did
/// not reach the disk, in units of `unit` bytes; before the write they were zeros.
fn torn(store: &Crashed, unit: usize, missing: impl Fn(usize) -> bool) -> Vec<u8> {
    let begin = store.ends[store.ends.len() - 2];
    let mut bytes = store.bytes.clone();
    for (at, byte) in bytes.iter_mut().enumerate().skip(begin) {
        if missing(at / unit) {
            *byte = 0;
        }
    }
    bytes
}

#[test]
fn pages_of_the_last_write_may_be_missing_in_any_order() {
    let mut noise = Noise(5);
    let mut values: Vec<Vec<u8>> = (0..5).map(|_| noise.bytes(700)).collect();
    values.push(noise.bytes(70_000));
    let store = Crashed::after(&values);
    let pages = store.bytes.len().div_ceil(PAGE);
    let mut patterns: Vec<Vec<bool>> = Vec::new();
    for page in 0..pages {
        patterns.push((0..pages).map(|at| at == page).collect());
        patterns.push((0..pages).map(|at| at >= page).collect());
        patterns.push((0..pages).map(|at| at <= page).collect());
    }
    patterns.extend((0..20).map(|_| (0..pages).map(|_| noise.below(2) == 0).collect()));
    for (number, pattern) in patterns.iter().enumerate() {
        let bytes = torn(&store, PAGE, |page| pattern[page]);
        let newest = if bytes == store.bytes { 6 } else { 5 };
        assert_eq!(store.judge(&bytes), Ok(newest), "{pattern:?}");
        if number % STARTS_ONE_IN == 0 {
            assert_eq!(store.start(&bytes), Ok(newest as u64), "{pattern:?}");
        }
    }
}

#[test]
fn sectors_of_the_last_write_may_be_missing_and_the_file_may_be_short() {
    let mut noise = Noise(6);
    let values: Vec<Vec<u8>> = (0..4).map(|_| noise.bytes(1_400)).collect();
    let store = Crashed::after(&values);
    let (begin, end) = (store.ends[2], store.ends[3]);
    for first in begin / SECTOR..end.div_ceil(SECTOR) {
        for last in first..end.div_ceil(SECTOR) {
            let bytes = torn(&store, SECTOR, |sector| (first..=last).contains(&sector));
            assert_eq!(store.judge(&bytes), Ok(3), "sectors {first} to {last}");
        }
    }
    for length in begin..end {
        assert_eq!(store.judge(&store.bytes[..length]), Ok(3), "{length} bytes");
        // The file has its length, but the sectors behind this one were not written.
        let mut longer = store.bytes[..length / SECTOR * SECTOR].to_vec();
        longer.resize(longer.len().max(begin), 0);
        longer[..begin].copy_from_slice(&store.bytes[..begin]);
        longer.resize(3 * BLOCK, 0);
        assert_eq!(store.judge(&longer), Ok(3), "{length} bytes and zeros");
        if (length - begin) % (STARTS_ONE_IN * STARTS_ONE_IN) == 0 {
            assert_eq!(store.start(&store.bytes[..length]), Ok(3));
            assert_eq!(store.start(&longer), Ok(3));
        }
    }
}

#[test]
fn what_lies_in_later_logs_shows_that_a_record_was_acknowledged() {
    let values: Vec<Vec<u8>> = (0..4).map(|key| vec![key; 500]).collect();
    let store = Crashed::after(&values);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("000010.log"),
        &store.bytes[..store.ends[1] + 50],
    )
    .unwrap();
    let inspection = wal::inspect(folder.path()).unwrap();
    let found = inspection.fault.unwrap();
    assert_eq!(found.verdict(Durability::Sync), Verdict::Torn);
    assert_eq!(found.whole as usize, store.ends[1]);
    std::fs::write(
        folder.path().join("000011.log"),
        &store.bytes[store.ends[2]..],
    )
    .unwrap();
    let inspection = wal::inspect(folder.path()).unwrap();
    let found = inspection.fault.as_ref().unwrap();
    assert_eq!(found.verdict(Durability::Sync), Verdict::Damaged);
    assert!(
        inspection.loss().contains("from 3 to 4"),
        "{}",
        inspection.loss()
    );
}

#[test]
fn verify_says_what_would_be_lost_and_drops_it_when_asked() {
    let mut noise = Noise(9);
    let values: Vec<Vec<u8>> = (0..20).map(|_| noise.bytes(1_000)).collect();
    let store = Crashed::after(&values);
    let path = store.folder.path();
    assert!(verify(path, false).unwrap().damage.is_empty());
    let damaged = flipped(&store.bytes, (store.ends[9] + 300) * 8);
    std::fs::write(&store.log, &damaged).unwrap();
    let report = verify(path, false).unwrap();
    let lost = "the commits from 11 to 20 (the damaged write and 9 behind it)";
    assert!(report.damage[0].contains(lost), "{report:?}");
    assert_eq!(std::fs::read(&store.log).unwrap(), damaged, "it only looks");
    let refusal = open(path, 0).err().unwrap().to_string();
    assert!(refusal.contains(lost), "{refusal}");
    let report = verify(path, true).unwrap();
    assert!(report.damage.is_empty(), "{report:?}");
    assert!(report.lines[0].contains(lost), "{report:?}");
    let copies = path.join(format!(
        "dropped-log-{}-{}",
        store.log.file_stem().unwrap().to_str().unwrap(),
        store.ends[9]
    ));
    assert_eq!(
        std::fs::read(copies.join(store.log.file_name().unwrap())).unwrap(),
        damaged
    );
    let engine = open(path, 0).unwrap();
    assert_eq!(wait(engine.snapshot()).unwrap().stamp(), Stamp(10));
}

#[test]
fn a_damaged_log_is_not_dropped_if_tables_are_ahead_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let engine = Rocksdb::open(path, false, HandTime::at(0), crate::judge::mercy()).unwrap();
    for key in 0..10u8 {
        let mut batch = Batch::new();
        batch
            .put(Space::Items, &[key][..], &[key; 500][..])
            .add(&b"sum"[..], 1, 1);
        wait(engine.commit(batch)).unwrap();
    }
    let database = &engine.sequencer.backend().database;
    database.db.flush_cf(database.space(Space::Items)).unwrap();
    let copy = crashed(path);
    // The flush has begun a second one.
    let log = wal::inspect(&copy.path().join("rocksdb")).unwrap().logs[0]
        .path
        .clone();
    let damaged = flipped(&std::fs::read(&log).unwrap(), 2_000 * 8);
    std::fs::write(&log, &damaged).unwrap();
    let refusal = verify(copy.path(), true).err().unwrap().to_string();
    assert!(refusal.contains("cannot be dropped"), "{refusal}");
    assert_eq!(std::fs::read(&log).unwrap(), damaged, "nothing was changed");
}
