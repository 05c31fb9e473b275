//! A log that RocksDB will not replay refuses no start, and one that it will is never left out.

use std::path::PathBuf;

use super::log_damage::{commits, flipped};
use super::*;
use crate::engines::rocksdb::durability::Durability;
use crate::engines::rocksdb::wal::{Verdict, read_manifest};

fn number(log: &Path) -> u64 {
    log.file_stem().unwrap().to_str().unwrap().parse().unwrap()
}

fn replayed_from(path: &Path) -> Option<u64> {
    read_manifest(&path.join("rocksdb")).unwrap().replayed_from
}

/// A store that crashed after three commits, a clean stop, and three more; where its first log was, and what that held.
fn restarted() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 0).unwrap();
    for key in 0..3 {
        put(&engine, &[key], &[key; 700]);
    }
    let obsolete = log_file(folder.path());
    let bytes = std::fs::read(&obsolete).unwrap();
    wait(engine.close()).unwrap();
    drop(engine);
    let engine = open(folder.path(), 0).unwrap();
    for key in 3..6 {
        put(&engine, &[key], &[key; 700]);
    }
    let copy = crashed(folder.path());
    let obsolete = copy
        .path()
        .join("rocksdb")
        .join(obsolete.file_name().unwrap());
    (copy, obsolete, bytes)
}

#[test]
fn an_obsolete_log_may_look_like_anything() {
    let (folder, obsolete, bytes) = restarted();
    assert!(!obsolete.exists());
    let mut zeroed = bytes.clone();
    zeroed[512..1024].fill(0);
    let looks = [
        flipped(&bytes, 300 * 8),
        zeroed,
        bytes[..bytes.len() - 20].to_vec(),
        vec![0xA5; 40_000],
        bytes.clone(),
    ];
    for look in looks {
        let copy = crashed(folder.path());
        let left_behind = copy
            .path()
            .join("rocksdb")
            .join(obsolete.file_name().unwrap());
        std::fs::write(&left_behind, look).unwrap();
        let engine = open(copy.path(), 0).unwrap();
        assert_eq!(commits(&engine), 6);
        assert!(
            crate::verify(crashed(copy.path()).path(), false)
                .unwrap()
                .damage
                .is_empty()
        );
    }
}

/// A column family is in tables, the others are not: both logs are needed. Then all are.
#[test]
fn a_needed_log_is_never_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let engine = {
        let _no_start = PROCESS_START.read();
        Rocksdb::open(path, false, HandTime::at(0), crate::judge::mercy()).unwrap()
    };
    let commit = |key: u8| {
        let mut batch = Batch::new();
        batch
            .put(Space::Items, &[key][..], &[key; 700][..])
            .add(&b"sum"[..], 1, 1);
        wait(engine.commit(batch)).unwrap();
    };
    let database = &engine.sequencer.backend().database;
    (0..3).for_each(commit);
    let first = log_file(path);
    assert!(replayed_from(path).is_none_or(|from| from <= number(&first)));
    let bytes = std::fs::read(&first).unwrap();
    database.db.flush_cf(database.space(Space::Items)).unwrap();
    (3..6).for_each(commit);

    let copy = crashed(path);
    assert!(replayed_from(copy.path()).unwrap() <= number(&first));
    let files = copy.path().join("rocksdb");
    let inspection = wal::inspect(&files).unwrap();
    assert!(inspection.fault.is_none(), "{inspection}");
    assert_eq!(inspection.logs.len(), 2);
    assert_eq!(inspection.kept.begun, 6);
    // RocksDB has synced the first log before it made a table from it, and the manifest says so: nothing of it may be missing.
    let copied = files.join(first.file_name().unwrap());
    for look in [&bytes[..bytes.len() / 3], &bytes[..bytes.len() - 20], b""] {
        std::fs::write(&copied, look).unwrap();
        let inspection = wal::inspect(&files).unwrap();
        let found = inspection.fault.unwrap();
        assert_eq!(found.verdict(Durability::Relaxed), Verdict::Damaged);
    }
    for bit in [bytes.len(), bytes.len() * 4] {
        std::fs::write(&copied, flipped(&bytes, bit)).unwrap();
        assert!(damaged(open(crashed(copy.path()).path(), 0)), "{bit}");
    }

    database.settle().unwrap();
    commit(6);
    let copy = crashed(path);
    let from = replayed_from(copy.path()).unwrap();
    assert!(from > number(&first));
    // RocksDB agrees: without the others nothing is missing.
    for log in std::fs::read_dir(copy.path().join("rocksdb")).unwrap() {
        let log = log.unwrap().path();
        if log.extension().is_some_and(|end| end == "log") && number(&log) < from {
            std::fs::remove_file(log).unwrap();
        }
    }
    assert_eq!(commits(&open(copy.path(), 0).unwrap()), 7);
}

#[test]
fn a_manifest_that_cannot_be_read_makes_more_logs_count_never_fewer() {
    let (folder, obsolete, _) = restarted();
    let from = replayed_from(folder.path()).unwrap();
    assert!(from > number(&obsolete));
    let files = folder.path().join("rocksdb");
    let current = std::fs::read_to_string(files.join("CURRENT")).unwrap();
    let manifest = files.join(current.trim());
    let bytes = std::fs::read(&manifest).unwrap();
    let needed = log_file(folder.path());
    assert!(from <= number(&needed));
    let mut known = 0;
    for at in 0..bytes.len() {
        let changed = flipped(&bytes, at * 8 + at % 8);
        for look in [&bytes[..at], &changed] {
            std::fs::write(&manifest, look).unwrap();
            let read = replayed_from(folder.path());
            assert!(read.is_none_or(|read| read <= from), "{at}: {read:?}");
            known += usize::from(read.is_some());
        }
    }
    assert!(known > 0);
    std::fs::write(&manifest, &bytes).unwrap();
    for look in [
        "",
        "MANIFEST",
        "MANIFEST-999999\n",
        "../rocksdb/MANIFEST-000001\n",
    ] {
        std::fs::write(files.join("CURRENT"), look).unwrap();
        assert_eq!(replayed_from(folder.path()), None, "{look}");
    }
}
