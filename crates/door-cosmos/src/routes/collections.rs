//! `/dbs/{db}/colls` and `/dbs/{db}/colls/{coll}`.

use http::Method;
use lapsedb_service::Result;
use lapsedb_service::collections::{self, CollectionUsage};
use lapsedb_service::limits::BODY_BYTES_MAX;
use lapsedb_service::scripts::ScriptKind;

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
            let read = collections::read(&call.ctx, at, &conditions, with_usage).await?;
            let mut answer = resource::answer(&read.reply);
            answer.set_number(headers::INDEX_PROGRESS, 100);
            if let Some(usage) = &read.usage {
                answer.set(headers::RESOURCE_QUOTA, &quota_text());
                answer.set(headers::RESOURCE_USAGE, &usage_text(usage));
            }
            Ok(answer)
        }
        Method::PUT => {
            let body = call.value()?;
            let reply = collections::replace(&call.ctx, at, &body, &conditions).await?;
            let mut answer = resource::answer(&reply);
            answer.set_number(headers::INDEX_PROGRESS, 100);
            Ok(answer)
        }
        Method::DELETE => {
            let reply = collections::delete(&call.ctx, at, &conditions).await?;
            Ok(resource::answer(&reply))
        }
        _ => Err(method_not_allowed(call)),
    }
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
