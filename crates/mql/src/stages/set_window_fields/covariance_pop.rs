//! `$covariancePop`: how two values vary together, in a population.

use super::*;

/// Two expressions, the window, and what is taken off the count: 1 for a sample.
#[derive(Debug)]
struct Covariance {
    input: Expr,
    bounds: Option<Bounds>,
    bias: f64,
}

pub(super) fn parse(spec: Spec<'_>) -> Result<Arc<dyn Function>> {
    parse_with(spec, 0.0)
}

pub(super) fn parse_with(spec: Spec<'_>, bias: f64) -> Result<Arc<dyn Function>> {
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
                Some([x, y]) => Num::of(x)
                    .zip(Num::of(y))
                    .map(|(x, y)| (x.to_f64(), y.to_f64())),
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
    fn of<'a>(&self, points: impl Iterator<Item = &'a (f64, f64)>) -> Value {
        let (mut count, mut mean_x, mut mean_y, mut together) = (0.0, 0.0, 0.0, 0.0);
        for (x, y) in points {
            count += 1.0;
            let before = x - mean_x;
            mean_x += before / count;
            mean_y += (y - mean_y) / count;
            together += before * (y - mean_y);
        }
        match count - self.bias > 0.0 {
            true => Value::Double(together / (count - self.bias)),
            false => Value::Null,
        }
    }
}
