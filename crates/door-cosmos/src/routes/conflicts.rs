//! `…/conflicts` and below: always empty.

use http::Method;
use lapsedb_service::{Result, collections};

use crate::answer::Answer;
use crate::call::Call;
use crate::routes::{feed, method_not_allowed, resource};

/// Lists or queries conflicts.
///
/// # Errors
/// As the verb says.
pub async fn feed(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    let ask = feed::read_only(call)?;
    let page = collections::conflicts(&call.ctx, db, coll, &ask).await?;
    Ok(feed::answer(page, "Conflicts"))
}

/// Reads or deletes a conflict, of which there are none.
///
/// # Errors
/// Always.
pub async fn one(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    match *call.method {
        Method::GET | Method::DELETE => {
            resource::refused(collections::conflict(&call.ctx, db, coll).await)
        }
        _ => Err(method_not_allowed(call)),
    }
}
