//! Finds roles that were defined.

use crate::ctx::Ctx;
use crate::documents::fault::Result;
use crate::logins::RoleName;
use crate::logins::roles::{Role, load, load_all};

/// A defined role by name.
///
/// # Errors
/// When the engine fails.
pub async fn find(ctx: &Ctx, name: &RoleName) -> Result<Option<Role>> {
    load(&ctx.view().await?, name).await
}

/// The roles defined in a database, sorted by name.
///
/// # Errors
/// When the engine fails.
pub async fn list(ctx: &Ctx, database: &str) -> Result<Vec<Role>> {
    load_all(&ctx.view().await?, Some(database)).await
}
