//! `$out`: the outcome in place of a collection.

use super::*;

/// The collection that is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Out {
    /// Its database, if it is another one.
    pub database: Option<Str>,
    /// Its name.
    pub collection: Str,
}

pub(super) fn parse(_: &'static str, spec: &Value, _: &Context<'_>) -> Result<Vec<Stage>> {
    let out = match spec {
        Value::String(name) => Out {
            database: None,
            collection: name.clone(),
        },
        Value::Object(object) => match (object.get("db"), object.get("coll")) {
            (Some(Value::String(database)), Some(Value::String(collection)))
                if object.len() == 2 =>
            {
                Out {
                    database: Some(database.clone()),
                    collection: collection.clone(),
                }
            }
            _ => {
                return Err(MqlError::new(
                    16994,
                    "If an object is passed to $out it must have exactly 2 fields: 'db' and 'coll'",
                ));
            }
        },
        other => {
            let found = type_name(other);
            let message =
                format!("$out only supports a string or object argument, but found {found}");
            return Err(MqlError::new(16990, message));
        }
    };
    if out.collection.is_empty() {
        return Err(MqlError::new(
            73,
            "Invalid $out target namespace: it has no name",
        ));
    }
    Ok(vec![Stage::Out(Arc::new(out))])
}
