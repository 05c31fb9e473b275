//! Reads a client encryption key.

use crate::client_encryption_keys::KEYS;
use crate::ctx::Ctx;
use crate::error::Result;
use crate::reply::{Conditions, Reply};

/// The key of a name or rid.
///
/// # Errors
/// When it is not there, or who asks may not read it.
pub async fn read(ctx: &Ctx, db: &str, id: &str, conditions: &Conditions) -> Result<Reply> {
    KEYS.read(ctx, (db, id), conditions).await
}
