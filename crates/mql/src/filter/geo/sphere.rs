//! Geometry on the sphere, with vectors of length one.

use super::shape::{Point, Polygon, Shape};

/// Angles in radians below which two places are one: a hundredth of a millimetre.
const SAME_PLACE: f64 = 1e-12;

/// A direction from the middle of the sphere.
#[derive(Clone, Copy)]
struct Vector {
    x: f64,
    y: f64,
    z: f64,
}

impl Vector {
    fn of(point: Point) -> Vector {
        let (longitude, latitude) = (point.x.to_radians(), point.y.to_radians());
        Vector {
            x: latitude.cos() * longitude.cos(),
            y: latitude.cos() * longitude.sin(),
            z: latitude.sin(),
        }
    }

    fn dot(self, other: Vector) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    fn cross(self, other: Vector) -> Vector {
        Vector {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    fn plus(self, other: Vector) -> Vector {
        Vector {
            x: self.x + other.x,
            y: self.y + other.y,
            z: self.z + other.z,
        }
    }

    fn angle(self, other: Vector) -> f64 {
        self.cross(other).length().atan2(self.dot(other))
    }
}

/// The angle between two places, in radians.
pub(super) fn angle(a: Point, b: Point) -> f64 {
    Vector::of(a).angle(Vector::of(b))
}

/// The angle between a place and the nearest of a shape; none from inside an area.
pub(super) fn distance(point: Point, shape: &Shape) -> Option<f64> {
    if shape
        .polygons
        .iter()
        .any(|polygon| in_polygon(polygon, point))
    {
        return Some(0.0);
    }
    let points = shape.points.iter().map(|other| angle(point, *other));
    let edges = shape.edges().into_iter().map(|edge| to_edge(point, edge));
    points.chain(edges).min_by(f64::total_cmp)
}

/// The angle between a place and the nearest of a stretch.
fn to_edge(point: Point, (a, b): (Point, Point)) -> f64 {
    let ends = angle(point, a).min(angle(point, b));
    let [place, start, end] = [point, a, b].map(Vector::of);
    let plane = start.cross(end);
    let length = plane.length();
    if length <= SAME_PLACE {
        return ends;
    }
    // The nearest place of the whole circle lies on the stretch if it is on the inner side of both of its ends.
    let inner = plane.cross(start).dot(place) >= 0.0 && end.cross(plane).dot(place) >= 0.0;
    match inner {
        true => (plane.dot(place).abs() / length).min(1.0).asin().min(ends),
        false => ends,
    }
}

/// The least and the greatest latitude of a stretch: its circle may lead nearer to a pole than both of its ends.
pub(super) fn latitudes((a, b): (Point, Point)) -> (f64, f64) {
    let (mut low, mut high) = (a.y.min(b.y), a.y.max(b.y));
    let (start, end) = (Vector::of(a), Vector::of(b));
    let plane = start.cross(end);
    let length = plane.length();
    if length > SAME_PLACE {
        let highest = (plane.x.hypot(plane.y) / length)
            .min(1.0)
            .asin()
            .to_degrees();
        let up = Vector {
            x: -plane.x * plane.z,
            y: -plane.y * plane.z,
            z: plane.x * plane.x + plane.y * plane.y,
        };
        let on_it = |place: Vector| {
            plane.cross(start).dot(place) >= 0.0 && end.cross(plane).dot(place) >= 0.0
        };
        if on_it(up) {
            high = high.max(highest);
        }
        let down = Vector {
            x: -up.x,
            y: -up.y,
            z: -up.z,
        };
        if on_it(down) {
            low = low.min(-highest);
        }
    }
    (low, high)
}

/// Whether two stretches of a closed line cross.
pub(super) fn crosses_itself(ring: &[Point]) -> bool {
    let edges: Vec<_> = ring
        .iter()
        .copied()
        .zip(ring.iter().copied().cycle().skip(1))
        .collect();
    let pairs = edges.iter().enumerate();
    pairs
        .flat_map(|(at, one)| edges.iter().skip(at + 1).map(move |other| (one, other)))
        .any(|(one, other)| cross(*one, *other))
}

/// Whether a closed line lies in another one.
pub(super) fn encloses(outside: &[Point], inside: &[Point]) -> bool {
    inside
        .iter()
        .all(|point| in_ring(outside, *point) || on_ring(outside, *point))
}

/// Whether the whole shape lies in one of the areas.
pub(super) fn within(area: &Shape, shape: &Shape) -> bool {
    let borders = area.edges();
    let crossed = shape
        .edges()
        .iter()
        .any(|edge| borders.iter().any(|border| cross(*edge, *border)));
    let inside = |point: Point| {
        area.polygons
            .iter()
            .any(|polygon| in_polygon(polygon, point))
    };
    !crossed && shape.vertices().all(inside)
}

/// Whether two shapes have a place in common.
pub(super) fn intersects(a: &Shape, b: &Shape) -> bool {
    let (edges_a, edges_b) = (a.edges(), b.edges());
    let crossing = edges_a.iter().any(|edge| {
        edges_b
            .iter()
            .any(|other| cross(*edge, *other) || touch(*edge, *other))
    });
    let in_area = |areas: &Shape, shape: &Shape| {
        shape.vertices().any(|point| {
            areas
                .polygons
                .iter()
                .any(|polygon| in_polygon(polygon, point))
        })
    };
    let on_line = |edges: &[(Point, Point)], shape: &Shape| {
        shape
            .points
            .iter()
            .any(|point| edges.iter().any(|edge| on_edge(*edge, *point)))
    };
    let same = || {
        a.points.iter().any(|one| {
            b.points
                .iter()
                .any(|other| angle(*one, *other) <= SAME_PLACE)
        })
    };
    crossing
        || in_area(a, b)
        || in_area(b, a)
        || on_line(&edges_a, b)
        || on_line(&edges_b, a)
        || same()
}

/// Inside the first ring and not inside a hole; the border belongs to the area.
pub(super) fn in_polygon(polygon: &Polygon, point: Point) -> bool {
    let Some((outside, holes)) = polygon.split_first() else {
        return false;
    };
    on_ring(outside, point)
        || in_ring(outside, point)
            && !holes
                .iter()
                .any(|hole| in_ring(hole, point) && !on_ring(hole, point))
}

fn on_ring(ring: &[Point], point: Point) -> bool {
    let mut edges = ring.iter().zip(ring.iter().cycle().skip(1));
    edges.any(|(a, b)| on_edge((*a, *b), point))
}

fn on_edge((a, b): (Point, Point), point: Point) -> bool {
    let along = angle(a, point) + angle(point, b) - angle(a, b);
    along.abs() <= SAME_PLACE
}

/// Adds up how far the view turns that follows the ring from the point: once around if it is inside. The far side of the
/// sphere sees the same, but the ring's middle is not on the point's side there.
fn in_ring(ring: &[Point], point: Point) -> bool {
    let eye = Vector::of(point);
    let middle = ring.iter().map(|vertex| Vector::of(*vertex)).fold(
        Vector {
            x: 0.0,
            y: 0.0,
            z: 0.0,
        },
        Vector::plus,
    );
    if eye.dot(middle) <= 0.0 {
        return false;
    }
    let turn: f64 = ring
        .iter()
        .zip(ring.iter().cycle().skip(1))
        .map(|(a, b)| {
            let (a, b) = (eye.cross(Vector::of(*a)), eye.cross(Vector::of(*b)));
            eye.dot(a.cross(b)).atan2(a.dot(b))
        })
        .sum();
    turn.abs() > std::f64::consts::PI
}

/// Whether two stretches cross at a place that is an end of neither.
fn cross((a, b): (Point, Point), (c, d): (Point, Point)) -> bool {
    let [a, b, c, d] = [a, b, c, d].map(Vector::of);
    let (ab, cd) = (a.cross(b), c.cross(d));
    let side = |plane: Vector, place: Vector| {
        let distance = plane.dot(place);
        match distance.abs() <= SAME_PLACE {
            true => 0.0,
            false => distance.signum(),
        }
    };
    let (sc, sd, sa, sb) = (side(ab, c), side(ab, d), side(cd, a), side(cd, b));
    // The last condition tells the near side of the sphere from the far one.
    sc * sd < 0.0 && sa * sb < 0.0 && sa * sc < 0.0
}

/// Whether an end of one stretch lies on the other.
fn touch(edge: (Point, Point), other: (Point, Point)) -> bool {
    on_edge(edge, other.0)
        || on_edge(edge, other.1)
        || on_edge(other, edge.0)
        || on_edge(other, edge.1)
}
