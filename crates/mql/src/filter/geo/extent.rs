//! The rectangles of longitude and latitude that shapes on the sphere lie in.

use super::grid::Rect;
use super::shape::{Point, Shape};
use super::sphere;

/// Degrees by which rectangles are larger than they must be, for what computing loses.
const SLACK: f64 = 1e-7;

/// Those of a whole shape.
pub(super) fn of_shape(shape: &Shape) -> Vec<Rect> {
    let mut rects: Vec<Rect> = shape
        .points
        .iter()
        .flat_map(|point| of_line(&[*point]))
        .collect();
    rects.extend(shape.lines.iter().flat_map(|line| of_line(line)));
    for polygon in &shape.polygons {
        let Some(outside) = polygon.first() else {
            continue;
        };
        let closed: Vec<Point> = outside.iter().chain(outside.first()).copied().collect();
        let mut own = of_line(&closed);
        for pole in [90.0, -90.0] {
            if sphere::in_polygon(polygon, Point { x: 0.0, y: pole }) {
                own = vec![up_to_pole(&own, pole)];
            }
        }
        rects.extend(own);
    }
    rects
}

/// All longitudes, from the latitudes of the rectangles up to a pole.
fn up_to_pole(rects: &[Rect], pole: f64) -> Rect {
    let lowest = rects.iter().map(|rect| rect.low.y).fold(pole, f64::min);
    let highest = rects.iter().map(|rect| rect.high.y).fold(pole, f64::max);
    Rect {
        low: Point {
            x: -180.0,
            y: lowest,
        },
        high: Point {
            x: 180.0,
            y: highest,
        },
    }
}

/// Those of a line over great circles.
fn of_line(line: &[Point]) -> Vec<Rect> {
    let Some(first) = line.first() else {
        return Vec::new();
    };
    let (mut west, mut east, mut at) = (first.x, first.x, first.x);
    let (mut south, mut north) = (first.y, first.y);
    for (a, b) in line.iter().zip(line.iter().skip(1)) {
        // The shorter way around.
        let step = (b.x - a.x + 540.0).rem_euclid(360.0) - 180.0;
        at += step;
        west = west.min(at);
        east = east.max(at);
        let (low, high) = sphere::latitudes((*a, *b));
        south = south.min(low);
        north = north.max(high);
    }
    between(west, east, south, north)
}

/// Those of everything within an angle of a point, in radians.
pub(super) fn of_cap(middle: Point, angle: f64) -> Vec<Rect> {
    let degrees = angle.to_degrees();
    let (south, north) = (middle.y - degrees, middle.y + degrees);
    if south <= -90.0 || north >= 90.0 {
        return between(-180.0, 180.0, south, north);
    }
    let reach = (angle.sin() / middle.y.to_radians().cos())
        .clamp(-1.0, 1.0)
        .asin()
        .to_degrees();
    between(middle.x - reach, middle.x + reach, south, north)
}

/// A rectangle whose longitudes may lead over the edge of the map: then two.
fn between(west: f64, east: f64, south: f64, north: f64) -> Vec<Rect> {
    let (south, north) = ((south - SLACK).max(-90.0), (north + SLACK).min(90.0));
    let (west, east) = (west - SLACK, east + SLACK);
    let rect = |west: f64, east: f64| Rect {
        low: Point {
            x: west.max(-180.0),
            y: south,
        },
        high: Point {
            x: east.min(180.0),
            y: north,
        },
    };
    let width = east - west;
    if width >= 360.0 || width.is_nan() {
        return vec![rect(-180.0, 180.0)];
    }
    // Both ends of the map are one meridian: what touches one is found at the other too.
    let mut rects = vec![rect(west.clamp(-180.0, 180.0), east.clamp(-180.0, 180.0))];
    if west <= -180.0 {
        rects.push(rect(west + 360.0, 180.0));
    }
    if east >= 180.0 {
        rects.push(rect(-180.0, east - 360.0));
    }
    rects
}
