//! `$zip`: arrays transposed.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

#[derive(Debug)]
struct Zip {
    inputs: Vec<Expr>,
    longest: bool,
    defaults: Vec<Expr>,
}

fn parse(_: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let Some(object) = spec.as_object() else {
        let found = type_name(spec);
        let message = format!("$zip only supports an object as an argument, found {found}");
        return Err(MqlError::new(34460, message));
    };
    let mut zip = Zip {
        inputs: Vec::new(),
        longest: false,
        defaults: Vec::new(),
    };
    for (name, value) in object {
        match (name.as_str(), value) {
            ("inputs", value) => zip.inputs = list(value, (34461, "inputs"), names)?,
            ("defaults", value) => zip.defaults = list(value, (34462, "defaults"), names)?,
            ("useLongestLength", Value::Bool(truth)) => zip.longest = *truth,
            ("useLongestLength", other) => {
                let found = type_name(other);
                let message = format!("useLongestLength must be a bool, found {found}");
                return Err(MqlError::new(34463, message));
            }
            (other, _) => {
                let message = format!("$zip found an unknown argument: {other}");
                return Err(MqlError::new(34464, message));
            }
        }
    }
    let refused = |code, message: &str| Err(MqlError::new(code, message));
    if zip.inputs.is_empty() {
        return refused(34465, "$zip requires at least one input array");
    }
    if !zip.defaults.is_empty() && !zip.longest {
        return refused(
            34466,
            "cannot specify defaults unless useLongestLength is true",
        );
    }
    if !zip.defaults.is_empty() && zip.defaults.len() != zip.inputs.len() {
        return refused(34467, "defaults and inputs must have the same length");
    }
    Ok(Expr::lazy(zip))
}

fn list(value: &Value, (code, name): (i32, &str), names: &Names) -> Result<Vec<Expr>> {
    match value.as_array() {
        Some(list) => list.iter().map(|item| Expr::parse(item, names)).collect(),
        None => {
            let found = type_name(value);
            let message = format!("{name} must be an array of expressions, found {found}");
            Err(MqlError::new(code, message))
        }
    }
}

impl Operator for Zip {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            match input.eval(scope)? {
                Value::Array(elements) => inputs.push(elements),
                other if is_nullish(&other) => return Ok(Value::Null),
                other => {
                    let message = format!("$zip found a non-array expression in input: {other}");
                    return Err(MqlError::new(34468, message));
                }
            }
        }
        let defaults = self.defaults.iter().map(|default| default.eval(scope));
        let defaults = defaults.collect::<Result<Vec<_>>>()?;
        let lengths = inputs.iter().map(Vec::len);
        let rows = match self.longest {
            true => lengths.max(),
            false => lengths.min(),
        };
        let budget = scope.budget();
        let mut zipped = Vec::new();
        for row in 0..rows.unwrap_or(0) {
            budget.charge(VALUE_BYTES)?;
            let mut cells = Vec::with_capacity(inputs.len());
            for (column, input) in inputs.iter().enumerate() {
                budget.charge(VALUE_BYTES)?;
                let given = input.get(row).or_else(|| defaults.get(column));
                let value = given.map(|value| budget.copy(value)).transpose()?;
                cells.push(missing_to_null(value.unwrap_or_default()));
            }
            zipped.push(Value::Array(cells));
        }
        Ok(Value::Array(zipped))
    }
}
