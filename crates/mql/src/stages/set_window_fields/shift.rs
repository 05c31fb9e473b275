//! `$shift`: a value of the document so many places on.

use super::*;

#[derive(Debug)]
struct Shift {
    output: Expr,
    by: i64,
    default: Value,
}

pub(super) fn parse(spec: Spec<'_>) -> Result<Arc<dyn Function>> {
    if spec.bounds.is_some() {
        return Err(failed("$shift does not accept a 'window' field."));
    }
    if spec.sort.is_none() {
        return Err(failed("'$shift' requires a sortBy"));
    }
    let Some(object) = spec.argument.as_object() else {
        return Err(failed("Argument to $shift must be an object"));
    };
    let (mut output, mut by, mut default) = (None, None, Value::Null);
    for (name, value) in object {
        match name.as_str() {
            "output" => output = Some(Expr::parse(value, spec.names)?),
            "by" => {
                let whole = Num::of(value).and_then(Num::to_i64_exact);
                let refused = || {
                    failed(format!(
                        "'$shift:by' field must be an integer, but found  by: {value}"
                    ))
                };
                by = Some(whole.ok_or_else(refused)?);
            }
            "default" => {
                let expr = Expr::parse(value, spec.names)?;
                let constant = expr.constant().cloned();
                default = constant.ok_or_else(|| {
                    failed("'$shift:default' expression must yield a constant value.")
                })?;
            }
            _ => return Err(failed("Unknown argument in $shift")),
        }
    }
    Ok(Arc::new(Shift {
        output: output.ok_or_else(|| failed("$shift requires an 'output' expression."))?,
        by: by.ok_or_else(|| failed("$shift requires 'by' as an integer value."))?,
        default,
    }))
}

impl Function for Shift {
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>> {
        let value = |at: usize| {
            let place = (at as i64).checked_add(self.by);
            let place = place.and_then(|place| usize::try_from(place).ok());
            match place.filter(|place| *place < part.len()) {
                Some(place) => part.eval(&self.output, place),
                None => Ok(self.default.clone()),
            }
        };
        (0..part.len()).map(value).collect()
    }
}
