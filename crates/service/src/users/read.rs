//! Reads a user.

use crate::ctx::Ctx;
use crate::error::Result;
use crate::reply::{Conditions, Reply};
use crate::users::USERS;

/// The user of a name or rid.
///
/// # Errors
/// When it is not there, or who asks may not read it.
pub async fn read(ctx: &Ctx, db: &str, id: &str, conditions: &Conditions) -> Result<Reply> {
    USERS.read(ctx, (db, id), conditions).await
}
