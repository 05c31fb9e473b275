//! Areas and distances on the ellipsoid.
//!
//! The nearest pair of a vertex and an edge is found on a sphere, which is fast; only that pair is then
//! measured on the ellipsoid.

use geographiclib_rs::{DirectGeodesic, Geodesic, InverseGeodesic, PolygonArea, Winding};

use super::{Geometry, Position, planar};

/// Refinements of the nearest point on an edge; each shrinks the stretch by the golden ratio.
const REFINEMENTS: usize = 60;

/// Candidates from the sphere that are measured on the ellipsoid.
const CANDIDATES: usize = 4;

/// The area of all polygons in square metres, holes taken out. Points and lines have none.
pub(crate) fn area(geometry: &Geometry) -> f64 {
    let earth = Geodesic::wgs84();
    let ring = |ring: &Vec<Position>| {
        let mut polygon = PolygonArea::new(&earth, Winding::CounterClockwise);
        for position in ring.iter().skip(1) {
            polygon.add_point(position.y, position.x);
        }
        let (_, area, _) = polygon.compute(true);
        area.abs()
    };
    let polygons = geometry.polygons.iter();
    polygons
        .map(|rings| rings.first().map_or(0.0, ring) - rings.iter().skip(1).map(ring).sum::<f64>())
        .sum()
}

/// The shortest distance in metres; nothing if a geometry is empty.
pub(crate) fn distance(a: &Geometry, b: &Geometry) -> Option<f64> {
    let earth = Geodesic::wgs84();
    if let ([p], [q], true, true) = (
        a.points.as_slice(),
        b.points.as_slice(),
        only_points(a),
        only_points(b),
    ) {
        return Some(between(&earth, *p, *q));
    }
    if planar::intersects(a, b) {
        return Some(0.0);
    }
    let mut nearest: Vec<(f64, Position, (Position, Position))> = Vec::new();
    collect(a, b, &mut nearest);
    collect(b, a, &mut nearest);
    nearest
        .into_iter()
        .map(|(_, vertex, edge)| to_edge(&earth, vertex, edge))
        .min_by(f64::total_cmp)
}

fn only_points(geometry: &Geometry) -> bool {
    geometry.lines.is_empty() && geometry.polygons.is_empty()
}

fn between(earth: &Geodesic, a: Position, b: Position) -> f64 {
    earth.inverse(a.y, a.x, b.y, b.x)
}

/// Keeps the nearest pairs of a vertex of the one and an edge of the other, nearest first.
fn collect(a: &Geometry, b: &Geometry, nearest: &mut Vec<(f64, Position, (Position, Position))>) {
    let isolated = b.points.iter().map(|point| (*point, *point));
    let edges: Vec<_> = b
        .edges()
        .chain(isolated)
        .map(|edge| (edge, unit(edge.0), unit(edge.1)))
        .collect();
    for vertex in a.vertices() {
        let from = unit(vertex);
        for (edge, start, end) in &edges {
            let angle = spherical(from, *start, *end);
            if nearest.len() < CANDIDATES
                || nearest.last().is_some_and(|(worst, _, _)| angle < *worst)
            {
                let place = nearest.partition_point(|(known, _, _)| *known <= angle);
                nearest.insert(place, (angle, vertex, *edge));
                nearest.truncate(CANDIDATES);
            }
        }
    }
}

type Vector = [f64; 3];

fn unit(position: Position) -> Vector {
    let (longitude, latitude) = (position.x.to_radians(), position.y.to_radians());
    [
        latitude.cos() * longitude.cos(),
        latitude.cos() * longitude.sin(),
        latitude.sin(),
    ]
}

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn angle(a: Vector, b: Vector) -> f64 {
    let normal = cross(a, b);
    dot(normal, normal).sqrt().atan2(dot(a, b))
}

/// The angle between a point and an arc of a great circle.
fn spherical(point: Vector, start: Vector, end: Vector) -> f64 {
    let normal = cross(start, end);
    let length = dot(normal, normal).sqrt();
    let ends = angle(point, start).min(angle(point, end));
    if length < 1e-15 {
        return ends;
    }
    // The foot of the perpendicular counts if it lies between the ends.
    let beside_start = dot(cross(normal, start), point) >= 0.0;
    let beside_end = dot(cross(end, normal), point) >= 0.0;
    if beside_start && beside_end {
        (dot(point, normal) / length).abs().min(1.0).asin()
    } else {
        ends
    }
}

/// The distance from a position to the geodesic between two others, by golden section.
fn to_edge(earth: &Geodesic, position: Position, (start, end): (Position, Position)) -> f64 {
    let (length, azimuth, _, _): (f64, f64, f64, f64) =
        earth.inverse(start.y, start.x, end.y, end.x);
    let at = |along: f64| {
        let (y, x): (f64, f64) = earth.direct(start.y, start.x, azimuth, along);
        between(earth, position, Position { x, y })
    };
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (0.0, length);
    for _ in 0..REFINEMENTS {
        let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
        if at(left) < at(right) {
            high = right;
        } else {
            low = left;
        }
    }
    at((low + high) / 2.0)
        .min(between(earth, position, start))
        .min(between(earth, position, end))
}
