//! One value out of all elements of an array. They are undefined for an array without elements.

use std::cmp::Ordering;

use lapsedb_value::Value;
use lapsedb_value::number::{Sum, midpoint};
use lapsedb_value::order::compare_sql;

use crate::functions::args::{self, Args};

/// `ARRAY_AVG`: the average of the numbers in an array.
pub(crate) fn avg(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    sum_of(items)?.divided_by(items.len() as u64)
}

/// `ARRAY_MAX`: the largest element of an array, none of which may be an array or object.
pub(crate) fn max(args: &Args<'_>) -> Option<Value> {
    extreme(args, Ordering::Greater)
}

/// `ARRAY_MEDIAN`: the median of the numbers in an array.
pub(crate) fn median(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    if !items.iter().all(Value::is_number) {
        return None;
    }
    let mut numbers: Vec<&Value> = items.iter().collect();
    numbers.sort_by(|a, b| compare_sql(a, b));
    let middle = numbers.len() / 2;
    let upper = *numbers.get(middle)?;
    if numbers.len() % 2 == 1 {
        return Some(upper.clone());
    }
    midpoint(numbers.get(middle.checked_sub(1)?)?, upper)
}

/// `ARRAY_MIN`: the smallest element of an array, none of which may be an array or object.
pub(crate) fn min(args: &Args<'_>) -> Option<Value> {
    extreme(args, Ordering::Less)
}

/// `ARRAY_SUM`: the sum of the numbers in an array.
pub(crate) fn sum(args: &Args<'_>) -> Option<Value> {
    let items = args::array(args, 0)?;
    let sum = sum_of(items)?.total();
    (!items.is_empty()).then_some(sum)
}

fn sum_of(items: &[Value]) -> Option<Sum> {
    items.iter().try_fold(Sum::ZERO, Sum::plus)
}

fn extreme(args: &Args<'_>, wanted: Ordering) -> Option<Value> {
    let mut best: Option<&Value> = None;
    for item in args::array(args, 0)? {
        if matches!(item, Value::Array(_) | Value::Object(_)) {
            return None;
        }
        if best.is_none_or(|best| compare_sql(item, best) == wanted) {
            best = Some(item);
        }
    }
    best.cloned()
}
