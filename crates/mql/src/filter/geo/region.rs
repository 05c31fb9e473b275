//! The areas of `$geoWithin`.

use lapsedb_value::{Object, Value};

use super::shape::{Point, Shape, legacy_point, on_sphere};
use super::{flat, sphere};
use crate::show::{show_element, show_object};
use crate::{MqlError, Result};

/// An area.
#[derive(Clone, Debug)]
pub(crate) enum Region {
    /// Areas on the sphere.
    Geometry(Shape),
    Box(Point, Point),
    Polygon(Vec<Point>),
    Center(Point, f64),
    /// A radius in radians.
    CenterSphere(Point, f64),
}

impl Region {
    pub(crate) fn parse(spec: &Object) -> Result<Region> {
        let Some((name, argument)) = spec.iter().find(|(name, _)| *name != "$uniqueDocs") else {
            return Err(MqlError::bad_value("geometry must not be empty"));
        };
        match name.as_str() {
            "$geometry" => Region::parse_geometry(argument, spec),
            "$box" => match points(argument)?.as_slice() {
                [a, b, ..] => Ok(Region::Box(*a, *b)),
                _ => Err(MqlError::bad_value("Box must have 2 points")),
            },
            "$polygon" => {
                let ring = points(argument)?;
                match ring.len() {
                    0..3 => Err(MqlError::bad_value("Polygon must have at least 3 points")),
                    _ => Ok(Region::Polygon(ring)),
                }
            }
            "$center" => circle(argument).map(|(middle, radius)| Region::Center(middle, radius)),
            "$centerSphere" => {
                let (middle, radius) = circle(argument)?;
                on_sphere(middle).map(|middle| Region::CenterSphere(middle, radius))
            }
            _ => Err(MqlError::bad_value(format!(
                "unknown geo specifier: {}",
                show_element(name, argument)
            ))),
        }
    }

    fn parse_geometry(argument: &Value, spec: &Object) -> Result<Region> {
        let geometry = argument
            .as_object()
            .ok_or_else(|| MqlError::bad_value("geometry must be an object"))?;
        let shape = Shape::parse_geojson(geometry)?;
        match shape.points.is_empty() && shape.lines.is_empty() {
            true => Ok(Region::Geometry(shape)),
            false => Err(MqlError::bad_value(format!(
                "$within not supported with provided geometry: {{ $geoWithin: {} }}",
                show_object(spec)
            ))),
        }
    }

    /// Whether the whole shape lies inside.
    pub(crate) fn contains(&self, shape: &Shape) -> bool {
        let planar = |inside: &dyn Fn(Point) -> bool| {
            // Lines and areas on the sphere have no place in the plane.
            shape.lines.is_empty()
                && shape.polygons.is_empty()
                && shape.points.iter().all(|point| inside(*point))
        };
        match self {
            Region::Geometry(_) | Region::CenterSphere(..) if !shape.is_on_sphere() => false,
            Region::Geometry(area) => sphere::within(area, shape),
            Region::Box(a, b) => planar(&|point| flat::in_box(*a, *b, point)),
            Region::Polygon(ring) => planar(&|point| flat::in_polygon(ring, point)),
            Region::Center(middle, radius) => {
                planar(&|point| flat::distance(*middle, point) <= *radius)
            }
            Region::CenterSphere(middle, radius) => shape
                .vertices()
                .all(|point| sphere::angle(*middle, point) <= *radius),
        }
    }
}

fn points(value: &Value) -> Result<Vec<Point>> {
    let members: Vec<&Value> = match value {
        Value::Array(elements) => elements.iter().collect(),
        Value::Object(object) => object.values().collect(),
        _ => {
            return Err(MqlError::bad_value(
                "points must be in an array or an object",
            ));
        }
    };
    let point = |value: &&Value| {
        let point = legacy_point(value)
            .ok_or_else(|| MqlError::bad_value("Point must be an array or object"))?;
        match point.is_finite() {
            true => Ok(point),
            false => Err(MqlError::bad_value(
                "Point coordinates must be finite numbers",
            )),
        }
    };
    members.iter().map(point).collect()
}

/// A middle and a radius.
fn circle(value: &Value) -> Result<(Point, f64)> {
    let parts = value.as_array().unwrap_or_default();
    let read = match parts {
        [middle, radius] => legacy_point(middle).zip(radius.as_f64()),
        _ => None,
    };
    match read {
        Some((middle, radius)) if radius >= 0.0 => Ok((middle, radius)),
        Some(_) => Err(MqlError::bad_value("radius must be a non-negative number")),
        None => Err(MqlError::bad_value("a circle must be a point and a radius")),
    }
}
