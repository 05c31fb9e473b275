//! The cases under `spec/`, on every engine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lapsedb_testkit::{Engine, run_folder, spec_root};

#[test]
fn spec_ttl_in_memory() {
    run_folder("ttl", Engine::Memory).assert();
}

#[test]
fn spec_ttl_on_disk() {
    run_folder("ttl", Engine::Disk).assert();
}

#[test]
fn spec_http_in_memory() {
    run_folder("http", Engine::Memory).assert();
}

#[test]
fn spec_http_on_disk() {
    run_folder("http", Engine::Disk).assert();
}

#[test]
fn spec_mongo_in_memory() {
    run_folder("mongo", Engine::Memory).assert();
}

#[test]
fn spec_mongo_on_disk() {
    run_folder("mongo", Engine::Disk).assert();
}

/// The files whose tests bear ids of rows, by the API they speak.
const NOSQL_TESTS: [&str; 5] = [
    "crates/testkit/tests/the_dead_are_seen_nowhere.rs",
    "crates/testkit/tests/time_is_exact_through_the_door.rs",
    "crates/server/tests/a_wrong_wall_clock_harms_no_item.rs",
    "crates/store/tests/time_is_the_engines.rs",
    "spec/ttl",
];
const MONGO_TESTS: [&str; 2] = [
    "clients/python/tests/test_mongo_ttl_rows.py",
    "clients/python/tests/test_mongo_ttl_edges.py",
];

/// The lines of a file, or of all files of a folder.
fn lines(path: &Path) -> Vec<String> {
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    let text = if path.is_dir() {
        let entries = fs::read_dir(path).unwrap();
        entries.map(|entry| text(&entry.unwrap().path())).collect()
    } else {
        text(path)
    };
    text.lines().map(str::to_owned).collect()
}

fn is_row(word: &str) -> bool {
    let number = word.strip_prefix(['V', 'P', 'D', 'M', 'B', 'S', 'C', 'T']);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The ids at the beginning of a test's name, such as `case V1 …`, `fn c1_c2_…`, `def test_V31_V32_…` or `("V8", …`.
fn rows_of_test(line: &str) -> Vec<String> {
    let line = line.trim_start();
    let name = ["case ", "fn ", "def test_", "(\"", "\""]
        .iter()
        .find_map(|start| line.strip_prefix(start))
        .unwrap_or_default();
    let words = name.split(['_', ' ', '"']).map(str::to_uppercase);
    words.take_while(|word| is_row(word)).collect()
}

/// The rows that tests of these files bear.
fn tested(files: &[&str]) -> BTreeSet<String> {
    let root = spec_root();
    let root = root.parent().unwrap();
    let files = files.iter().flat_map(|file| lines(&root.join(file)));
    files.flat_map(|line| rows_of_test(&line)).collect()
}

/// Every row of `docs/ttl-cases.md` has a test that bears its id, at each API the row speaks of, and no test an id of no row.
#[test]
fn every_row_of_the_ttl_cases_has_a_test() {
    let page = spec_root().parent().unwrap().join("docs/ttl-cases.md");
    let (nosql, mongo) = (tested(&NOSQL_TESTS), tested(&MONGO_TESTS));
    let mut rows = BTreeSet::new();
    let mut missing = Vec::new();
    for line in lines(&page) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, row, _, columns @ ..] = cells.as_slice() else {
            continue;
        };
        if !is_row(row) {
            continue;
        }
        assert!(rows.insert((*row).to_owned()), "{row} stands there twice");
        let has_test = match (row.as_bytes()[0], columns) {
            // A column for each API; a dash says that the row is not about it.
            (b'V' | b'P', [at_nosql, at_mongo, _]) => {
                let at = |tests: &BTreeSet<String>| tests.contains(*row);
                match (*at_nosql == "–", *at_mongo == "–") {
                    (false, false) => at(&nosql) && at(&mongo),
                    (true, false) => at(&mongo),
                    // Some begin at the other API: their tests speak both.
                    (false, true) => at(&nosql) || at(&mongo),
                    (true, true) => false,
                }
            }
            (b'M', _) => mongo.contains(*row),
            _ => nosql.contains(*row),
        };
        if !has_test {
            missing.push((*row).to_owned());
        }
    }
    assert!(rows.len() > 90, "{} rows", rows.len());
    assert!(missing.is_empty(), "rows without a test: {missing:?}");
    let unknown: Vec<_> = nosql
        .union(&mongo)
        .filter(|id| !rows.contains(*id))
        .collect();
    assert!(unknown.is_empty(), "tests of no row: {unknown:?}");
}
