//! What a definition says about indexes over shapes: kept, checked here.
//!
//! Pure: reads JSON values, touches no store.

use lapsedb_store::index::policy::BOUNDING_BOX;
use lapsedb_value::{Object, Value, order};

use crate::collections::definition::Invalid;

/// The sides of a bounding box: the lower and the upper bound of each axis.
const AXES: [(&str, &str); 2] = [("xmin", "xmax"), ("ymin", "ymax")];

/// Checks the spatial indexes of a definition's document.
///
/// # Errors
/// When one has no types, or its bounding box does not fit the kind of shapes.
pub(crate) fn check(document: &Object) -> Result<(), Invalid> {
    let geometry = document
        .get("geospatialConfig")
        .and_then(|config| config.get("type").as_str())
        .is_some_and(|kind| kind == "Geometry");
    for index in indexes(document).as_array().unwrap_or_default() {
        let path = index.get("path").as_str().unwrap_or_default();
        if index.get("types").as_array().is_some_and(<[_]>::is_empty) {
            return refused(format!(
                "The spatial data types array cannot be empty. Assign at least one spatial type for the 'types' array for the path '{path}'."
            ));
        }
        match (index.get(BOUNDING_BOX), geometry) {
            (Value::Undefined, false) => {}
            (Value::Undefined, true) => {
                return refused(format!(
                    "The spatial index for the path '{path}' must have a '{BOUNDING_BOX}', because the container's geospatial type is 'Geometry'."
                ));
            }
            (_, false) => {
                return refused(format!(
                    "The spatial index for the path '{path}' must not have a '{BOUNDING_BOX}', because the container's geospatial type is 'Geography'."
                ));
            }
            (area, true) => check_area(path, area)?,
        }
    }
    Ok(())
}

/// The same for a definition that replaces another: indexes that stay as they are were judged when they were made.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_replacement(document: &Object, current: &Object) -> Result<(), Invalid> {
    let kept = order::deep_equal(indexes(document), indexes(current));
    let kind = |of: &Object| of.get("geospatialConfig").cloned().unwrap_or_default();
    if kept && order::deep_equal(&kind(document), &kind(current)) {
        return Ok(());
    }
    check(document)
}

fn indexes(document: &Object) -> &Value {
    document
        .get("indexingPolicy")
        .map_or(Value::undefined(), |policy| policy.get("spatialIndexes"))
}

fn check_area(path: &str, area: &Value) -> Result<(), Invalid> {
    for (low, high) in AXES {
        let (from, to) = (area.get(low).as_f64(), area.get(high).as_f64());
        if !matches!((from, to), (Some(from), Some(to)) if from < to) {
            return refused(format!(
                "The '{BOUNDING_BOX}' of the spatial index for the path '{path}' is invalid: '{low}' and '{high}' must be numbers, and '{low}' must be less than '{high}'."
            ));
        }
    }
    Ok(())
}

fn refused<T>(text: String) -> Result<T, Invalid> {
    Err(Invalid(text))
}
