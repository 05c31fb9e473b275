//! Changes a role that was defined.

use lapsedb_store::{MetaChange, View};

use crate::attempts::{Decided, change_catalog};
use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::logins::privilege::Privileges;
use crate::logins::roles::{Role, load, not_builtin};
use crate::logins::{RoleName, add_roles};

/// What is to change.
#[derive(Clone, Debug)]
pub enum Edit {
    /// These instead of those it has; what is none stays.
    Replace {
        /// Its privileges.
        privileges: Option<Privileges>,
        /// The roles it inherits from.
        roles: Option<Vec<RoleName>>,
    },
    /// These privileges in addition.
    GrantPrivileges(Privileges),
    /// No longer these privileges.
    RevokePrivileges(Privileges),
    /// These roles in addition.
    GrantRoles(Vec<RoleName>),
    /// No longer these roles.
    RevokeRoles(Vec<RoleName>),
}

/// Changes a role. Whoever has it, or inherits from it, has it changed from the next command on.
///
/// # Errors
/// When it is not there or built in, or may not have what it is to have.
pub async fn alter(ctx: &Ctx, name: &RoleName, edit: &Edit) -> Result<()> {
    ctx.who.may_administer()?;
    let replaces = matches!(edit, Edit::Replace { .. });
    if !replaces {
        not_builtin(name)?;
    }
    change_catalog(ctx, |view| async move {
        let Some(mut role) = load(&view, name).await? else {
            let text = match replaces && name.builtin().is_none() {
                true => format!("Could not find role: {name}"),
                false => format!("Role {name} not found"),
            };
            return Err(Fault::new(code::ROLE_NOT_FOUND, text));
        };
        apply(&view, &mut role, edit).await?;
        let mut change = MetaChange::default();
        change.put(role.key(), role.body());
        Ok(Decided::change(view, change, ()))
    })
    .await
}

async fn apply(view: &View, role: &mut Role, edit: &Edit) -> Result<()> {
    let parents = match edit {
        Edit::Replace { privileges, roles } => {
            if let Some(privileges) = privileges {
                role.privileges = privileges.clone();
            }
            if let Some(roles) = roles {
                role.roles.clone_from(roles);
            }
            roles.as_deref()
        }
        Edit::GrantPrivileges(privileges) => {
            role.privileges.add_all(privileges);
            None
        }
        Edit::RevokePrivileges(privileges) => {
            role.privileges.remove_all(privileges);
            None
        }
        Edit::GrantRoles(roles) => {
            add_roles(&mut role.roles, roles);
            Some(roles.as_slice())
        }
        Edit::RevokeRoles(roles) => {
            role.roles.retain(|own| !roles.contains(own));
            None
        }
    };
    role.check()?;
    match parents {
        Some(parents) => role.check_parents(view, parents).await,
        None => Ok(()),
    }
}
