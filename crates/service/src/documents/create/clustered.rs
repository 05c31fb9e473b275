//! Collections clustered by `_id`: here every collection is found by its `_id`, so that only the listing tells them apart.

use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::members::{Members, invalid};

/// Reads `clusteredIndex`.
pub(super) fn read(members: &Members<'_>, kept: &mut Object) -> Result<()> {
    let index = match members.any("clusteredIndex") {
        None => return Ok(()),
        Some(Value::Object(index)) => index,
        Some(_) => {
            return Err(Fault::new(
                5_979_703,
                "The 'clusteredIndex' legacy format {clusteredIndex: <bool>} is only supported for specific internal collections and vice versa",
            ));
        }
    };
    let index = Members {
        context: "create",
        of: index,
    };
    index.only(&["v", "key", "name", "unique"])?;
    for name in ["key", "unique"] {
        if index.any(name).is_none() {
            return Err(index.missing(name));
        }
    }
    if !index.truth("unique")? {
        return Err(Fault::new(
            5_979_700,
            "The clusteredIndex option requires unique: true to be specified",
        ));
    }
    let key = index.object("key")?.cloned().unwrap_or_default();
    if key.len() != 1 || key.get("_id").and_then(Value::as_f64) != Some(1.0) {
        return Err(Fault::new(
            197,
            "The clusteredIndex option is only supported for key: {_id: 1}",
        ));
    }
    if kept.contains_key("timeseries") || members.truth("capped")? {
        return Err(invalid(
            "'clusteredIndex' is not allowed with 'capped' or 'timeseries'",
        ));
    }
    if members.any("expireAfterSeconds").is_some() {
        return Err(Fault::new(
            code::COMMAND_NOT_SUPPORTED,
            "'expireAfterSeconds' of a clustered collection is not supported: a TTL index on a date field ends documents too",
        ));
    }
    let mut shown = Object::with_capacity(4);
    shown.push("v", 2);
    shown.push("key", Value::Object(key));
    shown.push("name", index.text("name")?.unwrap_or("_id_"));
    shown.push("unique", true);
    kept.push("clusteredIndex", Value::Object(shown));
    Ok(())
}
