//! `$filter`: the elements that a condition holds for.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[
        ("input", 28648),
        ("as", OPTIONAL),
        ("cond", 28650),
        ("limit", OPTIONAL),
    ],
    not_object: 28646,
    unknown: 28647,
};

#[derive(Debug)]
struct Filter {
    input: Expr,
    name: Str,
    condition: Expr,
    limit: Option<Expr>,
}

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let parts = FIELDS.take(operator, spec)?;
    let part = |at: usize| parts.get(at).copied().flatten();
    let required = |at: usize| part(at).unwrap_or(Value::undefined());
    let name = element_name(part(1))?;
    let limit = part(3).map(|limit| Expr::parse(limit, names)).transpose()?;
    Ok(Expr::lazy(Filter {
        input: Expr::parse(required(0), names)?,
        condition: Expr::parse(required(2), &names.with(name.clone()))?,
        name,
        limit,
    }))
}

/// The variable for the element: `this` unless another name is given. What is no text counts as no name.
pub(super) fn element_name(name: Option<&Value>) -> Result<Str> {
    match name {
        None => Ok(Str::const_new("this")),
        Some(name) => {
            let name = name.as_str().unwrap_or_default();
            check_variable_name(name)?;
            Ok(name.into())
        }
    }
}

impl Operator for Filter {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let input = self.input.get(scope)?;
        if is_nullish(&input) {
            return Ok(Value::Null);
        }
        let Some(elements) = input.as_array() else {
            let found = type_name(&input);
            let message = format!("input to $filter must be an array not {found}");
            return Err(MqlError::new(28651, message));
        };
        if elements.is_empty() {
            // The limit is not asked either.
            return Ok(Value::Array(Vec::new()));
        }
        let limit = match &self.limit {
            Some(limit) => read_limit(&*limit.get(scope)?)?,
            None => usize::MAX,
        };
        let budget = scope.budget();
        let mut kept = Vec::new();
        for element in elements {
            budget.step()?;
            if kept.len() >= limit {
                break;
            }
            let local = scope.local(&self.name, element);
            let before = budget.scratch();
            let holds = is_true(&*self.condition.get(&scope.inside(&local))?);
            budget.set_scratch(before);
            if holds {
                budget.charge(VALUE_BYTES)?;
                kept.push(budget.copy(element)?);
            }
        }
        Ok(Value::Array(kept))
    }
}

fn read_limit(value: &Value) -> Result<usize> {
    if is_nullish(value) {
        return Ok(usize::MAX);
    }
    let Some(limit) = Num::of(value).and_then(Num::to_i32_exact) else {
        let message =
            format!("$filter: limit must be represented as a 32-bit integral value: {value}");
        return Err(MqlError::new(327391, message));
    };
    match usize::try_from(limit) {
        Ok(limit) if limit > 0 => Ok(limit),
        Ok(_) | Err(_) => Err(MqlError::new(
            327392,
            format!("$filter: limit must be greater than 0: {limit}"),
        )),
    }
}
