//! Expressions of the aggregation language: what `$project`, `$group`, `$expr` and their like compute.
//!
//! A missing value is [`Value::Undefined`]. Each operator is a file; `table.rs` lists them.

use std::borrow::Cow;
use std::sync::Arc;

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
                Ok(Expr::Array(elements.collect::<Result<_>>()?).folded()?)
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
        for (name, value) in object {
            path::check_member_name(name)?;
            if members.iter().any(|(known, _)| known == name) {
                let message = format!("duplicate field name specified in object literal: {name}");
                return Err(MqlError::new(16406, message));
            }
            members.push((name.clone(), Expr::parse(value, names)?));
        }
        Expr::Object(members).folded()
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
        collated::compared(name, form.parse(name, spec, names)?, names).folded()
    }

    /// The same expression; one that reads nothing is computed now, and its mistakes are found now.
    fn folded(self) -> Result<Expr> {
        let constant = match &self {
            Expr::Literal(_) | Expr::Path(_) | Expr::Lazy(_) => false,
            Expr::Object(members) => members.iter().all(|(_, member)| member.is_literal()),
            Expr::Array(elements) => elements.iter().all(Expr::is_literal),
            Expr::Call { args, .. } => args.iter().all(Expr::is_literal),
            Expr::Named { args, .. } => args.iter().flatten().all(Expr::is_literal),
        };
        match constant {
            true => {
                let (root, env) = (Object::new(), Env::default());
                Ok(Expr::Literal(self.eval(&Scope::new(&root, &env))?))
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
        Ok(self.get(scope)?.into_owned())
    }

    /// Computes the value, or borrows it where it already lies.
    pub(crate) fn get<'s>(&'s self, scope: &Scope<'s>) -> Result<Cow<'s, Value>> {
        match self {
            Expr::Literal(value) => Ok(Cow::Borrowed(value)),
            Expr::Path(path) => path.get(scope),
            Expr::Object(members) => {
                let mut object = Object::with_capacity(members.len());
                for (name, member) in members {
                    let value = member.get(scope)?;
                    if !value.is_undefined() {
                        object.push(name.clone(), value.into_owned());
                    }
                }
                Ok(Cow::Owned(Value::Object(object)))
            }
            Expr::Array(elements) => {
                let element = |expr: &Expr| expr.eval(scope).map(missing_to_null);
                let values = elements.iter().map(element).collect::<Result<Vec<_>>>()?;
                Ok(Cow::Owned(Value::Array(values)))
            }
            Expr::Call { run, args } => {
                let args = args.iter().map(|arg| arg.get(scope));
                let args = args.collect::<Result<Vec<_>>>()?;
                run(&args).map(Cow::Owned)
            }
            Expr::Named { run, args } => {
                let get = |arg: &'s Option<Expr>| arg.as_ref().map(|arg| arg.get(scope));
                let args = args.iter().map(|arg| get(arg).transpose());
                let args = args.collect::<Result<Vec<_>>>()?;
                run(&args).map(Cow::Owned)
            }
            Expr::Lazy(operator) => operator.eval(scope).map(Cow::Owned),
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
