//! Makes a login.

use lapsedb_store::MetaChange;

use crate::attempts::{Decided, change_catalog};
use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::logins::{LOGINS_MAX, User, known, load, prefix};

/// Makes a login.
///
/// # Errors
/// When there is one of that name in its database, or too many, or a role of it is not known.
pub async fn create(ctx: &Ctx, user: &User) -> Result<()> {
    ctx.who.may_administer()?;
    user.check()?;
    change_catalog(ctx, |view| async move {
        known(&view, &user.roles).await?;
        if load(&view, &user.database, &user.name).await?.is_some() {
            return Err(taken(&user.name, &user.database));
        }
        if view.meta_all(prefix(None)).await?.len() >= LOGINS_MAX {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("there are {LOGINS_MAX} users, which is the most there may be"),
            ));
        }
        let mut change = MetaChange::default();
        change.put(user.key(), user.body());
        Ok(Decided::change(view, change, ()))
    })
    .await
}

/// What is answered for a name that is taken.
fn taken(name: &str, database: &str) -> Fault {
    Fault::new(
        code::USER_EXISTS,
        format!("User \"{name}@{database}\" already exists"),
    )
}
