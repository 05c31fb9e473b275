//! `ST_WITHIN`: whether the first geometry lies within the second.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::geo::{Geometry, planar};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let a = Geometry::read(args::any(args, 0)).ok()?;
    let b = Geometry::read(args::any(args, 1)).ok()?;
    Some(Value::Bool(planar::within(&a, &b)))
}
