//! Changes a login: its password, its data, its roles.

use lapsedb_store::MetaChange;
use lapsedb_value::Object;

use crate::attempts::{Decided, change_catalog};
use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::logins::{RoleName, User, add_roles, known, load};

/// What is to change; what is none stays.
#[derive(Clone, Default)]
pub struct Change {
    /// What mechanisms keep of a new password: all that were kept are forgotten.
    pub credentials: Option<Object>,
    /// The mechanisms that stay, if there is no new password.
    pub mechanisms: Option<Vec<String>>,
    /// The roles instead of those it has.
    pub roles: Option<Vec<RoleName>>,
    /// The data instead of what it has.
    pub custom_data: Option<Object>,
}

/// Changes a login.
///
/// # Errors
/// When it is not there, a role is not known, or a mechanism was never kept.
pub async fn alter(ctx: &Ctx, database: &str, name: &str, change: &Change) -> Result<()> {
    let gone = || format!("User {name}@{database} not found");
    let roles = change.roles.as_deref().unwrap_or_default();
    rewrite(ctx, (database, name), roles, gone, |user| {
        if let Some(credentials) = &change.credentials {
            user.credentials = credentials.clone();
        } else if let Some(mechanisms) = &change.mechanisms {
            let kept = |name: &String| user.credentials.contains_key(name);
            if !mechanisms.iter().all(kept) {
                return Err(Fault::new(
                    code::BAD_VALUE,
                    "mechanisms field must be a subset of previously set mechanisms",
                ));
            }
            user.credentials
                .retain(|name, _| mechanisms.iter().any(|kept| kept == name));
        }
        if let Some(roles) = &change.roles {
            user.roles.clone_from(roles);
        }
        if let Some(data) = &change.custom_data {
            user.custom_data = Some(data.clone());
        }
        Ok(())
    })
    .await
}

/// Gives roles to a login.
///
/// # Errors
/// When it is not there, or a role is not known.
pub async fn grant(ctx: &Ctx, database: &str, name: &str, roles: &[RoleName]) -> Result<()> {
    let missing = missing(database, name);
    rewrite(ctx, (database, name), roles, missing, |user| {
        add_roles(&mut user.roles, roles);
        Ok(())
    })
    .await
}

/// Takes roles from a login.
///
/// # Errors
/// When it is not there, or a role is not known.
pub async fn revoke(ctx: &Ctx, database: &str, name: &str, roles: &[RoleName]) -> Result<()> {
    let missing = missing(database, name);
    rewrite(ctx, (database, name), roles, missing, |user| {
        user.roles.retain(|role| !roles.contains(role));
        Ok(())
    })
    .await
}

fn missing(database: &str, name: &str) -> impl Fn() -> String {
    let text = format!("Could not find user \"{name}\" for db \"{database}\"");
    move || text.clone()
}

/// Rewrites a login by a command that names some roles, which must exist.
async fn rewrite(
    ctx: &Ctx,
    (database, name): (&str, &str),
    roles: &[RoleName],
    missing: impl Fn() -> String + Sync,
    edit: impl Fn(&mut User) -> Result<()> + Sync,
) -> Result<()> {
    ctx.who.may_administer()?;
    let (missing, edit) = (&missing, &edit);
    change_catalog(ctx, |view| async move {
        let Some(mut user) = load(&view, database, name).await? else {
            return Err(Fault::new(code::USER_NOT_FOUND, missing()));
        };
        known(&view, roles).await?;
        edit(&mut user)?;
        user.check()?;
        let mut change = MetaChange::default();
        change.put(user.key(), user.body());
        Ok(Decided::change(view, change, ()))
    })
    .await
}
