//! `$switch`: what belongs to the first true case.

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

#[derive(Debug)]
struct Switch {
    branches: Vec<(Expr, Expr)>,
    default: Option<Expr>,
}

fn parse(_: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    let Some(object) = spec.as_object() else {
        let found = type_name(spec);
        let message = format!("$switch requires an object as an argument, found: {found}");
        return Err(MqlError::new(40060, message));
    };
    let (mut branches, mut default) = (Vec::<(Expr, Expr)>::new(), None);
    for (name, value) in object {
        match (name.as_str(), value) {
            ("branches", Value::Array(list)) => {
                let list = list.iter().map(|branch| parse_branch(branch, names));
                branches = list.collect::<Result<_>>()?;
            }
            ("branches", other) => {
                let found = type_name(other);
                let message = format!("$switch expected an array for 'branches', found: {found}");
                return Err(MqlError::new(40061, message));
            }
            ("default", value) => default = Some(Expr::parse(value, names)?),
            (other, _) => {
                let message = format!("$switch found an unknown argument: {other}");
                return Err(MqlError::new(40067, message));
            }
        }
    }
    if branches.is_empty() {
        return Err(MqlError::new(40068, "$switch requires at least one branch"));
    }
    // Cases that read nothing and are false are never taken.
    let never = |case: &Expr| case.constant().is_some_and(|case| !is_true(case));
    if default.is_none() && branches.iter().all(|(case, _)| never(case)) {
        return Err(MqlError::new(
            40069,
            "Cannot execute a switch statement where all the cases evaluate to false without a default",
        ));
    }
    Ok(Expr::lazy(Switch { branches, default }))
}

fn parse_branch(branch: &Value, names: &Names) -> Result<(Expr, Expr)> {
    let Some(object) = branch.as_object() else {
        let found = type_name(branch);
        let message = format!("$switch expected each branch to be an object, found: {found}");
        return Err(MqlError::new(40062, message));
    };
    let (mut case, mut then) = (None, None);
    for (name, value) in object {
        match name.as_str() {
            "case" => case = Some(Expr::parse(value, names)?),
            "then" => then = Some(Expr::parse(value, names)?),
            other => {
                let message = format!("$switch found an unknown argument to a branch: {other}");
                return Err(MqlError::new(40063, message));
            }
        }
    }
    let missing = |code, part| {
        MqlError::new(
            code,
            format!("$switch requires each branch have a '{part}' expression"),
        )
    };
    Ok((
        case.ok_or_else(|| missing(40064, "case"))?,
        then.ok_or_else(|| missing(40065, "then"))?,
    ))
}

impl Operator for Switch {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        for (case, then) in &self.branches {
            if is_true(&*case.get(scope)?) {
                return then.eval(scope);
            }
        }
        match &self.default {
            Some(default) => default.eval(scope),
            None => Err(MqlError::new(
                40066,
                "$switch could not find a matching branch for an input, and no default was specified.",
            )),
        }
    }
}
