//! Sizes, time stamps, chance, and accumulators as expressions over arrays.

use lapsedb_value::{Value, bson};

use super::Expr;
use super::form::{Args, Form, Operator};
use super::scope::{Names, Scope};
use super::values::type_name;
use crate::accumulators::Accumulator;
use crate::{MqlError, Result};

pub(crate) mod avg;
pub(crate) mod binary_size;
pub(crate) mod bson_size;
pub(crate) mod max;
pub(crate) mod median;
pub(crate) mod min;
pub(crate) mod percentile;
pub(crate) mod rand;
pub(crate) mod std_dev_pop;
pub(crate) mod std_dev_samp;
pub(crate) mod sum;
pub(crate) mod ts_increment;
pub(crate) mod ts_second;

/// Feeds all arguments to an accumulator; a single argument that is an array stands for its elements.
fn accumulate(args: &Args<'_>, mut accumulator: impl Accumulator) -> Result<Value> {
    match args {
        [only] => match only.as_array() {
            Some(elements) => elements
                .iter()
                .try_for_each(|element| accumulator.add(element))?,
            None => accumulator.add(only)?,
        },
        several => several
            .iter()
            .try_for_each(|value| accumulator.add(value))?,
    }
    accumulator.result()
}
