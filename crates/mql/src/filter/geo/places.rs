//! What a filter says about places, for an index over them.

use super::grid::{Grid, Rect};
use super::near::Unit;
use super::region::Region;
use super::shape::Point;
use super::{EARTH_RADIUS_METRES, GeoTest, Near, extent};

/// A condition on the place at a path that every document which a filter finds fulfils.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub(crate) path: &'a str,
    pub(crate) asked: Asked<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked<'a> {
    Test(&'a GeoTest),
    Near(&'a Near),
}

impl<'a> Place<'a> {
    /// The path.
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// The ranges of cells, both ends inclusive, that hold every place which may fulfil it; nothing, if that is all of them.
    pub fn ranges(&self, grid: &Grid, spherical: bool) -> Option<Vec<(i64, i64)>> {
        let rects = match self.asked {
            Asked::Near(near) => near_rects(near),
            Asked::Test(GeoTest::Intersects(shape)) => Some(extent::of_shape(shape)),
            Asked::Test(GeoTest::Within(region)) => region_rects(region, spherical),
        };
        rects.map(|rects| grid.ranges(&rects))
    }
}

fn near_rects(near: &Near) -> Option<Vec<Rect>> {
    if !near.max.is_finite() {
        return None;
    }
    match near.unit {
        Unit::Metres => Some(extent::of_cap(near.middle, near.max / EARTH_RADIUS_METRES)),
        Unit::Radians => Some(extent::of_cap(near.middle, near.max)),
        Unit::Flat => Some(vec![around(near.middle, near.max)]),
    }
}

fn region_rects(region: &Region, spherical: bool) -> Option<Vec<Rect>> {
    let flat = |points: &[Point]| {
        let fold =
            |pick: fn(&Point) -> f64, f: fn(f64, f64) -> f64| points.iter().map(pick).reduce(f);
        Some(vec![Rect {
            low: Point {
                x: fold(|p| p.x, f64::min)?,
                y: fold(|p| p.y, f64::min)?,
            },
            high: Point {
                x: fold(|p| p.x, f64::max)?,
                y: fold(|p| p.y, f64::max)?,
            },
        }])
    };
    match region {
        Region::Geometry(area) if spherical => Some(extent::of_shape(area)),
        Region::CenterSphere(middle, radius) => Some(extent::of_cap(*middle, *radius)),
        Region::Geometry(_) => None,
        Region::Box(a, b) => flat(&[*a, *b]),
        Region::Polygon(ring) => flat(ring),
        Region::Center(middle, radius) => Some(vec![around(*middle, *radius)]),
    }
}

fn around(middle: Point, radius: f64) -> Rect {
    Rect {
        low: Point {
            x: middle.x - radius,
            y: middle.y - radius,
        },
        high: Point {
            x: middle.x + radius,
            y: middle.y + radius,
        },
    }
}
