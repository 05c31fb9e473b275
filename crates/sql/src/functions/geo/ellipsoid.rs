//! Lengths and areas on the ellipsoid, to the last digits as the service computes them.
//!
//! The service integrates with Gauss's rule over the straight line between the normals of both ends: with two,
//! three or six nodes, by how far the ends are apart, and over halves where they are farther. Its errors (up to
//! 2e-7 of a length, 3e-8 of an area) are part of its answers. The rule was found by fitting; the sizes at which
//! it changes are known within these bounds, as angles between the normals:
//!
//! | | two nodes up to | three up to | halves from |
//! |---|---|---|---|
//! | lengths | 3.36 to 5 degrees | 10 to 10.05 | 45 to 48.8 |
//! | areas | 2 to 2.83 | 2.83 to 9.96 | 45 to 48.8 |

use std::f64::consts::TAU;

use super::sphere::{Arc, Ring, Vector, add, dot, length, scale, sub, unit};

/// Radius of the equator in metres.
const A: f64 = 6_378_137.0;

/// Distance of the poles from the centre, rounded to millimetres.
const B: f64 = 6_356_752.314;

/// The square of the eccentricity.
const E2: f64 = 1.0 - B * B / (A * A);

/// The area of the earth in square metres.
pub(super) const EARTH: f64 = 510_065_621_710_996.44;

/// The distance of opposite points: over the nearer pole.
const HALF_MERIDIAN: f64 = 20_003_931.458_240_643;

/// Differences of normals up to which two nodes do, up to which three do, and up to which six do.
const LENGTH_STEPS: [f64; 3] = [0.07, 0.175, 0.8];
const AREA_STEPS: [f64; 3] = [0.035, 0.0875, 0.8];

/// Sums of normals below which points count as opposite.
const OPPOSITE: f64 = 1e-8;

/// The height of both ends of an edge near a pole, 84.9 degrees. It is halved for its area, as the service does
/// from 80 to 85 degrees on, and again over wide changes of longitude, which the service does not.
const POLAR_HEIGHT: f64 = 0.996;
const POLAR_TURN: f64 = 0.8;

/// The change of longitude over which an edge elsewhere is halved.
const TURN: f64 = 1.6;

/// How often an edge is halved at most. An edge that passes a pole closely keeps one half with a wide turn, in
/// which the height hardly changes any more.
const HALVINGS_MAX: u8 = 12;

const POLE: Vector = [0.0, 0.0, 1.0];

/// A node on the stretch from 0 to 1, and its weight.
type Node = (f64, f64);

const TWO: [Node; 2] = [
    (0.211_324_865_405_187_13, 0.5),
    (0.788_675_134_594_812_9, 0.5),
];

const THREE: [Node; 3] = [
    (0.112_701_665_379_258_3, 5.0 / 18.0),
    (0.5, 8.0 / 18.0),
    (0.887_298_334_620_741_7, 5.0 / 18.0),
];

const SIX: [Node; 6] = [
    (0.033_765_242_898_423_99, 0.085_662_246_189_585_17),
    (0.169_395_306_766_867_74, 0.180_380_786_524_069_3),
    (0.380_690_406_958_401_55, 0.233_956_967_286_345_52),
    (0.619_309_593_041_598_5, 0.233_956_967_286_345_52),
    (0.830_604_693_233_132_3, 0.180_380_786_524_069_3),
    (0.966_234_757_101_576, 0.085_662_246_189_585_17),
];

fn nodes(apart: f64, steps: &[f64; 3]) -> &'static [Node] {
    if apart <= steps[0] {
        &TWO
    } else if apart <= steps[1] {
        &THREE
    } else {
        &SIX
    }
}

/// Whether no single edge can join two points.
pub(super) fn opposite(a: Vector, b: Vector) -> bool {
    length(add(a, b)) < OPPOSITE
}

/// The place of a point in space, in metres from the centre.
pub(super) fn surface(normal: Vector) -> Vector {
    let place = [A * A * normal[0], A * A * normal[1], B * B * normal[2]];
    scale(place, 1.0 / dot(place, normal).sqrt())
}

/// The length in metres of the edge between two points.
pub(super) fn distance(start: Vector, end: Vector) -> f64 {
    if opposite(start, end) {
        return HALF_MERIDIAN;
    }
    let chord = sub(end, start);
    let apart = length(chord);
    if apart > LENGTH_STEPS[2] {
        let middle = unit(add(start, end));
        return distance(start, middle) + distance(middle, end);
    }
    nodes(apart, &LENGTH_STEPS)
        .iter()
        .map(|(at, weight)| weight * length(velocity(add(start, scale(chord, *at)), chord)))
        .sum()
}

/// How the place moves while the normal, which need not be of length one, moves with the given velocity.
pub(super) fn velocity(normal: Vector, velocity: Vector) -> Vector {
    let stretch = |v: Vector| [A * A * v[0], A * A * v[1], B * B * v[2]];
    let place = stretch(normal);
    let size2 = dot(place, normal);
    let growth = dot(place, velocity) / size2;
    let change = sub(stretch(velocity), scale(place, growth));
    scale(change, 1.0 / size2.sqrt())
}

/// The area inside a ring in square metres.
pub(super) fn ring_area(ring: &Ring) -> f64 {
    let mut sweep = Sweep::default();
    for arc in &ring.arcs {
        sweep.edge(arc);
    }
    let closing = match ring.arcs.first() {
        // What starts at a pole has no way to go there.
        Some(arc) if !is_pole(arc.start) => sweep.closing(arc.start),
        _ => 0.0,
    };
    (sweep.total + closing).rem_euclid(EARTH)
}

/// The integral of longitude over height along a ring, which is the area inside.
#[derive(Default)]
struct Sweep {
    /// The first point that is no pole.
    first: Option<Vector>,
    /// The last one.
    last: Option<Vector>,
    /// Its longitude from the first one's, without a break at the antimeridian.
    longitude: f64,
    total: f64,
}

/// Whether a point is a pole, where all longitudes meet.
fn is_pole(point: Vector) -> bool {
    point[0] == 0.0 && point[1] == 0.0
}

/// The change of longitude from one point to another, by the shorter way.
fn turn(from: Vector, to: Vector) -> f64 {
    (from[0] * to[1] - from[1] * to[0]).atan2(from[0] * to[0] + from[1] * to[1])
}

impl Sweep {
    fn edge(&mut self, arc: &Arc) {
        // At a pole the longitude changes to that of the way out, at no cost.
        let out = if is_pole(arc.start) {
            arc.end
        } else {
            arc.start
        };
        if let Some(last) = self.last {
            self.longitude += turn(last, out);
        }
        self.first.get_or_insert(out);
        self.last = Some(out);
        let through_pole = arc.left[2].abs() < 1e-14 && !is_pole(arc.start) && !is_pole(arc.end);
        if through_pole && dot(flat(arc.start), flat(arc.end)) < 0.0 {
            let pole = scale(POLE, (arc.start[2] + arc.end[2]).signum());
            self.piece(arc.start, pole, HALVINGS_MAX);
            self.longitude += turn(arc.start, arc.end);
            self.last = Some(arc.end);
            self.piece(pole, arc.end, HALVINGS_MAX);
        } else {
            self.piece(arc.start, arc.end, HALVINGS_MAX);
        }
    }

    fn piece(&mut self, start: Vector, end: Vector, halvings: u8) {
        let apart = length(sub(end, start));
        let bend = if is_pole(start) || is_pole(end) {
            0.0
        } else {
            turn(start, end)
        };
        let polar = start[2].min(end[2]) > POLAR_HEIGHT || start[2].max(end[2]) < -POLAR_HEIGHT;
        let first = halvings == HALVINGS_MAX;
        let wide = if polar {
            bend.abs() > if first { 1e-9 } else { POLAR_TURN }
        } else {
            bend.abs() > TURN
        };
        if apart > AREA_STEPS[2] || (wide && halvings > 0) {
            let middle = unit(add(start, end));
            self.piece(start, middle, halvings.saturating_sub(1));
            self.piece(middle, end, halvings.saturating_sub(1));
            return;
        }
        let nodes = nodes(apart, &AREA_STEPS);
        // Each longitude is taken straight from the first point's; what was summed up says in which round it is.
        let (longitude, first) = (self.longitude, self.first.unwrap_or(start));
        let from = if is_pole(start) { end } else { start };
        self.total += rise(start, end, nodes, |point| {
            let direct = turn(first, point);
            let expected = longitude + turn(from, point);
            direct + TAU * ((expected - direct) / TAU).round()
        });
        self.longitude += bend;
        if !is_pole(end) {
            self.last = Some(end);
        }
    }

    /// What is missing if the ring goes around a pole: the way there and back.
    fn closing(&self, start: Vector) -> f64 {
        let last = self.last.unwrap_or(start);
        let turns = ((self.longitude + turn(last, start)) / TAU).round();
        if turns == 0.0 {
            return 0.0;
        }
        let mut way = Sweep {
            first: Some(start),
            longitude: turns * TAU,
            ..Sweep::default()
        };
        // Over either pole it comes to the same, but for the whole earth; the nearer one costs fewer digits.
        let pole = if start[2] < 0.0 { -1.0 } else { 1.0 };
        way.piece(start, scale(POLE, pole), HALVINGS_MAX);
        way.total
    }
}

fn flat(v: Vector) -> Vector {
    [v[0], v[1], 0.0]
}

/// The integral over the height of what is given for each point of an edge.
fn rise(start: Vector, end: Vector, nodes: &[Node], value: impl Fn(Vector) -> f64) -> f64 {
    let chord = sub(end, start);
    // From the end, and in this order of factors: so the last digits are those of the service, too.
    nodes
        .iter()
        .rev()
        .map(|(at, weight)| {
            let point = add(start, scale(chord, *at));
            let size2 = dot(point, point);
            let climb = (chord[2] - point[2] * dot(point, chord) / size2) / size2.sqrt();
            let round = 1.0 - E2 * (point[2] * point[2] / size2);
            weight * value(point) * (B * B / (round * round)) * climb
        })
        .sum()
}
