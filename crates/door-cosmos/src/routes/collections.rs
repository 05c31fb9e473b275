//! `/dbs/{db}/colls` and `/dbs/{db}/colls/{coll}`.

use http::Method;
use lapsedb_service::Result;
use lapsedb_service::collections::{self, CollectionUsage};
use lapsedb_service::limits::BODY_BYTES_MAX;
use lapsedb_service::scripts::ScriptKind;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::headers;
use crate::routes::feed::{self, Feed};
use crate::routes::{method_not_allowed, resource};

/// Sizes in these headers are counted in so many bytes.
const KILOBYTE: u64 = 1024;

/// Lists, queries or makes collections.
///
/// # Errors
/// As the verb says.
pub async fn feed(call: &Call<'_>, db: &str) -> Result<Answer> {
    match feed::of(call)? {
        Feed::Read(ask) => Ok(feed::answer(
            collections::list(&call.ctx, db, &ask).await?,
            "DocumentCollections",
        )),
        Feed::Create => {
            let wanted = resource::wanted(call)?;
            let body = call.value()?;
            let reply = collections::create(&call.ctx, db, &body, wanted.as_ref()).await?;
            Ok(resource::answer(&reply))
        }
    }
}

/// Reads, replaces or deletes a collection.
///
/// # Errors
/// As the verb says.
pub async fn one(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    let conditions = resource::conditions(call)?;
    let at = (db, coll);
    match *call.method {
        Method::GET => {
            let with_usage = call.flag(&headers::POPULATE_QUOTA)?;
            let with_statistics = call.flag(&headers::POPULATE_STATISTICS)?;
            let mut read =
                collections::read(&call.ctx, at, &conditions, with_usage || with_statistics)
                    .await?;
            if with_statistics
                && let (Some(usage), Some(body)) = (&read.usage, read.reply.value.as_object_mut())
            {
                body.push("statistics", statistics(usage));
            }
            let mut answer = resource::answer(&read.reply);
            answer.set_number(headers::INDEX_PROGRESS, read.index_progress.into());
            if let Some(usage) = read.usage.as_ref().filter(|_| with_usage) {
                answer.set(headers::RESOURCE_QUOTA, &quota_text());
                answer.set(headers::RESOURCE_USAGE, &usage_text(usage));
            }
            Ok(answer)
        }
        Method::PUT => {
            let body = call.value()?;
            let replaced = collections::replace(&call.ctx, at, &body, &conditions).await?;
            let mut answer = resource::answer(&replaced.reply);
            answer.set_number(headers::INDEX_PROGRESS, replaced.index_progress.into());
            Ok(answer)
        }
        Method::DELETE => {
            let reply = collections::delete(&call.ctx, at, &conditions).await?;
            Ok(resource::answer(&reply))
        }
        _ => Err(method_not_allowed(call)),
    }
}

/// What the ranges of a collection hold; there is one.
fn statistics(usage: &CollectionUsage) -> Value {
    let number = |number: u64| Value::from(i64::try_from(number).unwrap_or(i64::MAX));
    let mut range = Object::new();
    range.push("id", Value::from("0"));
    range.push(
        "sizeInKB",
        number(usage.items.live.bytes.div_ceil(KILOBYTE)),
    );
    range.push("documentCount", number(usage.items.live.items));
    range.push("partitionKeys", Value::Array(Vec::new()));
    Value::Array(vec![Value::Object(range)])
}

/// What a collection may hold; -1 where there is no limit.
fn quota_text() -> String {
    format!(
        "functions={};storedProcedures={};triggers={};documentSize={};documentsSize=-1;documentsCount=-1;collectionSize=-1;",
        ScriptKind::UserDefinedFunction.count_max(),
        ScriptKind::StoredProcedure.count_max(),
        ScriptKind::Trigger.count_max(),
        BODY_BYTES_MAX / 1024,
    )
}

/// What a collection holds: the living only, from the instant the others expire.
fn usage_text(usage: &CollectionUsage) -> String {
    let kilobytes = usage.items.live.bytes.div_ceil(KILOBYTE);
    format!(
        "functions={};storedProcedures={};triggers={};documentSize=0;documentsSize={kilobytes};documentsCount={};collectionSize={kilobytes};",
        usage.functions, usage.stored_procedures, usage.triggers, usage.items.live.items,
    )
}
