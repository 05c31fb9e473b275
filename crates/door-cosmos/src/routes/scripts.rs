//! `…/sprocs`, `…/triggers`, `…/udfs` and below.

use http::Method;
use lapsedb_service::Result;
use lapsedb_service::scripts::{self, ScriptKind};

use crate::answer::Answer;
use crate::call::Call;
use crate::routes::feed::{self, Feed};
use crate::routes::{method_not_allowed, resource};
use crate::{headers, quota};

/// Lists, queries, makes or upserts scripts.
///
/// # Errors
/// As the verb says.
pub async fn feed(call: &Call<'_>, db: &str, coll: &str, kind: ScriptKind) -> Result<Answer> {
    let at = (db, coll);
    match feed::of(call)? {
        Feed::Read(ask) => {
            let page = scripts::list(&call.ctx, at, kind, &ask).await?;
            Ok(with_quota(call, at, feed::answer(page, array(kind))).await)
        }
        Feed::Create => {
            let upsert = call.flag(&headers::IS_UPSERT)?;
            let body = call.object()?;
            let reply = scripts::create(&call.ctx, at, kind, &body, upsert).await?;
            Ok(with_quota(call, at, resource::answer(&reply)).await)
        }
    }
}

/// Reads, replaces or deletes a script, or is told that it is not run.
///
/// # Errors
/// As the verb says.
pub async fn one(
    call: &Call<'_>,
    db: &str,
    coll: &str,
    kind: ScriptKind,
    id: &str,
) -> Result<Answer> {
    let conditions = resource::conditions(call)?;
    let (ctx, at) = (&call.ctx, (db, coll));
    let reply = match *call.method {
        Method::GET => scripts::read(ctx, at, kind, id, &conditions).await?,
        Method::PUT => scripts::replace(ctx, at, kind, id, &call.object()?, &conditions).await?,
        Method::DELETE => scripts::delete(ctx, at, kind, id, &conditions).await?,
        Method::POST if kind == ScriptKind::StoredProcedure => {
            return resource::refused(scripts::execute(ctx, at, kind, id).await);
        }
        _ => return Err(method_not_allowed(call)),
    };
    Ok(with_quota(call, at, resource::answer(&reply)).await)
}

/// The answer with what the collection holds, as answers about items have it.
async fn with_quota(call: &Call<'_>, (db, coll): (&str, &str), mut answer: Answer) -> Answer {
    if let Ok(scope) = call.ctx.scope(db, coll).await {
        quota::set_about(call, &mut answer, &scope.collection).await;
    }
    answer
}

/// What the list of a kind is called.
const fn array(kind: ScriptKind) -> &'static str {
    match kind {
        ScriptKind::StoredProcedure => "StoredProcedures",
        ScriptKind::Trigger => "Triggers",
        ScriptKind::UserDefinedFunction => "UserDefinedFunctions",
    }
}
