//! Runs the cases under `spec/sql`: documents, a query, the rows it must yield.
//!
//! A file is a list of blocks with empty lines between them. A line that begins with `#` is a comment.
//!
//! ```text
//! docs
//! {"id":"a"}
//! {"id":"b"}
//!
//! params {"@id":"a"}
//! now 1000
//! query SELECT VALUE c.id FROM c WHERE c.id = @id
//! -> ["a"]
//!
//! query SELECT
//! -> error SC1001 0 6
//!
//! condition FROM c WHERE c.id = 'a'
//! -> [true,false]
//! ```
//!
//! `docs` holds for all blocks after it. A condition is asked of each document. With `UPDATE=1` the
//! expectations are rewritten; read the difference before you keep it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use lapsedb_sql::{Env, Params, SqlError, parse_condition, run};
use lapsedb_value::order::deep_equal;
use lapsedb_value::{Value, json};

#[derive(Default)]
struct State {
    docs: Vec<Value>,
}

fn parse_json(text: &str) -> Value {
    json::parse(text.as_bytes(), &json::Limits::DEFAULT)
        .unwrap_or_else(|error| panic!("{error} in: {text}"))
}

/// The error as the expectation writes it.
fn error_text(error: &SqlError, places: bool) -> String {
    let code = if error.code.is_empty() {
        "-"
    } else {
        error.code
    };
    if places {
        format!("error {code} {} {}", error.start, error.end)
    } else {
        format!("error {code}")
    }
}

fn rows_text(rows: &[Value]) -> String {
    json::to_string(&Value::Array(rows.to_vec()))
}

/// Runs one block and returns what is wrong, with what came instead.
fn run_block(block: &str, state: &mut State) -> Result<(), (String, String)> {
    let mut params = Params::new();
    let mut now = 0;
    let mut lines = block
        .lines()
        .filter(|line| !line.starts_with('#'))
        .peekable();
    loop {
        let Some(line) = lines.next() else {
            return Ok(());
        };
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "docs" => {
                state.docs = lines.map(parse_json).collect();
                return Ok(());
            }
            "params" => {
                let object = parse_json(rest).into_object().unwrap();
                params = object.into_iter().collect();
            }
            "now" => now = rest.parse().unwrap(),
            "query" | "condition" => {
                let mut text = rest.to_owned();
                while let Some(line) = lines.next_if(|line| !line.starts_with("->")) {
                    text.push('\n');
                    text.push_str(line);
                }
                let expected: Vec<&str> = lines.collect();
                let expected = expected.join("\n");
                let expected = expected
                    .strip_prefix("->")
                    .expect("an expectation")
                    .trim()
                    .to_owned();
                let result = if word == "query" {
                    run(&text, &params, state.docs.iter().cloned(), now)
                } else {
                    parse_condition(&text).and_then(|condition| {
                        let ask = |doc| condition.holds(doc, &Env::new(now)).map(Value::Bool);
                        state.docs.iter().map(ask).collect()
                    })
                };
                return check(&text, &expected, result);
            }
            other => panic!("unknown block: {other}"),
        }
    }
}

fn check(
    text: &str,
    expected: &str,
    result: Result<Vec<Value>, SqlError>,
) -> Result<(), (String, String)> {
    let (same, actual) = match &result {
        Ok(rows) => {
            let wanted = if expected.starts_with('[') {
                parse_json(expected)
            } else {
                Value::Null
            };
            let same = wanted.as_array().is_some_and(|wanted| {
                wanted.len() == rows.len() && wanted.iter().zip(rows).all(|(a, b)| deep_equal(a, b))
            });
            (same, rows_text(rows))
        }
        Err(error) => {
            let places = expected.split_whitespace().count() > 2;
            let actual = error_text(error, places);
            (actual == expected, actual)
        }
    };
    if same {
        Ok(())
    } else {
        Err((
            format!("{text}\n  expected {expected}\n  but got  {actual} {result:?}"),
            actual,
        ))
    }
}

fn spec_files(dir: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            spec_files(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "spec")
        {
            files.push(path);
        }
    }
}

/// Asked at run time: what was compiled in one clone may run in another.
fn spec_root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where this package is");
    Path::new(&package).join("../../spec/sql")
}

#[test]
fn every_case_yields_what_it_says() {
    let default = spec_root();
    let dir = std::env::var_os("SPEC_DIR").map_or(default, PathBuf::from);
    let update = std::env::var_os("UPDATE").is_some();
    let mut files = Vec::new();
    spec_files(&dir, &mut files);
    assert!(!files.is_empty(), "no cases under {}", dir.display());
    let (mut cases, mut failures) = (0, String::new());
    for file in files {
        let content = fs::read_to_string(&file).unwrap();
        let mut state = State::default();
        let mut blocks: Vec<String> = content
            .trim_end()
            .split("\n\n")
            .map(str::to_owned)
            .collect();
        for block in &mut blocks {
            cases += 1;
            if let Err((message, actual)) = run_block(block.trim(), &mut state) {
                writeln!(failures, "{}: {message}\n", file.display()).unwrap();
                let head = block.split("\n->").next().unwrap_or_default();
                *block = format!("{head}\n-> {actual}");
            }
        }
        if update {
            fs::write(&file, blocks.join("\n\n") + "\n").unwrap();
        }
    }
    assert!(cases > 0);
    assert!(failures.is_empty() || update, "{failures}");
}

#[test]
fn every_function_has_a_case() {
    let dir = spec_root().join("functions");
    let mut files = Vec::new();
    spec_files(&dir, &mut files);
    let names: Vec<String> = files
        .iter()
        .map(|file| file.file_stem().unwrap().to_string_lossy().replace('_', ""))
        .collect();
    for function in lapsedb_sql::functions::all() {
        let name = function.name.to_ascii_lowercase().replace('_', "");
        assert!(
            names.contains(&name),
            "spec/sql/functions has no file for {}",
            function.name
        );
    }
}
