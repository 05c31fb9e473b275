//! The shortest way between two geometries.

use std::f64::consts::PI;

use super::Geometry;
use super::ellipsoid::{distance, surface, velocity};
use super::relate::intersects;
use super::sphere::{self, Arc, Vector, cross, dot, sub};

/// Pairs of a point and an edge that are measured exactly, after all were measured roughly. The rough distance
/// is off by less than 1e-5 of itself, so what another pair could win is less than that.
const CANDIDATES: usize = 16;

/// Refinements of the nearest point of an edge.
const REFINEMENTS: usize = 8;

/// Refinements of a distance.
const PARABOLAS: usize = 4;

/// Angles over which bends are measured.
const STEP_MIN: f64 = 1e-5;
const STEP_MAX: f64 = 1e-3;

/// A distance in metres between two points is at least this much of the one between their normals: less than
/// any radius of curvature, by as much as chords of unlike arcs may differ.
const SCALE_MIN: f64 = 6_300_000.0;

/// A point, the edge it is near to, and the square of their distance through the earth.
type Pair = (f64, Vector, Arc);

/// The shortest distance in metres.
pub(super) fn between(a: &Geometry, b: &Geometry) -> f64 {
    if let (Some(p), Some(q)) = (a.as_point(), b.as_point()) {
        return if sphere::same(p, q) {
            0.0
        } else {
            distance(p, q)
        };
    }
    if intersects(a, b) {
        return 0.0;
    }
    let mut pairs: Vec<Pair> = Vec::with_capacity(CANDIDATES + 1);
    collect(a, b, &mut pairs);
    collect(b, a, &mut pairs);
    pairs
        .into_iter()
        .map(|(_, point, arc)| to_arc(point, &arc))
        .fold(f64::INFINITY, f64::min)
}

/// The distance of a point to an arc in metres.
fn to_arc(point: Vector, arc: &Arc) -> f64 {
    let ends = distance(point, arc.start).min(distance(point, arc.end));
    if arc.is_point() {
        return ends;
    }
    let whole = arc.along(arc.end);
    let mut angle = facing(arc, point, REFINEMENTS);
    let mut best = distance(point, arc.at(angle));
    // The nearest point through the earth is not quite the nearest over ground: to the top of a parabola.
    for _ in 0..PARABOLAS {
        let step = (best / SCALE_MIN / 8.0).min(STEP_MAX);
        let at = |angle: f64| distance(point, arc.at(angle));
        let (before, after) = (at(angle - step), at(angle + step));
        let bend = before - 2.0 * best + after;
        if bend <= 0.0 {
            break;
        }
        let next = (angle + step * (before - after) / (2.0 * bend)).clamp(0.0, whole);
        let length = at(next);
        if length >= best {
            break;
        }
        (angle, best) = (next, length);
    }
    best.min(ends)
}

/// Where on an arc the point is that is nearest to another one through the earth, as an angle from the start.
fn facing(arc: &Arc, point: Vector, steps: usize) -> f64 {
    let whole = arc.along(arc.end);
    let place = surface(point);
    // Half the derivative of the squared distance.
    let slope = |angle: f64| {
        let normal = arc.at(angle);
        dot(
            sub(surface(normal), place),
            velocity(normal, cross(arc.left, normal)),
        )
    };
    let projected = arc.along(point);
    // Behind the middle of what the arc leaves of the circle, the start is nearer than the end.
    let projected = if projected < whole / 2.0 - PI {
        whole
    } else {
        projected
    };
    let mut angle = projected.clamp(0.0, whole);
    for _ in 0..steps {
        let bend = (slope(angle + STEP_MIN) - slope(angle - STEP_MIN)) / (2.0 * STEP_MIN);
        if bend <= 0.0 {
            break;
        }
        angle = (angle - slope(angle) / bend).clamp(0.0, whole);
    }
    angle
}

/// Keeps the nearest pairs of a vertex of the one and an edge of the other, nearest first.
fn collect(a: &Geometry, b: &Geometry, pairs: &mut Vec<Pair>) {
    let targets: Vec<Arc> = b
        .points
        .iter()
        .map(|point| Arc::new(*point, *point))
        .chain(b.arcs().copied())
        .collect();
    for point in a.vertices() {
        let place = surface(point);
        for arc in &targets {
            let worst = match pairs.last() {
                Some((worst, _, _)) if pairs.len() == CANDIDATES => *worst,
                _ => f64::INFINITY,
            };
            if arc.distance2(point) * SCALE_MIN * SCALE_MIN >= worst {
                continue;
            }
            let rough = rough(point, place, arc);
            if rough >= worst {
                continue;
            }
            let at = pairs.partition_point(|(known, _, _)| *known <= rough);
            pairs.insert(at, (rough, point, *arc));
            pairs.truncate(CANDIDATES);
        }
    }
}

/// The square of the distance through the earth, nearly.
fn rough(point: Vector, place: Vector, arc: &Arc) -> f64 {
    let far = |normal: Vector| {
        let apart = sub(surface(normal), place);
        dot(apart, apart)
    };
    let ends = far(arc.start).min(far(arc.end));
    if arc.is_point() {
        return ends;
    }
    ends.min(far(arc.at(facing(arc, point, 1))))
}
