//! Finds logins.

use crate::ctx::Ctx;
use crate::documents::fault::Result;
use crate::logins::{User, load, prefix};

/// A login by name.
///
/// # Errors
/// When the engine fails.
pub async fn find(ctx: &Ctx, database: &str, name: &str) -> Result<Option<User>> {
    load(&ctx.view().await?, database, name).await
}

/// The logins of a database, or all there are, sorted by database and name.
///
/// # Errors
/// When the engine fails.
pub async fn list(ctx: &Ctx, database: Option<&str>) -> Result<Vec<User>> {
    let view = ctx.view().await?;
    let records = view.meta_all(prefix(database)).await?;
    records.into_iter().map(User::read).collect()
}
