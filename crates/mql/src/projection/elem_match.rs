//! `$elemMatch`: the first element of an array that fulfils a condition.

use lapsedb_value::{Object, Str, Value};

use crate::Result;
use crate::expressions::form::Operator;
use crate::expressions::{Env, Expr, Scope};
use crate::filter::{Filter, Options};

/// A field, and the condition its element must fulfil.
#[derive(Clone, Debug)]
pub(super) struct ElementOf {
    field: Str,
    filter: Filter,
}

impl ElementOf {
    pub(super) fn parse(field: &Str, condition: &Object, options: &Options) -> Result<ElementOf> {
        let mut operators = Object::new();
        operators.push("$elemMatch", condition.clone());
        let mut filter = Object::new();
        filter.push(field.clone(), operators);
        Ok(ElementOf {
            field: field.clone(),
            filter: Filter::parse(&filter, options)?,
        })
    }

    /// The array with the one element, or nothing.
    fn element(&self, document: &Object) -> Result<Option<Value>> {
        let found = self.filter.match_with_position(document)?;
        let Some(position) = found.and_then(|found| found.position) else {
            return Ok(None);
        };
        let elements = document.get(&self.field).and_then(Value::as_array);
        let element = elements.and_then(|elements| elements.get(position));
        Ok(element.map(|element| Value::Array(vec![element.clone()])))
    }

    /// Reduces the field where it is.
    pub(super) fn apply(&self, document: &mut Object, _env: &Env) -> Result<()> {
        match self.element(document)? {
            Some(element) => {
                document.insert(self.field.clone(), element);
            }
            None => {
                document.remove(&self.field);
            }
        }
        Ok(())
    }

    /// The same as a computed field.
    pub(super) fn into_expr(self) -> Expr {
        Expr::lazy(self)
    }
}

impl Operator for ElementOf {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        Ok(self.element(scope.root())?.unwrap_or_default())
    }
}
