//! The facts under `spec/sql`: what the service's own query engine says of queries (`corpus/`), how it plans some
//! (`plans.jsonl`), and where answers may differ (`exceptions.txt`).

use std::fs;
use std::path::{Path, PathBuf};

use lapsedb_sql::{Params, Schema, SqlError};
use lapsedb_value::path::Path as ValuePath;
use lapsedb_value::{Value, json};
use regex::Regex;

/// A query and what the engine says of it.
pub struct Fact {
    /// The file it stands in, without folder and ending.
    pub subject: String,
    /// The query with its parameters.
    pub question: Question,
    /// Whether the container has vectors; see [`vectors`].
    pub has_vectors: bool,
    /// What the engine says.
    pub verdict: Verdict,
}

/// A query as it is posted.
pub struct Question {
    /// Its text.
    pub text: String,
    /// Names and values; a parameter may lack its value.
    pub parameters: Vec<(String, Value)>,
}

/// What the engine says of a query.
pub enum Verdict {
    /// It is accepted; of its rows nothing is known.
    Accepted,
    /// Its only row.
    Row(Value),
    /// It is accepted and has no row, for its only one is undefined.
    Undefined,
    /// It is refused.
    Refused(Refusal),
}

/// Why a query is refused.
pub struct Refusal {
    /// Empty where the service gives none.
    pub code: String,
    /// The sentence.
    pub message: String,
    /// Start and end, where the service gives them.
    pub place: Option<(usize, usize)>,
}

/// How the engine plans a query.
pub struct Plan {
    /// The query with its parameters.
    pub question: Question,
    /// The paths of the partition key.
    pub key: Vec<ValuePath>,
    /// Whether the container has vectors.
    pub has_vectors: bool,
    /// What is sent to the partitions instead of it; several for hybrid search.
    pub rewritten: Vec<String>,
    /// The keys it is sent to, shorter than the container's for a prefix; all partitions if none are given.
    pub points: Option<Vec<Vec<Value>>>,
}

/// Asked at run time: what was compiled in one clone may run in another.
fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where this package is");
    Path::new(&package).join("../../spec/sql")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn rows(path: &Path) -> Vec<Value> {
    read(path)
        .split_terminator('\n')
        .map(|line| {
            json::parse(line.as_bytes(), &json::Limits::DEFAULT)
                .unwrap_or_else(|error| panic!("{error} in {}: {line}", path.display()))
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn number(value: &Value) -> usize {
    let number = value.as_i64().expect("a number");
    usize::try_from(number).expect("a place")
}

/// Every fact, in the order of the files.
pub fn facts() -> Vec<Fact> {
    let folder = root().join("corpus");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let facts: Vec<Fact> = files.iter().flat_map(|file| facts_of(file)).collect();
    assert!(!facts.is_empty());
    facts
}

fn facts_of(file: &Path) -> Vec<Fact> {
    let subject = file.file_stem().unwrap().to_string_lossy().into_owned();
    let fact = |row: Value| Fact {
        subject: subject.clone(),
        question: question(&row),
        has_vectors: row.get("vectors").as_bool() == Some(true),
        verdict: verdict(&row),
    };
    rows(file).into_iter().map(fact).collect()
}

fn question(row: &Value) -> Question {
    let parameters = row.get("parameters").as_array().unwrap_or_default();
    Question {
        text: text(row.get("query")),
        parameters: parameters
            .iter()
            .map(|parameter| (text(parameter.get("name")), parameter.get("value").clone()))
            .collect(),
    }
}

fn verdict(row: &Value) -> Verdict {
    if let Some(error) = row.get("error").as_array() {
        return Verdict::Refused(Refusal {
            code: text(&error[0]),
            message: text(&error[1]),
            place: error.get(2).map(|start| (number(start), number(&error[3]))),
        });
    }
    match (row.get("value"), row.get("undefined"), row.get("ok")) {
        (Value::Undefined, Value::Undefined, Value::Bool(true)) => Verdict::Accepted,
        (Value::Undefined, Value::Bool(true), Value::Undefined) => Verdict::Undefined,
        (value, Value::Undefined, Value::Undefined) if !value.is_undefined() => {
            Verdict::Row(value.clone())
        }
        _ => panic!("no verdict: {}", json::to_string(row)),
    }
}

/// Every plan.
pub fn plans() -> Vec<Plan> {
    let plan = |row: Value| {
        let key = row.get("partitionKey").as_array();
        let key = key.map_or_else(
            || vec!["/pk".to_owned()],
            |paths| paths.iter().map(text).collect(),
        );
        let rewritten = row.get("rewritten").as_array().unwrap_or_default();
        let points = row.get("points").as_array();
        Plan {
            question: question(&row),
            key: key.iter().map(|path| pointer(path)).collect(),
            has_vectors: !row.get("policy").is_undefined(),
            rewritten: rewritten.iter().map(text).collect(),
            points: points.map(|points| {
                let key = |point: &Value| point.as_array().expect("a key").to_vec();
                points.iter().map(key).collect()
            }),
        }
    };
    let plans: Vec<Plan> = rows(&root().join("plans.jsonl"))
        .into_iter()
        .map(plan)
        .collect();
    assert!(!plans.is_empty());
    plans
}

fn pointer(path: &str) -> ValuePath {
    ValuePath::parse_pointer(path).expect("a path")
}

impl Question {
    /// The parameters, if their names are valid.
    pub fn params(&self) -> Result<Params, SqlError> {
        let mut params = Params::new();
        for (name, value) in &self.parameters {
            params.add(name, value.clone())?;
        }
        Ok(params)
    }
}

/// What is known of the container a query is asked of.
pub fn schema(has_vectors: bool) -> Schema {
    let mut schema = Schema::default();
    let vectors: &[(&str, &str)] = match has_vectors {
        true => &[("/v", "cosine"), ("/w", "euclidean"), ("/dp", "dotproduct")],
        false => &[],
    };
    for (path, metric) in vectors {
        schema.add_embedding(&pointer(path), metric);
    }
    schema
}

/// The text with a value for everything that the client fills in.
pub fn filled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{documentdb-") {
        let (name, after) = after.split_once('}').expect("a closing brace");
        out.push_str(before);
        out.push_str(if name.ends_with("filter") {
            "true"
        } else if name.contains("hitcountsarray") {
            "[1]"
        } else {
            "1"
        });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where answers may differ: the lines of `spec/sql/exceptions.txt` of some categories.
pub struct Exceptions(Vec<Exception>);

struct Exception {
    category: String,
    reason: String,
    pattern: Pattern,
    is_used: bool,
}

enum Pattern {
    Query(String),
    Regex(Regex),
}

impl Exceptions {
    /// The exceptions of these categories.
    pub fn of(categories: &[&str]) -> Exceptions {
        let content = read(&root().join("exceptions.txt"));
        let lines = content
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let all = lines.map(Exception::read);
        Exceptions(
            all.filter(|one| categories.contains(&one.category.as_str()))
                .collect(),
        )
    }

    /// Whether a difference of that category is agreed. Asked only of differences.
    pub fn excuse(&mut self, category: &str, query: &str) -> bool {
        let mut excused = false;
        for one in self.0.iter_mut().filter(|one| one.category == category) {
            let matches = match &one.pattern {
                Pattern::Query(text) => text == query,
                Pattern::Regex(regex) => regex.is_match(query),
            };
            one.is_used |= matches;
            excused |= matches;
        }
        excused
    }

    /// What is wrong with those that no difference belonged to.
    pub fn idle(&self) -> Vec<String> {
        let idle = self.0.iter().filter(|one| !one.is_used);
        idle.map(|one| {
            format!(
                "no difference of `{}` any more: {}",
                one.category, one.reason
            )
        })
        .collect()
    }
}

impl Exception {
    /// `category | reason | query` or `category | reason | /pattern/`.
    fn read(line: &str) -> Exception {
        let mut parts = line.splitn(3, " | ");
        let [Some(category), Some(reason), Some(pattern)] = [(); 3].map(|()| parts.next()) else {
            panic!("an exception has a category, a reason and a query: {line}");
        };
        let regex = pattern
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'));
        Exception {
            category: category.to_owned(),
            reason: reason.to_owned(),
            pattern: match regex {
                Some(regex) => Pattern::Regex(Regex::new(regex).expect("a regular expression")),
                None => Pattern::Query(pattern.to_owned()),
            },
            is_used: false,
        }
    }
}
