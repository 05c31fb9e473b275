//! Privileges as clients write them.

use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::shell;
use crate::logins::action::{Action, Actions};
use crate::logins::privilege::{Privileges, Resource};

impl Privileges {
    /// Reads a list of privileges: each a resource and actions on it.
    ///
    /// # Errors
    /// When an element is no privilege, or an action is not known.
    pub fn read(list: &[Value]) -> Result<Privileges> {
        let mut all = Privileges::default();
        for privilege in list {
            let resource = Resource::read(privilege)?;
            all.add(&resource, actions(privilege)?);
        }
        Ok(all)
    }
}

impl Resource {
    /// Reads the resource of a privilege.
    ///
    /// # Errors
    /// When it names none, or several.
    pub fn read(privilege: &Value) -> Result<Resource> {
        let resource = match privilege.get("resource") {
            Value::Undefined => return Err(unparsable("missing resource field")),
            Value::Object(resource) => resource,
            other => return Err(wrong(privilege, "resource", "Object/Array", other)),
        };
        let text = |member: &str| match resource.get(member) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.to_string())),
            Some(other) => Err(wrong(privilege, member, "string", other)),
        };
        let (database, collection) = (text("db")?, text("collection")?);
        let buckets = text("system_buckets")?;
        let cluster = truth(privilege, resource, "cluster")?;
        let everything = truth(privilege, resource, "anyResource")?;
        if collection.is_some() && buckets.is_some() {
            return Err(unparsable(
                "system_buckets and collection cannot both be set",
            ));
        }
        if buckets.is_none() && database.is_some() != collection.is_some() {
            return Err(unparsable(
                "resource must set both db and collection or neither, but not exactly one.",
            ));
        }
        match (database, collection, buckets, cluster, everything) {
            (Some(db), Some(name), None, false, false) => Ok(Resource::Collections(db, name)),
            (db, None, Some(name), false, false) => {
                Ok(Resource::Buckets(db.unwrap_or_default(), name))
            }
            (None, None, None, true, false) => Ok(Resource::Cluster),
            (None, None, None, false, true) => Ok(Resource::Everything),
            _ => Err(unparsable(
                "resource must have exactly db and collection set, or have only cluster set  or have only anyResource set",
            )),
        }
    }
}

/// Whether a member is there, which must then be true.
fn truth(privilege: &Value, resource: &Object, member: &str) -> Result<bool> {
    match resource.get(member) {
        None => Ok(false),
        Some(Value::Bool(true)) => Ok(true),
        Some(Value::Bool(false)) => {
            Err(unparsable(&format!("{member} must be true when specified")))
        }
        Some(other) => Err(wrong(privilege, member, "boolean", other)),
    }
}

fn actions(privilege: &Value) -> Result<Actions> {
    let list = match privilege.get("actions") {
        Value::Array(list) if !list.is_empty() => list,
        Value::Array(_) | Value::Undefined => return Err(unparsable("missing actions field")),
        other => return Err(wrong(privilege, "actions", "vector array", other)),
    };
    let mut known = Vec::with_capacity(list.len());
    let mut unknown = Vec::new();
    for (at, name) in list.iter().enumerate() {
        let Value::String(name) = name else {
            let text = format!(
                "error parsing element {at} of field actions :: caused by :: wrong type for '{at}' field, expected string, found {at}: {}",
                shell::text(name)
            );
            return Err(bad(privilege, &text));
        };
        match Action::named(name) {
            Some(action) => known.push(action),
            None => unknown.push(name.as_str()),
        }
    }
    if unknown.is_empty() {
        return Ok(Actions::of(&known));
    }
    let several = if unknown.len() == 1 { "" } else { "s" };
    let names = unknown.join(", ");
    Err(Fault::new(
        code::BAD_VALUE,
        format!("Unrecognized action{several}: {names}"),
    ))
}

fn unparsable(text: &str) -> Fault {
    Fault::new(code::FAILED_TO_PARSE, text)
}

fn wrong(privilege: &Value, member: &str, wanted: &str, found: &Value) -> Fault {
    let found = shell::text(found);
    let text =
        format!("wrong type for '{member}' field, expected {wanted}, found {member}: {found}");
    bad(privilege, &text)
}

fn bad(privilege: &Value, why: &str) -> Fault {
    let privilege = shell::text(privilege);
    Fault::new(
        code::BAD_VALUE,
        format!("Unable to parse privilege document: {privilege}, error: {why}"),
    )
}
