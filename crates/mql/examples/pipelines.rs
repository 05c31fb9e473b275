//! Runs pipelines that come as BSON on the standard input, for comparison with another server.
//!
//! Each document says `{docs: [...], pipeline: [...], foreign: {name: [...]}, now: date}`; the answer to each is
//! `{ok: 1, result: [...]}` or `{ok: 0, code, errmsg}`.

use std::future::Future;
use std::io::{Read, Write};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use lapsedb_mql::expressions::Env;
use lapsedb_mql::filter::{Filter, Options};
use lapsedb_mql::stages::{Flow, Foreign, Pipeline, Runner, Wait};
use lapsedb_mql::{MqlError, Result};
use lapsedb_value::{Object, Value, bson};

struct Collections<'a>(&'a Object);

impl Foreign for Collections<'_> {
    fn documents<'a>(
        &'a self,
        collection: &'a str,
        filter: Option<&'a Filter>,
    ) -> Wait<'a, Vec<Object>> {
        let all = self.0.get(collection).map(objects).unwrap_or_default();
        let kept = all.into_iter().map(|document| {
            let fits = match filter {
                Some(filter) => filter.matches(&document)?,
                None => true,
            };
            Ok(fits.then_some(document))
        });
        let kept: Result<Vec<_>> = kept.filter_map(Result::transpose).collect();
        Box::pin(std::future::ready(kept))
    }
}

fn objects(value: &Value) -> Vec<Object> {
    let list = value.as_array().unwrap_or_default();
    list.iter().filter_map(Value::as_object).cloned().collect()
}

/// Nothing here waits, so one look at the future suffices.
fn run_now<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(MqlError::bad_value("the future waits")),
    }
}

/// Documents that are pushed at a time.
const BATCH: usize = 7;

fn answer(case: &Object) -> Result<Vec<Value>> {
    let now = match case.get("now") {
        Some(Value::Date(millis)) => *millis,
        _ => 0,
    };
    let options = Options {
        env: Arc::new(Env::new(now, 1)),
        ..Options::default()
    };
    let stages = case.get("pipeline").and_then(Value::as_array);
    let pipeline = Pipeline::parse(stages.unwrap_or_default(), &options)?;
    let empty = Object::new();
    let foreign = Collections(
        case.get("foreign")
            .and_then(Value::as_object)
            .unwrap_or(&empty),
    );
    let mut runner = Runner::new(&pipeline);
    for batch in objects(case.get("docs").unwrap_or(&Value::Null)).chunks(BATCH) {
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

fn main() -> std::io::Result<()> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut length = [0u8; 4];
    while input.read_exact(&mut length).is_ok() {
        let size = u32::from_le_bytes(length) as usize;
        let mut bytes = length.to_vec();
        bytes.resize(size, 0);
        input.read_exact(&mut bytes[4..])?;
        let mut reply = Object::new();
        let case = bson::read_document(&bytes);
        let outcome = case
            .map_err(|error| MqlError::bad_value(error.to_string()))
            .and_then(|case| answer(&case));
        match outcome {
            Ok(result) => {
                reply.push("ok", 1);
                reply.push("result", Value::Array(result));
            }
            Err(error) => {
                reply.push("ok", 0);
                reply.push("code", error.code);
                reply.push("errmsg", error.message);
            }
        }
        let mut bytes = Vec::new();
        bson::write_document(&reply, &mut bytes);
        output.write_all(&bytes)?;
    }
    output.flush()
}
