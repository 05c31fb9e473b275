//! `$linearFill`: values for those that are null, on a line between their neighbours.

use lapsedb_value::decimal128::Decimal128;

use crate::expressions::numeric::{Pair, decimal};

use super::*;

#[derive(Debug)]
struct LinearFill(Expr);

pub(super) fn parse(spec: Spec<'_>) -> Result<Arc<dyn Function>> {
    if spec.bounds.is_some() {
        return Err(failed("'window' field is not allowed in $linearFill"));
    }
    spec.one_field(605001)?;
    Ok(Arc::new(LinearFill(Expr::parse(
        spec.argument,
        spec.names,
    )?)))
}

impl Function for LinearFill {
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>> {
        for at in 0..part.len() {
            let place = part.position(at);
            if !matches!(place, Value::Date(_)) && Num::of(&place).is_none() {
                let message = format!(
                    "Value of the sortBy field must be numeric or a date, but found {}",
                    type_name(&place)
                );
                return Err(MqlError::type_mismatch(message));
            }
        }
        let values = (0..part.len()).map(|at| part.eval(&self.0, at).map(missing_to_null));
        let mut values = values.collect::<Result<Vec<_>>>()?;
        let mut known: Option<(usize, Num)> = None;
        for at in 0..values.len() {
            let Some(value) = values.get(at).filter(|value| !is_nullish(value)) else {
                continue;
            };
            let Some(height) = Num::of(value) else {
                let message = format!(
                    "Value to be filled must be numeric or nullish, but found {}",
                    type_name(value)
                );
                return Err(MqlError::type_mismatch(message));
            };
            if let Some(start) = known {
                fill(part, start, (at, height), &mut values)?;
            }
            known = Some((at, height));
        }
        Ok(values)
    }
}

/// Sets what lies between two known values.
fn fill(
    part: &Part<'_>,
    (from, low): (usize, Num),
    (to, high): (usize, Num),
    values: &mut [Value],
) -> Result<()> {
    let place = |at: usize| match part.position(at) {
        Value::Date(millis) => Ok(millis as f64),
        other => Num::of(&other).map(Num::to_f64).ok_or_else(|| {
            let message = "Conflicting sort value types, previous and current types don't match";
            MqlError::type_mismatch(message)
        }),
    };
    if to <= from + 1 {
        return Ok(());
    }
    let (left, right) = (place(from)?, place(to)?);
    if left == right {
        return Err(MqlError::new(
            6050106,
            "There can be no repeated values in the sort field",
        ));
    }
    for at in from + 1..to {
        let here = place(at)?;
        if let Some(value) = values.get_mut(at) {
            *value = match low.pair(high) {
                Pair::Decimal(low, high) => {
                    let [way, whole] = [here - left, right - left].map(Decimal128::from_f64);
                    decimal(low.add(way.mul(high.sub(low)).div(whole)))
                }
                Pair::Int(..) | Pair::Long(..) | Pair::Double(..) => {
                    let (low, high) = (low.to_f64(), high.to_f64());
                    Value::Double(low + (here - left) * (high - low) / (right - left))
                }
            };
        }
    }
    Ok(())
}
