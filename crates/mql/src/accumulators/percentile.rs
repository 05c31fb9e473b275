//! `$percentile`: the values below which given parts of the numbers lie. All numbers are kept, so the answer is exact.

use super::*;

/// Which percentiles, and whether they come in an array.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    parts: Vec<f64>,
    single: bool,
}

/// Reads `{input, p, method}`; `$median` has no `p`.
pub(crate) fn parse(operator: &str, spec: &Value, names: &Names) -> Result<(Expr, Spec)> {
    let Some(object) = spec.as_object() else {
        let message = format!("specification must be an object; found {operator}: {spec}");
        return Err(MqlError::new(7429703, message));
    };
    let single = operator == "$median";
    let (mut input, mut parts, mut method) = (None, None, None);
    for (name, value) in object {
        match name.as_str() {
            "input" => input = Some(Expr::parse(value, names)?),
            "p" if !single => parts = Some(read_parts(operator, value, names)?),
            "method" => method = Some(value),
            other => {
                let message = format!("BSON field '{operator}.{other}' is an unknown field.");
                return Err(MqlError::new(40415, message));
            }
        }
    }
    let missing = |name: &str| {
        let message = format!("BSON field '{operator}.{name}' is missing but a required field");
        MqlError::new(40414, message)
    };
    match method {
        None => return Err(missing("method")),
        Some(Value::String(name)) if name == "approximate" => {}
        Some(_) => {
            return Err(MqlError::bad_value(
                "Currently only 'approximate' can be used as percentile 'method'.",
            ));
        }
    }
    let parts = match single {
        true => vec![0.5],
        false => parts.ok_or_else(|| missing("p"))?,
    };
    let input = input.ok_or_else(|| missing("input"))?;
    Ok((input, Spec { parts, single }))
}

fn read_parts(operator: &str, value: &Value, names: &Names) -> Result<Vec<f64>> {
    let refused = || {
        MqlError::new(
            7750301,
            format!(
                "The {operator} 'p' field must be an array of numbers from [0.0, 1.0], but found: {value}"
            ),
        )
    };
    let expr = Expr::parse(value, names)?;
    let parts = expr
        .constant()
        .and_then(Value::as_array)
        .ok_or_else(refused)?;
    let part = |part: &Value| {
        let part = Num::of(part).map(Num::to_f64);
        part.filter(|part| (0.0..=1.0).contains(part))
            .ok_or_else(refused)
    };
    match parts.is_empty() {
        true => Err(refused()),
        false => parts.iter().map(part).collect(),
    }
}

pub(crate) fn parse_accumulator(
    operator: &'static str,
    spec: &Value,
    names: &Names,
) -> Result<Gather> {
    let (input, spec) = parse(operator, spec, names)?;
    Ok(Gather {
        argument: Argument::Value(input),
        start: Start::Percentile(spec),
    })
}

/// All numbers so far.
#[derive(Debug)]
pub(crate) struct Percentile {
    spec: Spec,
    numbers: Vec<f64>,
}

impl Percentile {
    pub(crate) fn new(spec: Spec) -> Percentile {
        Percentile {
            spec,
            numbers: Vec::new(),
        }
    }
}

impl Accumulator for Percentile {
    fn add(&mut self, value: &Value) -> Result<()> {
        let number = Num::of(value).map(Num::to_f64).filter(|n| !n.is_nan());
        self.numbers.extend(number);
        Ok(())
    }

    fn result(&self) -> Result<Value> {
        let mut sorted = self.numbers.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let rank = (part * sorted.len() as f64).ceil().max(1.0) as usize - 1;
            sorted.get(rank).map_or(Value::Null, |n| Value::Double(*n))
        };
        let mut values = self.spec.parts.iter().map(|part| at(*part));
        Ok(match self.spec.single {
            true => values.next().unwrap_or(Value::Null),
            false => Value::Array(values.collect()),
        })
    }

    fn bytes(&self) -> usize {
        self.numbers.len() * size_of::<f64>()
    }
}
