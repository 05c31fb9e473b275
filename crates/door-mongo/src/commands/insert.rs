//! Inserts documents.

use lapsedb_service::documents::{self, Fault, Insert, Wrote};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::KEEP_EMPTY_STAMPS;
use crate::error;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let raw = std::mem::take(&mut call.raw_documents);
    let documents = match raw.is_empty() {
        true => {
            let read = fields.documents("documents")?;
            read.into_iter().map(Into::into).collect()
        }
        false => raw.into_iter().map(Into::into).collect(),
    };
    let insert = Insert {
        documents,
        ordered: fields.truth("ordered", true)?,
    };
    let bypass = fields.truth("bypassDocumentValidation", false)?;
    let keeps_empty = fields.truth(KEEP_EMPTY_STAMPS, false)?;
    fields.end()?;
    let work = call.begin().await?.bypassing_validation(bypass);
    let mut work = work.keeping_empty_stamps(keeps_empty);
    let wrote = documents::insert(&mut work, &namespace, insert).await;
    let wrote = work.end_writes(wrote).await?;
    Ok(Answer::Plain(reply(&wrote, false)))
}

/// What writes have done, as a reply.
pub(crate) fn reply(wrote: &Wrote, with_modified: bool) -> Object {
    let number = |n: u64| i32::try_from(n).unwrap_or(i32::MAX);
    let mut reply = Object::with_capacity(6);
    reply.push("n", number(wrote.n));
    if !wrote.upserted.is_empty() {
        let upserted = wrote.upserted.iter().map(|(index, id)| {
            let mut one = Object::with_capacity(2);
            one.push("index", i32::try_from(*index).unwrap_or(i32::MAX));
            one.push("_id", id.clone());
            Value::Object(one)
        });
        reply.push("upserted", Value::Array(upserted.collect()));
    }
    if with_modified {
        reply.push("nModified", number(wrote.modified));
    }
    if !wrote.faults.is_empty() {
        let errors = wrote.faults.iter().map(error::write_error).collect();
        reply.push("writeErrors", Value::Array(errors));
    }
    if !wrote.retried.is_empty() {
        let retried = wrote.retried.iter().copied().map(Value::Int32).collect();
        reply.push("retriedStmtIds", Value::Array(retried));
    }
    reply
}
