use lapsedb_value::{Value, json};

use super::ellipsoid::{EARTH, ring_area};
use super::{Geometry, distance, read, relate};

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }
}

fn value(kind: &str, coordinates: &str) -> Value {
    let text = format!("{{\"type\":\"{kind}\",\"coordinates\":{coordinates}}}");
    json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap()
}

fn read(kind: &str, coordinates: &str) -> Geometry {
    read::geometry(&value(kind, coordinates))
        .unwrap_or_else(|reason| panic!("{kind} {coordinates}: {reason}"))
}

fn list(points: &[(f64, f64)]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("[{x},{y}]")).collect();
    format!("[{}]", points.join(","))
}

fn polygon(points: &[(f64, f64)]) -> Geometry {
    read("Polygon", &format!("[{}]", list(points)))
}

fn line(points: &[(f64, f64)]) -> Geometry {
    read("LineString", &list(points))
}

fn point(x: f64, y: f64) -> Geometry {
    read("Point", &format!("[{x},{y}]"))
}

/// A star around a place, which may be a pole or lie on the antimeridian, against the clock.
fn star(numbers: &mut Numbers, center: (f64, f64), size: f64) -> Vec<(f64, f64)> {
    let corners = 3 + (numbers.next() * 6.0) as usize;
    let (lon, lat) = (center.0.to_radians(), center.1.to_radians());
    let mut points: Vec<(f64, f64)> = (0..corners)
        .map(|corner| {
            let turn = std::f64::consts::TAU * corner as f64 / corners as f64;
            let far = (size * numbers.between(0.3, 1.0)).to_radians();
            let (east, north) = (far.sin() * turn.cos(), far.sin() * turn.sin());
            let up = far.cos();
            let x = up * lat.cos() - north * lat.sin();
            let z = up * lat.sin() + north * lat.cos();
            let longitude = (lon + east.atan2(x)).to_degrees();
            let wrapped = (longitude + 540.0).rem_euclid(360.0) - 180.0;
            (wrapped, z.clamp(-1.0, 1.0).asin().to_degrees())
        })
        .collect();
    points.push(points[0]);
    points
}

const CENTERS: [(f64, f64); 8] = [
    (0.0, 0.0),
    (180.0, 0.0),
    (-179.9, 60.0),
    (10.0, 90.0),
    (0.0, -90.0),
    (45.0, 89.0),
    (-75.3, -44.1),
    (120.0, 12.0),
];

fn area(geometry: &Geometry) -> f64 {
    ring_area(&geometry.polygons[0][0])
}

fn near(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() <= share * a.abs().max(b.abs()).max(1.0)
}

#[test]
fn distances_and_areas_are_those_of_the_service() {
    let near = |a: f64, b: f64| assert!(near(a, b, 1e-14), "{a} is not {b}");
    let ways = [
        ((0.0, 0.0), (1.0, 1.0), 156_899.567_965_051_1),
        ((0.0, 0.0), (0.0, 1.0), 110_574.388_493_405_99),
        ((0.0, 0.0), (0.0, 90.0), 10_001_965.670_183_11),
        ((0.0, 0.0), (180.0, 0.0), 20_003_931.458_240_643),
        ((-122.35, 47.62), (2.35, 48.86), 8_064_123.530_150_785),
        ((139.7, 35.7), (-74.0, 40.7), 10_872_930.202_557_612),
    ];
    for (a, b, metres) in ways {
        near(
            distance::between(&point(a.0, a.1), &point(b.0, b.1)),
            metres,
        );
    }
    let square =
        |w: f64, s: f64, e: f64, n: f64| area(&polygon(&[(w, s), (e, s), (e, n), (w, n), (w, s)]));
    near(square(0.0, 0.0, 2.0, 2.0), 49_231_550_675.211_174);
    near(square(-10.0, 40.0, 10.0, 55.0), 2_489_995_392_880.062);
    near(square(0.0, 89.0, 90.0, 89.5), 4_679_122_332.091_554);
    let around = |lat: f64| {
        area(&polygon(&[
            (0.0, lat),
            (90.0, lat),
            (180.0, lat),
            (-90.0, lat),
            (0.0, lat),
        ]))
    };
    near(around(0.0), 255_032_806_403_092.7);
    near(around(60.0), 23_453_971_598_496.586);
    near(around(89.0), 24_955_024_856.362_816);
}

#[test]
fn a_ring_and_its_reverse_make_up_the_earth() {
    let mut numbers = Numbers(1);
    for center in CENTERS {
        for size in [0.001, 0.1, 2.0, 30.0, 80.0] {
            let mut points = star(&mut numbers, center, size);
            let inside = area(&polygon(&points));
            points.reverse();
            let outside = area(&polygon(&points));
            // The rule of the service is that exact over edges, and over the way to a pole.
            let off = (inside + outside - EARTH).abs();
            assert!(off < 1e-3 * inside + 1.0, "{off} {inside} {points:?}");
            assert!(inside < outside, "{points:?}");
        }
    }
}

#[test]
fn the_order_of_arguments_does_not_matter() {
    let mut numbers = Numbers(2);
    for center in CENTERS {
        for _ in 0..8 {
            let shapes = some_shapes(&mut numbers, center);
            for a in &shapes {
                for b in &shapes {
                    assert_eq!(relate::intersects(a, b), relate::intersects(b, a));
                    let (there, back) = (distance::between(a, b), distance::between(b, a));
                    assert!(near(there, back, 1e-12), "{there} {back} {a:?} {b:?}");
                }
            }
        }
    }
}

#[test]
fn geometries_intersect_where_their_distance_is_zero() {
    let mut numbers = Numbers(3);
    for center in CENTERS {
        for _ in 0..8 {
            let shapes = some_shapes(&mut numbers, center);
            for a in &shapes {
                for b in &shapes {
                    let zero = distance::between(a, b) == 0.0;
                    assert_eq!(relate::intersects(a, b), zero, "{a:?} {b:?}");
                    if relate::within(a, b) == Some(true) {
                        assert!(zero, "{a:?} within {b:?}");
                    }
                }
                assert_eq!(relate::within(a, a), Some(true), "{a:?}");
            }
        }
    }
}

/// A point, a line, and two polygons close by, one of them clockwise.
fn some_shapes(numbers: &mut Numbers, center: (f64, f64)) -> Vec<Geometry> {
    let size = numbers.between(0.01, 20.0);
    let ring = star(numbers, center, size);
    let larger = size * numbers.between(0.2, 2.0);
    let mut other = star(numbers, center, larger);
    let ends = star(numbers, center, size);
    let corner = ring[1];
    let mut shapes = vec![
        polygon(&ring),
        polygon(&other),
        line(&ends[..3]),
        point(center.0, center.1),
        point(corner.0, corner.1),
    ];
    other.reverse();
    shapes.push(polygon(&other));
    shapes
}

#[test]
fn a_smaller_copy_lies_within_and_its_outside_does_not() {
    let mut numbers = Numbers(4);
    for center in CENTERS {
        for size in [0.01, 1.0, 25.0] {
            let seed = numbers.0;
            let outer = star(&mut numbers, center, size);
            let mut inner = star(&mut Numbers(seed), center, size * 0.5);
            let (a, b) = (polygon(&outer), polygon(&inner));
            assert_eq!(relate::within(&b, &a), Some(true), "{inner:?} in {outer:?}");
            assert_eq!(relate::within(&a, &b), Some(false));
            let middle = point(center.0, center.1);
            assert_eq!(relate::within(&middle, &b), Some(true));
            inner.reverse();
            let rest = polygon(&inner);
            assert!(!relate::intersects(&middle, &rest));
            assert!(distance::between(&middle, &rest) > 0.0);
            assert_eq!(relate::within(&rest, &a), Some(false));
            assert_eq!(relate::within(&b, &rest), Some(false));
            assert!(relate::intersects(&b, &rest));
            let corner = point(outer[0].0, outer[0].1);
            assert_eq!(relate::within(&corner, &rest), Some(true));
            assert_eq!(relate::within(&corner, &a), Some(false));
            assert!(relate::intersects(&corner, &a));
        }
    }
}

#[test]
fn every_pair_of_small_lines_meets_where_a_grid_says() {
    // Along meridians and the equator edges are straight in degrees, too.
    let grid: Vec<(f64, f64)> = (0..3)
        .flat_map(|x| (0..3).map(move |y| (f64::from(x) - 1.0, f64::from(y) - 1.0)))
        .collect();
    let straight =
        |a: (f64, f64), b: (f64, f64)| a != b && (a.0 == b.0 || (a.1 == 0.0 && b.1 == 0.0));
    for a in &grid {
        for b in grid.iter().filter(|b| straight(*a, **b)) {
            for p in &grid {
                let on = (p.0 - a.0) * (b.1 - a.1) == (p.1 - a.1) * (b.0 - a.0)
                    && p.0 >= a.0.min(b.0)
                    && p.0 <= a.0.max(b.0)
                    && p.1 >= a.1.min(b.1)
                    && p.1 <= a.1.max(b.1);
                let (line, place) = (line(&[*a, *b]), point(p.0, p.1));
                assert_eq!(relate::intersects(&place, &line), on, "{a:?} {b:?} {p:?}");
                let inner = on && p != a && p != b;
                assert_eq!(
                    relate::within(&place, &line),
                    Some(inner),
                    "{a:?} {b:?} {p:?}"
                );
            }
        }
    }
}

#[test]
fn holes_and_shared_borders_count() {
    let outer = "[[0,0],[4,0],[4,4],[0,4],[0,0]]";
    let hole = "[[1,1],[1,3],[3,3],[3,1],[1,1]]";
    let whole = read("Polygon", &format!("[{outer}]"));
    let ring = read("Polygon", &format!("[{outer},{hole}]"));
    let plug = polygon(&[(1.0, 1.0), (3.0, 1.0), (3.0, 3.0), (1.0, 3.0), (1.0, 1.0)]);
    assert_eq!(relate::within(&ring, &whole), Some(true));
    assert_eq!(relate::within(&whole, &ring), Some(false));
    assert_eq!(relate::within(&plug, &ring), Some(false));
    assert!(relate::intersects(&plug, &ring));
    let smaller = polygon(&[(1.5, 1.5), (2.5, 1.5), (2.5, 2.5), (1.5, 2.5), (1.5, 1.5)]);
    assert!(!relate::intersects(&smaller, &ring));
    let border = line(&[(0.0, 0.0), (4.0, 0.0)]);
    assert!(relate::intersects(&border, &whole));
    assert_eq!(relate::within(&border, &whole), Some(false));
    let edge = polygon(&[(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0), (0.0, 0.0)]);
    assert_eq!(relate::within(&edge, &whole), Some(true));
    let neighbour = polygon(&[(4.0, 0.0), (6.0, 0.0), (6.0, 4.0), (4.0, 4.0), (4.0, 0.0)]);
    assert!(relate::intersects(&neighbour, &whole));
    assert_eq!(relate::within(&neighbour, &whole), Some(false));
}

#[test]
fn rings_that_cross_or_disagree_are_invalid() {
    let cases = [
        ("Polygon", "[[[0,0],[2,2],[2,0],[0,2],[0,0]]]", false),
        ("Polygon", "[[[0,0],[2,0],[0,0],[0,0]]]", false),
        (
            "Polygon",
            "[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[3,1],[3,3],[1,3],[1,1]]]",
            false,
        ),
        (
            "Polygon",
            "[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[1,3],[3,3],[3,1],[1,1]]]",
            true,
        ),
        (
            "Polygon",
            "[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[5,5],[5,6],[6,6],[5,5]]]",
            false,
        ),
        ("Polygon", "[[[0,0],[2,0],[2,0],[2,2],[0,2],[0,0]]]", true),
        ("LineString", "[[0,0],[2,0],[1,0]]", false),
        ("LineString", "[[0,0],[2,2],[2,0],[0,2]]", true),
        ("LineString", "[[0,0],[0,0]]", false),
        ("LineString", "[[0,0],[180,0]]", false),
        ("LineString", "[[0,90],[10,90]]", false),
        ("LineString", "[[180,0],[-180,10]]", true),
        (
            "MultiPolygon",
            "[[[[0,0],[1,0],[1,1],[0,0]]],[[[5,5],[6,5],[6,6],[5,5]]]]",
            true,
        ),
        (
            "MultiPolygon",
            "[[[[0,0],[9,0],[9,9],[0,0]]],[[[5,1],[6,1],[6,2],[5,1]]]]",
            false,
        ),
        ("MultiPolygon", "[]", false),
        ("Polygon", "[]", false),
        ("Point", "[]", false),
        ("Point", "[1,2,3]", true),
        ("Point", "[1,2,\"3\"]", false),
    ];
    for (kind, coordinates, valid) in cases {
        let read = read::geometry(&value(kind, coordinates));
        assert_eq!(read.is_ok(), valid, "{kind} {coordinates} {:?}", read.err());
    }
}

#[test]
fn a_great_many_positions_are_refused_and_the_most_are_not() {
    let ring = |corners: usize| {
        let mut points: Vec<(f64, f64)> = (0..corners)
            .map(|corner| {
                let turn = std::f64::consts::TAU * corner as f64 / corners as f64;
                (10.0 * turn.cos(), 10.0 * turn.sin())
            })
            .collect();
        points.push(points[0]);
        value("Polygon", &format!("[{}]", list(&points)))
    };
    assert!(read::geometry(&ring(crate::limits::GEOMETRY_POINTS_MAX)).is_err());
    let most = read::geometry(&ring(crate::limits::GEOMETRY_POINTS_MAX - 1)).unwrap();
    assert_eq!(relate::within(&most, &most), Some(true));
    assert!(distance::between(&most, &point(50.0, 50.0)) > 0.0);
}
