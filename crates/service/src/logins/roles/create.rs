//! Defines a role.

use lapsedb_store::MetaChange;

use crate::attempts::{Decided, change_catalog};
use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::logins::roles::{DEFINED_MAX, Role, load, prefix};

/// Defines a role.
///
/// # Errors
/// When there is one of that name in its database, or too many, or a role that it inherits from is not there.
pub async fn create(ctx: &Ctx, role: &Role) -> Result<()> {
    ctx.who.may_administer()?;
    let refused = |message: String| Fault::new(code::BAD_VALUE, message);
    if role.name.role.is_empty() {
        return Err(refused("Role name must be non-empty".to_owned()));
    }
    if role.name.builtin().is_some() {
        return Err(refused(
            "Cannot create roles with the same name as a built-in role".to_owned(),
        ));
    }
    role.check()?;
    change_catalog(ctx, |view| async move {
        role.check_parents(&view, &role.roles).await?;
        if load(&view, &role.name).await?.is_some() {
            return Err(Fault::new(
                code::ROLE_EXISTS,
                format!("Role \"{}\" already exists", role.name),
            ));
        }
        if view.meta_all(prefix(None)).await?.len() >= DEFINED_MAX {
            return Err(refused(format!(
                "there are {DEFINED_MAX} roles, which is the most there may be"
            )));
        }
        let mut change = MetaChange::default();
        change.put(role.key(), role.body());
        Ok(Decided::change(view, change, ()))
    })
    .await
}
