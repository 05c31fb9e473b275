//! Roles that clients have defined: privileges of their own, and roles whose privileges they inherit.
//!
//! A role is a catalog record, as a login is. A role of the database `admin` may reach into every database; any other
//! only into its own.

mod alter;
mod cache;
mod create;
mod drop;
mod list;
mod resolve;

use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{MetaRecord, StoreError, View};
use lapsedb_value::{Object, Value};

pub use alter::{Edit, alter};
pub(crate) use cache::ResolvedRoles;
pub(in crate::logins) use cache::Shared;
pub use create::create;
pub use drop::{drop, drop_all};
pub use list::{find, list};
pub(in crate::logins) use resolve::resolve;
pub use resolve::{Granted, granted};

use crate::documents::fault::{Fault, Result, code};
use crate::logins::privilege::Privileges;
use crate::logins::role::ADMIN;
use crate::logins::{NAME_BYTES_MAX, ROLES_MAX, RoleName, read_roles};

/// Defined roles of an account at most.
pub const DEFINED_MAX: usize = 10_000;
/// Resources that a role has privileges on at most.
pub const PRIVILEGES_MAX: usize = 1_000;

/// A role that a client has defined.
#[derive(Clone, Debug)]
pub struct Role {
    /// Its name and database.
    pub name: RoleName,
    /// Its own privileges.
    pub privileges: Privileges,
    /// The roles it inherits from, each once.
    pub roles: Vec<RoleName>,
}

impl Role {
    fn key(&self) -> Vec<u8> {
        key(&self.name)
    }

    fn body(&self) -> Object {
        let mut body = Object::with_capacity(4);
        body.push("role", self.name.role.as_str());
        body.push("db", self.name.database.as_str());
        body.push("privileges", Value::Array(self.privileges.shown()));
        let roles = self.roles.iter().map(RoleName::shown).collect();
        body.push("roles", Value::Array(roles));
        body
    }

    fn read(record: &MetaRecord) -> Result<Role> {
        let damaged = || StoreError::Corrupt("the record of a role is damaged".into());
        let body = &record.body;
        let text = |member: &str| body.get(member).and_then(Value::as_str);
        let privileges = body.get("privileges").and_then(Value::as_array);
        Ok(Role {
            name: RoleName::new(
                text("role").ok_or_else(damaged)?,
                text("db").ok_or_else(damaged)?,
            ),
            privileges: Privileges::read(privileges.ok_or_else(damaged)?).map_err(|_| damaged())?,
            roles: read_roles(body.get("roles")).ok_or_else(damaged)?,
        })
    }

    /// Refuses what is too much, and what reaches out of the role's database.
    fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(Fault::new(code::BAD_VALUE, message));
        let database = &self.name.database;
        if self.name.role.contains('\0') {
            return Err(Fault::new(
                code::INVALID_NAMESPACE,
                "namespaces cannot have embedded null characters",
            ));
        }
        if self.name.role.len() > NAME_BYTES_MAX {
            return refuse(format!("a role's name may have {NAME_BYTES_MAX} bytes"));
        }
        if self.roles.len() > ROLES_MAX {
            return refuse(format!("a role may inherit from {ROLES_MAX} roles"));
        }
        if self.privileges.len() > PRIVILEGES_MAX {
            return refuse(format!(
                "a role may have privileges on {PRIVILEGES_MAX} resources"
            ));
        }
        if database == ADMIN {
            return Ok(());
        }
        let reaches_out = |what: &str| {
            let text = format!("Roles on the '{database}' database cannot be granted {what}");
            Err(Fault::new(code::INVALID_ROLE_MODIFICATION, text))
        };
        if self.roles.iter().any(|role| role.database != *database) {
            return reaches_out("roles from other databases");
        }
        if !self.privileges.within_database(database) {
            return reaches_out("privileges that target other databases or the cluster");
        }
        Ok(())
    }

    /// Refuses to inherit from these roles: from itself, from one that is not there, or in a circle.
    async fn check_parents(&self, view: &View, parents: &[RoleName]) -> Result<()> {
        let refuse = |text: String| Err(Fault::new(code::INVALID_ROLE_MODIFICATION, text));
        let name = &self.name;
        if parents.contains(name) {
            return refuse(format!("Cannot grant role {name} to itself."));
        }
        for role in parents {
            if !exists(view, role).await? {
                return Err(Fault::new(
                    code::ROLE_NOT_FOUND,
                    format!("Cannot grant roles to '{name}': Could not find role: {role}"),
                ));
            }
        }
        if resolve(view, parents).await?.roles.contains(name) {
            return refuse(format!(
                "Granting roles to {name} would introduce a cycle in the role graph"
            ));
        }
        Ok(())
    }
}

/// As users have, all roles have one owner: they belong to names of databases, which need not exist.
const OWNER: u64 = 0;

fn key(name: &RoleName) -> Vec<u8> {
    let RoleName { role, database } = name;
    keys::meta_named(MetaKind::Role, OWNER, &format!("{database}.{role}"))
}

/// The prefix of a database's roles; no name of a database has a dot.
fn prefix(database: Option<&str>) -> Vec<u8> {
    match database {
        Some(database) => keys::meta_named(MetaKind::Role, OWNER, &format!("{database}.")),
        None => keys::meta_owned(MetaKind::Role, OWNER),
    }
}

async fn load(view: &View, name: &RoleName) -> Result<Option<Role>> {
    // What is not a database's name could be read as another database's role.
    if name.database.is_empty() || name.database.contains('.') {
        return Ok(None);
    }
    let record = view.meta(&key(name)).await?;
    record.as_ref().map(Role::read).transpose()
}

async fn load_all(view: &View, database: Option<&str>) -> Result<Vec<Role>> {
    let records = view.meta_all(prefix(database)).await?;
    records.iter().map(Role::read).collect()
}

/// Whether there is such a role, built in or defined.
pub(in crate::logins) async fn exists(view: &View, name: &RoleName) -> Result<bool> {
    Ok(name.builtin().is_some() || load(view, name).await?.is_some())
}

/// Refuses to change a role that is built in.
fn not_builtin(name: &RoleName) -> Result<()> {
    match name.builtin() {
        None => Ok(()),
        Some(_) => Err(Fault::new(
            code::BAD_VALUE,
            format!("{name} is a built-in role and cannot be modified"),
        )),
    }
}

#[cfg(test)]
mod tests;
