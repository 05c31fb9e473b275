//! Angles and their functions.

use lapsedb_value::Value;
use lapsedb_value::decimal128::Decimal128;

use super::arithmetic::{real, unary};
use super::form::{Args, Form, any_nullish};
use super::numeric::{Num, Pair, decimal};
use super::values::type_name;
use crate::{MqlError, Result};

pub(crate) mod acos;
pub(crate) mod acosh;
pub(crate) mod asin;
pub(crate) mod asinh;
pub(crate) mod atan;
pub(crate) mod atan2;
pub(crate) mod atanh;
pub(crate) mod cos;
pub(crate) mod cosh;
pub(crate) mod degrees_to_radians;
pub(crate) mod radians_to_degrees;
pub(crate) mod sin;
pub(crate) mod sinh;
pub(crate) mod tan;
pub(crate) mod tanh;

/// All numbers but the infinities, which have no place on a circle.
const FINITE: (f64, f64) = (f64::MIN, f64::MAX);

/// A function of one number that lies between two bounds; NaN passes.
fn bounded(
    operator: &str,
    args: &Args<'_>,
    (min, max): (f64, f64),
    run: fn(f64) -> f64,
) -> Result<Value> {
    unary(operator, args, |number| {
        let n = number.to_f64();
        if !number.is_nan() && !(min..=max).contains(&n) {
            let message = format!(
                "cannot apply {operator} to {}, value must be in [{min},{max}]",
                number.value()
            );
            return Err(MqlError::new(50989, message));
        }
        Ok(real(number, run))
    })
}
