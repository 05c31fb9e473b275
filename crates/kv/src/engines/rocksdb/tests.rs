//! What only a disk can do: remember, run into damage, be in use.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

mod judged;
mod log_damage;
mod log_durability;
mod log_obsolete;
mod table_damage;

use lapsedb_testkit::{TimeLimit, copy_folder};
use parking_lot::RwLock;

use super::*;
use crate::suite::{HandTime, get, wait};
use crate::{AnyEngine, EngineKind, Fill, OpenOptions, Template};

/// Held for reading while a folder is opened, and for writing while a process is started. A process has all files of the one that
/// starts it until its program runs, locked ones too: a folder that another test closes meanwhile would be found in use.
static PROCESS_START: RwLock<()> = RwLock::new(());

fn open(path: &Path, now: Millis) -> Result<AnyEngine, OpenError> {
    open_as(path, now, false)
}

fn open_as(path: &Path, now: Millis, relaxed: bool) -> Result<AnyEngine, OpenError> {
    let _no_start = PROCESS_START.read();
    let kind = EngineKind::Rocksdb {
        path: path.to_owned(),
        relaxed,
    };
    crate::open(OpenOptions {
        kind,
        time: HandTime::at(now),
        judge: crate::judge::mercy(),
    })
}

fn put(engine: &AnyEngine, key: &[u8], value: &[u8]) -> Committed {
    let mut batch = Batch::new();
    batch
        .put(Space::Items, key, value)
        .add(&b"sum"[..], 1, value.len() as i64);
    wait(engine.commit(batch)).unwrap()
}

fn damaged(result: Result<AnyEngine, OpenError>) -> bool {
    matches!(result, Err(OpenError::Failed(EngineError::Corrupt(_))))
}

/// The newest write-ahead log with something in it. One of an earlier run may still be there: RocksDB deletes it in the background.
fn log_file(path: &Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(path.join("rocksdb"))
        .unwrap()
        .map(|file| file.unwrap().path());
    let is_log = |file: &std::path::PathBuf| {
        file.extension().is_some_and(|end| end == "log") && file.metadata().unwrap().len() > 0
    };
    // Their names are numbers of one length.
    files.filter(is_log).max().unwrap()
}

/// A copy of the folder as a crash would leave it, while the engine still runs.
fn crashed(path: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_folder(path, copy.path());
    copy
}

#[test]
fn stamps_and_time_go_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..5u64 {
        // Each round the clock starts earlier, as if the machine's battery were dead.
        let engine = open(folder.path(), 9_000 - 1_000 * round).unwrap();
        let snapshot = wait(engine.snapshot()).unwrap();
        assert_eq!(snapshot.stamp(), Stamp(2 * round));
        assert_eq!(snapshot.now(), 9_000);
        drop(snapshot);
        for half in 1..=2 {
            let committed = put(&engine, &[round as u8], b"v");
            assert_eq!(
                (committed.stamp, committed.now),
                (Stamp(2 * round + half), 9_000)
            );
        }
        // Every other time without a proper close.
        if round % 2 == 0 {
            wait(engine.close()).unwrap();
        }
        assert!(engine.disk_bytes() > 0);
    }
    let engine = open(folder.path(), 0).unwrap();
    let snapshot = wait(engine.snapshot()).unwrap();
    let page = wait(snapshot.scan(Scan::prefix(Space::Items, b""))).unwrap();
    assert_eq!(page.rows.len(), 5);
    assert_eq!(
        get(&snapshot, Space::Tally, b"sum"),
        Some(tally::encode(10, 10).to_vec())
    );
}

#[test]
fn a_second_process_is_told_who_has_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 0).unwrap();
    let refused = open(folder.path(), 0).err().unwrap();
    let expected = OpenError::InUse {
        path: folder.path().to_owned(),
        pid: Some(std::process::id()),
    };
    assert_eq!(refused, expected);
    assert!(
        refused
            .to_string()
            .contains(&std::process::id().to_string())
    );
    // A snapshot alone keeps the files open, and so the folder locked.
    let snapshot = wait(engine.snapshot()).unwrap();
    drop(engine);
    assert!(open(folder.path(), 0).is_err());
    drop(snapshot);
    open(folder.path(), 0).unwrap();
}

#[test]
fn values_and_snapshots_outlive_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 0).unwrap();
    let large = vec![7u8; 100_000];
    put(&engine, b"large", &large);
    put(&engine, b"small", b"small");
    wait(engine.close()).unwrap();
    drop(engine);
    // Now from tables, not from the write buffer.
    let engine = open(folder.path(), 0).unwrap();
    let snapshot = wait(engine.snapshot()).unwrap();
    let pinned = wait(snapshot.get(Space::Items, b"large")).unwrap().unwrap();
    let small = wait(snapshot.get(Space::Items, b"small")).unwrap().unwrap();
    let many = wait(snapshot.multi_get(
        Space::Items,
        &[b"small".to_vec(), b"large".to_vec(), b"x".to_vec()],
    ))
    .unwrap();
    drop(engine);
    assert_eq!(
        get(&snapshot, Space::Items, b"small"),
        Some(b"small".to_vec())
    );
    drop(snapshot);
    assert_eq!(Bytes::from(pinned), large);
    assert_eq!(Bytes::from(small), &b"small"[..]);
    let many: Vec<_> = many
        .iter()
        .map(|value| value.as_ref().map(|value| value.as_ref().len()))
        .collect();
    assert_eq!(many, [Some(5), Some(100_000), None]);
}

/// However much of the last record is missing, the rest is there and only that one is gone.
#[test]
fn a_torn_end_of_the_log_costs_only_what_was_not_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 0).unwrap();
    for key in 0..10u8 {
        put(&engine, &[key], &[key; 100]);
    }
    let log = log_file(folder.path());
    let whole = log.metadata().unwrap().len();
    put(&engine, b"last", &[1; 100]);
    let torn = log.metadata().unwrap().len();
    for length in (whole..torn).step_by(7) {
        let copy = crashed(folder.path());
        std::fs::OpenOptions::new()
            .write(true)
            .open(log_file(copy.path()))
            .unwrap()
            .set_len(length)
            .unwrap();
        let again = open(copy.path(), 0).unwrap();
        let snapshot = wait(again.snapshot()).unwrap();
        assert_eq!(snapshot.stamp(), Stamp(10), "cut at {length}");
        assert_eq!(get(&snapshot, Space::Items, &[9]), Some(vec![9; 100]));
        assert_eq!(get(&snapshot, Space::Items, b"last"), None);
    }
}

/// A record that is whole but wrong was acknowledged once: to go on without it would lose data
/// silently, wherever it lies.
#[test]
fn damage_within_the_log_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 0).unwrap();
    for key in 0..200u8 {
        put(&engine, &[key], &[key; 1000]);
    }
    let length = log_file(folder.path()).metadata().unwrap().len();
    for place in [100, length / 3, length / 2, length - 500] {
        let copy = crashed(folder.path());
        let log = log_file(copy.path());
        let mut bytes = std::fs::read(&log).unwrap();
        bytes[place as usize] ^= 0x10;
        std::fs::write(&log, bytes).unwrap();
        assert!(damaged(open(copy.path(), 0)), "at {place} of {length}");
    }
    assert!(open(crashed(folder.path()).path(), 0).is_ok());
}

#[test]
fn damaged_tables_are_noticed_when_read() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 0).unwrap();
    for key in 0..200u8 {
        put(&engine, &[key], &[key; 1000]);
    }
    wait(engine.close()).unwrap();
    drop(engine);
    for file in std::fs::read_dir(folder.path().join("rocksdb")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_some_and(|end| end == "sst") {
            let mut bytes = std::fs::read(&file).unwrap();
            bytes[20] ^= 1;
            std::fs::write(&file, bytes).unwrap();
        }
    }
    let result = open(folder.path(), 0).and_then(|engine| {
        let snapshot = wait(engine.snapshot())?;
        let error = wait(snapshot.get(Space::Items, &[0])).err();
        assert!(matches!(error, Some(EngineError::Corrupt(_))), "{error:?}");
        let error = wait(snapshot.scan(Scan::prefix(Space::Items, b""))).err();
        assert!(matches!(error, Some(EngineError::Corrupt(_))), "{error:?}");
        Ok(engine)
    });
    assert!(result.is_ok() || damaged(result));
}

#[test]
fn a_store_that_lost_its_current_file_is_not_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 0).unwrap();
    put(&engine, b"k", b"v");
    wait(engine.close()).unwrap();
    drop(engine);
    std::fs::remove_file(folder.path().join("rocksdb/CURRENT")).unwrap();
    assert!(damaged(open(folder.path(), 0)));
}

#[test]
fn a_dropped_range_gives_its_space_back_but_not_to_the_cost_of_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), 0).unwrap();
    let noise = |seed: u32| {
        let mut state = seed;
        let next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        std::iter::repeat_with(next)
            .take(64 * 1024)
            .collect::<Vec<u8>>()
    };
    for number in 0..400u32 {
        put(
            &engine,
            &[&b"a"[..], &number.to_be_bytes()].concat(),
            &noise(number),
        );
    }
    put(&engine, b"b", b"stays");
    let held = wait(engine.snapshot()).unwrap();
    wait(engine.drop_range(Space::Items, b"a", b"b")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(600));
    let page = wait(held.scan(Scan::prefix(Space::Items, b"a"))).unwrap();
    assert_eq!(page.rows.len(), 400);
    drop(page);
    drop(held);
    // Tables alone: the log keeps its copy until it is replaced, which its own limit sees to.
    let tables = || {
        let files = std::fs::read_dir(folder.path().join("rocksdb"))
            .unwrap()
            .map(|file| file.unwrap());
        let tables = files.filter(|file| file.path().extension().is_some_and(|end| end == "sst"));
        tables
            .filter_map(|file| file.metadata().ok())
            .map(|file| file.len())
            .sum::<u64>()
    };
    // RocksDB deletes them in the background, whenever it gets to it.
    let _limit = TimeLimit::start();
    while tables() >= 1_000_000 {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let snapshot = wait(engine.snapshot()).unwrap();
    assert_eq!(get(&snapshot, Space::Items, b"b"), Some(b"stays".to_vec()));
}

/// Names the folder of the child of the next test.
const CHILD_FOLDER: &str = "LAPSEDB_KV_TEST_CHILD";

/// Not a test of its own: the process that the next one kills.
#[test]
fn child_commits_until_killed() {
    let Some(folder) = std::env::var_os(CHILD_FOLDER) else {
        return;
    };
    let engine = open(Path::new(&folder), 0).unwrap();
    loop {
        let mut key = Template::default();
        key.fill(Fill::Stamp);
        let mut batch = Batch::new();
        batch.put(Space::Log, key, vec![1; 300]);
        println!(
            "acknowledged {}",
            wait(engine.commit(batch)).unwrap().stamp.0
        );
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let limit = TimeLimit::start();
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for _ in 0..3 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "engines::rocksdb::tests::child_commits_until_killed",
                "--nocapture",
            ])
            .env(CHILD_FOLDER, folder.path())
            .stdout(Stdio::piped());
        let no_open = PROCESS_START.write();
        let mut child = command.spawn().unwrap();
        limit.set_child(Some(child.id()));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Linux lets `spawn` return a moment before it closes the files: what the program itself writes comes after that.
        lines.next().unwrap().unwrap();
        drop(no_open);
        let numbers = lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok());
        acknowledged = numbers.take(100).last().unwrap_or(acknowledged);
        child.kill().unwrap();
        child.wait().unwrap();
        limit.set_child(None);
        let engine = open(folder.path(), 0).unwrap();
        let snapshot = wait(engine.snapshot()).unwrap();
        assert!(snapshot.stamp().0 >= acknowledged);
        let page = wait(snapshot.scan(Scan::prefix(Space::Log, b""))).unwrap();
        let stamps: Vec<Vec<u8>> = page.rows.iter().map(|(key, _)| key.to_vec()).collect();
        let expected: Vec<Vec<u8>> = (1..=snapshot.stamp().0)
            .map(|stamp| stamp.to_be_bytes().to_vec())
            .collect();
        assert_eq!(stamps, expected);
    }
    assert!(acknowledged >= 300);
}

/// A counter that every commit touches must not be added up from all its parts at each read.
#[test]
fn a_busy_sum_is_folded_on_the_way_in() {
    let folder = tempfile::tempdir().unwrap();
    let engine =
        Rocksdb::open(folder.path(), true, HandTime::at(0), crate::judge::mercy()).unwrap();
    for _ in 0..2_000 {
        let mut batch = Batch::new();
        batch.add(&b"all"[..], 1, 1);
        wait(engine.commit(batch)).unwrap();
    }
    let family = engine.sequencer.backend().database.space(Space::Tally);
    let db = engine.sequencer.backend().database.db;
    let entries =
        db.property_int_value_cf(family, rocksdb::properties::NUM_ENTRIES_ACTIVE_MEM_TABLE);
    assert_eq!(entries, Ok(Some(2_000)));
    let snapshot = wait(engine.snapshot()).unwrap();
    rocksdb::perf::set_perf_stats(rocksdb::perf::PerfStatsLevel::EnableCount);
    let mut context = rocksdb::perf::PerfContext::default();
    context.reset();
    assert_eq!(
        get(&snapshot, Space::Tally, b"all"),
        Some(tally::encode(2_000, 2_000).to_vec())
    );
    let parts = context.metric(rocksdb::perf::PerfMetric::InternalMergeCount);
    rocksdb::perf::set_perf_stats(rocksdb::perf::PerfStatsLevel::Disable);
    assert!(parts < 20, "{parts}");
}
