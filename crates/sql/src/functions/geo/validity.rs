//! Which geometries have a meaning: edges that do not run over one another, rings that do not cross.
//!
//! The rules are those of the type `geography` of SQL Server, whose texts the service gives, too. Rings may touch
//! in points.

use super::Geometry;
use super::ellipsoid::opposite;
use super::relate::{Side, side};
use super::sphere::{Arc, Meeting, Ring, Vector};

const OPPOSITE: &str =
    "The specified input cannot be accepted because it contains an edge with antipodal points.";

const INVALID: &str = "The specified input does not represent a valid geography instance.";

/// Refuses an edge between opposite points: every way between them is as short.
pub(super) fn check_edges(points: &[Vector]) -> Result<(), &'static str> {
    let bad = points
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if opposite(*a, *b)));
    if bad { Err(OPPOSITE) } else { Ok(()) }
}

/// Refuses a geometry that is well formed but means nothing.
pub(super) fn check(geometry: &Geometry) -> Result<(), &'static str> {
    let filled = !geometry.polygons.is_empty();
    let flat = |arcs: &Vec<Arc>| arcs.is_empty();
    let rings = || geometry.polygons.iter().flatten();
    let valid = !geometry.lines.iter().any(flat)
        && rings().all(|ring| ring.arcs.len() > 2)
        && edges_keep_apart(geometry, filled)
        && geometry.polygons.iter().all(|rings| rings_agree(rings))
        && polygons_keep_apart(&geometry.polygons);
    if valid { Ok(()) } else { Err(INVALID) }
}

/// Whether no two edges share a stretch, nor cross if they bound an area.
fn edges_keep_apart(geometry: &Geometry, filled: bool) -> bool {
    let mut arcs: Vec<&Arc> = geometry.arcs().collect();
    arcs.sort_by(|a, b| a.extent().0.total_cmp(&b.extent().0));
    arcs.iter().enumerate().all(|(at, arc)| {
        let end = arc.extent().1;
        let beside = arcs.iter().skip(at.saturating_add(1));
        beside
            .take_while(|other| other.extent().0 <= end)
            .all(|other| match arc.meet(other) {
                Meeting::Apart => true,
                Meeting::Touch => arc.shared(other).is_none(),
                Meeting::Cross => !filled,
            })
    })
}

/// Whether each ring of a polygon lies inside each other one: they name one region.
fn rings_agree(rings: &[Ring]) -> bool {
    rings.iter().all(|ring| {
        rings
            .iter()
            .filter(|other| !std::ptr::eq(*other, ring))
            .all(
                |other| match inner_side(std::slice::from_ref(other), ring) {
                    Side::Inside => true,
                    Side::Border | Side::Outside => false,
                },
            )
    })
}

/// Whether no polygon lies within another one.
fn polygons_keep_apart(polygons: &[Vec<Ring>]) -> bool {
    polygons.iter().enumerate().all(|(at, polygon)| {
        let others = polygons.iter().enumerate();
        others.filter(|(other, _)| *other != at).all(|(_, other)| {
            let first = polygon.first();
            first.is_none_or(|ring| inner_side(other, ring) == Side::Outside)
        })
    })
}

/// On which side of rings that it does not cross another ring lies.
fn inner_side(rings: &[Ring], ring: &Ring) -> Side {
    let corners = ring.points.iter().map(|point| side(rings, *point));
    let middles = ring.arcs.iter().map(|arc| {
        let middle = arc.at(arc.along(arc.end) / 2.0);
        side(rings, middle)
    });
    corners
        .chain(middles)
        .find(|side| *side != Side::Border)
        .unwrap_or(Side::Border)
}
