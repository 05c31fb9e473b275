//! Which geometries share a point, and which lie within another.
//!
//! "Within" is what the standard for simple features says: no point of the first lies outside the second, and
//! their interiors have a point in common. The interior of a line is the line without its ends.

use super::Geometry;
use super::sphere::{Arc, Meeting, Ring, TOLERANCE, Vector, same};
use crate::limits::GEOMETRY_PIECES_MAX;

/// Where a point lies with respect to polygons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Inside,
    Border,
    Outside,
}

/// Where a point lies with respect to one polygon: an outer ring and its holes, all with the inside to the left.
pub(super) fn side(rings: &[Ring], point: Vector) -> Side {
    if rings.iter().any(|ring| ring.holds(point)) {
        Side::Border
    } else if rings.iter().all(|ring| ring.contains(point)) {
        Side::Inside
    } else {
        Side::Outside
    }
}

fn side_of_any(geometry: &Geometry, point: Vector) -> Side {
    let mut best = Side::Outside;
    for rings in &geometry.polygons {
        match side(rings, point) {
            Side::Inside => return Side::Inside,
            Side::Border => best = Side::Border,
            Side::Outside => {}
        }
    }
    best
}

/// Whether two geometries share a point.
pub(super) fn intersects(a: &Geometry, b: &Geometry) -> bool {
    let meet = |point: &Vector, other: &Geometry| {
        other.points.iter().any(|p| same(*p, *point)) || other.arcs().any(|arc| arc.holds(*point))
    };
    a.points.iter().any(|point| meet(point, b))
        || b.points.iter().any(|point| meet(point, a))
        || a.arcs()
            .any(|arc| b.arcs().any(|other| arc.meet(other) != Meeting::Apart))
        // Where no edges meet, each part lies wholly on one side.
        || a.parts().any(|point| side_of_any(b, point) == Side::Inside)
        || b.parts().any(|point| side_of_any(a, point) == Side::Inside)
}

/// Whether all of `a` lies in `b`; nothing if they meet more often than may be gone into.
pub(super) fn within(a: &Geometry, b: &Geometry) -> Option<bool> {
    if !b.polygons.is_empty() {
        return within_polygons(a, b);
    }
    if !a.polygons.is_empty() {
        return Some(false);
    }
    Some(if b.lines.is_empty() {
        let equal = |point: &Vector| b.points.iter().any(|other| same(*other, *point));
        a.lines.is_empty() && a.points.iter().all(equal)
    } else if a.lines.is_empty() {
        let inner = |point: &Vector| !b.is_end(*point) && b.arcs().any(|arc| arc.holds(*point));
        a.points.iter().all(inner)
    } else {
        a.arcs().all(|arc| is_covered(arc, b))
    })
}

/// Whether each point of an arc lies on the lines of a geometry.
fn is_covered(arc: &Arc, lines: &Geometry) -> bool {
    let near = lines.arcs().filter(|other| arc.near(other));
    let mut shared: Vec<_> = near.filter_map(|other| arc.shared(other)).collect();
    shared.sort_by(|a, b| a.0.total_cmp(&b.0));
    let slack = 4.0 * TOLERANCE;
    let mut reached = slack;
    for (low, high) in shared {
        if low > reached {
            return false;
        }
        reached = reached.max(high + slack);
    }
    reached >= arc.along(arc.end)
}

fn within_polygons(a: &Geometry, b: &Geometry) -> Option<bool> {
    if !a.points.is_empty() {
        let inside = |point: &Vector| side_of_any(b, *point) == Side::Inside;
        return Some(a.points.iter().all(inside));
    }
    let filled = !a.polygons.is_empty();
    let mut budget = GEOMETRY_PIECES_MAX;
    let mut inner = false;
    for arc in a.arcs() {
        let Some(pieces) = pieces(arc, b) else {
            return Some(false);
        };
        for piece in pieces {
            match piece {
                // An area left of the edge lies on the far side of the border.
                Piece::Shared { same_way } if filled && !same_way => return Some(false),
                Piece::Shared { .. } => {}
                Piece::Free(middle) => {
                    budget = budget.checked_sub(1)?;
                    match side_of_any(b, middle) {
                        Side::Inside => inner = true,
                        Side::Border => {}
                        Side::Outside => return Some(false),
                    }
                }
            }
        }
    }
    if !filled {
        return Some(inner);
    }
    // No edge leaves the other one. What is left is a hole of the other one, or its end, in an area.
    for arc in b.arcs() {
        for piece in pieces(arc, a).unwrap_or_default() {
            if let Piece::Free(middle) = piece {
                budget = budget.checked_sub(1)?;
                if side_of_any(a, middle) == Side::Inside {
                    return Some(false);
                }
            }
        }
    }
    Some(true)
}

/// A stretch of an edge that no edge of the other geometry begins or ends in.
enum Piece {
    /// It lies on an edge of the other one.
    Shared {
        /// Some edge there goes the same way.
        same_way: bool,
    },
    /// It touches the other's edges at most at its ends. This is its middle.
    Free(Vector),
}

/// Cuts an edge where it meets those of polygons; nothing if it crosses one.
fn pieces(arc: &Arc, polygons: &Geometry) -> Option<Vec<Piece>> {
    let whole = arc.along(arc.end);
    let mut cuts = vec![0.0, whole];
    let mut shared: Vec<(f64, f64, bool)> = Vec::new();
    for other in polygons.arcs() {
        match arc.meet(other) {
            Meeting::Apart => continue,
            Meeting::Cross => return None,
            Meeting::Touch => {}
        }
        for point in [other.start, other.end] {
            if arc.holds(point) {
                cuts.push(arc.along(point));
            }
        }
        if let Some((low, high)) = arc.shared(other) {
            let same_way = super::sphere::dot(arc.left, other.left) > 0.0;
            shared.push((low, high, same_way));
        }
    }
    cuts.sort_by(f64::total_cmp);
    let mut pieces = Vec::with_capacity(cuts.len());
    for pair in cuts.windows(2) {
        let [low, high] = pair else { continue };
        if high - low <= 8.0 * TOLERANCE {
            continue;
        }
        let middle = (low + high) / 2.0;
        let mut over = shared
            .iter()
            .filter(|(from, to, _)| *from < middle && middle < *to)
            .peekable();
        pieces.push(if over.peek().is_some() {
            Piece::Shared {
                same_way: over.any(|(_, _, same_way)| *same_way),
            }
        } else {
            Piece::Free(arc.at(middle))
        });
    }
    Some(pieces)
}
