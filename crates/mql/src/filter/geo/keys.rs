//! The cells under which an index holds the places of a document.

use lapsedb_value::{Object, Value};

use super::extent;
use super::grid::Grid;
use super::shape::{Shape, first_two};
use crate::show::{show_element, show_object, show_value};
use crate::{MqlError, Result};

/// Code of a place that is none, in a `2dsphere` index.
const CANNOT_EXTRACT_KEYS: i32 = 16755;
/// Code of a point without a second number, in a `2d` index.
const ONE_ELEMENT: i32 = 13068;
/// Code of what is no point, in a `2d` index.
const NO_POINT: i32 = 16804;
/// Code of a point outside of a `2d` index.
const OUTSIDE: i32 = 13027;

/// The cells of a value in a `2dsphere` index; none, if there is no place.
///
/// # Errors
/// When the value is there but is no place on the sphere.
pub fn sphere_cells(name: &str, value: &Value, document: &Object) -> Result<Vec<i64>> {
    let refused = |why: String| {
        let shown = show_object(document);
        MqlError::new(
            CANNOT_EXTRACT_KEYS,
            format!("Can't extract geo keys: {shown}  {why}"),
        )
    };
    match value {
        Value::Undefined | Value::Null => return Ok(Vec::new()),
        Value::Array(elements) if elements.is_empty() => return Ok(Vec::new()),
        Value::Object(object) if object.is_empty() => return Ok(Vec::new()),
        Value::Array(_) | Value::Object(_) => {}
        other => {
            let shown = show_element(name, other);
            return Err(refused(format!(
                "geo element must be an array or object: {shown}"
            )));
        }
    }
    let shape = Shape::stored(value).map_err(|error| refused(error.message))?;
    let grid = Grid::SPHERE;
    if let Some(outside) = shape.vertices().find(|point| !grid.contains(*point)) {
        let shown = show_value(value);
        return Err(refused(format!(
            "can't project geometry into spherical CRS: {shown} (lng: {} lat: {})",
            outside.x, outside.y
        )));
    }
    let alone = shape.lines.is_empty() && shape.polygons.is_empty();
    if alone {
        return Ok(shape.points.iter().map(|point| grid.cell(*point)).collect());
    }
    Ok(grid.shape_cells(&extent::of_shape(&shape)))
}

/// The cells of a value in a `2d` index: of one point, or of several in an array.
///
/// # Errors
/// When the value should be a point and is none, or lies outside.
pub fn plane_cells(value: &Value, grid: &Grid, document: &Object) -> Result<Vec<i64>> {
    let (several, first): (&[Value], Option<&Value>) = match value {
        Value::Array(elements) => (elements, elements.first()),
        Value::Object(object) => (&[], object.values().next()),
        _ => return Ok(Vec::new()),
    };
    match first {
        None => Ok(Vec::new()),
        Some(Value::Array(_) | Value::Object(_)) if !several.is_empty() => several
            .iter()
            .map(|point| cell(point, grid, document))
            .collect(),
        Some(_) => Ok(vec![cell(value, grid, document)?]),
    }
}

fn cell(value: &Value, grid: &Grid, document: &Object) -> Result<i64> {
    let members = match value {
        Value::Array(elements) => elements.iter().collect::<Vec<_>>(),
        Value::Object(object) => object.values().collect(),
        _ => Vec::new(),
    };
    if let [only] = members.as_slice()
        && only.is_number()
    {
        let message = format!(
            "geo field only has 1 element :: caused by :: {}",
            show_object(document)
        );
        return Err(MqlError::new(ONE_ELEMENT, message));
    }
    let Ok(point) = first_two(value) else {
        let message = "location object expected, location array not in correct format";
        return Err(MqlError::new(NO_POINT, message));
    };
    match grid.contains(point) {
        true => Ok(grid.cell(point)),
        false => Err(MqlError::new(
            OUTSIDE,
            format!(
                "point not in interval of {grid} :: caused by :: {}",
                show_object(document)
            ),
        )),
    }
}
