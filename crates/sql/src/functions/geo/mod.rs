//! The spatial functions: GeoJSON geometries on the ellipsoid WGS 84.
//!
//! An edge is the cut of the ellipsoid with the plane through both its ends and the centre. A polygon lies left
//! of its rings; one that is written clockwise is the rest of the globe.

mod distance;
mod ellipsoid;
mod read;
mod relate;
mod sphere;
#[cfg(test)]
mod tests;
mod validity;

use lapsedb_value::{Object, Value};

use super::args::{self, Args};
use sphere::{Arc, Ring, Vector, same};

/// A valid geometry: one point, one line, or polygons.
#[derive(Clone, Debug, Default)]
struct Geometry {
    points: Vec<Vector>,
    lines: Vec<Vec<Arc>>,
    /// The first and the last point of the line.
    ends: Vec<Vector>,
    polygons: Vec<Vec<Ring>>,
}

impl Geometry {
    /// The point, if it is nothing else.
    fn as_point(&self) -> Option<Vector> {
        self.points.first().copied()
    }

    /// All edges.
    fn arcs(&self) -> impl Iterator<Item = &Arc> {
        let rings = self.polygons.iter().flatten();
        let borders = rings.flat_map(|ring| &ring.arcs);
        self.lines.iter().flatten().chain(borders)
    }

    /// All positions.
    fn vertices(&self) -> impl Iterator<Item = Vector> {
        let starts = self.arcs().map(|arc| arc.start);
        self.points.iter().chain(&self.ends).copied().chain(starts)
    }

    /// A position of each part that hangs together.
    fn parts(&self) -> impl Iterator<Item = Vector> {
        let rings = self.polygons.iter().flatten();
        let first = rings.filter_map(|ring| ring.points.first());
        self.points
            .iter()
            .chain(self.ends.first())
            .chain(first)
            .copied()
    }

    /// Whether an open line ends at the point.
    fn is_end(&self, point: Vector) -> bool {
        match self.ends.as_slice() {
            [first, last] => !same(*first, *last) && (same(*first, point) || same(*last, point)),
            _ => false,
        }
    }
}

fn argument(args: &Args<'_>, at: usize) -> Option<Geometry> {
    read::geometry(args::any(args, at)).ok()
}

/// `ST_AREA`: the area in square metres; points and lines have none.
pub(super) fn area(args: &Args<'_>) -> Option<Value> {
    let geometry = argument(args, 0)?;
    let polygon = |rings: &Vec<Ring>| {
        // Inside is what lies inside all rings, so each hole takes away what lies outside of it.
        let outside = |ring: &Ring| ellipsoid::EARTH - ellipsoid::ring_area(ring);
        let outer = rings.first().map_or(0.0, ellipsoid::ring_area);
        outer - rings.iter().skip(1).map(outside).sum::<f64>()
    };
    args::finite(geometry.polygons.iter().map(polygon).sum::<f64>() + 0.0)
}

/// `ST_DISTANCE`: the shortest distance in metres.
pub(super) fn distance(args: &Args<'_>) -> Option<Value> {
    args::finite(distance::between(&argument(args, 0)?, &argument(args, 1)?))
}

/// `ST_INTERSECTS`: whether two geometries share a point.
pub(super) fn intersects(args: &Args<'_>) -> Option<Value> {
    let shared = relate::intersects(&argument(args, 0)?, &argument(args, 1)?);
    Some(Value::Bool(shared))
}

/// `ST_WITHIN`: whether the first geometry lies within the second.
pub(super) fn within(args: &Args<'_>) -> Option<Value> {
    relate::within(&argument(args, 0)?, &argument(args, 1)?).map(Value::Bool)
}

/// `ST_ISVALID`: whether a value is a valid geometry. One that is missing is none.
pub(super) fn is_valid(args: &Args<'_>) -> Option<Value> {
    Some(Value::Bool(read::geometry(args::any(args, 0)).is_ok()))
}

/// `ST_ISVALIDDETAILED`: whether a value is a valid geometry, and why not.
pub(super) fn is_valid_detailed(args: &Args<'_>) -> Option<Value> {
    let mut answer = Object::with_capacity(2);
    match read::geometry(args::any(args, 0)) {
        Ok(_) => answer.push("valid", true),
        Err(reason) => {
            answer.push("valid", false);
            answer.push("reason", reason);
        }
    }
    Some(Value::Object(answer))
}
