//! `$integral`: the area under a value over its window, by trapezoids.

use super::derivative::Slope;
use super::*;

#[derive(Debug)]
struct Integral {
    slope: Slope,
    bounds: Option<Bounds>,
}

pub(super) fn parse(spec: Spec<'_>) -> Result<Arc<dyn Function>> {
    let slope = Slope::parse(&spec)?;
    Ok(Arc::new(Integral {
        slope,
        bounds: spec.bounds,
    }))
}

impl Function for Integral {
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>> {
        let whole = Bounds::Documents(None, None);
        let bounds = self.bounds.as_ref().unwrap_or(&whole);
        let read = |at: usize| {
            let value = self.slope.value(part, at);
            let value = value.map_err(|error| MqlError::new(5423900, error.message))?;
            Ok((part.position(at), value))
        };
        let points = (0..part.len()).map(read).collect::<Result<Vec<_>>>()?;
        let area = |at: usize| {
            let window = bounds.window(part, at)?;
            let inside = points.get(window).unwrap_or_default();
            if inside.len() < 2 {
                return Ok(match (inside.is_empty(), self.slope.unit) {
                    (true, _) => Value::Null,
                    (false, None) => Value::Int32(0),
                    (false, Some(_)) => Value::Double(0.0),
                });
            }
            let mut area = Num::Int(0);
            for ((from, low), (to, high)) in inside.iter().zip(inside.iter().skip(1)) {
                let twice = self.slope.apart(from, to)?.multiply(low.add(*high));
                area = area.add(twice.divide(Num::Double(2.0)).unwrap_or(Num::Int(0)));
            }
            let area = match self.slope.millis() {
                Some(millis) => area.divide(millis),
                None => Some(area),
            };
            Ok(area.map_or(Value::Null, Num::value))
        };
        (0..part.len()).map(area).collect()
    }
}
