//! A damaged table that a compaction meets costs what it holds, and nothing else.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::*;

/// Tables of one space after which RocksDB merges them by itself.
const MERGED_AFTER: usize = 4;
/// Tables in the first level after which RocksDB lets nobody write any more.
const STOPPED_AFTER: usize = 36;

/// Written with every other key.
const LAST: &[u8] = &[u8::MAX];

struct Bench {
    engine: Rocksdb,
    folder: tempfile::TempDir,
    _limit: TimeLimit,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        Bench {
            engine: opened(&folder),
            folder,
            _limit: TimeLimit::start(),
        }
    }

    fn put(&self, space: Space, key: &[u8]) -> Result<Committed, CommitError> {
        let mut batch = Batch::new();
        batch.put(space, key, vec![7; 1_000]);
        // Tables that do not overlap would be moved instead of merged.
        batch.put(space, LAST, &[][..]);
        wait(self.engine.commit(batch))
    }

    /// Writes what is in memory to tables.
    fn flush(&self) {
        let database = &self.engine.sequencer.backend().database;
        database.settle().unwrap();
    }

    fn tables(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.folder.path().join("rocksdb")).unwrap();
        let files = files.map(|file| file.unwrap().path());
        files
            .filter(|file| file.extension().is_some_and(|end| end == "sst"))
            .collect()
    }

    /// Makes a table of one item, damages it, and returns the item's key.
    fn damaged_table(&self) -> &'static [u8] {
        const KEY: &[u8] = b"damaged";
        self.flush();
        let before = self.tables();
        self.put(Space::Items, KEY).unwrap();
        self.flush();
        let items = |table: &PathBuf| {
            let bytes = std::fs::read(table).unwrap();
            bytes.windows(KEY.len()).any(|window| window == KEY)
        };
        let new = self.tables();
        let new: Vec<_> = new
            .iter()
            .filter(|table| !before.contains(table) && items(table))
            .collect();
        assert_eq!(new.len(), 1);
        // Within its first block.
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(new[0])
            .unwrap();
        file.write_all_at(b"damage", 20).unwrap();
        KEY
    }

    fn until_damage_is_found(&self) {
        while self.engine.damage().is_empty() {
            std::thread::yield_now();
        }
    }

    /// Reading and writing go on, but for the item of the damaged table.
    fn check(&self, damaged: &[u8]) {
        for space in [Space::Items, Space::Log, Space::Meta] {
            self.put(space, b"written later").unwrap();
        }
        assert_eq!(self.engine.halted(), None);
        let snapshot = wait(self.engine.snapshot()).unwrap();
        let read = |key: &[u8]| wait(snapshot.get(Space::Items, key));
        assert!(read(b"written later").unwrap().is_some());
        assert!(read(b"0").unwrap().is_some());
        assert!(matches!(read(damaged), Err(EngineError::Corrupt(_))));
        let found = self.engine.damage();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("items: Corruption") && found[0].contains(".sst"),
            "{found:?}"
        );
    }
}

fn opened(folder: &tempfile::TempDir) -> Rocksdb {
    let _no_start = PROCESS_START.read();
    Rocksdb::open(folder.path(), true, HandTime::at(0), crate::judge::mercy()).unwrap()
}

#[test]
fn met_by_an_automatic_compaction() {
    let bench = Bench::new();
    bench.put(Space::Items, b"0").unwrap();
    let damaged = bench.damaged_table();
    // Many more than after which RocksDB would merge them, or stop.
    for number in 0..2 * STOPPED_AFTER {
        bench.put(Space::Items, &number.to_be_bytes()).unwrap();
        bench.flush();
        if number == MERGED_AFTER {
            bench.until_damage_is_found();
        }
    }
    bench.check(damaged);

    // The same after a restart.
    let Bench {
        engine,
        folder,
        _limit,
    } = bench;
    wait(engine.close()).unwrap();
    drop(engine);
    let bench = Bench {
        engine: opened(&folder),
        folder,
        _limit,
    };
    bench.until_damage_is_found();
    bench.check(damaged);
}

#[test]
fn met_by_a_rewrite() {
    let bench = Bench::new();
    bench.put(Space::Items, b"0").unwrap();
    let damaged = bench.damaged_table();
    wait(bench.engine.rewrite(Space::Items, b"", b"")).unwrap();
    bench.check(damaged);
    // What lies elsewhere is still rewritten.
    bench.put(Space::Log, b"0").unwrap();
    wait(bench.engine.rewrite(Space::Log, b"", b"")).unwrap();
    bench.check(damaged);
}
