//! `/dbs` and `/dbs/{db}`.

use http::Method;
use lapsedb_service::{Result, databases};

use crate::answer::Answer;
use crate::call::Call;
use crate::routes::feed::{self, Feed};
use crate::routes::{method_not_allowed, resource};

/// Lists, queries or makes databases.
///
/// # Errors
/// As the verb says.
pub async fn feed(call: &Call<'_>) -> Result<Answer> {
    match feed::of(call)? {
        Feed::Read(ask) => Ok(feed::answer(
            databases::list(&call.ctx, &ask).await?,
            "Databases",
        )),
        Feed::Create => {
            let wanted = resource::wanted(call)?;
            let reply = databases::create(&call.ctx, &call.object()?, wanted.as_ref()).await?;
            Ok(resource::answer(&reply))
        }
    }
}

/// Reads or deletes a database.
///
/// # Errors
/// As the verb says.
pub async fn one(call: &Call<'_>, db: &str) -> Result<Answer> {
    let conditions = resource::conditions(call)?;
    let reply = match *call.method {
        Method::GET => databases::read(&call.ctx, db, &conditions).await?,
        Method::DELETE => databases::delete(&call.ctx, db, &conditions).await?,
        _ => return Err(method_not_allowed(call)),
    };
    Ok(resource::answer(&reply))
}
