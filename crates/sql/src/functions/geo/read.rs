//! Reads GeoJSON, and says why a value is no geometry in the words of the service.

use lapsedb_value::Value;

use super::sphere::{self, Ring, Vector};
use super::{Geometry, validity};
use crate::limits::GEOMETRY_POINTS_MAX;

/// Why a value is no geometry.
pub(super) type Reason = String;

const SHAPE: &str = "Unable to process the geometry.";

/// Reads the points, lines and polygons that the service knows. Other members than the type and the coordinates
/// have no meaning.
pub(super) fn geometry(value: &Value) -> Result<Geometry, Reason> {
    let coordinates = value.get("coordinates");
    let mut reader = Reader { positions: 0 };
    let mut geometry = Geometry::default();
    match value.get("type").as_str() {
        Some("Point") => geometry.points.push(reader.position(coordinates)?.normal),
        Some("LineString") => {
            let points = reader.line(coordinates)?;
            geometry.lines.push(sphere::arcs(&points));
            geometry.ends = [points.first(), points.last()]
                .into_iter()
                .flatten()
                .copied()
                .collect();
        }
        Some("Polygon") => geometry.polygons.push(reader.polygon(coordinates)?),
        Some("MultiPolygon") => {
            for polygon in list(coordinates)? {
                geometry.polygons.push(reader.polygon(polygon)?);
            }
        }
        _ => return Err(SHAPE.into()),
    }
    if geometry.vertices().next().is_none() && geometry.lines.is_empty() {
        return Err(SHAPE.into());
    }
    validity::check(&geometry)?;
    Ok(geometry)
}

/// A place as it was written, and its normal.
struct Position {
    degrees: (f64, f64),
    normal: Vector,
}

struct Reader {
    /// How many were read so far.
    positions: usize,
}

impl Reader {
    fn position(&mut self, value: &Value) -> Result<Position, Reason> {
        self.positions = self.positions.saturating_add(1);
        if self.positions > GEOMETRY_POINTS_MAX {
            return Err(format!(
                "Maximum allowed point count per geometry is exceeded. Currently maximum supported number of \
                 points is {GEOMETRY_POINTS_MAX}."
            ));
        }
        // What follows, such as a height, is not used, but must be numbers, too.
        let numbers: Option<Vec<f64>> = list(value)?.iter().map(Value::as_f64).collect();
        let Some([longitude, latitude, ..]) = numbers.as_deref() else {
            return Err(SHAPE.into());
        };
        if !(-90.0..=90.0).contains(latitude) {
            return Err("Latitude values must be between -90 and 90 degrees.".into());
        }
        if !(-180.0..=180.0).contains(longitude) {
            return Err("Longitude values must be between -180 and 180 degrees.".into());
        }
        Ok(Position {
            degrees: (*longitude, *latitude),
            normal: sphere::normal(*longitude, *latitude),
        })
    }

    fn positions(&mut self, value: &Value) -> Result<Vec<Position>, Reason> {
        list(value)?
            .iter()
            .map(|value| self.position(value))
            .collect()
    }

    fn line(&mut self, value: &Value) -> Result<Vec<Vector>, Reason> {
        let positions = self.positions(value)?;
        if positions.len() < 2 {
            return Err(
                "The LineString input is not valid because it does not have enough points. A LineString must \
                 have at least two points."
                    .into(),
            );
        }
        normals(&positions)
    }

    fn polygon(&mut self, value: &Value) -> Result<Vec<Ring>, Reason> {
        let rings = list(value)?;
        if rings.is_empty() {
            return Err(SHAPE.into());
        }
        let numbered = (1usize..).zip(rings);
        numbered
            .map(|(number, ring)| self.ring(number, ring))
            .collect()
    }

    fn ring(&mut self, number: usize, value: &Value) -> Result<Ring, Reason> {
        let positions = self.positions(value)?;
        if positions.len() < 4 {
            return Err(format!(
                "The Polygon input is not valid because the ring number {number} does not have enough points. \
                 Each ring of a polygon must contain at least four points."
            ));
        }
        let degrees = |position: &Position| position.degrees;
        if positions.first().map(degrees) != positions.last().map(degrees) {
            return Err(format!(
                "The Polygon input is not valid because the start and end points of the ring number {number} \
                 are not the same. Each ring of a polygon must have the same start and end points."
            ));
        }
        Ok(Ring::new(normals(&positions)?))
    }
}

fn normals(positions: &[Position]) -> Result<Vec<Vector>, Reason> {
    let normals: Vec<Vector> = positions.iter().map(|position| position.normal).collect();
    validity::check_edges(&normals)?;
    Ok(normals)
}

fn list(value: &Value) -> Result<&[Value], Reason> {
    value.as_array().ok_or_else(|| SHAPE.into())
}
