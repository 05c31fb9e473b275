//! `ST_ISVALIDDETAILED`: whether a value is a valid GeoJSON geometry, and why not.

use lapsedb_value::{Object, Value};

use crate::functions::args::{self, Args};
use crate::functions::geo::Geometry;

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let mut answer = Object::with_capacity(2);
    match Geometry::read(args::defined(args, 0)?) {
        Ok(_) => answer.push("valid", true),
        Err(reason) => {
            answer.push("valid", false);
            answer.push("reason", reason);
        }
    }
    Some(Value::Object(answer))
}
