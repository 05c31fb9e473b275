//! Logins: those who may log in at the Mongo door besides the holders of the account's keys, and what they may do.
//!
//! A login is a catalog record. It holds what a mechanism keeps of a password, never the password.

mod access;
pub mod action;
mod alter;
mod create;
mod drop;
mod list;
pub mod privilege;
pub mod role;
pub mod roles;

use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{MetaRecord, StoreError, View};
use lapsedb_value::{Object, Value};

pub use access::Access;
pub use alter::{Change, alter, grant, revoke};
pub use create::create;
pub use drop::{drop, drop_all};
pub use list::{find, list};
pub use role::RoleName;
pub use roles::{Granted, granted};

use crate::documents::fault::{Fault, Result, code};

/// Logins of an account at most.
pub const LOGINS_MAX: usize = 10_000;
/// Bytes of a login's name at most.
pub const NAME_BYTES_MAX: usize = 512;
/// Roles of a login at most.
pub const ROLES_MAX: usize = 1_000;
/// Bytes of a login's own data at most, as BSON.
pub const CUSTOM_DATA_BYTES_MAX: usize = 1024 * 1024;

/// Somebody who may log in.
#[derive(Clone)]
pub struct User {
    /// The name.
    pub name: String,
    /// The database it stands in.
    pub database: String,
    /// Another one for each login that was ever made.
    pub id: [u8; 16],
    /// What each mechanism keeps of the password, by the mechanism's name.
    pub credentials: Object,
    /// The roles, each once.
    pub roles: Vec<RoleName>,
    /// What the client keeps beside it.
    pub custom_data: Option<Object>,
}

impl User {
    /// Database and name as one text.
    #[must_use]
    pub fn address(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    fn key(&self) -> Vec<u8> {
        key(&self.database, &self.name)
    }

    fn body(&self) -> Object {
        let mut body = Object::with_capacity(6);
        body.push("user", self.name.as_str());
        body.push("db", self.database.as_str());
        body.push(
            "id",
            Value::Binary {
                subtype: 4,
                bytes: self.id.to_vec(),
            },
        );
        body.push("credentials", Value::Object(self.credentials.clone()));
        let roles = self.roles.iter().map(RoleName::shown).collect();
        body.push("roles", Value::Array(roles));
        if let Some(data) = &self.custom_data {
            body.push("customData", Value::Object(data.clone()));
        }
        body
    }

    fn read(record: MetaRecord) -> Result<User> {
        let damaged = || StoreError::Corrupt("the record of a login is damaged".into());
        let mut body = record.body;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let name = text(body.get("user")).ok_or_else(damaged)?;
        let database = text(body.get("db")).ok_or_else(damaged)?;
        let id = match body.get("id") {
            Some(Value::Binary { bytes, .. }) => bytes.as_slice().try_into().ok(),
            Some(_) | None => None,
        };
        let credentials = match body.remove("credentials") {
            Some(Value::Object(credentials)) => credentials,
            Some(_) | None => return Err(damaged().into()),
        };
        let roles = read_roles(body.get("roles"));
        let custom_data = match body.remove("customData") {
            Some(Value::Object(data)) => Some(data),
            Some(_) | None => None,
        };
        Ok(User {
            name,
            database,
            id: id.ok_or_else(damaged)?,
            credentials,
            roles: roles.ok_or_else(damaged)?,
            custom_data,
        })
    }

    /// Refuses what is too much.
    fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(Fault::new(code::BAD_VALUE, message));
        if self.name.is_empty() {
            return refuse("User document needs 'user' field to be non-empty".to_owned());
        }
        if self.name.contains('\0') {
            return Err(Fault::new(
                code::INVALID_NAMESPACE,
                "namespaces cannot have embedded null characters",
            ));
        }
        if self.name.len() > NAME_BYTES_MAX {
            return refuse(format!("a user's name may have {NAME_BYTES_MAX} bytes"));
        }
        if self.roles.len() > ROLES_MAX {
            return refuse(format!("a user may have {ROLES_MAX} roles"));
        }
        if let Some(data) = &self.custom_data {
            let mut bytes = Vec::new();
            lapsedb_value::bson::write_document(data, &mut bytes);
            if bytes.len() > CUSTOM_DATA_BYTES_MAX {
                return refuse(format!("customData may have {CUSTOM_DATA_BYTES_MAX} bytes"));
            }
        }
        Ok(())
    }
}

/// Refuses roles of which one is not there.
async fn known(view: &View, roles: &[RoleName]) -> Result<()> {
    for role in roles {
        if !roles::exists(view, role).await? {
            return Err(Fault::new(
                code::ROLE_NOT_FOUND,
                format!("Could not find role: {role}"),
            ));
        }
    }
    Ok(())
}

/// Roles as a record keeps them.
fn read_roles(roles: Option<&Value>) -> Option<Vec<RoleName>> {
    let roles = roles.and_then(Value::as_array).unwrap_or_default();
    let named = |role: &Value| {
        let (role, db) = (role.get("role").as_str(), role.get("db").as_str());
        Some(RoleName::new(role?, db?))
    };
    roles.iter().map(named).collect()
}

/// Adds roles that are not there yet.
fn add_roles(roles: &mut Vec<RoleName>, others: &[RoleName]) {
    for role in others {
        if !roles.contains(role) {
            roles.push(role.clone());
        }
    }
}

/// All of them have one owner: they belong to names of databases, which need not exist.
const OWNER: u64 = 0;

fn key(database: &str, name: &str) -> Vec<u8> {
    keys::meta_named(MetaKind::Login, OWNER, &format!("{database}.{name}"))
}

/// The prefix of a database's logins; no name of a database has a dot.
fn prefix(database: Option<&str>) -> Vec<u8> {
    match database {
        Some(database) => keys::meta_named(MetaKind::Login, OWNER, &format!("{database}.")),
        None => keys::meta_owned(MetaKind::Login, OWNER),
    }
}

async fn load(view: &View, database: &str, name: &str) -> Result<Option<User>> {
    let record = view.meta(&key(database, name)).await?;
    record.map(User::read).transpose()
}

#[cfg(test)]
mod tests;
