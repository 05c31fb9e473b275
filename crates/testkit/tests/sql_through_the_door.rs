//! The cases under `spec/sql` once more, on every engine and through HTTP: what the language's own crate yields for values in
//! memory, the server yields for stored items.
//!
//! Left to the crate's own test: cases that name a time, for the server's clock never goes back; conditions of patches; and
//! documents that bring system properties, which the server sets itself.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use lapsedb_testkit::{Container, Engine, Options, Server, spec_root};
use serde_json::{Map, Value, json};

/// What the server adds to an item.
const SYSTEM: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];
/// The index policy of all containers: what some cases sort by needs a composite index.
const COMPOSITES: &str =
    r#"[[{"path":"/s","order":"descending"},{"path":"/id","order":"descending"}]]"#;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "spec") {
            found.push(path);
        }
    }
}

/// One query of a file and what it must yield.
struct Case {
    query: String,
    params: Value,
    expected: String,
}

/// A container for a file, filled anew for each list of documents.
struct Bench<'s> {
    server: &'s Server,
    container: Option<Container>,
    made: usize,
    /// Whether the documents of the file cannot be stored as they are.
    skips: bool,
}

impl Bench<'_> {
    fn fill(&mut self, documents: &[Value]) {
        self.made += 1;
        let more = json!({"indexingPolicy": {
            "compositeIndexes": serde_json::from_str::<Value>(COMPOSITES).unwrap(),
        }});
        let id = format!("c{}", self.made);
        let mut container = self.server.container("sql", &id, "/nowhere", &more);
        for document in documents {
            container.put(document);
        }
        self.container = Some(container);
    }

    fn rows(&mut self, case: &Case) -> Result<Vec<Value>, String> {
        if self.container.is_none() {
            self.fill(&[]);
        }
        let container = self.container.as_mut().unwrap();
        let mut rows = Vec::new();
        let mut continuation: Option<String> = None;
        loop {
            let parameters: Vec<Value> = case
                .params
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, value)| json!({"name": name, "value": value}))
                .collect();
            let mut request = container
                .on_items("POST")
                .header("x-ms-documentdb-isquery", "true")
                // Small pages, so that most cases need several.
                .header("x-ms-max-item-count", "2")
                .json(&json!({"query": case.query, "parameters": parameters}));
            if let Some(token) = &continuation {
                request = request.header("x-ms-continuation", token);
            }
            let reply = container.send(request);
            if reply.status != 200 {
                return Err(format!("{} {}", reply.status, reply.json()["message"]));
            }
            let page = reply.json()["Documents"].as_array().cloned().unwrap();
            assert!(page.len() <= 2);
            rows.extend(page);
            match reply.header("x-ms-continuation") {
                Some(token) => continuation = Some(token.to_owned()),
                None => return Ok(rows),
            }
        }
    }
}

/// Without what the server adds, and with every number as a double.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let added = members.contains_key("_rid");
            let kept = members
                .iter()
                .filter(|(name, _)| !(added && SYSTEM.contains(&name.as_str())));
            Value::Object(
                kept.map(|(name, value)| (name.clone(), plain(value)))
                    .collect::<Map<_, _>>(),
            )
        }
        Value::Array(values) => Value::Array(values.iter().map(plain).collect()),
        Value::Number(number) => json!(number.as_f64().unwrap()),
        other => other.clone(),
    }
}

fn judge(case: &Case, found: &Result<Vec<Value>, String>) -> bool {
    match (found, case.expected.strip_prefix("error ")) {
        (Ok(rows), None) => {
            let expected: Value = serde_json::from_str(&case.expected).unwrap();
            plain(&Value::Array(rows.clone())) == plain(&expected)
        }
        (Err(text), Some(error)) => {
            let code = error.split(' ').next().unwrap();
            text.starts_with("400 ") && (code == "-" || text.contains(code))
        }
        (Ok(_), Some(_)) | (Err(_), None) => false,
    }
}

/// The case of a block, unless it is one for the crate alone.
fn case_of(block: &str) -> Option<Case> {
    let (head, expected) = block.split_once("\n->")?;
    let mut case = Case {
        query: String::new(),
        params: json!({}),
        expected: expected.trim().to_owned(),
    };
    for line in head.lines().filter(|line| !line.starts_with('#')) {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("params", text) if case.query.is_empty() => {
                case.params = serde_json::from_str(text).unwrap()
            }
            ("now" | "condition", _) if case.query.is_empty() => return None,
            ("query", text) if case.query.is_empty() => case.query = text.to_owned(),
            _ => {
                case.query.push('\n');
                case.query.push_str(line);
            }
        }
    }
    Some(case)
}

fn run(engine: Engine) {
    let server = Server::start(&Options::new(engine));
    server.database("sql");
    let mut found = Vec::new();
    files(&spec_root().join("sql"), &mut found);
    let (mut cases, mut failures) = (0, String::new());
    let mut made = 0;
    for file in found {
        let mut bench = Bench {
            server: &server,
            container: None,
            made,
            skips: false,
        };
        let text = std::fs::read_to_string(&file).unwrap();
        for block in text.trim_end().split("\n\n") {
            let lines = block.lines().filter(|line| !line.starts_with('#'));
            let lines: Vec<&str> = lines.collect();
            if lines.first() == Some(&"docs") {
                let documents = lines.iter().skip(1).enumerate().map(|(at, line)| {
                    let mut document: Value = serde_json::from_str(line).unwrap();
                    if document.get("id").is_none() {
                        document["id"] = json!(format!("made-{at}"));
                    }
                    document
                });
                let documents: Vec<Value> = documents.collect();
                bench.skips = documents
                    .iter()
                    .any(|document| SYSTEM.iter().any(|name| document.get(name).is_some()));
                bench.fill(&documents);
            } else if let Some(case) = case_of(block).filter(|_| !bench.skips) {
                cases += 1;
                let rows = bench.rows(&case);
                if !judge(&case, &rows) {
                    writeln!(
                        failures,
                        "{}: {}\n  expected {}\n  found    {rows:?}",
                        file.display(),
                        case.query,
                        case.expected
                    )
                    .unwrap();
                }
            }
        }
        made = bench.made;
    }
    assert!(cases > 500, "only {cases} cases");
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn every_case_yields_the_same_in_memory() {
    run(Engine::Memory);
}

#[test]
fn every_case_yields_the_same_on_disk() {
    run(Engine::Disk);
}
