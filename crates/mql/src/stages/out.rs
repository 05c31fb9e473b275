//! `$out`: the outcome in place of a collection.

use super::*;

/// The collection that is replaced.
#[derive(Clone, Debug)]
pub struct Out {
    /// Its database, if it is another one.
    pub database: Option<Str>,
    /// Its name.
    pub collection: Str,
    /// What its time series is, if it is to be one.
    pub timeseries: Option<Object>,
}

pub(super) fn parse(_: &'static str, spec: &Value, _: &Context<'_>) -> Result<Vec<Stage>> {
    let out = match spec {
        Value::String(name) => Out {
            database: None,
            collection: name.clone(),
            timeseries: None,
        },
        Value::Object(object) => of_object(object)?,
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

fn of_object(object: &Object) -> Result<Out> {
    let timeseries = match object.get("timeseries") {
        None => None,
        Some(Value::Object(series)) => Some(series.clone()),
        Some(other) => return Err(wrong_type("$out", "timeseries", other, "object")),
    };
    let members = 2 + usize::from(timeseries.is_some());
    match (object.get("db"), object.get("coll")) {
        (Some(Value::String(database)), Some(Value::String(collection)))
            if object.len() == members =>
        {
            Ok(Out {
                database: Some(database.clone()),
                collection: collection.clone(),
                timeseries,
            })
        }
        _ => Err(MqlError::new(
            16994,
            "If an object is passed to $out it must have exactly 2 fields: 'db' and 'coll'. It may have a third, 'timeseries'",
        )),
    }
}
