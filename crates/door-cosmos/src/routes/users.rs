//! `/dbs/{db}/users` and `/dbs/{db}/users/{user}`.

use http::Method;
use lapsedb_service::{Result, users};

use crate::answer::Answer;
use crate::call::Call;
use crate::headers;
use crate::routes::feed::{self, Feed};
use crate::routes::{method_not_allowed, resource};

/// Lists, queries, makes or upserts users.
///
/// # Errors
/// As the verb says.
pub async fn feed(call: &Call<'_>, db: &str) -> Result<Answer> {
    match feed::of(call)? {
        Feed::Read(ask) => Ok(feed::answer(
            users::list(&call.ctx, db, &ask).await?,
            "Users",
        )),
        Feed::Create => {
            let upsert = call.flag(&headers::IS_UPSERT)?;
            let reply = users::create(&call.ctx, db, &call.object()?, upsert).await?;
            Ok(resource::answer(&reply))
        }
    }
}

/// Reads, replaces or deletes a user.
///
/// # Errors
/// As the verb says.
pub async fn one(call: &Call<'_>, db: &str, user: &str) -> Result<Answer> {
    let conditions = resource::conditions(call)?;
    let ctx = &call.ctx;
    let reply = match *call.method {
        Method::GET => users::read(ctx, db, user, &conditions).await?,
        Method::PUT => users::replace(ctx, db, user, &call.object()?, &conditions).await?,
        Method::DELETE => users::delete(ctx, db, user, &conditions).await?,
        _ => return Err(method_not_allowed(call)),
    };
    Ok(resource::answer(&reply))
}
