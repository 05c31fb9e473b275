//! `$expMovingAvg`: a mean in which later values weigh more.

use crate::expressions::numeric::decimal;

use super::*;

#[derive(Debug)]
struct ExpMovingAvg {
    input: Expr,
    alpha: Value,
}

pub(super) fn parse(spec: Spec<'_>) -> Result<Arc<dyn Function>> {
    if spec.bounds.is_some() {
        return Err(failed("'window' field is not allowed in $expMovingAvg"));
    }
    if spec.sort.is_none() {
        return Err(failed("$expMovingAvg requires an explicit 'sortBy'"));
    }
    let object = spec.object()?;
    let refused = || {
        failed(
            "$expMovingAvg sub object must have exactly two fields: An 'input' field, and either an 'N' field or an 'alpha' field",
        )
    };
    let input = object.get("input").filter(|_| object.len() == 2);
    let input = Expr::parse(input.ok_or_else(refused)?, spec.names)?;
    let alpha = match (object.get("N"), object.get("alpha")) {
        (Some(n), None) => {
            let n = Num::of(n).and_then(Num::to_i64_exact);
            let n = n.ok_or_else(|| failed("'N' field must be an integer"))?;
            if n <= 0 {
                return Err(failed(format!("'N' must be greater than zero. Got {n}")));
            }
            Value::Double(2.0 / (n as f64 + 1.0))
        }
        (None, Some(alpha)) => {
            let number = Num::of(alpha).map(Num::to_f64);
            if !number.is_some_and(|number| number > 0.0 && number < 1.0) {
                let message =
                    format!("'alpha' must be between 0 and 1 (exclusive), found alpha: {alpha}");
                return Err(failed(message));
            }
            alpha.clone()
        }
        _ => return Err(refused()),
    };
    Ok(Arc::new(ExpMovingAvg { input, alpha }))
}

impl Function for ExpMovingAvg {
    /// What is no number leaves the mean as it is.
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>> {
        let mut mean: Option<Num> = None;
        let alpha = Num::of(&self.alpha).unwrap_or(Num::Double(0.5));
        let mut values = Vec::with_capacity(part.len());
        for at in 0..part.len() {
            if let Some(number) = Num::of(&part.eval(&self.input, at)?) {
                mean = Some(match mean {
                    None => number,
                    Some(mean) => {
                        let rest = Num::Int(1).subtract(alpha);
                        number.multiply(alpha).add(mean.multiply(rest))
                    }
                });
            }
            values.push(match mean {
                None => Value::Null,
                Some(Num::Decimal(n)) => decimal(n),
                Some(number) => Value::Double(number.to_f64()),
            });
        }
        Ok(values)
    }
}
