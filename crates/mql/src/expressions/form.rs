//! How an operator takes its arguments, said once per operator in the table.

use std::borrow::Cow;
use std::fmt;

use lapsedb_value::{Budget, Value};

use super::Expr;
use super::scope::{Names, Scope};
use crate::{MqlError, Result};

/// Arguments that have been computed.
pub(crate) type Args<'a> = [Cow<'a, Value>];

/// Named arguments that have been computed; those that were not given are `None`.
pub(crate) type NamedArgs<'a> = [Option<Cow<'a, Value>>];

/// What an operator does with its arguments: what it makes is about as large as they are, or less.
pub(crate) type Plain = fn(&Args<'_>) -> Result<Value>;

/// The same of one that can make more, or loops over all of them: it charges the budget before it makes anything.
pub(crate) type Charged = fn(&Args<'_>, &Budget) -> Result<Value>;

/// What an operator does with its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    Plain(Plain),
    Charged(Charged),
}

/// What an operator does with its named arguments.
pub(crate) type PlainNamed = fn(&NamedArgs<'_>) -> Result<Value>;

/// The same of one that can make more, or loops over all of them.
pub(crate) type ChargedNamed = fn(&NamedArgs<'_>, &Budget) -> Result<Value>;

/// What an operator does with its named arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RunNamed {
    Plain(PlainNamed),
    Charged(ChargedNamed),
}

/// How many arguments an operator takes.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Exactly(usize),
    Between(usize, usize),
    Any,
}

/// An operator that decides itself which arguments to compute, and with which variables.
pub(crate) trait Operator: fmt::Debug + Send + Sync {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value>;
}

/// How an operator is written.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// So many arguments, no more and no fewer.
    Exactly(usize, Plain),
    /// From so many to so many arguments.
    Between(usize, usize, Plain),
    /// Any number of arguments.
    Any(Plain),
    /// An object of named arguments.
    Named(&'static Fields, PlainNamed),
    /// So many arguments, for an operator that charges the budget itself.
    Charged(Count, Charged),
    /// Named arguments, for an operator that charges the budget itself.
    NamedCharged(&'static Fields, ChargedNamed),
    /// The operator reads its argument itself.
    Custom(Custom),
}

/// A parser of its own: it gets the operator's name, its argument, and the variables that are known.
pub(crate) type Custom = fn(&'static str, &Value, &Names) -> Result<Expr>;

/// The code of leaving out an argument that may be left out.
pub(crate) const OPTIONAL: i32 = 0;

/// The named arguments of an operator and the codes of the mistakes in them.
pub(crate) struct Fields {
    /// The names in the order in which they are computed, and the code of leaving one out; 0 allows it.
    pub(crate) names: &'static [(&'static str, i32)],
    pub(crate) not_object: i32,
    pub(crate) unknown: i32,
}

impl Fields {
    /// Reads the arguments, in the order of the names.
    pub(crate) fn parse(
        &self,
        operator: &str,
        spec: &Value,
        names: &Names,
    ) -> Result<Vec<Option<Expr>>> {
        let raw = self.take(operator, spec)?;
        let parse = |value: Option<&Value>| value.map(|value| Expr::parse(value, names));
        raw.into_iter()
            .map(|value| parse(value).transpose())
            .collect()
    }

    /// The arguments as they stand, in the order of the names.
    pub(crate) fn take<'v>(
        &self,
        operator: &str,
        spec: &'v Value,
    ) -> Result<Vec<Option<&'v Value>>> {
        let Some(object) = spec.as_object() else {
            return Err(MqlError::new(
                self.not_object,
                format!("{operator} only supports an object as its argument"),
            ));
        };
        for key in object.keys() {
            if !self.names.iter().any(|(name, _)| name == key) {
                let message = format!("Unrecognized argument to {operator}: {key}");
                return Err(MqlError::new(self.unknown, message));
            }
        }
        let mut found = Vec::with_capacity(self.names.len());
        for (name, missing) in self.names {
            let value = object.get(name);
            if value.is_none() && *missing != OPTIONAL {
                let message = format!("Missing '{name}' parameter to {operator}");
                return Err(MqlError::new(*missing, message));
            }
            found.push(value);
        }
        Ok(found)
    }
}

impl Form {
    /// Reads the argument of an operator.
    pub(crate) fn parse(self, name: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
        let (count, run) = match self {
            Form::Exactly(count, run) => (Count::Exactly(count), Run::Plain(run)),
            Form::Between(min, max, run) => (Count::Between(min, max), Run::Plain(run)),
            Form::Any(run) => (Count::Any, Run::Plain(run)),
            Form::Charged(count, run) => (count, Run::Charged(run)),
            Form::Named(fields, run) => {
                return Ok(Expr::Named {
                    run: RunNamed::Plain(run),
                    args: fields.parse(name, spec, names)?,
                });
            }
            Form::NamedCharged(fields, run) => {
                return Ok(Expr::Named {
                    run: RunNamed::Charged(run),
                    args: fields.parse(name, spec, names)?,
                });
            }
            Form::Custom(parse) => return parse(name, spec, names),
        };
        let args = arguments(spec, names)?;
        count.check(name, args.len())?;
        Ok(Expr::Call { run, args })
    }
}

impl Count {
    fn check(self, name: &str, given: usize) -> Result<()> {
        match self {
            Count::Exactly(count) if given != count => Err(MqlError::new(
                16020,
                format!(
                    "Expression {name} takes exactly {count} arguments. {given} were passed in."
                ),
            )),
            Count::Between(min, max) if !(min..=max).contains(&given) => Err(MqlError::new(
                28667,
                format!(
                    "Expression {name} takes at least {min} arguments, and at most {max}, but {given} were passed in."
                ),
            )),
            Count::Exactly(_) | Count::Between(..) | Count::Any => Ok(()),
        }
    }
}

impl Run {
    fn eval(self, args: &Args<'_>, budget: &Budget) -> Result<Value> {
        match self {
            Run::Plain(run) => run(args),
            Run::Charged(run) => run(args, budget),
        }
    }

    /// Computes the arguments and then the value, which alone is counted in the end.
    pub(super) fn get<'s>(self, args: &'s [Expr], scope: &Scope<'s>) -> Result<Value> {
        let budget = scope.budget();
        budget.step()?;
        let before = budget.scratch();
        let args = args.iter().map(|arg| arg.get(scope));
        let args = args.collect::<Result<Vec<_>>>()?;
        let value = self.eval(&args, budget)?;
        Ok(budget.made(before, value)?)
    }
}

impl RunNamed {
    fn eval(self, args: &NamedArgs<'_>, budget: &Budget) -> Result<Value> {
        match self {
            RunNamed::Plain(run) => run(args),
            RunNamed::Charged(run) => run(args, budget),
        }
    }

    /// Computes the arguments and then the value, which alone is counted in the end.
    pub(super) fn get<'s>(self, args: &'s [Option<Expr>], scope: &Scope<'s>) -> Result<Value> {
        let budget = scope.budget();
        budget.step()?;
        let before = budget.scratch();
        let get = |arg: &'s Option<Expr>| arg.as_ref().map(|arg| arg.get(scope));
        let args = args.iter().map(|arg| get(arg).transpose());
        let args = args.collect::<Result<Vec<_>>>()?;
        let value = self.eval(&args, budget)?;
        Ok(budget.made(before, value)?)
    }
}

/// The arguments of an operator: an array is a list of them, anything else is the only one.
pub(crate) fn arguments(spec: &Value, names: &Names) -> Result<Vec<Expr>> {
    match spec {
        Value::Array(elements) => elements
            .iter()
            .map(|element| Expr::parse(element, names))
            .collect(),
        _ => Ok(vec![Expr::parse(spec, names)?]),
    }
}

/// Whether any argument is null or missing, which makes most operators answer null.
pub(crate) fn any_nullish(args: &Args<'_>) -> bool {
    args.iter().any(|value| is_nullish(value))
}

/// Whether the value is null or missing.
pub(crate) fn is_nullish(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Undefined)
}
