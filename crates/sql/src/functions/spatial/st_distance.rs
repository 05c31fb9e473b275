//! `ST_DISTANCE`: the distance of two geometries in metres.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::geo::{Geometry, measure};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let a = Geometry::read(args::any(args, 0)).ok()?;
    let b = Geometry::read(args::any(args, 1)).ok()?;
    args::finite(measure::distance(&a, &b)?)
}
