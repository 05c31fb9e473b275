//! `$mod`: numbers that leave a certain remainder.

use lapsedb_value::Value;
use lapsedb_value::decimal128::Decimal128;

use crate::{MqlError, Result};

/// A divisor and what must remain.
#[derive(Clone, Debug)]
pub(crate) struct Modulo {
    divisor: i64,
    remainder: i64,
}

impl Modulo {
    pub(crate) fn parse(argument: &Value) -> Result<Modulo> {
        let elements = argument
            .as_array()
            .ok_or_else(|| MqlError::bad_value("malformed mod, needs to be an array"))?;
        let (divisor, remainder) = match elements {
            [] | [_] => return Err(MqlError::bad_value("malformed mod, not enough elements")),
            [divisor, remainder] => (divisor, remainder),
            _ => return Err(MqlError::bad_value("malformed mod, too many elements")),
        };
        let (divisor, remainder) = (
            integral(divisor, "divisor")?,
            integral(remainder, "remainder")?,
        );
        match divisor {
            0 => Err(MqlError::bad_value("divisor cannot be 0")),
            _ => Ok(Modulo { divisor, remainder }),
        }
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        // The smallest integer by -1 overflows, and leaves nothing.
        let rest = truncated(value).map(|n| n.checked_rem(self.divisor).unwrap_or(0));
        rest == Some(self.remainder)
    }
}

fn integral(value: &Value, what: &str) -> Result<i64> {
    if !is_number(value) {
        return Err(MqlError::bad_value(format!(
            "malformed mod, {what} not a number"
        )));
    }
    truncated(value).ok_or_else(|| {
        let nan = value.as_f64().is_some_and(|n| !n.is_finite());
        let why = match nan {
            true => "Unable to coerce NaN/Inf to integral type",
            false => "Out of bounds coercing to integral value",
        };
        MqlError::bad_value(format!(
            "malformed mod, {what} value is invalid :: caused by :: {why}"
        ))
    })
}

/// Whether the value is a number of any kind.
pub(crate) fn is_number(value: &Value) -> bool {
    value.is_number() || matches!(value, Value::Decimal128(_))
}

/// The number without its fraction, if it fits.
fn truncated(value: &Value) -> Option<i64> {
    match value {
        Value::Double(n) => Value::Double(n.trunc()).as_i64(),
        Value::Decimal128(bytes) => Decimal128::from_bytes(bytes).to_i64_truncated(),
        _ => value.as_i64(),
    }
}
