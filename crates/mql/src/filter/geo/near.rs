//! `$near` and `$nearSphere`: places by their distance.

use lapsedb_value::{Object, Value};

use super::shape::{Point, Shape, legacy_point};
use super::{EARTH_RADIUS_METRES, flat, sphere};
use crate::show::{show_element, show_object};
use crate::{MqlError, Result};

/// The first distance that is tried, on the sphere and in the plane; by how much the next one is larger; how many there are.
const FIRST_METRES: f64 = 1000.0;
const FIRST_FLAT: f64 = 0.01;
const RADIUS_GROWTH: f64 = 8.0;
const RADII: i32 = 5;

/// A middle, and how near and how far a place may be. Such a filter also sorts, nearest first.
#[derive(Clone, Debug)]
pub struct Near {
    pub(super) middle: Point,
    pub(super) unit: Unit,
    min: f64,
    pub(super) max: f64,
    /// How far it was said that a place may be.
    asked_max: f64,
    /// Asked for by `$nearSphere`, without `$geometry`.
    near_sphere: bool,
}

/// How distances are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
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
        let Some(object) = argument.as_object().filter(|object| is_geojson(object)) else {
            let near_sphere = operator == "$nearSphere";
            let (middle, unit) = match (bare_point(argument, operators)?, near_sphere) {
                ((middle, true), _) => (middle, Unit::Metres),
                ((middle, false), true) => (middle, Unit::Radians),
                ((middle, false), false) => (middle, Unit::Flat),
            };
            let near = Near::new(middle, unit, operators)?;
            return Ok(Near {
                near_sphere,
                ..near
            });
        };
        if let Some((name, value)) = operators.iter().find(|(name, _)| *name != operator) {
            return Err(MqlError::bad_value(format!(
                "geo near accepts just one argument when querying for a GeoJSON point. Extra field found: {}",
                show_element(name, value)
            )));
        }
        let geometry = object.get("$geometry").and_then(Value::as_object);
        let geometry =
            geometry.ok_or_else(|| MqlError::bad_value("$geometry must be an object"))?;
        Near::new(geojson_point(geometry)?, Unit::Metres, object)
    }

    fn new(middle: Point, unit: Unit, limits: &Object) -> Result<Near> {
        let max = limit(limits, "$maxDistance")?.unwrap_or(f64::INFINITY);
        Ok(Near {
            middle,
            unit,
            min: limit(limits, "$minDistance")?.unwrap_or(0.0),
            max,
            asked_max: max,
            near_sphere: false,
        })
    }

    /// The line that stands for it in the tree of a filter. Applications take the field out of it.
    pub(crate) fn describe(&self, path: &str) -> String {
        let max = crate::show::show_six_digits(self.asked_max.min(f64::MAX));
        let sphere = u8::from(self.near_sphere);
        format!("GEONEAR  field={path} maxdist={max} isNearSphere={sphere}")
    }

    /// What `$geoNear` asks: a point as GeoJSON or as two numbers, and the distances.
    pub(crate) fn of_stage(
        near: &Value,
        spherical: bool,
        min: Option<f64>,
        max: Option<f64>,
    ) -> Result<Near> {
        let invalid =
            || MqlError::bad_value("invalid argument in geo near query: near is no point");
        let (middle, unit) = match near {
            Value::Object(object) if object.contains_key("type") => {
                (geojson_point(object).map_err(|_| invalid())?, Unit::Metres)
            }
            legacy => {
                let unit = if spherical { Unit::Radians } else { Unit::Flat };
                (legacy_point(legacy).ok_or_else(invalid)?, unit)
            }
        };
        let max = max.unwrap_or(f64::INFINITY);
        Ok(Near {
            middle,
            unit,
            min: min.unwrap_or(0.0),
            max,
            asked_max: max,
            near_sphere: false,
        })
    }

    /// Distances, the smaller first, within which enough may be found already.
    pub fn radii(&self) -> impl Iterator<Item = f64> {
        let first = match self.unit {
            Unit::Metres => FIRST_METRES,
            Unit::Radians => FIRST_METRES / EARTH_RADIUS_METRES,
            Unit::Flat => FIRST_FLAT,
        };
        let (min, max) = (self.min, self.max);
        let all = (0..RADII).map(move |step| first * RADIUS_GROWTH.powi(step));
        all.filter(move |radius| (min..max).contains(radius))
    }

    /// Lets places be no farther than that.
    pub(crate) fn limit(&mut self, radius: f64) {
        self.max = self.max.min(radius);
    }

    /// Whether an index over the sphere can serve it.
    pub fn on_sphere(&self) -> bool {
        self.unit != Unit::Flat
    }

    /// Whether an index over the plane can serve it.
    pub fn on_plane(&self) -> bool {
        self.unit != Unit::Metres
    }

    /// How far a value is, from the nearest of its points on; nothing, if it is no place.
    pub fn distance(&self, value: &Value) -> Option<f64> {
        let shape = Shape::of_value(value)?;
        match self.unit {
            Unit::Metres => {
                sphere::distance(self.middle, &shape).map(|angle| angle * EARTH_RADIUS_METRES)
            }
            Unit::Radians => sphere::distance(self.middle, &shape),
            Unit::Flat => {
                let to = |point: Point| flat::distance(self.middle, point);
                shape.vertices().map(to).min_by(f64::total_cmp)
            }
        }
    }

    /// Whether a distance is neither too small nor too large.
    pub fn is_in_range(&self, distance: f64) -> bool {
        (self.min..=self.max).contains(&distance)
    }
}

/// Whether an argument is that of the newer form.
fn is_geojson(object: &Object) -> bool {
    object.contains_key("$geometry")
}

/// A point that stands for itself, as two numbers or as GeoJSON; whether it is the latter.
fn bare_point(argument: &Value, operators: &Object) -> Result<(Point, bool)> {
    if let Some(point) = legacy_point(argument) {
        return Ok((point, false));
    }
    let Some(object) = argument.as_object() else {
        let shown = show_object(operators);
        return Err(MqlError::bad_value(format!(
            "near must be first in: {shown}"
        )));
    };
    let Some(first) = object.keys().next() else {
        return Err(MqlError::bad_value(
            "$geometry is required for geo near query",
        ));
    };
    let point = geojson_point(object)
        .map_err(|_| MqlError::bad_value(format!("invalid argument in geo near query: {first}")))?;
    Ok((point, true))
}

fn geojson_point(geometry: &Object) -> Result<Point> {
    let invalid = |why: &str| {
        let shown = show_object(geometry);
        MqlError::bad_value(format!(
            "invalid point in geo near query $geometry argument: {shown}  {why}"
        ))
    };
    let shape = Shape::parse_geojson(geometry).map_err(|error| invalid(&error.message))?;
    match (
        shape.points.as_slice(),
        shape.lines.is_empty() && shape.polygons.is_empty(),
    ) {
        ([only], true) => Ok(*only),
        _ => Err(invalid("it is no point")),
    }
}

fn limit(object: &Object, name: &str) -> Result<Option<f64>> {
    match object.get(name) {
        None => Ok(None),
        Some(value) => match value.as_f64() {
            Some(distance) if distance >= 0.0 => Ok(Some(distance)),
            Some(_) => Err(MqlError::bad_value(format!("{name} must be non-negative"))),
            None => Err(MqlError::bad_value(format!("{name} must be a number"))),
        },
    }
}
