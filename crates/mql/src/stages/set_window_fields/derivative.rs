//! `$derivative`: how steeply a value rises over its window.

use crate::expressions::date::Unit;

use super::*;

#[derive(Debug)]
struct Derivative {
    slope: Slope,
    bounds: Bounds,
}

/// What is computed from, and in which unit of time.
#[derive(Debug)]
pub(super) struct Slope {
    pub(super) name: &'static str,
    pub(super) input: Expr,
    pub(super) unit: Option<Unit>,
}

pub(super) fn parse(spec: Spec<'_>) -> Result<Arc<dyn Function>> {
    let slope = Slope::parse(&spec)?;
    let bounds = spec
        .bounds
        .ok_or_else(|| failed("$derivative requires explicit window bounds"))?;
    Ok(Arc::new(Derivative { slope, bounds }))
}

impl Slope {
    pub(super) fn parse(spec: &Spec<'_>) -> Result<Slope> {
        let (mut input, mut unit) = (None, None);
        for (name, value) in spec.object()? {
            match (name.as_str(), value) {
                ("input", value) => input = Some(Expr::parse(value, spec.names)?),
                ("unit", Value::String(name)) => {
                    let parsed = Unit::parse(name);
                    let parsed =
                        parsed.ok_or_else(|| failed(format!("unknown time unit value: {name}")))?;
                    if parsed.fixed_millis().is_none() {
                        return Err(MqlError::new(5490704, "unit must be 'week' or smaller"));
                    }
                    unit = Some(parsed);
                }
                ("unit", _) => return Err(failed("'unit' must be a string")),
                (other, _) => {
                    let message = format!("{} got unexpected argument: {other}", spec.name);
                    return Err(failed(message));
                }
            }
        }
        let input =
            input.ok_or_else(|| failed(format!("{} requires an 'input' expression", spec.name)))?;
        spec.one_field(9)?;
        Ok(Slope {
            name: spec.name,
            input,
            unit,
        })
    }

    /// How far two documents lie apart: in numbers, or in milliseconds.
    pub(super) fn apart(&self, from: &Value, to: &Value) -> Result<Num> {
        let wrong = |code, what: &str| {
            let message = format!("{} {what}", self.name);
            Err(MqlError::new(code, message))
        };
        match (from, to, self.unit) {
            (Value::Date(a), Value::Date(b), Some(_)) => Ok(Num::Long(*b).subtract(Num::Long(*a))),
            (Value::Date(_), Value::Date(_), None) => {
                wrong(5624900, "where the sortBy is a Date requires a 'unit'")
            }
            (_, _, Some(_)) => wrong(5624901, "with 'unit' expects the sortBy field to be a Date"),
            (a, b, None) => match (Num::of(a), Num::of(b)) {
                (Some(a), Some(b)) => Ok(b.subtract(a)),
                _ => wrong(5624902, "sortBy value must be numeric or a date"),
            },
        }
    }

    /// The milliseconds of its unit, if it has one.
    pub(super) fn millis(&self) -> Option<Num> {
        self.unit.and_then(Unit::fixed_millis).map(Num::Long)
    }

    /// The input's value, which must be a number or a date.
    pub(super) fn value(&self, part: &Part<'_>, at: usize) -> Result<Num> {
        let value = part.eval(&self.input, at)?;
        match &value {
            Value::Date(millis) => Ok(Num::Long(*millis)),
            other => match Num::of(other) {
                Some(number) => Ok(number),
                None if is_nullish(other) => {
                    let message = format!("{} input must not be null or missing", self.name);
                    Err(MqlError::new(5624903, message))
                }
                None => {
                    let message = format!("{} input must be numeric", self.name);
                    Err(MqlError::new(5624904, message))
                }
            },
        }
    }
}

impl Function for Derivative {
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>> {
        let value = |at: usize| {
            let window = self.bounds.window(part, at)?;
            if window.is_empty() {
                return Ok(Value::Null);
            }
            let (first, last) = (window.start, window.end - 1);
            let run = self
                .slope
                .apart(&part.position(first), &part.position(last))?;
            let (from, to) = (
                self.slope.value(part, first)?,
                self.slope.value(part, last)?,
            );
            if first == last {
                return Ok(Value::Null);
            }
            let slope = to
                .subtract(from)
                .divide(run)
                .map(|slope| match self.slope.millis() {
                    Some(millis) => slope.multiply(millis),
                    None => slope,
                });
            Ok(slope.map_or(Value::Null, Num::value))
        };
        (0..part.len()).map(value).collect()
    }
}
