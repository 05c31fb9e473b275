//! `ST_AREA`: the area of a geometry in square metres.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::geo::{Geometry, measure};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    args::finite(measure::area(&Geometry::read(args::any(args, 0)).ok()?))
}
