//! `ARRAY_MEDIAN`: the median of the numbers in an array.

use lapsedb_value::Value;
use lapsedb_value::number::midpoint;
use lapsedb_value::order::compare_sql;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    if !items.iter().all(Value::is_number) {
        return None;
    }
    let mut numbers: Vec<&Value> = items.iter().collect();
    numbers.sort_by(|a, b| compare_sql(a, b));
    let middle = numbers.len() / 2;
    let upper = *numbers.get(middle)?;
    let lower = match numbers.len() % 2 {
        1 => upper,
        _ => *numbers.get(middle.checked_sub(1)?)?,
    };
    midpoint(lower, upper)
}
