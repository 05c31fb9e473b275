//! Expressions of the aggregation language: what `$project`, `$group`, `$expr` and their like compute.
//!
//! A missing value is [`Value::Undefined`]. Each operator is a file; `table.rs` lists them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use lapsedb_value::budget::{MEMBER_BYTES, VALUE_BYTES};
use lapsedb_value::{Object, Str, Value};

use crate::{MqlError, Result};

mod arithmetic;
mod array;
mod boolean;
mod collated;
mod comparison;
mod conditional;
mod data;
pub(crate) mod date;
mod fields;
pub(crate) mod form;
pub(crate) mod numeric;
mod object;
pub(crate) mod path;
mod scope;
mod set;
mod string;
mod table;
mod trigonometry;
mod types;
pub(crate) mod values;
mod variable;

pub(crate) use array::{N_FIELDS, read_n};
use form::{Operator, Run, RunNamed};
pub(crate) use object::merge_objects::merge;
use path::Path;
pub use scope::{Beside, Env, Metas, Names, Scope};
pub(crate) use table::is_operator;
pub use table::operator_names;
pub(crate) use variable::unavailable;

/// An expression that has been read and checked.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    /// A value that stands for itself.
    Literal(Value),
    /// A field path or a variable.
    Path(Path),
    /// An object whose members are computed.
    Object(Vec<(Str, Expr)>),
    /// An array whose elements are computed.
    Array(Vec<Expr>),
    /// An operator over computed arguments.
    Call { run: Run, args: Vec<Expr> },
    /// An operator over named arguments.
    Named {
        run: RunNamed,
        args: Vec<Option<Expr>>,
    },
    /// An operator that computes its arguments as it needs them.
    Lazy(Arc<dyn Operator>),
}

impl Expr {
    /// Reads an expression; the names are the variables that will be there.
    pub(crate) fn parse(spec: &Value, names: &Names) -> Result<Expr> {
        match spec {
            Value::String(text) if text.starts_with('$') => {
                Ok(Expr::Path(Path::parse(text, names)?))
            }
            Value::Object(object) => Expr::parse_object(object, names),
            Value::Array(elements) => {
                let elements = elements.iter().map(|element| Expr::parse(element, names));
                Ok(Expr::Array(elements.collect::<Result<_>>()?).folded(names)?)
            }
            _ => Ok(Expr::Literal(spec.clone())),
        }
    }

    fn parse_object(object: &Object, names: &Names) -> Result<Expr> {
        let operator = object.keys().next().filter(|key| key.starts_with('$'));
        if let Some(name) = operator {
            return Expr::parse_operator(name, object, names);
        }
        let mut members: Vec<(Str, Expr)> = Vec::with_capacity(object.len());
        let mut known = HashSet::with_capacity(object.len());
        for (name, value) in object {
            path::check_member_name(name)?;
            if !known.insert(name) {
                let message = format!("duplicate field name specified in object literal: {name}");
                return Err(MqlError::new(16406, message));
            }
            members.push((name.clone(), Expr::parse(value, names)?));
        }
        Expr::Object(members).folded(names)
    }

    fn parse_operator(name: &str, object: &Object, names: &Names) -> Result<Expr> {
        if object.len() != 1 {
            return Err(MqlError::new(
                15983,
                format!(
                    "an object representing an expression must have exactly one field: {}",
                    Value::Object(object.clone())
                ),
            ));
        }
        let Some((name, form)) = table::find(name) else {
            return Err(MqlError::new(
                168,
                format!("Unrecognized expression '{name}'"),
            ));
        };
        let spec = object.get(name).unwrap_or(Value::undefined());
        collated::compared(name, form.parse(name, spec, names)?, names).folded(names)
    }

    /// The same expression; one that reads nothing is computed now, and its mistakes are found now.
    ///
    /// What it computes stays as long as the expression does, so it is counted as held.
    fn folded(self, names: &Names) -> Result<Expr> {
        let constant = match &self {
            Expr::Literal(_) | Expr::Path(_) | Expr::Lazy(_) => false,
            Expr::Object(members) => members.iter().all(|(_, member)| member.is_literal()),
            Expr::Array(elements) => elements.iter().all(Expr::is_literal),
            Expr::Call { args, .. } => args.iter().all(Expr::is_literal),
            Expr::Named { args, .. } => args.iter().flatten().all(Expr::is_literal),
        };
        match constant {
            true => {
                let root = Object::new();
                let env = Env::default().within(names.budget());
                match self.eval(&Scope::new(&root, &env)) {
                    // It will be found again when a document comes.
                    Err(_) if names.are_mistakes_late() => Ok(self),
                    value => {
                        let value = value?;
                        names.keep(env.budget().scratch())?;
                        Ok(Expr::Literal(value))
                    }
                }
            }
            false => Ok(self),
        }
    }

    fn is_literal(&self) -> bool {
        matches!(self, Expr::Literal(_))
    }

    /// The value it always has, if it reads nothing.
    pub(crate) fn constant(&self) -> Option<&Value> {
        match self {
            Expr::Literal(value) => Some(value),
            Expr::Path(_)
            | Expr::Object(_)
            | Expr::Array(_)
            | Expr::Call { .. }
            | Expr::Named { .. }
            | Expr::Lazy(_) => None,
        }
    }

    /// Computes the value.
    pub(crate) fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        match self.get(scope)? {
            Cow::Owned(value) => Ok(value),
            Cow::Borrowed(value) => Ok(scope.budget().copy(value)?),
        }
    }

    /// Computes the value, or borrows it where it already lies.
    pub(crate) fn get<'s>(&'s self, scope: &Scope<'s>) -> Result<Cow<'s, Value>> {
        match self {
            Expr::Literal(value) => Ok(Cow::Borrowed(value)),
            Expr::Path(path) => match path.get(scope)? {
                Cow::Borrowed(value) => Ok(Cow::Borrowed(value)),
                Cow::Owned(value) => {
                    let budget = scope.budget();
                    Ok(Cow::Owned(budget.made(budget.scratch(), value)?))
                }
            },
            Expr::Object(members) => {
                let budget = scope.budget();
                let mut object = Object::with_capacity(members.len());
                for (name, member) in members {
                    let value = member.eval(scope)?;
                    if !value.is_undefined() {
                        budget.charge(MEMBER_BYTES)?;
                        object.push(name.clone(), value);
                    }
                }
                Ok(Cow::Owned(Value::Object(object)))
            }
            Expr::Array(elements) => {
                let budget = scope.budget();
                let mut values = Vec::with_capacity(elements.len());
                for element in elements {
                    budget.charge(VALUE_BYTES)?;
                    values.push(missing_to_null(element.eval(scope)?));
                }
                Ok(Cow::Owned(Value::Array(values)))
            }
            Expr::Call { run, args } => run.get(args, scope).map(Cow::Owned),
            Expr::Named { run, args } => run.get(args, scope).map(Cow::Owned),
            Expr::Lazy(operator) => {
                let budget = scope.budget();
                budget.step()?;
                let before = budget.scratch();
                let value = operator.eval(scope)?;
                Ok(Cow::Owned(budget.made(before, value)?))
            }
        }
    }

    /// An operator that computes its arguments as it needs them.
    pub(crate) fn lazy(operator: impl Operator + 'static) -> Expr {
        Expr::Lazy(Arc::new(operator))
    }
}

/// Arrays have no holes: what is missing becomes null in them.
pub(crate) fn missing_to_null(value: Value) -> Value {
    match value {
        Value::Undefined => Value::Null,
        present => present,
    }
}
