//! GeoJSON geometries on the globe: longitude and latitude in degrees, WGS 84.

pub(crate) mod measure;
pub(crate) mod planar;

use lapsedb_value::Value;

use crate::limits::GEOMETRY_POINTS_MAX;

/// A place: longitude, then latitude.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Position {
    pub x: f64,
    pub y: f64,
}

/// An outer ring and the holes in it.
pub(crate) type Rings = Vec<Vec<Position>>;

/// A valid geometry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Geometry {
    pub points: Vec<Position>,
    pub lines: Vec<Vec<Position>>,
    pub polygons: Vec<Rings>,
}

/// Why a value is no geometry.
type Reason = &'static str;

const SHAPE: Reason =
    "The coordinates do not have the shape that the type of the geometry asks for.";

impl Geometry {
    /// Reads a GeoJSON object.
    pub(crate) fn read(value: &Value) -> Result<Geometry, Reason> {
        let kind = value
            .get("type")
            .as_str()
            .ok_or("The geometry has no type.")?;
        let coordinates = value.get("coordinates");
        let mut geometry = Geometry::default();
        match kind {
            "Point" => geometry.points.push(position(coordinates)?),
            "MultiPoint" => geometry.points = list(coordinates, position)?,
            "LineString" => geometry.lines.push(line(coordinates)?),
            "MultiLineString" => geometry.lines = list(coordinates, line)?,
            "Polygon" => geometry.polygons.push(polygon(coordinates)?),
            "MultiPolygon" => geometry.polygons = list(coordinates, polygon)?,
            _ => return Err("The type of the geometry is not known."),
        }
        if geometry.vertices().count() > GEOMETRY_POINTS_MAX {
            return Err("The geometry has more than 4096 positions.");
        }
        if geometry.vertices().next().is_none() {
            return Err(SHAPE);
        }
        Ok(geometry)
    }

    /// All positions.
    pub(crate) fn vertices(&self) -> impl Iterator<Item = Position> {
        let rings = self.polygons.iter().flatten();
        self.points
            .iter()
            .chain(self.lines.iter().flatten())
            .chain(rings.flatten())
            .copied()
    }

    /// All edges.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (Position, Position)> {
        let chains = self.lines.iter().chain(self.polygons.iter().flatten());
        chains
            .flat_map(|chain| chain.windows(2))
            .filter_map(|pair| match pair {
                [a, b] => Some((*a, *b)),
                _ => None,
            })
    }
}

fn list<T>(value: &Value, read: fn(&Value) -> Result<T, Reason>) -> Result<Vec<T>, Reason> {
    value.as_array().ok_or(SHAPE)?.iter().map(read).collect()
}

fn position(value: &Value) -> Result<Position, Reason> {
    let (x, y) = match value.as_array() {
        // A height may follow; it is not used.
        Some([x, y] | [x, y, _]) => (x.as_f64().ok_or(SHAPE)?, y.as_f64().ok_or(SHAPE)?),
        _ => return Err(SHAPE),
    };
    if !(-90.0..=90.0).contains(&y) {
        return Err("Latitude values must be between -90 and 90 degrees.");
    }
    if !(-180.0..=180.0).contains(&x) {
        return Err("Longitude values must be between -180 and 180 degrees.");
    }
    Ok(Position { x, y })
}

fn line(value: &Value) -> Result<Vec<Position>, Reason> {
    let line = list(value, position)?;
    if line.len() < 2 {
        Err("A LineString must have at least two positions.")
    } else {
        Ok(line)
    }
}

fn polygon(value: &Value) -> Result<Rings, Reason> {
    let rings = list(value, ring)?;
    if rings.is_empty() {
        Err("A Polygon must have at least one ring.")
    } else {
        Ok(rings)
    }
}

fn ring(value: &Value) -> Result<Vec<Position>, Reason> {
    let ring = list(value, position)?;
    if ring.len() < 4 {
        return Err("A ring of a Polygon must have at least four positions.");
    }
    if ring.first() != ring.last() {
        return Err("A ring of a Polygon must end where it starts.");
    }
    Ok(ring)
}
