//! `$let`: names for values within an expression.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[("vars", 16876), ("in", 16877)],
    not_object: 16874,
    unknown: 16875,
};

#[derive(Debug)]
struct Let {
    vars: Vec<(Str, Expr)>,
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
    let Some(vars) = part(0).as_object() else {
        return Err(MqlError::new(
            10065,
            "invalid parameter: expected an object (vars)",
        ));
    };
    let vars = parse_vars(vars, names)?;
    let mut inner = names.clone();
    for (name, _) in &vars {
        inner = inner.with(name.clone());
    }
    let body = Expr::parse(part(1), &inner)?;
    Ok(Expr::lazy(Let { vars, body }))
}

/// The names and what they stand for; none of them sees another.
fn parse_vars(vars: &Object, names: &Names) -> Result<Vec<(Str, Expr)>> {
    let each = |(name, value): &(Str, Value)| {
        check_variable_name(name)?;
        Ok((name.clone(), Expr::parse(value, names)?))
    };
    vars.as_slice().iter().map(each).collect()
}

impl Operator for Let {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let values = self.vars.iter().map(|(_, expr)| expr.eval(scope));
        let values = values.collect::<Result<Vec<_>>>()?;
        bind(&self.vars, &values, scope, &self.body)
    }
}

/// Binds one name after the other, each around the next.
fn bind(vars: &[(Str, Expr)], values: &[Value], scope: &Scope<'_>, body: &Expr) -> Result<Value> {
    match (vars.split_first(), values.split_first()) {
        (Some(((name, _), vars)), Some((value, values))) => {
            let local: Local<'_> = scope.local(name, value);
            bind(vars, values, &scope.inside(&local), body)
        }
        _ => body.eval(scope),
    }
}
