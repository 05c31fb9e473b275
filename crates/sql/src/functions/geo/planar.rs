//! Which geometries touch and which contain another. Edges are straight in longitude and latitude.

use super::{Geometry, Position, Rings};

/// Where a position lies with respect to a polygon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Inside,
    Border,
    Outside,
}

/// Whether two geometries share a point.
pub(crate) fn intersects(a: &Geometry, b: &Geometry) -> bool {
    a.points.iter().any(|point| touches(b, *point))
        || b.points.iter().any(|point| touches(a, *point))
        || edges_meet(a, b)
        // Without a common edge point, one may still lie wholly within the other.
        || a.vertices().any(|vertex| in_polygons(b, vertex) != Side::Outside)
        || b.vertices().any(|vertex| in_polygons(a, vertex) != Side::Outside)
}

/// Whether all of `a` lies in `b`, and not on its border only.
pub(crate) fn within(a: &Geometry, b: &Geometry) -> bool {
    if !a.vertices().all(|vertex| touches(b, vertex)) {
        return false;
    }
    // Edges are cut where they meet the other's edges; each piece lies on one side.
    let pieces: Vec<Position> = a.edges().flat_map(|edge| midpoints(edge, b)).collect();
    if !pieces.iter().all(|middle| touches(b, *middle)) {
        return false;
    }
    if b.polygons.is_empty() {
        return a.polygons.is_empty();
    }
    let interior = |position: Position| in_polygons(b, position) == Side::Inside;
    // A polygon may follow the other's border all around and still fill it.
    let filled = a
        .polygons
        .iter()
        .any(|rings| inner_point(rings).is_some_and(interior));
    let covers_hole = a
        .polygons
        .iter()
        .any(|rings| b.polygons.iter().any(|other| has_hole_inside(other, rings)));
    !covers_hole && (filled || a.vertices().any(interior) || pieces.into_iter().any(interior))
}

/// Whether some hole of the polygon lies within the other one.
fn has_hole_inside(polygon: &Rings, other: &Rings) -> bool {
    polygon.iter().skip(1).any(|hole| {
        inner_point(&vec![hole.clone()])
            .is_some_and(|position| in_rings(other, position) == Side::Inside)
    })
}

/// Some position inside the polygon: halfway between two crossings of a horizontal line.
fn inner_point(rings: &Rings) -> Option<Position> {
    let outer = rings.first()?;
    let mut heights: Vec<f64> = outer.iter().map(|position| position.y).collect();
    heights.sort_by(f64::total_cmp);
    heights.dedup();
    for pair in heights.windows(2) {
        let [low, high] = pair else { continue };
        let y = (low + high) / 2.0;
        let mut crossings: Vec<f64> = rings
            .iter()
            .flat_map(|ring| ring.windows(2))
            .filter_map(|pair| match pair {
                [a, b] if (a.y > y) != (b.y > y) => {
                    Some(a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x))
                }
                _ => None,
            })
            .collect();
        crossings.sort_by(f64::total_cmp);
        if let [left, right, ..] = crossings.as_slice()
            && left < right
        {
            return Some(Position {
                x: (left + right) / 2.0,
                y,
            });
        }
    }
    None
}

/// Whether the position is a point of the geometry.
fn touches(geometry: &Geometry, position: Position) -> bool {
    geometry.points.contains(&position)
        || geometry
            .lines
            .iter()
            .flat_map(|line| line.windows(2))
            .any(|pair| match pair {
                [a, b] => on_edge(*a, *b, position),
                _ => false,
            })
        || in_polygons(geometry, position) != Side::Outside
}

fn in_polygons(geometry: &Geometry, position: Position) -> Side {
    let mut side = Side::Outside;
    for rings in &geometry.polygons {
        match in_rings(rings, position) {
            Side::Inside => return Side::Inside,
            Side::Border => side = Side::Border,
            Side::Outside => {}
        }
    }
    side
}

/// Counts the edges that a ray to the right crosses; holes turn the answer once more.
fn in_rings(rings: &Rings, position: Position) -> Side {
    let mut inside = false;
    for pair in rings.iter().flat_map(|ring| ring.windows(2)) {
        let [a, b] = pair else { continue };
        if on_edge(*a, *b, position) {
            return Side::Border;
        }
        if (a.y > position.y) != (b.y > position.y) {
            let crossing = a.x + (position.y - a.y) / (b.y - a.y) * (b.x - a.x);
            if position.x < crossing {
                inside = !inside;
            }
        }
    }
    if inside { Side::Inside } else { Side::Outside }
}

/// Twice the signed area of the triangle: positive if `c` lies left of the way from `a` to `b`.
fn turn(a: Position, b: Position, c: Position) -> f64 {
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
}

fn on_edge(a: Position, b: Position, position: Position) -> bool {
    turn(a, b, position) == 0.0
        && position.x >= a.x.min(b.x)
        && position.x <= a.x.max(b.x)
        && position.y >= a.y.min(b.y)
        && position.y <= a.y.max(b.y)
}

fn edges_meet(a: &Geometry, b: &Geometry) -> bool {
    let edges: Vec<(Position, Position)> = b.edges().collect();
    a.edges()
        .any(|(p, q)| edges.iter().any(|(r, s)| segments_meet(p, q, *r, *s)))
}

fn segments_meet(p: Position, q: Position, r: Position, s: Position) -> bool {
    let across = |a: f64, b: f64| (a > 0.0 && b < 0.0) || (a < 0.0 && b > 0.0);
    (across(turn(p, q, r), turn(p, q, s)) && across(turn(r, s, p), turn(r, s, q)))
        || on_edge(p, q, r)
        || on_edge(p, q, s)
        || on_edge(r, s, p)
        || on_edge(r, s, q)
}

/// The middles of the pieces that the edges of the other geometry cut an edge into.
fn midpoints((p, q): (Position, Position), other: &Geometry) -> Vec<Position> {
    let mut cuts = vec![0.0, 1.0];
    for (r, s) in other.edges() {
        let denominator = (q.x - p.x) * (s.y - r.y) - (q.y - p.y) * (s.x - r.x);
        if denominator == 0.0 {
            continue;
        }
        let cut = ((r.x - p.x) * (s.y - r.y) - (r.y - p.y) * (s.x - r.x)) / denominator;
        if cut > 0.0 && cut < 1.0 {
            cuts.push(cut);
        }
    }
    cuts.sort_by(f64::total_cmp);
    let at = |t: f64| Position {
        x: p.x + t * (q.x - p.x),
        y: p.y + t * (q.y - p.y),
    };
    cuts.windows(2)
        .filter(|pair| pair[1] - pair[0] > 1e-12)
        .map(|pair| at((pair[0] + pair[1]) / 2.0))
        .collect()
}
