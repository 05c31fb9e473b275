//! Indexes over places as clients define them: `2dsphere` and `2d`.

use lapsedb_store::index::named::IndexDefinition;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::definition::{refuse_collation, refused};
use crate::documents::search::{ENTRIES, PLAIN_ENTRIES, PLANE_MAX, PLANE_MIN};

/// How places are kept on the sphere; older versions are made as this one.
const VERSION: i32 = 3;
/// Codes of a `2d` index that has something before it, or a second place.
const NOT_FIRST: i32 = 16_801;
const TWO_PLACES: i32 = 16_800;
/// Bits that a `2d` index may be asked for; it is as fine as it is, whatever is asked.
const BITS_MAX: i64 = 32;

/// Which kind of places a key asks for.
pub(super) fn kind(key: &Object) -> Option<&'static str> {
    let has = |wanted: &str| key.values().any(|kind| kind.as_str() == Some(wanted));
    ["2dsphere", "2d"].into_iter().find(|kind| has(kind))
}

/// Makes the definition what is kept and shown.
///
/// # Errors
/// When a field or an option is not allowed.
pub(super) fn complete(kind: &str, key: &Object, definition: &mut IndexDefinition) -> Result<()> {
    if definition.unique {
        return Err(refused(format!("a {kind} index cannot be unique here")));
    }
    let others = key
        .values()
        .filter_map(Value::as_str)
        .any(|other| other != kind);
    if others {
        return Err(refused(
            "Can't use more than one index plugin for a single index.",
        ));
    }
    match kind {
        "2d" => plane(key, &mut definition.options)?,
        _ => sphere(&mut definition.options)?,
    }
    definition.options.push(ENTRIES, PLAIN_ENTRIES);
    Ok(())
}

fn sphere(options: &mut Object) -> Result<()> {
    let version = options.remove("2dsphereIndexVersion");
    if let Some(version) = version
        && !matches!(version.as_i64(), Some(1..=3))
    {
        let shown = crate::documents::shell::text(&version);
        return Err(refused(format!(
            "unsupported geo index version {{ 2dsphereIndexVersion : {shown} }}, only versions: [1,2,3] are supported"
        )));
    }
    options.push("2dsphereIndexVersion", VERSION);
    Ok(())
}

fn plane(key: &Object, options: &mut Object) -> Result<()> {
    refuse_collation("2d", options)?;
    if key.values().next().and_then(Value::as_str).is_none() {
        return Err(Fault::new(NOT_FIRST, "2d has to be first in index"));
    }
    if key.values().filter(|kind| kind.as_str().is_some()).count() > 1 {
        return Err(Fault::new(TWO_PLACES, "can't have 2 geo fields"));
    }
    let invalid = |message: String| Fault::new(code::INVALID_OPTIONS, message);
    if let Some(given) = options.remove("bits") {
        let bits = given.as_i64().unwrap_or(0);
        options.push("bits", given);
        if !(1..=BITS_MAX).contains(&bits) {
            return Err(invalid(format!(
                "bits for hash must be > 0 and <= {BITS_MAX}, but {bits} bits were specified"
            )));
        }
    }
    let mut edge = |name: &str, default: f64| {
        let given = options
            .remove(name)
            .map(|value| value.as_f64().unwrap_or(f64::NAN));
        if let Some(number) = given {
            options.push(name, Value::Double(number));
        }
        given.unwrap_or(default)
    };
    let (min, max) = (edge("min", PLANE_MIN), edge("max", PLANE_MAX));
    match min < max && (max - min).is_finite() {
        true => Ok(()),
        false => Err(invalid(format!(
            "region for hash must be valid and have positive area, but [{min}, {max}] was specified"
        ))),
    }
}
