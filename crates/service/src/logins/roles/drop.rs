//! Removes roles that were defined, and takes them from whoever has them.

use lapsedb_store::{MetaChange, View};

use crate::attempts::{Decided, change_catalog};
use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::logins::roles::{load, load_all, not_builtin};
use crate::logins::{self, RoleName, User};

/// Removes a role, also from the users and roles that have it.
///
/// # Errors
/// When it is not there, or built in.
pub async fn drop(ctx: &Ctx, name: &RoleName) -> Result<()> {
    ctx.who.may_administer()?;
    not_builtin(name)?;
    change_catalog(ctx, |view| async move {
        if load(&view, name).await?.is_none() {
            return Err(Fault::new(
                code::ROLE_NOT_FOUND,
                format!("Could not find role: {name}"),
            ));
        }
        let change = without(&view, std::slice::from_ref(name)).await?;
        Ok(Decided::change(view, change, ()))
    })
    .await
}

/// Removes all roles that were defined in a database; says how many.
///
/// # Errors
/// When the engine fails.
pub async fn drop_all(ctx: &Ctx, database: &str) -> Result<usize> {
    ctx.who.may_administer()?;
    change_catalog(ctx, |view| async move {
        let all = load_all(&view, Some(database)).await?;
        let names: Vec<_> = all.into_iter().map(|role| role.name).collect();
        if names.is_empty() {
            return Ok(Decided::nothing(view, 0));
        }
        let change = without(&view, &names).await?;
        Ok(Decided::change(view, change, names.len()))
    })
    .await
}

/// The change after which nobody has any of these roles, and they are not there.
async fn without(view: &View, gone: &[RoleName]) -> Result<MetaChange> {
    let mut change = MetaChange::default();
    let kept = |role: &RoleName| !gone.contains(role);
    for mut role in load_all(view, None).await? {
        if gone.contains(&role.name) {
            change.delete(role.key());
        } else if !role.roles.iter().all(kept) {
            role.roles.retain(kept);
            change.put(role.key(), role.body());
        }
    }
    for record in view.meta_all(logins::prefix(None)).await? {
        let mut user = User::read(record)?;
        if !user.roles.iter().all(kept) {
            user.roles.retain(kept);
            change.put(user.key(), user.body());
        }
    }
    Ok(change)
}
