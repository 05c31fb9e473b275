//! Making what is there already: nothing to do, if it was made with the same options.

use lapsedb_store::Collection;
use lapsedb_value::order::equal_bson;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::kept::options_of;
use crate::documents::namespace::Namespace;
use crate::documents::shell;

/// Options that mean the same as leaving them out.
const DEFAULTS: [(&str, &str); 2] = [("validationAction", "error"), ("validationLevel", "strict")];

/// Refuses to make something that is there with other options.
///
/// # Errors
/// When what is wanted differs from what is there.
pub(crate) fn check_same(
    namespace: &Namespace,
    uuid: Option<&Value>,
    there: &Object,
    wanted: &Object,
) -> Result<()> {
    let (is, asked) = (told_apart(there), told_apart(wanted));
    let same = is.len() == asked.len()
        && is.iter().all(|(name, value)| {
            let other = asked.iter().find(|(other, _)| other == name);
            other.is_some_and(|(_, other)| equal_bson(value, other))
        });
    if same {
        return Ok(());
    }
    let mut all = Object::with_capacity(there.len() + 1);
    if let Some(uuid) = uuid {
        all.push("uuid", uuid.clone());
    }
    for (name, value) in there {
        all.push(name.clone(), value.clone());
    }
    let shown = shell::text(&Value::Object(all));
    Err(Fault::new(
        code::NAMESPACE_EXISTS,
        format!("namespace {namespace} already exists, but with different options: {shown}"),
    ))
}

/// The same of a collection.
///
/// # Errors
/// When what is wanted differs from what is there.
pub(crate) fn check_same_collection(
    namespace: &Namespace,
    there: &Collection,
    wanted: &Object,
) -> Result<()> {
    let none = Object::new();
    let uuid = there.mongo.as_deref().and_then(|kept| kept.get("uuid"));
    check_same(namespace, uuid, options_of(there).unwrap_or(&none), wanted)
}

/// The options that tell one collection from another.
fn told_apart(options: &Object) -> Vec<(&str, &Value)> {
    let members = options.iter().map(|(name, value)| (name.as_str(), value));
    let said = |(name, value): &(&str, &Value)| {
        let usual = DEFAULTS.iter().any(|(default, word)| {
            default == name && value.as_str().is_some_and(|value| value == *word)
        });
        !usual && !value.as_object().is_some_and(Object::is_empty)
    };
    members.filter(said).collect()
}
