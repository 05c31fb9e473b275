//! Computed properties: what a collection's definition says of them, and as queries use them.

use lapsedb_sql::Computed;
use lapsedb_value::{Object, Value, order};

use crate::collections::definition::Invalid;
use crate::resource::SYSTEM_PROPERTIES;

/// Most computed properties of a collection.
pub const COMPUTED_PROPERTIES_MAX: usize = 20;

/// Refuses a list of computed properties that is not in order.
pub(crate) fn check(list: &Value) -> Result<(), Invalid> {
    let Some(properties) = list.as_array() else {
        return refused(
            "One of the specified inputs is invalid: the collection's 'computedProperties' must be an array.",
        );
    };
    if properties.len() > COMPUTED_PROPERTIES_MAX {
        return refused(format!(
            "The number of computed properties may not exceed {COMPUTED_PROPERTIES_MAX}."
        ));
    }
    let mut names: Vec<&Value> = Vec::with_capacity(properties.len());
    for property in properties {
        let name = property.get("name");
        check_one(name, property.get("query"))?;
        if names.iter().any(|other| order::deep_equal(other, name)) {
            return refused(format!(
                "Computed property name '{}' cannot be used in multiple definitions.",
                name.as_str().unwrap_or_default()
            ));
        }
        names.push(name);
    }
    Ok(())
}

fn check_one(name: &Value, query: &Value) -> Result<(), Invalid> {
    let (Some(name), Some(query)) = (
        name.as_str().filter(|name| !name.is_empty()),
        query.as_str(),
    ) else {
        return refused(
            "Every computed property must have a 'name' and a 'query' of the form SELECT VALUE <expression> FROM c.",
        );
    };
    if name == "id" || SYSTEM_PROPERTIES.contains(&name) {
        return refused(format!(
            "The computed property '{name}' has the name of a system property."
        ));
    }
    match Computed::default().add(name, query) {
        Ok(()) => Ok(()),
        Err(error) => refused(format!(
            "The query of the computed property '{name}' is invalid: {}",
            error.message
        )),
    }
}

/// The computed properties of a definition. One that cannot be read any more is left out: as a plain path it is undefined.
pub(crate) fn of(document: &Object) -> Computed {
    let mut computed = Computed::default();
    let list = document
        .get("computedProperties")
        .and_then(Value::as_array)
        .unwrap_or_default();
    for property in list {
        if let (Some(name), Some(query)) = (
            property.get("name").as_str(),
            property.get("query").as_str(),
        ) && let Err(error) = computed.add(name, query)
        {
            tracing::warn!(name, %error, "a computed property cannot be read");
        }
    }
    computed
}

fn refused<T>(text: impl Into<String>) -> Result<T, Invalid> {
    Err(Invalid(text.into()))
}
