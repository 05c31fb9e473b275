//! `/dbs/{db}/colls` and `/dbs/{db}/colls/{coll}`.

use http::Method;
use lapsedb_service::collections::{self, CollectionUsage};
use lapsedb_service::{Figure, Result, offers};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::headers;
use crate::quota::{self, KILOBYTE};
use crate::routes::feed::{self, Feed};
use crate::routes::{method_not_allowed, resource};

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
            let mut answer = resource::answer(&reply);
            let id = reply.value.get("id").as_str().unwrap_or_default();
            set_shared(call, &mut answer, (db, id)).await;
            Ok(answer)
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
            set_shared(call, &mut answer, at).await;
            if let Some(usage) = read.usage.as_ref().filter(|_| with_usage) {
                quota::set(&mut answer, &Figure::from(usage));
            }
            Ok(answer)
        }
        Method::PUT => {
            let body = call.value()?;
            let replaced = collections::replace(&call.ctx, at, &body, &conditions).await?;
            let mut answer = resource::answer(&replaced.reply);
            answer.set_number(headers::INDEX_PROGRESS, replaced.index_progress.into());
            set_shared(call, &mut answer, at).await;
            Ok(answer)
        }
        Method::DELETE => {
            let reply = collections::delete(&call.ctx, at, &conditions).await?;
            Ok(resource::answer(&reply))
        }
        _ => Err(method_not_allowed(call)),
    }
}

/// Says of a collection that it shares the throughput of its database, if it does.
async fn set_shared(call: &Call<'_>, answer: &mut Answer, at: (&str, &str)) {
    // What was asked for is done: it does not fail for want of a hint.
    if offers::is_shared(&call.ctx, at).await.unwrap_or(false) {
        answer.set(headers::SHARE_THROUGHPUT, "true");
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
