//! `ARRAY_MEDIAN`: the median of the numbers in an array.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

pub(crate) fn call(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    let mut numbers = items
        .iter()
        .map(Value::as_f64)
        .collect::<Option<Vec<f64>>>()?;
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    let upper = *numbers.get(middle)?;
    if numbers.len() % 2 == 1 {
        return args::finite(upper);
    }
    let lower = *numbers.get(middle.checked_sub(1)?)?;
    args::finite((lower + upper) / 2.0)
}
