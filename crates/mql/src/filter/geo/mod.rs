//! Places: `$geoWithin`, `$geoIntersects`, `$near` and `$nearSphere`.
//!
//! GeoJSON lies on a sphere of 6,378,100 m, its lines are parts of great circles, and its areas are smaller than half of the
//! sphere. Pairs of numbers with `$box`, `$polygon` and `$center` lie in a plane.

mod extent;
mod flat;
mod grid;
mod keys;
mod near;
mod places;
mod region;
mod shape;
mod sphere;

pub use grid::Grid;
pub use keys::{plane_cells, sphere_cells};
pub use near::Near;
pub(crate) use places::Asked;
pub use places::Place;
pub(crate) use region::Region;
pub(crate) use shape::Shape;

use lapsedb_value::{Object, Value};

use crate::show::show_object;
use crate::{MqlError, Result};

/// The radius that distances are measured with, in metres.
pub const EARTH_RADIUS_METRES: f64 = 6_378_100.0;

/// What a filter asks of a place.
#[derive(Clone, Debug)]
pub(crate) enum GeoTest {
    Within(Region),
    Intersects(Shape),
}

impl GeoTest {
    pub(crate) fn within(argument: &Value) -> Result<GeoTest> {
        Region::parse(object(argument)?).map(GeoTest::Within)
    }

    pub(crate) fn intersects(argument: &Value) -> Result<GeoTest> {
        let spec = object(argument)?;
        match spec.get("$geometry") {
            Some(Value::Object(geometry)) => {
                Shape::parse_geojson(geometry).map(GeoTest::Intersects)
            }
            _ => Err(MqlError::bad_value(format!(
                "$geoIntersect not supported with provided geometry: {{ $geoIntersects: {} }}",
                show_object(spec)
            ))),
        }
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        let Some(shape) = Shape::of_value(value) else {
            return false;
        };
        match self {
            GeoTest::Within(region) => region.contains(&shape),
            GeoTest::Intersects(_) if !shape.is_on_sphere() => false,
            GeoTest::Intersects(other) => sphere::intersects(other, &shape),
        }
    }
}

fn object(argument: &Value) -> Result<&Object> {
    argument
        .as_object()
        .ok_or_else(|| MqlError::bad_value("geometry must be an object"))
}
