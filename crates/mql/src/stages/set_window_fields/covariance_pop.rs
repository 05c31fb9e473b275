//! `$covariancePop`: how two values vary together, in a population.

use super::*;

/// Two expressions, the window, and what is taken off the count: 1 for a sample.
#[derive(Debug)]
struct Covariance {
    input: Expr,
    bounds: Option<Bounds>,
    bias: u32,
}

pub(super) fn parse(spec: Spec<'_>) -> Result<Arc<dyn Function>> {
    parse_with(spec, 0)
}

pub(super) fn parse_with(spec: Spec<'_>, bias: u32) -> Result<Arc<dyn Function>> {
    Ok(Arc::new(Covariance {
        input: Expr::parse(spec.argument, spec.names)?,
        bounds: spec.bounds,
        bias,
    }))
}

impl Function for Covariance {
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>> {
        let whole = Bounds::Documents(None, None);
        let bounds = self.bounds.as_ref().unwrap_or(&whole);
        let read = |at: usize| {
            let value = part.eval(&self.input, at)?;
            Ok(match value.as_array() {
                Some([x, y]) => Num::of(x).zip(Num::of(y)),
                Some(_) | None => None,
            })
        };
        let points = (0..part.len()).map(read).collect::<Result<Vec<_>>>()?;
        let covariance = |at: usize| {
            let window = bounds.window(part, at)?;
            let inside = points.get(window).unwrap_or_default();
            Ok(self.of(inside.iter().flatten()))
        };
        (0..part.len()).map(covariance).collect()
    }
}

impl Covariance {
    /// A decimal if one takes part. Points that are not finite are not counted: they only show where others vary, as in MongoDB.
    fn of<'a>(&self, points: impl Iterator<Item = &'a (Num, Num)>) -> Value {
        let (mut count, mut mean_x, mut mean_y) = (0, Num::Int(0), Num::Int(0));
        let mut together = Num::Int(0);
        let over = |sum: Num, count: u32| sum.divide(Num::Double(f64::from(count)));
        let mut not_finite = None;
        for (x, y) in points {
            let nothing = Num::Int(0);
            if !x.is_finite() || !y.is_finite() {
                let product = match x.multiply(*y) {
                    nan if nan.is_nan() => Num::Double(f64::NAN),
                    infinite => infinite,
                };
                not_finite = Some(not_finite.unwrap_or(nothing).add(product));
                continue;
            }
            count += 1;
            let before = x.subtract(mean_x);
            mean_x = mean_x.add(over(before, count).unwrap_or(nothing));
            mean_y = mean_y.add(over(y.subtract(mean_y), count).unwrap_or(nothing));
            together = together.add(before.multiply(y.subtract(mean_y)));
        }
        let together = not_finite.map_or(together, |sum| together.add(sum));
        match count.saturating_sub(self.bias) {
            0 => Value::Null,
            // One point varies with nothing, whatever kind of number it is.
            1 if self.bias == 0 => Value::Double(0.0),
            divisor => over(together, divisor).map_or(Value::Null, Num::value),
        }
    }
}
