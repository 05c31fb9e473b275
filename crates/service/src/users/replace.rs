//! Replaces a user: all that can change is its name.

use lapsedb_value::Object;

use crate::ctx::Ctx;
use crate::error::Result;
use crate::named::Named;
use crate::names;
use crate::reply::{Conditions, Reply};
use crate::users::USERS;

/// Gives a user another name; its permissions stay.
///
/// # Errors
/// When it is not there or not as the client knows it, the name is not allowed or taken, or who asks may not.
pub async fn replace(
    ctx: &Ctx,
    db: &str,
    id: &str,
    body: &Object,
    conditions: &Conditions,
) -> Result<Reply> {
    let new = |old: &Named| Ok(Named::new(old.number, names::id_of(body)?));
    USERS.replace(ctx, (db, id), conditions, new).await
}
