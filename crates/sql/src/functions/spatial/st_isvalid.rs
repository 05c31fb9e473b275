//! `ST_ISVALID`: whether a value is a valid GeoJSON geometry.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::geo::Geometry;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    Some(Value::Bool(Geometry::read(args::defined(args, 0)?).is_ok()))
}
