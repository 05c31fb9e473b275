//! `$cond`: one of two, by the truth of a third.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

const FIELDS: Fields = Fields {
    names: &[("if", 17080), ("then", 17081), ("else", 17082)],
    not_object: 17083,
    unknown: 17083,
};

#[derive(Debug)]
struct Cond {
    condition: Expr,
    then: Expr,
    otherwise: Expr,
}

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let parts: Vec<Expr> = match spec {
        Value::Object(_) => FIELDS
            .parse(operator, spec, names)?
            .into_iter()
            .flatten()
            .collect(),
        _ => arguments(spec, names)?,
    };
    let count = parts.len();
    let parts: [Expr; 3] = parts.try_into().map_err(|_| {
        MqlError::new(
            16020,
            format!("Expression $cond takes exactly 3 arguments. {count} were passed in."),
        )
    })?;
    let [condition, then, otherwise] = parts;
    Ok(Expr::lazy(Cond {
        condition,
        then,
        otherwise,
    }))
}

impl Operator for Cond {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        match is_true(&*self.condition.get(scope)?) {
            true => self.then.eval(scope),
            false => self.otherwise.eval(scope),
        }
    }
}
