//! Which geometries share a point, and which lie within another.
//!
//! "Within" is what the standard for simple features says: no point of the first lies outside the second, and
//! their interiors have a point in common. The interior of a line is the line without its ends.

use super::Geometry;
use super::sphere::{Arc, Meeting, Ring, TOLERANCE, Vector, dot, same};
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
    let mut inner = false;
    let mut walk = Walk::around(b);
    for arc in a.arcs() {
        for stretch in walk.along(arc)? {
            match stretch {
                Stretch::Crossing | Stretch::On(Side::Outside) => return Some(false),
                // An area left of the edge lies on the far side of the border.
                Stretch::Shared { same_way } if filled && !same_way => return Some(false),
                Stretch::Shared { .. } | Stretch::On(Side::Border) => {}
                Stretch::On(Side::Inside) => inner = true,
            }
        }
    }
    if !filled {
        return Some(inner);
    }
    // No edge leaves the other one. What is left is a hole of the other one, or its end, in an area.
    let mut walk = Walk::around(a);
    for arc in b.arcs() {
        let stretches = walk.along(arc)?;
        let inside = |stretch: &Stretch| matches!(stretch, Stretch::On(Side::Inside));
        if stretches.iter().any(inside) {
            return Some(false);
        }
    }
    Some(true)
}

/// What a stretch of an edge is to polygons.
enum Stretch {
    /// It crosses their border.
    Crossing,
    /// It lies on an edge of them.
    Shared {
        /// Some edge there goes the same way.
        same_way: bool,
    },
    /// It meets their edges at its ends at most.
    On(Side),
}

/// Goes along edges and says where they lie with respect to polygons.
struct Walk<'a> {
    polygons: &'a Geometry,
    /// How often it may still ask for a side.
    budget: usize,
    /// The end of the last edge and on which side it came there.
    last: Option<(Vector, Side)>,
}

impl<'a> Walk<'a> {
    fn around(polygons: &'a Geometry) -> Walk<'a> {
        Walk {
            polygons,
            budget: GEOMETRY_PIECES_MAX,
            last: None,
        }
    }

    /// The stretches of the next edge; nothing if there were too many.
    fn along(&mut self, arc: &Arc) -> Option<Vec<Stretch>> {
        let last = self.last.take();
        let Some(pieces) = pieces(arc, self.polygons) else {
            return Some(vec![Stretch::Crossing]);
        };
        let count = pieces.len();
        let mut stretches = Vec::with_capacity(count);
        for (at, piece) in pieces.into_iter().enumerate() {
            stretches.push(match piece {
                Piece::Shared { same_way } => Stretch::Shared { same_way },
                Piece::Free { middle, apart } => {
                    let side = match last {
                        // No border lies between this edge and the last one.
                        Some((end, side)) if at == 0 && apart && end == arc.start => side,
                        _ => {
                            self.budget = self.budget.checked_sub(1)?;
                            side_of_any(self.polygons, middle)
                        }
                    };
                    if at.saturating_add(1) == count {
                        self.last = Some((arc.end, side));
                    }
                    Stretch::On(side)
                }
            });
        }
        Some(stretches)
    }
}

/// A stretch of an edge that no edge of the other geometry begins or ends in.
enum Piece {
    /// It lies on an edge of the other one.
    Shared {
        /// Some edge there goes the same way.
        same_way: bool,
    },
    /// It touches the other's edges at most at its ends.
    Free {
        middle: Vector,
        /// The edge does not start on one of them.
        apart: bool,
    },
}

/// Cuts an edge where it meets those of polygons; nothing if it crosses one.
fn pieces(arc: &Arc, polygons: &Geometry) -> Option<Vec<Piece>> {
    let whole = arc.along(arc.end);
    let mut cuts = vec![0.0, whole];
    let mut shared: Vec<(f64, f64, bool)> = Vec::new();
    let mut apart = true;
    for other in polygons.arcs() {
        match arc.meet(other) {
            Meeting::Apart => continue,
            Meeting::Cross => return None,
            Meeting::Touch => apart &= !other.holds(arc.start),
        }
        for point in [other.start, other.end] {
            if arc.holds(point) {
                cuts.push(arc.along(point));
            }
        }
        if let Some((low, high)) = arc.shared(other) {
            let same_way = dot(arc.left, other.left) > 0.0;
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
            let middle = arc.at(middle);
            Piece::Free { middle, apart }
        });
    }
    Some(pieces)
}
