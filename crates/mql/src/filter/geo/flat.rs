//! Geometry in the plane.

use super::shape::Point;

pub(super) fn distance(a: Point, b: Point) -> f64 {
    (a.x - b.x).hypot(a.y - b.y)
}

pub(super) fn in_box(a: Point, b: Point, point: Point) -> bool {
    let between = |p: f64, a: f64, b: f64| (a.min(b)..=a.max(b)).contains(&p);
    between(point.x, a.x, b.x) && between(point.y, a.y, b.y)
}

/// Counts how often a ray to the right crosses the border; the border itself is inside.
pub(super) fn in_polygon(ring: &[Point], point: Point) -> bool {
    let mut inside = false;
    for (a, b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
        let turn = (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x);
        if turn == 0.0 && in_box(*a, *b, point) {
            return true;
        }
        if (a.y > point.y) != (b.y > point.y) {
            let crossing = a.x + (point.y - a.y) / (b.y - a.y) * (b.x - a.x);
            inside ^= point.x < crossing;
        }
    }
    inside
}
