//! `DateTimePart`: a part of a time.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};
use crate::functions::civil::{DateTime, Part};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let name = args::text(args, 0)?;
    let time = DateTime::parse(args::text(args, 1)?)?;
    if ["weekday", "dw", "w"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
    {
        return Some(Value::number(time.weekday() as f64));
    }
    Some(Value::number(time.part(Part::from_name(name)?) as f64))
}
