//! Pipelines give the answers that were recorded from MongoDB 6.0.
//!
//! Each file in `recorded/` begins with the documents; every further line is a pipeline over them and its answer, in
//! canonical extended JSON. `examples/pipelines.rs` runs the same cases beside a server, to find new ones.

use crate::common;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use lapsedb_mql::expressions::Env;
use lapsedb_mql::filter::{Filter, Options};
use lapsedb_mql::stages::{Flow, Foreign, Pipeline, Runner, Wait};
use lapsedb_mql::{MqlError, Result};
use lapsedb_value::budget::Held;
use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::{Object, Str, Value};

/// The time of every recorded command.
const NOW: i64 = 1_710_055_800_000;

/// How far doubles may lie apart: libraries of functions differ in the last digits.
const TOLERANCE: f64 = 1e-12;

/// Documents that are pushed at a time; small, so that pipelines see several batches.
const BATCH: usize = 3;

#[test]
fn expressions() {
    run(include_str!("recorded/expressions.jsonl"), 700);
}

#[test]
fn mistakes_and_odd_arguments() {
    run(include_str!("recorded/mistakes.jsonl"), 800);
}

#[test]
fn arguments_at_the_edge() {
    run(include_str!("recorded/edges.jsonl"), 200);
}

#[test]
fn stages_at_the_edge() {
    run(include_str!("recorded/edges_of_stages.jsonl"), 100);
}

#[test]
fn stages_of_the_first_tier() {
    run(include_str!("recorded/stages.jsonl"), 100);
}

#[test]
fn stages_of_the_second_tier() {
    run(include_str!("recorded/more_stages.jsonl"), 100);
}

#[test]
fn what_suites_of_clients_ask() {
    run(include_str!("recorded/client_suites.jsonl"), 400);
}

/// Runs all lines, and checks that there are as many as there should be at least.
fn run(text: &str, least: usize) {
    let mut lines = text.lines();
    let head = read(lines.next().unwrap());
    let (mut count, mut wrong) = (0, Vec::new());
    for line in lines {
        count += 1;
        let case = read(line);
        let outcome = answer(&head, &case);
        if let Err(difference) = judge(&case, outcome) {
            wrong.push(format!("{line}\n    {difference}"));
        }
    }
    assert!(count >= least, "only {count} cases");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn judge(case: &Object, outcome: Result<Vec<Value>>) -> std::result::Result<(), String> {
    match (outcome, case.get("is"), case.get("code")) {
        (Ok(ours), Some(Value::Array(theirs)), _) => {
            let mut theirs = theirs.clone();
            let mut rest = Vec::new();
            for (at, value) in ours.iter().enumerate() {
                let same = match case.contains_key("unordered") {
                    true => theirs.iter().position(|other| alike(value, other)),
                    false => theirs
                        .first()
                        .filter(|other| alike(value, other))
                        .map(|_| 0),
                };
                match same {
                    Some(same) => drop(theirs.remove(same)),
                    None => rest.push(format!("{at}: {value}")),
                }
            }
            match rest.is_empty() && theirs.is_empty() {
                true => Ok(()),
                false => Err(format!("ours only: {rest:?}; theirs only: {theirs:?}")),
            }
        }
        (Err(error), None, Some(Value::Int32(code))) if error.code == *code => Ok(()),
        (outcome, _, _) => Err(format!("{outcome:?}")),
    }
}

/// Whether two values are the same in value and type, doubles nearly so.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => {
            (a.is_nan() && b.is_nan())
                || a == b
                || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
        }
        (Value::Decimal128(a), Value::Decimal128(b)) => {
            let (a, b) = (Decimal128::from_bytes(a), Decimal128::from_bytes(b));
            a.to_string() == b.to_string()
                || alike(&Value::Double(a.to_f64()), &Value::Double(b.to_f64()))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |((name_a, a), (name_b, b)): ((&Str, &Value), (&Str, &Value))| {
                name_a == name_b && alike(a, b)
            };
            a.len() == b.len() && a.iter().zip(b.iter()).all(same)
        }
        _ => format!("{a:?}") == format!("{b:?}"),
    }
}

struct Collections<'a>(&'a Object);

impl Foreign for Collections<'_> {
    fn documents<'a>(
        &'a self,
        collection: &'a str,
        filter: Option<&'a Filter>,
        _: &'a Held,
    ) -> Wait<'a, Vec<Object>> {
        let all = self.0.get(collection).map(objects).unwrap_or_default();
        let kept = all.into_iter().filter_map(|document| {
            let fits = filter.map_or(Ok(true), |filter| filter.matches(&document));
            fits.map(|fits| fits.then_some(document)).transpose()
        });
        Box::pin(std::future::ready(kept.collect()))
    }
}

fn objects(value: &Value) -> Vec<Object> {
    let list = value.as_array().unwrap_or_default();
    list.iter().filter_map(Value::as_object).cloned().collect()
}

fn run_now<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(MqlError::bad_value("the future waits")),
    }
}

fn answer(head: &Object, case: &Object) -> Result<Vec<Value>> {
    let options = Options {
        env: Arc::new(Env::new(NOW, 1)),
        ..Options::default()
    };
    let pipeline = Pipeline::parse(case.get("pipeline").unwrap().as_array().unwrap(), &options)?;
    let foreign = Collections(head.get("foreign").unwrap().as_object().unwrap());
    let mut runner = Runner::new(&pipeline);
    for batch in objects(head.get("docs").unwrap()).chunks(BATCH) {
        if run_now(runner.push(batch.to_vec(), &foreign))? == Flow::Enough {
            break;
        }
    }
    run_now(runner.finish(&foreign))?;
    let mut result = Vec::new();
    while let Some(document) = runner.take() {
        result.push(Value::Object(document));
    }
    Ok(result)
}

fn read(line: &str) -> Object {
    plain(common::value(line)).into_object().unwrap()
}

/// Extended JSON as the values it means.
fn plain(value: Value) -> Value {
    match value {
        Value::Array(elements) => Value::Array(elements.into_iter().map(plain).collect()),
        Value::Object(object) => match object.as_slice() {
            [(name, inner)] if name.starts_with('$') => {
                scalar(name, inner).unwrap_or_else(|| members(object.clone()))
            }
            _ => members(object),
        },
        other => other,
    }
}

fn members(object: Object) -> Value {
    let member = |(name, value)| (name, plain(value));
    Value::Object(object.into_iter().map(member).collect())
}

fn scalar(name: &str, inner: &Value) -> Option<Value> {
    let text = inner.as_str();
    Some(match name {
        "$numberInt" => Value::Int32(text?.parse().ok()?),
        "$numberLong" => Value::Int64(text?.parse().ok()?),
        "$numberDouble" => Value::Double(match text? {
            "NaN" => f64::NAN,
            other => other.parse().ok()?,
        }),
        "$numberDecimal" => Value::Decimal128(text?.parse::<Decimal128>().ok()?.to_bytes()),
        "$date" => match scalar("$numberLong", inner.get("$numberLong"))? {
            Value::Int64(millis) => Value::Date(millis),
            _ => return None,
        },
        "$oid" => {
            let byte = |at: usize| u8::from_str_radix(text?.get(2 * at..2 * at + 2)?, 16).ok();
            let mut id = [0; 12];
            for (at, place) in id.iter_mut().enumerate() {
                *place = byte(at)?;
            }
            Value::ObjectId(id)
        }
        "$timestamp" => {
            let (seconds, ordinal) = (inner.get("t").as_i64()?, inner.get("i").as_i64()?);
            Value::Timestamp((seconds as u64) << 32 | ordinal as u64)
        }
        "$regularExpression" => Value::Regex {
            pattern: Box::new(inner.get("pattern").as_str()?.into()),
            options: Box::new(inner.get("options").as_str()?.into()),
        },
        // The only binary data in the recordings.
        "$binary" => Value::Binary {
            subtype: 0,
            bytes: match inner.get("base64").as_str()? {
                "YWI=" => b"ab".to_vec(),
                "eHl6" => b"xyz".to_vec(),
                _ => return None,
            },
        },
        "$minKey" => Value::MinKey,
        "$maxKey" => Value::MaxKey,
        _ => return None,
    })
}
