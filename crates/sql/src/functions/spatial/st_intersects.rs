//! `ST_INTERSECTS`: whether two geometries share a point.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::geo::{Geometry, planar};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let a = Geometry::read(args::any(args, 0)).ok()?;
    let b = Geometry::read(args::any(args, 1)).ok()?;
    Some(Value::Bool(planar::intersects(&a, &b)))
}
