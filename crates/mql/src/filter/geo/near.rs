//! `$near` and `$nearSphere`: places by their distance.

use lapsedb_value::{Object, Value};

use super::shape::{Point, Shape, legacy_point};
use super::{EARTH_RADIUS_METRES, flat, sphere};
use crate::{MqlError, Result};

/// A middle, and how near and how far a place may be. Such a filter also sorts, nearest first.
#[derive(Clone, Debug)]
pub struct Near {
    middle: Point,
    unit: Unit,
    min: f64,
    max: f64,
}

/// How distances are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Metres on the sphere.
    Metres,
    /// Angles on the sphere.
    Radians,
    /// The plane's own.
    Flat,
}

impl Near {
    /// Reads the argument; `operators` are those of the field, among which the distances of the old form stand.
    pub(crate) fn parse(operator: &str, argument: &Value, operators: &Object) -> Result<Near> {
        let geometry = argument.get("$geometry");
        let (middle, unit, limits) = match geometry {
            Value::Object(geometry) => {
                let shape = Shape::parse_geojson(geometry)?;
                let middle = shape.points.first().copied().ok_or_else(|| {
                    MqlError::bad_value("$near requires a point, given another geometry")
                })?;
                let limits = argument.as_object().unwrap_or(operators);
                (middle, Unit::Metres, limits)
            }
            _ => {
                let middle = legacy_point(argument).ok_or_else(|| {
                    MqlError::bad_value("$near requires a point, given something else")
                })?;
                let unit = match operator {
                    "$nearSphere" => Unit::Radians,
                    _ => Unit::Flat,
                };
                (middle, unit, operators)
            }
        };
        Ok(Near {
            middle,
            unit,
            min: limit(limits, "$minDistance")?.unwrap_or(0.0),
            max: limit(limits, "$maxDistance")?.unwrap_or(f64::INFINITY),
        })
    }

    /// How far the nearest point of a value is; nothing if it is no place or too near or too far.
    pub fn distance(&self, value: &Value) -> Option<f64> {
        let shape = Shape::of_value(value)?;
        let to = |point: Point| match self.unit {
            Unit::Metres => sphere::angle(self.middle, point) * EARTH_RADIUS_METRES,
            Unit::Radians => sphere::angle(self.middle, point),
            Unit::Flat => flat::distance(self.middle, point),
        };
        shape.vertices().map(to).min_by(f64::total_cmp)
    }

    /// Whether a distance is neither too small nor too large.
    pub fn is_in_range(&self, distance: f64) -> bool {
        (self.min..=self.max).contains(&distance)
    }
}

fn limit(object: &Object, name: &str) -> Result<Option<f64>> {
    match object.get(name) {
        None => Ok(None),
        Some(value) => match value.as_f64() {
            Some(distance) if distance >= 0.0 => Ok(Some(distance)),
            Some(_) | None => Err(MqlError::bad_value(format!(
                "{} must be non-negative",
                name.trim_start_matches('$')
            ))),
        },
    }
}
