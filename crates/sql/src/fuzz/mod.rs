//! What must hold for any text and for any query; bodies for fuzz targets and property tests.
//!
//! Each function says what does not add up. That a query is refused is no complaint.

mod grammar;
mod words;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lapsedb_value::budget::Stop;
use lapsedb_value::order::deep_equal;
use lapsedb_value::{Budget, Str, Value, json};

use crate::ast::Query;
use crate::error::{SqlError, TOO_COMPLEX};
use crate::eval::{Env, Flow};
use crate::exec::Executor;
use crate::params::Params;
use crate::{bind, parse, parse_condition};

/// Looks at the interrupt before a query is stopped: enough for every honest one.
const LOOKS_MAX: u32 = 200;

/// The time of every execution.
const NOW_MS: i64 = 1_794_700_000_000;

/// Documents with every kind of value, so that functions meet what they do and do not expect.
const DOCUMENTS: [&str; 2] = [
    r#"{"id":"a","a":5,"b":{"c":[1,{"a":-1.5}]},"x":"text","list":["x","y",3],"t":"2026-11-15T12:00:00.0000000Z",
        "p":{"type":"Point","coordinates":[1,2]},"v":[0.1,0.2,0.3]}"#,
    r#"{"id":"b","a":"5","b":[[],{}],"x":null,"list":[{"a":1},{"a":true}],"t":9007199254740993,"v":[]}"#,
];

/// Any text: an error with a place in it, or a query with which all is well; see [`grammar`].
pub fn text(text: &str) -> Result<(), String> {
    let _ = parse_condition(text);
    match parse(text) {
        Ok(query) => all_is_well(text, &query),
        Err(error) => has_place(&error, text),
    }
}

/// A query of the language, which the bytes choose, is parsed, and what it prints parses to the same. It is run on some
/// documents, and so is what it prints: with the same rows, or the same error.
pub fn grammar(bytes: &[u8]) -> Result<(), String> {
    let text = grammar::query(bytes);
    match parse(&text) {
        Ok(query) => all_is_well(&text, &query),
        Err(error) if error.code == TOO_COMPLEX => has_place(&error, &text),
        Err(error) => Err(format!("does not parse: {error}: {text}")),
    }
}

/// A query with some of its words left out, exchanged or replaced, as the bytes choose: see [`text()`].
pub fn changed(query: &str, bytes: &[u8]) -> Result<(), String> {
    text(&words::changed(query, bytes))
}

fn all_is_well(text: &str, query: &Query) -> Result<(), String> {
    let printed = query.to_string();
    let again = match parse(&printed) {
        Ok(again) => again,
        // Parentheses nest deeper than the operators did without them.
        Err(error) if error.code == TOO_COMPLEX => return Ok(()),
        Err(error) => return Err(format!("{text}\nprints to {printed}\n{error}")),
    };
    if again.to_string() != printed || tree(&again) != tree(query) {
        return Err(format!("{text}\nprints to {printed}\nprints to {again}"));
    }
    match (run(query), run(&again)) {
        (Ok(rows), Ok(others)) => {
            let same = rows.len() == others.len()
                && rows.iter().zip(&others).all(|(a, b)| deep_equal(a, b));
            if rows.iter().any(Value::is_undefined) {
                return Err(format!("{text}\nan undefined row came out"));
            }
            let shown = |rows: Vec<Value>| json::to_string(&Value::Array(rows));
            match same {
                true => Ok(()),
                false => Err(format!(
                    "{text}\n{}\n{printed}\n{}",
                    shown(rows),
                    shown(others)
                )),
            }
        }
        (Err(error), Err(other)) if error.code == other.code => has_place(&error, text),
        (first, second) => Err(format!("{text}\n{first:?}\n{printed}\n{second:?}")),
    }
}

/// The syntax tree without what depends on how it is written: the text and the places in it.
pub fn tree(query: &Query) -> String {
    let mut query = query.clone();
    query.text = Str::default();
    let shown = format!("{query:?}");
    let mut parts = shown.split("Span {");
    let mut tree = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        tree.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    tree
}

/// The rows over the documents, or the error of binding or running.
fn run(query: &Query) -> Result<Vec<Value>, SqlError> {
    let params: Params = [("p", Value::Int32(1)), ("q", Value::from("a"))]
        .into_iter()
        .collect();
    let bound = bind(query, &params)?;
    let looks = AtomicU32::new(0);
    let budget = Arc::new(Budget::default());
    budget.set_probe(Arc::new(move || {
        (looks.fetch_add(1, Ordering::Relaxed) > LOOKS_MAX).then_some(Stop::Time)
    }));
    let env = Env::new(NOW_MS).within(&budget);
    let mut executor = Executor::new(&bound, env);
    let mut rows = Vec::new();
    if bound.reads_documents() {
        for text in DOCUMENTS {
            let Ok(document) = json::parse(text.as_bytes(), &json::Limits::DEFAULT) else {
                continue;
            };
            let flow = executor.push(document)?;
            rows.append(&mut executor.take_rows());
            if flow == Flow::Done {
                break;
            }
        }
    }
    rows.append(&mut executor.finish()?);
    Ok(rows)
}

/// An error stands in the text it is of.
fn has_place(error: &SqlError, text: &str) -> Result<(), String> {
    let units = text.encode_utf16().count();
    match error.start <= error.end && error.end <= units {
        true => Ok(()),
        false => Err(format!("{text}\nno place in it: {error:?}")),
    }
}

/// Bytes that decide what is made; zeros when they are used up.
struct Choices<'b>(&'b [u8]);

impl Choices<'_> {
    /// A number below a bound of at most 256.
    fn below(&mut self, bound: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(*first) % bound.max(1)
    }

    /// One of several.
    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        let at = self.below(all.len());
        all.get(at).copied().unwrap_or_default()
    }
}
