//! Points, lines and areas.

use lapsedb_value::{Object, Value};

use super::grid::Grid;
use super::sphere;
use crate::show::{show_object, show_value};
use crate::{MqlError, Result};

/// A place by longitude and latitude in degrees, or by x and y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl Point {
    /// Whether both are finite.
    pub(super) fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite()
    }
}

/// Closed lines: the outside, then the holes. The last point is the first one and not said again.
pub(crate) type Polygon = Vec<Vec<Point>>;

/// A thing with a place, taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) points: Vec<Point>,
    pub(crate) lines: Vec<Vec<Point>>,
    pub(crate) polygons: Vec<Polygon>,
}

/// Points of a closed line up to which it is checked that no two stretches cross.
const CHECKED_POINTS_MAX: usize = 1000;

/// Levels that collections of geometries may nest.
const DEPTH_MAX: usize = 16;

impl Shape {
    /// What a document holds: GeoJSON, a pair of numbers, or an object whose first members are two numbers.
    pub(crate) fn of_value(value: &Value) -> Option<Shape> {
        match value {
            Value::Object(object)
                if object.contains_key("type") && object.contains_key("coordinates")
                    || value.get("geometries").as_array().is_some() =>
            {
                value
                    .as_object()
                    .and_then(|object| Shape::parse_geojson(object).ok())
            }
            _ => first_two(value).ok().map(|point| Shape {
                points: vec![point],
                ..Shape::default()
            }),
        }
    }

    /// What a document must hold where an index is over places: two numbers first of all, or GeoJSON.
    pub(super) fn stored(value: &Value) -> Result<Shape> {
        let is_legacy = match value {
            Value::Array(_) => true,
            Value::Object(object) => object.values().next().is_some_and(Value::is_number),
            _ => false,
        };
        match value {
            Value::Object(geometry) if !is_legacy => Shape::parse_geojson(geometry),
            _ => Ok(Shape {
                points: vec![first_two(value)?],
                ..Shape::default()
            }),
        }
    }

    /// Reads GeoJSON and checks its bounds.
    pub(crate) fn parse_geojson(geometry: &Object) -> Result<Shape> {
        let mut shape = Shape::default();
        shape.add(geometry, 0)?;
        Ok(shape)
    }

    fn add(&mut self, geometry: &Object, depth: usize) -> Result<()> {
        let kind = geometry
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let coordinates = geometry.get("coordinates").unwrap_or(Value::undefined());
        match kind {
            "Point" => self.points.push(position(coordinates)?),
            "MultiPoint" => {
                some(kind, coordinates)?;
                self.points.extend(positions(coordinates)?);
            }
            "LineString" => self.lines.push(line(coordinates)?),
            "MultiLineString" => {
                some(kind, coordinates)?;
                for part in elements(coordinates)? {
                    self.lines.push(line(part)?);
                }
            }
            "Polygon" => self.polygons.push(polygon(coordinates)?),
            "MultiPolygon" => {
                some(kind, coordinates)?;
                for part in elements(coordinates)? {
                    self.polygons.push(polygon(part)?);
                }
            }
            "GeometryCollection" if depth < DEPTH_MAX => {
                for part in elements(geometry.get("geometries").unwrap_or(Value::undefined()))? {
                    let part = part.as_object().ok_or_else(|| {
                        MqlError::bad_value("geometries of a GeometryCollection must be objects")
                    })?;
                    self.add(part, depth + 1)?;
                }
            }
            _ => {
                return Err(MqlError::bad_value(format!(
                    "unknown GeoJSON type: {}",
                    show_object(geometry)
                )));
            }
        }
        Ok(())
    }

    /// Whether all of it has a longitude and a latitude: two numbers may be anything.
    pub(super) fn is_on_sphere(&self) -> bool {
        self.vertices().all(|point| Grid::SPHERE.contains(point))
    }

    /// Every point that the shape is drawn through.
    pub(crate) fn vertices(&self) -> impl Iterator<Item = Point> {
        let lines = self.lines.iter().flatten();
        let areas = self.polygons.iter().flatten().flatten();
        self.points.iter().chain(lines).chain(areas).copied()
    }

    /// Every stretch between two points that the shape is drawn through.
    pub(crate) fn edges(&self) -> Vec<(Point, Point)> {
        let mut edges = Vec::new();
        for line in &self.lines {
            edges.extend(line.iter().zip(line.iter().skip(1)).map(|(a, b)| (*a, *b)));
        }
        for ring in self.polygons.iter().flatten() {
            edges.extend(
                ring.iter()
                    .zip(ring.iter().cycle().skip(1))
                    .map(|(a, b)| (*a, *b)),
            );
        }
        edges
    }
}

/// Two numbers, in an array or as the first members of an object.
pub(crate) fn legacy_point(value: &Value) -> Option<Point> {
    let pair: Vec<f64> = match value {
        Value::Array(elements) => elements
            .iter()
            .take(3)
            .map(|n| n.as_f64())
            .collect::<Option<_>>()?,
        Value::Object(object) => object
            .values()
            .take(2)
            .map(|n| n.as_f64())
            .collect::<Option<_>>()?,
        _ => return None,
    };
    match (value, pair.as_slice()) {
        (_, [x, y]) => Some(Point { x: *x, y: *y }),
        _ => None,
    }
}

/// A geometry of several parts has one at least.
fn some(kind: &str, coordinates: &Value) -> Result<()> {
    match elements(coordinates)?.is_empty() {
        true => Err(MqlError::bad_value(format!(
            "{kind} coordinates must have at least 1 element"
        ))),
        false => Ok(()),
    }
}

/// The point of two numbers that may be followed by anything.
pub(super) fn first_two(value: &Value) -> Result<Point> {
    let members: Vec<&Value> = match value {
        Value::Array(elements) => elements.iter().take(2).collect(),
        Value::Object(object) => object.values().take(2).collect(),
        _ => return Err(MqlError::bad_value("Point must be an array or object")),
    };
    match members.as_slice() {
        [x, y] => match (x.as_f64(), y.as_f64()) {
            (Some(x), Some(y)) => Ok(Point { x, y }),
            _ => Err(MqlError::bad_value(
                "Point must only contain numeric elements",
            )),
        },
        _ => Err(MqlError::bad_value(
            "Point must only contain numeric elements",
        )),
    }
}

fn elements(value: &Value) -> Result<&[Value]> {
    value
        .as_array()
        .ok_or_else(|| MqlError::bad_value("GeoJSON coordinates must be an array"))
}

pub(super) fn position(value: &Value) -> Result<Point> {
    on_sphere(first_two(value)?)
}

/// A point that has a longitude and a latitude.
pub(super) fn on_sphere(point: Point) -> Result<Point> {
    match Grid::SPHERE.contains(point) {
        true => Ok(point),
        false => Err(MqlError::bad_value(format!(
            "longitude/latitude is out of bounds, lng: {} lat: {}",
            point.x, point.y
        ))),
    }
}

fn positions(value: &Value) -> Result<Vec<Point>> {
    elements(value)?.iter().map(position).collect()
}

fn line(value: &Value) -> Result<Vec<Point>> {
    let mut points = positions(value)?;
    points.dedup();
    match points.len() {
        0 | 1 => Err(MqlError::bad_value(format!(
            "GeoJSON LineString must have at least 2 vertices: {}",
            show_value(value)
        ))),
        _ => Ok(points),
    }
}

fn polygon(value: &Value) -> Result<Polygon> {
    let mut rings: Polygon = Vec::new();
    for ring in elements(value)? {
        let mut points = positions(ring)?;
        if points.first() != points.last() || points.is_empty() {
            return Err(MqlError::bad_value(format!(
                "Loop is not closed: {}",
                show_value(ring)
            )));
        }
        points.pop();
        points.dedup();
        if points.len() < 3 {
            return Err(MqlError::bad_value(format!(
                "Loop must have at least 3 different vertices: {}",
                show_value(ring)
            )));
        }
        if points.len() <= CHECKED_POINTS_MAX && sphere::crosses_itself(&points) {
            return Err(MqlError::bad_value(format!(
                "Loop is not valid: {} Edges cross.",
                show_value(ring)
            )));
        }
        if rings
            .first()
            .is_some_and(|outside| !sphere::encloses(outside, &points))
        {
            return Err(MqlError::bad_value(format!(
                "Secondary loops not contained by first exterior loop - secondary loops must be holes: {}",
                show_value(ring)
            )));
        }
        rings.push(points);
    }
    match rings.is_empty() {
        true => Err(MqlError::bad_value("Polygon has no loops.")),
        false => Ok(rings),
    }
}
