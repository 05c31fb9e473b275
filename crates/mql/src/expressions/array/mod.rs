//! Arrays: picking, cutting, joining, mapping.

use lapsedb_value::budget::{MEMBER_BYTES, VALUE_BYTES, owned_bytes};
use lapsedb_value::{Budget, Members, Object, Str, Value};

use super::form::{
    Args, Count, Fields, Form, NamedArgs, OPTIONAL, Operator, any_nullish, is_nullish,
};
use super::numeric::Num;
use super::path::check_variable_name;
use super::scope::{Names, Scope};
use super::values::{compare, equal, is_true, type_name};
use super::{Expr, missing_to_null};
use crate::accumulators::Accumulator;
use crate::accumulators::max_n::Best;
use crate::{MqlError, Result};

pub(crate) mod array_elem_at;
pub(crate) mod array_to_object;
pub(crate) mod concat_arrays;
pub(crate) mod filter;
pub(crate) mod first;
pub(crate) mod first_n;
pub(crate) mod in_array;
pub(crate) mod index_of_array;
pub(crate) mod is_array;
pub(crate) mod last;
pub(crate) mod last_n;
pub(crate) mod map;
pub(crate) mod max_n;
pub(crate) mod min_n;
pub(crate) mod range;
pub(crate) mod reduce;
pub(crate) mod reverse_array;
pub(crate) mod size;
pub(crate) mod slice;
pub(crate) mod sort_array;
pub(crate) mod zip;

/// The element at a place that may be counted from the end; missing if there is none.
fn element_at(elements: &[Value], at: i64) -> Value {
    let at = match at < 0 {
        true => usize::try_from(elements.len() as i64 + at).ok(),
        false => usize::try_from(at).ok(),
    };
    let element = at.and_then(|at| elements.get(at));
    element.cloned().unwrap_or_default()
}

/// The first or last element, as `$first` and `$last` do it.
fn end_of(operator: &str, args: &Args<'_>, at: i64) -> Result<Value> {
    match &*args[0] {
        Value::Array(elements) => Ok(element_at(elements, at)),
        other if is_nullish(other) => Ok(Value::Null),
        other => {
            let found = type_name(other);
            let message = format!("{operator}'s argument must be an array, but is {found}");
            Err(MqlError::new(28689, message))
        }
    }
}

/// The named arguments of `$firstN`, `$lastN`, `$maxN` and `$minN`.
pub(crate) const N_FIELDS: Fields = Fields {
    names: &[("n", 5787906), ("input", 5787907)],
    not_object: 5787801,
    unknown: 5787901,
};

/// Reads how many elements are asked for.
pub(crate) fn read_n(value: &Value) -> Result<usize> {
    let Some(number) = Num::of(value) else {
        let message = format!("Value for 'n' must be of integral type, but found {value}");
        return Err(MqlError::new(5787902, message));
    };
    let Some(n) = number.to_i64_exact() else {
        let message = format!("Value for 'n' must be of integral type, but found {value}");
        return Err(MqlError::new(5787903, message));
    };
    match usize::try_from(n) {
        Ok(n) if n > 0 => Ok(n),
        Ok(_) | Err(_) => Err(MqlError::new(
            5787908,
            format!("'n' must be greater than 0, found {n}"),
        )),
    }
}

/// How many and from which elements.
fn n_and_input<'a>(args: &'a NamedArgs<'_>) -> Result<(usize, &'a [Value])> {
    let arg = |at: usize| {
        args.get(at)
            .and_then(Option::as_deref)
            .unwrap_or(Value::undefined())
    };
    let n = read_n(arg(0))?;
    match arg(1).as_array() {
        Some(elements) => Ok((n, elements)),
        None => Err(MqlError::new(5788200, "Input must be an array")),
    }
}

/// The greatest or the least elements, as the accumulators of the same names keep them.
fn best(args: &NamedArgs<'_>, budget: &Budget, greatest: bool) -> Result<Value> {
    let (n, elements) = n_and_input(args)?;
    let mut best = Best::new(n, greatest);
    for element in elements {
        budget.work(best.work())?;
        budget.charge(VALUE_BYTES + owned_bytes(element))?;
        best.add(element)?;
    }
    best.result()
}

/// Reads a place in an array or text that must be a whole number of 32 bits and not negative.
pub(super) fn read_bound(operator: &str, value: &Value, which: &str) -> Result<usize> {
    let Some(at) = Num::of(value).and_then(Num::to_i32_exact) else {
        let found = type_name(value);
        let message = format!(
            "{operator}requires an integral {which} index, found a value of type: {found}, with value: {value}"
        );
        return Err(MqlError::new(40096, message));
    };
    usize::try_from(at).map_err(|_| {
        let message = format!("{operator} requires a nonnegative {which} index, found: {at}");
        MqlError::new(40097, message)
    })
}
