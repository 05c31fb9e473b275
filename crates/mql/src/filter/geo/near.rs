//! `$near` and `$nearSphere`: places by their distance.

use lapsedb_value::{Object, Value};

use super::grid::Grid;
use super::shape::{Point, Shape, legacy_point, position};
use super::{EARTH_RADIUS_METRES, flat, sphere};
use crate::show::{show_element, show_object, show_value};
use crate::{MqlError, Result};

/// The first distance that is tried, on the sphere and in the plane; by how much the next one is larger; how many there are.
const FIRST_METRES: f64 = 1000.0;
const FIRST_FLAT: f64 = 0.01;
const RADIUS_GROWTH: f64 = 8.0;
const RADII: i32 = 5;

/// Codes of distances beside the operator that are wrong, and of one in the point's own array.
const MIN_NO_NUMBER: i32 = 16_893;
const MIN_NEGATIVE: i32 = 16_894;
const MAX_NO_NUMBER: i32 = 16_895;
const MAX_NEGATIVE: i32 = 16_896;
const OWN_MAX_NEGATIVE: i32 = 18_522;
/// Code of a middle outside of a `2d` index.
const OUTSIDE: i32 = 16_433;

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
        if argument.as_object().is_none() && argument.as_array().is_none() {
            let shown = show_object(operators);
            let message = format!("near must be first in: {shown}");
            return Err(MqlError::bad_value(message));
        }
        let min = limit_beside(operators, "$minDistance", MIN_NO_NUMBER, MIN_NEGATIVE)?;
        let max = limit_beside(operators, "$maxDistance", MAX_NO_NUMBER, MAX_NEGATIVE)?;
        if let Some(point) = QuerySpot::read(argument)? {
            return Near::around(&point, operator == "$nearSphere", min, max);
        }
        if let Some((name, value)) = operators.iter().find(|(name, _)| *name != operator) {
            return Err(MqlError::bad_value(format!(
                "geo near accepts just one argument when querying for a GeoJSON point. Extra field found: {}",
                show_element(name, value)
            )));
        }
        Near::parse_geometry(argument)
    }

    /// Reads the newer form: a point in `$geometry`, and distances in metres beside it.
    fn parse_geometry(argument: &Value) -> Result<Near> {
        let unknown =
            |name: &str| MqlError::bad_value(format!("invalid argument in geo near query: {name}"));
        let object = argument.as_object().ok_or_else(|| unknown("0"))?;
        let known = ["$geometry", "$minDistance", "$maxDistance"];
        if let Some(name) = object.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(unknown(name));
        }
        let Some(geometry) = object.get("$geometry") else {
            let message = "$geometry is required for geo near query";
            return Err(MqlError::bad_value(message));
        };
        let spot = QuerySpot {
            point: geojson_point(geometry)?,
            is_geojson: true,
            max: None,
        };
        let (min, max) = (
            limit(object, "$minDistance")?,
            limit(object, "$maxDistance")?,
        );
        Near::around(&spot, false, min, max)
    }

    /// The same from the point, and from what stands beside it.
    fn around(
        spot: &QuerySpot,
        on_sphere: bool,
        min: Option<f64>,
        max: Option<f64>,
    ) -> Result<Near> {
        let unit = match (spot.is_geojson, on_sphere) {
            (true, _) => Unit::Metres,
            (false, true) => Unit::Radians,
            (false, false) => Unit::Flat,
        };
        if unit == Unit::Radians && !Grid::SPHERE.contains(spot.point) {
            return Err(MqlError::bad_value(
                "Legacy point is out of bounds for spherical query",
            ));
        }
        let max = max.or(spot.max).unwrap_or(f64::INFINITY);
        Ok(Near {
            middle: spot.point,
            unit,
            min: min.unwrap_or(0.0),
            max,
            asked_max: max,
            near_sphere: on_sphere,
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
        let spot = QuerySpot::read(near)?.ok_or_else(|| {
            MqlError::bad_value("invalid argument in geo near query: near is no point")
        })?;
        Near::around(&spot, spherical, min, max)
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

    /// Refuses a middle that an index over the plane does not reach.
    ///
    /// # Errors
    /// When it lies outside.
    pub fn check_inside(&self, grid: &Grid) -> Result<()> {
        let Point { x, y } = self.middle;
        match grid.contains(self.middle) {
            true => Ok(()),
            false => Err(MqlError::new(
                OUTSIDE,
                format!("point not in interval of {grid} :: caused by :: {{ 0: {x:?}, 1: {y:?} }}"),
            )),
        }
    }

    /// How far a value is, from the nearest of its points on; nothing, if it is no place.
    pub fn distance(&self, value: &Value) -> Option<f64> {
        let shape = Shape::of_value(value)?;
        if self.on_sphere() && !shape.is_on_sphere() {
            return None;
        }
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

/// The point of a question that stands for itself, as numbers or as GeoJSON.
struct QuerySpot {
    point: Point,
    is_geojson: bool,
    /// The third number of the old form: how far a place may be.
    max: Option<f64>,
}

impl QuerySpot {
    /// Reads two or three numbers, or GeoJSON, of which only the coordinates count.
    fn read(value: &Value) -> Result<Option<QuerySpot>> {
        let first = match value {
            Value::Array(_) => None,
            Value::Object(object) => match object.get("coordinates") {
                Some(_) if !object.values().next().is_some_and(Value::is_number) => {
                    object.get("coordinates")
                }
                Some(_) | None => None,
            },
            _ => return Ok(None),
        };
        if let Some(coordinates) = first {
            return Ok(position(coordinates).ok().map(|point| QuerySpot {
                point,
                is_geojson: true,
                max: None,
            }));
        }
        let members: Option<Vec<f64>> = match value {
            Value::Array(elements) => elements.iter().map(Value::as_f64).collect(),
            _ => value
                .as_object()
                .and_then(|object| object.values().map(Value::as_f64).collect()),
        };
        let (point, max) = match members.as_deref() {
            Some([x, y]) => (Point { x: *x, y: *y }, None),
            Some([x, y, max]) => (Point { x: *x, y: *y }, Some(*max)),
            Some(_) | None => return Ok(None),
        };
        if max.is_some_and(|max| max.is_nan() || max < 0.0) {
            let message = "max distance must be non-negative";
            return Err(MqlError::new(OWN_MAX_NEGATIVE, message));
        }
        let spot = QuerySpot {
            point,
            is_geojson: false,
            max,
        };
        Ok(Some(spot).filter(|spot| spot.point.is_finite()))
    }
}

fn geojson_point(geometry: &Value) -> Result<Point> {
    let Some(object) = geometry
        .as_object()
        .filter(|_| legacy_point(geometry).is_none())
    else {
        return Err(MqlError::bad_value(format!(
            "$near requires geojson point, given {}",
            show_value(geometry)
        )));
    };
    let coordinates = object.get("coordinates").unwrap_or(Value::undefined());
    position(coordinates).map_err(|error| {
        MqlError::bad_value(format!(
            "invalid point in geo near query $geometry argument: {}  {}",
            show_object(object),
            error.message
        ))
    })
}

/// A distance beside `$geometry`.
fn limit(object: &Object, name: &str) -> Result<Option<f64>> {
    match object.get(name) {
        None => Ok(None),
        Some(value) => match value.as_f64() {
            Some(distance) if distance >= 0.0 && distance.is_finite() => Ok(Some(distance)),
            Some(_) => Err(MqlError::bad_value(format!("{name} must be non-negative"))),
            None => Err(MqlError::bad_value(format!("{name} must be a number"))),
        },
    }
}

/// A distance beside the operator.
fn limit_beside(
    operators: &Object,
    name: &str,
    no_number: i32,
    negative: i32,
) -> Result<Option<f64>> {
    match operators.get(name).map(Value::as_f64) {
        None => Ok(None),
        Some(Some(distance)) if distance >= 0.0 => Ok(Some(distance)),
        Some(Some(_)) => Err(MqlError::new(
            negative,
            format!("{name} must be non-negative"),
        )),
        Some(None) => Err(MqlError::new(no_number, format!("{name} must be a number"))),
    }
}
