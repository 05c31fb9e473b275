//! What the judge condemns goes when its stretch is rewritten, and nothing else does.

use std::sync::atomic::{AtomicU8, Ordering};

use super::*;
use crate::{Judge, Verdict};

/// Condemns values that begin with a byte up to a mark.
struct UpTo(AtomicU8);

impl Judge for UpTo {
    fn session(&self, _space: Space) -> Option<Verdict> {
        let mark = self.0.load(Ordering::SeqCst);
        (mark > 0).then(|| {
            Box::new(move |_: &[u8], value: &[u8]| value.first() <= Some(&mark)) as Verdict
        })
    }
}

fn judged(path: &Path, judge: &Arc<UpTo>) -> Rocksdb {
    let _no_start = PROCESS_START.read();
    Rocksdb::open(path, true, HandTime::at(0), Arc::clone(judge) as _).unwrap()
}

fn put(engine: &Rocksdb, key: &[u8], value: &[u8]) {
    let mut batch = Batch::new();
    batch.put(Space::Items, key, value);
    wait(engine.commit(batch)).unwrap();
}

fn keys(engine: &Rocksdb) -> Vec<Vec<u8>> {
    let snapshot = wait(engine.snapshot()).unwrap();
    let page = wait(snapshot.scan(Scan::prefix(Space::Items, b""))).unwrap();
    page.rows.iter().map(|(key, _)| key.to_vec()).collect()
}

/// Rewrites a range whole, and says in how many stretches.
fn rewrite(engine: &Rocksdb, from: &[u8], to: &[u8]) -> usize {
    let mut from = from.to_vec();
    let mut stretches = 1;
    while let Some(next) = wait(engine.rewrite(Space::Items, &from, to)).unwrap() {
        assert!(next > from);
        (from, stretches) = (next, stretches + 1);
    }
    stretches
}

#[test]
fn the_condemned_go_and_no_older_version_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let judge = Arc::new(UpTo(AtomicU8::new(0)));
    let engine = judged(folder.path(), &judge);
    // An old version that the judge would spare lies in the oldest tables, a condemned one above it.
    put(&engine, b"k", b"\x09 old");
    rewrite(&engine, b"", b"");
    put(&engine, b"k", b"\x01 new");
    put(&engine, b"live", b"\x02");
    put(&engine, b"other", b"\x01");
    rewrite(&engine, b"", b"");
    assert_eq!(keys(&engine), [&b"k"[..], b"live", b"other"], "no mark yet");
    judge.0.store(1, Ordering::SeqCst);
    rewrite(&engine, b"", b"");
    assert_eq!(keys(&engine), [b"live"]);
    wait(engine.close()).unwrap();
    assert!(wait(engine.rewrite(Space::Items, b"", b"")).is_err());
}

#[test]
fn a_large_range_is_rewritten_in_stretches_and_gives_its_space_back() {
    let folder = tempfile::tempdir().unwrap();
    let judge = Arc::new(UpTo(AtomicU8::new(0)));
    let engine = judged(folder.path(), &judge);
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    for number in 0..1600u32 {
        let mut value: Vec<u8> = (0..64 * 1024).map(|_| noise()).collect();
        value[0] = 1 + u8::from(number % 100 == 0);
        put(&engine, &number.to_be_bytes(), &value);
    }
    rewrite(&engine, b"", b"");
    let before = engine.disk_bytes();
    judge.0.store(1, Ordering::SeqCst);
    assert!(rewrite(&engine, b"", b"") > 1);
    assert_eq!(keys(&engine).len(), 16);
    let after = engine.disk_bytes();
    assert!(after < before / 10, "{before} bytes before, {after} after");
}

#[test]
fn closing_ends_a_rewrite_that_is_under_way_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let judge = Arc::new(UpTo(AtomicU8::new(0)));
    let mut expected = Vec::new();
    for round in 0..4u8 {
        let engine = Arc::new(judged(folder.path(), &judge));
        for number in 0..200u8 {
            let key = [round, number];
            put(&engine, &key, &[&[9, number][..], &[number; 5000]].concat());
            expected.push(key.to_vec());
        }
        let rewriting = {
            let engine = Arc::clone(&engine);
            std::thread::spawn(
                move || while wait(engine.rewrite(Space::Items, b"", b"")).is_ok() {},
            )
        };
        std::thread::sleep(std::time::Duration::from_millis(u64::from(round) * 5));
        wait(engine.close()).unwrap();
        rewriting.join().unwrap();
    }
    assert_eq!(keys(&judged(folder.path(), &judge)), expected);
}
