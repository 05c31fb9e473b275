//! `/dbs/{db}/users/{user}/permissions` and below.

use http::Method;
use lapsedb_service::Result;
use lapsedb_service::users::permissions;

use crate::answer::Answer;
use crate::call::Call;
use crate::headers;
use crate::routes::feed::{self, Feed};
use crate::routes::{method_not_allowed, resource};

/// Lists, queries, makes or upserts permissions.
///
/// # Errors
/// As the verb says.
pub async fn feed(call: &Call<'_>, db: &str, user: &str) -> Result<Answer> {
    let life = call.number(&headers::EXPIRY_SECONDS)?;
    let at = (db, user);
    match feed::of(call)? {
        Feed::Read(ask) => Ok(feed::answer(
            permissions::list(&call.ctx, at, &ask, life).await?,
            "Permissions",
        )),
        Feed::Create => {
            let upsert = call.flag(&headers::IS_UPSERT)?;
            let body = call.object()?;
            let reply = permissions::create(&call.ctx, at, &body, upsert, life).await?;
            Ok(resource::answer(&reply))
        }
    }
}

/// Reads, replaces or deletes a permission.
///
/// # Errors
/// As the verb says.
pub async fn one(call: &Call<'_>, db: &str, user: &str, id: &str) -> Result<Answer> {
    let conditions = resource::conditions(call)?;
    let life = call.number(&headers::EXPIRY_SECONDS)?;
    let (ctx, at) = (&call.ctx, (db, user));
    let reply = match *call.method {
        Method::GET => permissions::read(ctx, at, id, &conditions, life).await?,
        Method::PUT => {
            permissions::replace(ctx, at, id, &call.object()?, &conditions, life).await?
        }
        Method::DELETE => permissions::delete(ctx, at, id, &conditions).await?,
        _ => return Err(method_not_allowed(call)),
    };
    Ok(resource::answer(&reply))
}
