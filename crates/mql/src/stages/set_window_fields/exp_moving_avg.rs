//! `$expMovingAvg`: a mean in which later values weigh more. It is computed in decimals, and shown as one if a value is one.

use lapsedb_value::decimal128::Decimal128;

use crate::expressions::numeric::decimal;

use super::*;

#[derive(Debug)]
struct ExpMovingAvg {
    input: Expr,
    alpha: Decimal128,
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
            let weighed = Decimal128::from(n).add(Decimal128::from(1));
            Decimal128::from(2).div(weighed)
        }
        (None, Some(alpha)) => {
            let within = |number: &Num| number.to_f64() > 0.0 && number.to_f64() < 1.0;
            let number = Num::of(alpha).filter(within).ok_or_else(|| {
                let message =
                    format!("'alpha' must be between 0 and 1 (exclusive), found alpha: {alpha}");
                failed(message)
            })?;
            number.to_decimal()
        }
        _ => return Err(refused()),
    };
    Ok(Arc::new(ExpMovingAvg { input, alpha }))
}

impl Function for ExpMovingAvg {
    /// What is no number leaves the mean as it is.
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>> {
        let (mut mean, mut is_decimal) = (None, false);
        let rest = Decimal128::from(1).sub(self.alpha);
        let mut values = Vec::with_capacity(part.len());
        for at in 0..part.len() {
            if let Some(number) = Num::of(&part.eval(&self.input, at)?) {
                is_decimal |= matches!(number, Num::Decimal(_));
                let number = number.to_decimal();
                mean = Some(match mean {
                    None => number,
                    Some(mean) => number.mul(self.alpha).add(rest.mul(mean)),
                });
            }
            values.push(match mean {
                None => Value::Null,
                Some(mean) if is_decimal => decimal(mean),
                Some(mean) => Value::Double(mean.to_f64()),
            });
        }
        Ok(values)
    }
}
