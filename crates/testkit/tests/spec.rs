//! The cases under `spec/`, on every engine.

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

/// Every row of the corpus that the NoSQL door can show without a query has a case or a test that bears its name.
#[test]
fn every_row_of_the_ttl_corpus_has_a_case() {
    let mut rows: Vec<String> = Vec::new();
    let mut add = |letter: &str, numbers: &mut dyn Iterator<Item = u32>| {
        rows.extend(numbers.map(|number| format!("{letter}{number}")));
    };
    // V25, V33, V34, P7 and the M rows are about the other door.
    add("V", &mut (1..=24).chain(26..=32).chain(35..=37));
    add("P", &mut (1..=6).chain(8..=8));
    add("D", &mut (1..=10));
    add("B", &mut (1..=15));
    add("S", &mut (1..=6));
    add("C", &mut (1..=13));
    let spec = spec_root();
    let mut titles: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(spec.join("ttl")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        titles.extend(
            text.lines()
                .filter_map(|line| Some(line.strip_prefix("case ")?.to_owned())),
        );
    }
    for tests in [
        include_str!("the_dead_are_seen_nowhere.rs"),
        include_str!("time_is_exact_through_the_door.rs"),
        include_str!("../../server/tests/a_wrong_wall_clock_harms_no_item.rs"),
        include_str!("../../store/tests/time_is_the_engines.rs"),
    ] {
        titles.extend(tests.lines().filter_map(|line| {
            let name = line.strip_prefix("fn ")?;
            Some(name.to_uppercase().replace('_', " "))
        }));
    }
    let missing: Vec<_> = rows
        .iter()
        .filter(|row| {
            !titles
                .iter()
                .any(|title| title.split(' ').next() == Some(row.as_str()))
        })
        .collect();
    assert!(missing.is_empty(), "rows without a case: {missing:?}");
}
