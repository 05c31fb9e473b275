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
    let (mut branches, mut default) = (Branches::default(), None);
    for (name, value) in object {
        match (name.as_str(), value) {
            ("branches", Value::Array(list)) => branches = Branches::parse(list, names)?,
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
    if branches.given == 0 {
        return Err(MqlError::new(40068, "$switch requires at least one branch"));
    }
    let default = branches.always.or(default);
    if branches.open.is_empty() {
        // Decided without a document: what contains it may be decided by it.
        return match default {
            Some(default) => Ok(default),
            None if names.are_mistakes_late() => Ok(Expr::lazy(Switch {
                branches: Vec::new(),
                default: None,
            })),
            None => Err(MqlError::new(
                40069,
                "Cannot execute a switch statement where all the cases evaluate to false without a default",
            )),
        };
    }
    Ok(Expr::lazy(Switch {
        branches: branches.open,
        default,
    }))
}

/// Branches, without those that are known never to be taken.
#[derive(Default)]
struct Branches {
    /// How many there were to begin with.
    given: usize,
    /// Those that documents decide.
    open: Vec<(Expr, Expr)>,
    /// What is taken where none of them is, because its case reads nothing and is true.
    always: Option<Expr>,
}

impl Branches {
    /// Reads branches. A constant that cannot be computed is no mistake where it is never asked for.
    fn parse(list: &[Value], names: &Names) -> Result<Branches> {
        let never = &names.clone().with_late_mistakes(true);
        let mut branches = Branches {
            given: list.len(),
            ..Branches::default()
        };
        for branch in list {
            let (case, then) = parts_of(branch)?;
            if branches.always.is_some() {
                Expr::parse(case, never)?;
                Expr::parse(then, never)?;
                continue;
            }
            let case = Expr::parse(case, names)?;
            match case.constant().map(is_true) {
                None => branches.open.push((case, Expr::parse(then, names)?)),
                Some(true) => branches.always = Some(Expr::parse(then, names)?),
                Some(false) => {
                    Expr::parse(then, never)?;
                }
            }
        }
        Ok(branches)
    }
}

/// The case and what belongs to it.
fn parts_of(branch: &Value) -> Result<(&Value, &Value)> {
    let Some(object) = branch.as_object() else {
        let found = type_name(branch);
        let message = format!("$switch expected each branch to be an object, found: {found}");
        return Err(MqlError::new(40062, message));
    };
    let (mut case, mut then) = (None, None);
    for (name, value) in object {
        match name.as_str() {
            "case" => case = Some(value),
            "then" => then = Some(value),
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
