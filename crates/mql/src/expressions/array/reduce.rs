//! `$reduce`: one value from all elements, one after the other.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[("input", 40077), ("initialValue", 40078), ("in", 40079)],
    not_object: 40075,
    unknown: 40076,
};

#[derive(Debug)]
struct Reduce {
    input: Expr,
    initial: Expr,
    body: Expr,
}

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let parts = FIELDS.take(operator, spec)?;
    let part = |at: usize| {
        parts
            .get(at)
            .copied()
            .flatten()
            .unwrap_or(Value::undefined())
    };
    Ok(Expr::lazy(Reduce {
        input: Expr::parse(part(0), names)?,
        initial: Expr::parse(part(1), names)?,
        body: Expr::parse(part(2), &names.with("this").with("value"))?,
    }))
}

impl Operator for Reduce {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let input = self.input.get(scope)?;
        if is_nullish(&input) {
            return Ok(Value::Null);
        }
        let Some(elements) = input.as_array() else {
            let message = format!(
                "$reduce requires that 'input' be an array, found: {}",
                *input
            );
            return Err(MqlError::new(40080, message));
        };
        let budget = scope.budget();
        let begun = budget.scratch();
        let mut value = self.initial.eval(scope)?;
        for element in elements {
            budget.step()?;
            let before = budget.scratch();
            let this = scope.local("this", element);
            let inner = scope.inside(&this);
            let so_far = inner.local("value", &value);
            let next = self.body.eval(&inner.inside(&so_far))?;
            // Only the new value is left; the one before it is gone now.
            let made = budget.scratch().saturating_sub(before);
            value = next;
            budget.set_scratch(begun.saturating_add(made));
        }
        Ok(value)
    }
}
