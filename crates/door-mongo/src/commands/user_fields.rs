//! Members that the commands on users share.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::RoleName;
use lapsedb_value::{Object, Value};

use crate::auth::{self, Hash};
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

/// The name that a command gives by its own name.
pub(crate) fn name(fields: &mut Fields, call: &Call<'_>) -> Result<String, Fault> {
    match fields.own(call) {
        Value::String(name) => Ok(name.to_string()),
        other => Err(fields.wrong(&call.name, &other, "string")),
    }
}

/// Roles, each by its name or with its database.
pub(crate) fn roles(fields: &Fields, roles: Value, database: &str) -> Result<Vec<RoleName>, Fault> {
    let Value::Array(roles) = roles else {
        return Err(fields.wrong("roles", &roles, "array"));
    };
    let mut read: Vec<RoleName> = Vec::with_capacity(roles.len());
    for role in &roles {
        let role = role_name(role, database)?;
        if !read.contains(&role) {
            read.push(role);
        }
    }
    Ok(read)
}

/// One role, by its name or with its database.
pub(crate) fn role_name(role: &Value, database: &str) -> Result<RoleName, Fault> {
    match role {
        Value::String(role) => Ok(RoleName::new(role, database)),
        Value::Object(named) => Ok(RoleName::new(
            member(named, "RoleName", "role")?,
            member(named, "RoleName", "db")?,
        )),
        _ => Err(Fault::new(
            codes::BAD_VALUE,
            "Role name must be either a document or string",
        )),
    }
}

/// A text that a name in the long form must have.
pub(crate) fn member<'n>(named: &'n Object, what: &str, member: &str) -> Result<&'n str, Fault> {
    let refuse = |text: String| Err(Fault::new(codes::BAD_VALUE, text));
    match named.get(member) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => refuse(format!(
            "{what} must contain a string field named: {member}"
        )),
        None => refuse(format!("{what} must contain a field named: {member}")),
    }
}

/// Restrictions of where users may come from are not kept, so none may be asked for.
pub(crate) fn no_restrictions(fields: &mut Fields) -> Result<(), Fault> {
    match fields.list("authenticationRestrictions")? {
        Some(list) if !list.is_empty() => Err(Fault::new(
            codes::NOT_IMPLEMENTED,
            "the option 'authenticationRestrictions' is not supported",
        )),
        Some(_) | None => Ok(()),
    }
}

/// Refuses databases that have no users.
pub(crate) fn check_database(database: &str) -> Result<(), Fault> {
    match database {
        "local" => Err(Fault::new(
            codes::BAD_VALUE,
            "Cannot create users in the local database",
        )),
        "$external" => Err(Fault::new(
            codes::BAD_VALUE,
            "Cannot create users in the '$external' database: every user has a password here",
        )),
        _ => Ok(()),
    }
}

/// A password and how it is to be kept.
pub(crate) struct Password {
    text: Option<String>,
    /// Whether the client has digested it.
    digested: bool,
    hashes: Option<Vec<Hash>>,
}

impl Password {
    pub(crate) fn take(fields: &mut Fields) -> Result<Password, Fault> {
        Ok(Password {
            text: fields.text("pwd")?,
            digested: !fields.truth("digestPassword", true)?,
            hashes: match fields.list("mechanisms")? {
                Some(names) => Some(hashes(&names)?),
                None => None,
            },
        })
    }

    /// Refuses that there is none.
    pub(crate) fn needed(self) -> Result<Password, Fault> {
        match self.text {
            Some(_) => Ok(self),
            None => Err(Fault::new(
                codes::BAD_VALUE,
                "Must provide a 'pwd' field for all user documents, except those with '$external' as the user's source db",
            )),
        }
    }

    /// Whether there is one.
    pub(crate) const fn is_given(&self) -> bool {
        self.text.is_some()
    }

    /// The names of the mechanisms, if any were given.
    pub(crate) fn mechanisms(&self) -> Option<Vec<String>> {
        let names = |hash: &Hash| hash.mechanism().to_owned();
        Some(self.hashes.as_ref()?.iter().map(names).collect())
    }

    /// What is kept of it.
    pub(crate) async fn credentials(&self, name: &str) -> Result<Object, Fault> {
        let all = [Hash::Sha1, Hash::Sha256];
        let hashes = self.hashes.as_deref().unwrap_or(&all);
        let text = self.text.as_deref().unwrap_or_default();
        auth::credentials(name, text, hashes, self.digested).await
    }
}

fn hashes(names: &[Value]) -> Result<Vec<Hash>, Fault> {
    let refuse = |text: String| Err(Fault::new(codes::BAD_VALUE, text));
    if names.is_empty() {
        return refuse("mechanisms field must not be empty".to_owned());
    }
    let known = [Hash::Sha1, Hash::Sha256];
    for name in names {
        let name = name.as_str().unwrap_or_default();
        if !known.iter().any(|hash| hash.mechanism() == name) {
            return refuse(format!("Unknown auth mechanism '{name}'"));
        }
    }
    let asked = |hash: &Hash| {
        names
            .iter()
            .any(|name| name.as_str() == Some(hash.mechanism()))
    };
    Ok(known.into_iter().filter(asked).collect())
}
