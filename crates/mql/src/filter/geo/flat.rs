//! Geometry in the plane.

use super::shape::Point;

pub(super) fn distance(a: Point, b: Point) -> f64 {
    (a.x - b.x).hypot(a.y - b.y)
}

pub(super) fn in_box(a: Point, b: Point, point: Point) -> bool {
    let between = |p: f64, a: f64, b: f64| (a.min(b)..=a.max(b)).contains(&p);
    between(point.x, a.x, b.x) && between(point.y, a.y, b.y)
}

/// Counts how often a ray to the right crosses the border. Corners and edges along an axis are inside; of the other edges those
/// that have the inside on their left, as in MongoDB.
pub(super) fn in_polygon(ring: &[Point], point: Point) -> bool {
    let mut inside = false;
    for (a, b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
        let along_axis = a.x == b.x || a.y == b.y;
        if point == *a || along_axis && in_box(*a, *b, point) {
            return true;
        }
        if point.y > a.y.min(b.y) && point.y <= a.y.max(b.y) {
            let crossing = a.x + (point.y - a.y) / (b.y - a.y) * (b.x - a.x);
            inside ^= point.x <= crossing;
        }
    }
    inside
}
