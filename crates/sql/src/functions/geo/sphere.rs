//! Points, arcs and rings on the sphere of directions.
//!
//! A position is kept as the outward normal of the ellipsoid there, a unit vector. The edge between two
//! positions is the cut of the ellipsoid with the plane through both and the centre, and the normals along
//! that cut lie in one plane, too. So every question of touching and containing is a question about arcs of
//! great circles, on which poles and the antimeridian are places like any other.

use std::f64::consts::PI;

/// A direction, or a difference of two.
pub(super) type Vector = [f64; 3];

/// How far apart two points may lie and still be one: 13 nanometres on the ground. Positions are rounded to
/// about a tenth of that when degrees become vectors.
pub(super) const TOLERANCE: f64 = 2e-15;

/// The directions from which the area of a wide ring is measured.
const OUTLOOKS: [Vector; 7] = [
    [0.36, 0.48, 0.8],
    [-0.8, 0.36, 0.48],
    [0.48, -0.8, 0.36],
    [-0.36, -0.48, 0.8],
    [0.8, -0.36, 0.48],
    [-0.48, 0.8, 0.36],
    [0.6, 0.64, -0.48],
];

pub(super) fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn cross(a: Vector, b: Vector) -> Vector {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

pub(super) fn add(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(super) fn sub(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn scale(a: Vector, by: f64) -> Vector {
    [a[0] * by, a[1] * by, a[2] * by]
}

pub(super) fn length(a: Vector) -> f64 {
    dot(a, a).sqrt()
}

/// The vector of length one with the same direction; zero stays zero.
pub(super) fn unit(a: Vector) -> Vector {
    let length = length(a);
    if length == 0.0 {
        a
    } else {
        scale(a, 1.0 / length)
    }
}

pub(super) fn same(a: Vector, b: Vector) -> bool {
    length(sub(a, b)) <= TOLERANCE
}

/// Sine and cosine of an angle in degrees, exact at its quarter turns.
fn sin_cos(degrees: f64) -> (f64, f64) {
    match degrees.abs() {
        90.0 => (degrees.signum(), 0.0),
        180.0 => (0.0, -1.0),
        _ => degrees.to_radians().sin_cos(),
    }
}

/// The outward normal at a longitude and a latitude in degrees.
pub(super) fn normal(longitude: f64, latitude: f64) -> Vector {
    let (height, radius) = sin_cos(latitude);
    let (sin, cos) = sin_cos(longitude);
    [radius * cos, radius * sin, height]
}

/// The shorter way between two points that are not opposite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub start: Vector,
    pub end: Vector,
    /// The normal of its plane, to its left; zero if both ends are one point.
    pub left: Vector,
    low: Vector,
    high: Vector,
}

/// What two arcs have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// Nothing.
    Apart,
    /// A point that is an end of one of them, or more.
    Touch,
    /// A point inside both.
    Cross,
}

impl Arc {
    pub(super) fn new(start: Vector, end: Vector) -> Arc {
        // Twice the cross product of the ends, without cancellation if they are close.
        let left = if same(start, end) {
            [0.0; 3]
        } else {
            unit(cross(sub(start, end), add(start, end)))
        };
        let chord = sub(end, start);
        // An arc rises over its chord by no more than this.
        let rise = dot(chord, chord) / 4.0 + 4.0 * TOLERANCE;
        Arc {
            start,
            end,
            left,
            low: std::array::from_fn(|axis| start[axis].min(end[axis]) - rise),
            high: std::array::from_fn(|axis| start[axis].max(end[axis]) + rise),
        }
    }

    pub(super) fn is_point(&self) -> bool {
        self.left == [0.0; 3]
    }

    /// The lowest value on the first axis, and the highest.
    pub(super) fn extent(&self) -> (f64, f64) {
        (self.low[0], self.high[0])
    }

    /// Whether it may have a point in common with the other one.
    pub(super) fn near(&self, other: &Arc) -> bool {
        (0..3).all(|axis| self.low[axis] <= other.high[axis] && other.low[axis] <= self.high[axis])
    }

    /// How far left of its plane a point lies.
    fn side(&self, point: Vector) -> f64 {
        dot(self.left, sub(point, self.start))
    }

    /// Where along the arc a point of its plane lies, as an angle from the start.
    pub(super) fn along(&self, point: Vector) -> f64 {
        let ahead = cross(self.left, self.start);
        dot(ahead, point).atan2(dot(self.start, point))
    }

    /// The point at an angle from the start.
    pub(super) fn at(&self, angle: f64) -> Vector {
        let (sin, cos) = angle.sin_cos();
        let ahead = cross(self.left, self.start);
        unit(add(scale(self.start, cos), scale(ahead, sin)))
    }

    /// Whether the nearest point of the whole circle lies on the arc.
    pub(super) fn faces(&self, point: Vector) -> bool {
        dot(cross(self.left, self.start), point) >= 0.0
            && dot(cross(self.end, self.left), point) >= 0.0
    }

    /// Whether a point lies on it.
    pub(super) fn holds(&self, point: Vector) -> bool {
        same(point, self.start)
            || same(point, self.end)
            || (!self.is_point() && self.side(point).abs() <= TOLERANCE && self.faces(point))
    }

    /// The square of the straight distance of a point.
    pub(super) fn distance2(&self, point: Vector) -> f64 {
        if !self.is_point() && self.faces(point) {
            let height = self.side(point).abs().min(1.0);
            return 2.0 * height * height / (1.0 + (1.0 - height * height).sqrt());
        }
        let (start, end) = (sub(point, self.start), sub(point, self.end));
        dot(start, start).min(dot(end, end))
    }

    pub(super) fn meet(&self, other: &Arc) -> Meeting {
        if !self.near(other) {
            return Meeting::Apart;
        }
        if other.holds(self.start)
            || other.holds(self.end)
            || self.holds(other.start)
            || self.holds(other.end)
        {
            return Meeting::Touch;
        }
        // Each separates the ends of the other, and on this half of the globe.
        let before = -self.side(other.start);
        let signs = [
            self.side(other.end),
            -other.side(self.end),
            other.side(self.start),
        ];
        if before != 0.0 && signs.iter().all(|sign| before * sign > 0.0) {
            Meeting::Cross
        } else {
            Meeting::Apart
        }
    }

    /// The stretch that lies on the other one, as angles from the start.
    pub(super) fn shared(&self, other: &Arc) -> Option<(f64, f64)> {
        let mut ends: Option<(f64, f64)> = None;
        let points = [
            (self.start, other.holds(self.start)),
            (self.end, other.holds(self.end)),
            (other.start, self.holds(other.start)),
            (other.end, self.holds(other.end)),
        ];
        for (point, _) in points.iter().filter(|(_, common)| *common) {
            let angle = self.along(*point);
            let (low, high) = ends.unwrap_or((angle, angle));
            ends = Some((low.min(angle), high.max(angle)));
        }
        ends.filter(|(low, high)| high - low > 4.0 * TOLERANCE)
    }
}

/// A closed way. What lies left of it is inside.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    pub points: Vec<Vector>,
    pub arcs: Vec<Arc>,
    /// The solid angle inside.
    area: f64,
}

impl Ring {
    /// The ring through the points, the last of which is the first again.
    pub(super) fn new(points: Vec<Vector>) -> Ring {
        let arcs = arcs(&points);
        let area = solid_angle(&arcs);
        Ring { points, arcs, area }
    }

    /// Whether a point that is not on the ring lies inside.
    pub(super) fn contains(&self, point: Vector) -> bool {
        // The sum is less by the whole globe for a point outside.
        turns(&self.arcs, point) > 2.0 * PI - self.area
    }

    pub(super) fn holds(&self, point: Vector) -> bool {
        self.arcs.iter().any(|arc| arc.holds(point))
    }
}

/// The arcs between neighbours that differ.
pub(super) fn arcs(points: &[Vector]) -> Vec<Arc> {
    points
        .windows(2)
        .filter_map(|pair| match pair {
            [a, b] if !same(*a, *b) => Some(Arc::new(*a, *b)),
            _ => None,
        })
        .collect()
}

/// The whole globe less the inside if the point is inside, the negative inside otherwise: what the triangles
/// between the arcs and the opposite point add up to.
fn turns(arcs: &[Arc], point: Vector) -> f64 {
    arcs.iter()
        .map(|arc| {
            let (a, b) = (sub(arc.start, point), sub(arc.end, point));
            2.0 * dot(point, cross(a, b)).atan2(dot(a, b))
        })
        .sum()
}

fn solid_angle(arcs: &[Arc]) -> f64 {
    let Some(first) = arcs.first().map(|arc| arc.start) else {
        return 0.0;
    };
    // A small ring has to be measured from close by: its area may be far below the rounding of the globe's.
    let area = if arcs.iter().all(|arc| dot(arc.start, first) > 0.1) {
        arcs.iter()
            .map(|arc| {
                let (a, b) = (sub(arc.start, first), sub(arc.end, first));
                let sum = add(add(first, arc.start), arc.end);
                2.0 * dot(first, cross(a, b)).atan2((dot(sum, sum) - 1.0) / 2.0)
            })
            .sum()
    } else {
        let clearance = |outlook: &Vector| {
            arcs.iter()
                .map(|arc| arc.distance2(*outlook))
                .fold(4.0, f64::min)
        };
        let outlook = OUTLOOKS
            .into_iter()
            .max_by(|a, b| clearance(a).total_cmp(&clearance(b)));
        -turns(arcs, outlook.unwrap_or(first))
    };
    area.rem_euclid(4.0 * PI)
}
