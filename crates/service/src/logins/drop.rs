//! Removes logins.

use lapsedb_store::MetaChange;

use crate::attempts::{Decided, change_catalog};
use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::logins::{key, load, prefix};

/// Removes a login. Who is logged in by it may do nothing any more.
///
/// # Errors
/// When it is not there.
pub async fn drop(ctx: &Ctx, database: &str, name: &str) -> Result<()> {
    ctx.who.may_administer()?;
    change_catalog(ctx, |view| async move {
        if load(&view, database, name).await?.is_none() {
            return Err(Fault::new(
                code::USER_NOT_FOUND,
                format!("User '{name}@{database}' not found"),
            ));
        }
        let mut change = MetaChange::default();
        change.delete(key(database, name));
        Ok(Decided::change(view, change, ()))
    })
    .await
}

/// Removes all logins of a database; says how many.
///
/// # Errors
/// When the engine fails.
pub async fn drop_all(ctx: &Ctx, database: &str) -> Result<usize> {
    ctx.who.may_administer()?;
    change_catalog(ctx, |view| async move {
        let all = view.meta_all(prefix(Some(database))).await?.len();
        let mut change = MetaChange::default();
        change.delete_prefix(prefix(Some(database)));
        Ok(match all {
            0 => Decided::nothing(view, 0),
            _ => Decided::change(view, change, all),
        })
    })
    .await
}
