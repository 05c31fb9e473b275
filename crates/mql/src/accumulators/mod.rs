//! Accumulators: what `$group`, `$bucket` and windows gather from many documents.

use lapsedb_value::budget::{VALUE_BYTES, object_bytes, owned_bytes};
use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::{Members, Object, Str, Value};

use crate::expressions::form::is_nullish;
use crate::expressions::numeric::{Num, decimal};
use crate::expressions::values::compare;
use crate::expressions::{Env, Expr, Names, Scope, missing_to_null};
use crate::sort::Sort;
use crate::{MqlError, Result};

pub(crate) mod add_to_set;
pub(crate) mod avg;
pub(crate) mod bottom;
pub(crate) mod bottom_n;
pub(crate) mod count;
pub(crate) mod first;
pub(crate) mod first_n;
pub(crate) mod last;
pub(crate) mod last_n;
pub(crate) mod max;
pub(crate) mod max_n;
pub(crate) mod median;
pub(crate) mod merge_objects;
pub(crate) mod min;
pub(crate) mod min_n;
pub(crate) mod percentile;
pub(crate) mod push;
pub(crate) mod std_dev_pop;
pub(crate) mod std_dev_samp;
pub(crate) mod sum;
pub(crate) mod top;
pub(crate) mod top_n;

/// Something that values are added to, one by one.
pub(crate) trait Accumulator: Send {
    /// Takes one more value.
    fn add(&mut self, value: &Value) -> Result<()>;

    /// What has come together so far.
    fn result(&self) -> Result<Value>;

    /// Bytes held beyond a fixed few, for the limit on memory. Asked for every document, so it must be known.
    fn bytes(&self) -> usize {
        0
    }

    /// Bytes that taking one more value moves at worst.
    fn work(&self) -> usize {
        0
    }
}

/// An accumulator as it stands in a stage: what to add, and how to begin.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    argument: Argument,
    start: Start,
}

/// What is added for each document.
#[derive(Clone, Debug)]
enum Argument {
    /// The value of an expression.
    Value(Expr),
    /// An array of the keys of an order, then the value of an expression.
    Sorted { by: Sort, output: Expr },
}

/// How an accumulator begins.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    Plain(fn() -> Box<dyn Accumulator>),
    /// So many values are kept; how many may depend on the group's id.
    Counted(Expr, fn(usize) -> Box<dyn Accumulator>),
    /// So many documents are kept, by an order; from its end if so said.
    Ordered {
        by: Sort,
        n: Option<Expr>,
        last: bool,
    },
    Percentile(percentile::Spec),
}

/// Reads the argument of an accumulator.
pub(crate) type Parse = fn(&'static str, &Value, &Names) -> Result<Gather>;

/// Sorted by name, so that a search halves it.
const ACCUMULATORS: &[(&str, Parse)] = &[
    ("$addToSet", add_to_set::parse),
    ("$avg", avg::parse),
    ("$bottom", bottom::parse),
    ("$bottomN", bottom_n::parse),
    ("$count", count::parse),
    ("$first", first::parse),
    ("$firstN", first_n::parse),
    ("$last", last::parse),
    ("$lastN", last_n::parse),
    ("$max", max::parse),
    ("$maxN", max_n::parse),
    ("$median", median::parse),
    ("$mergeObjects", merge_objects::parse),
    ("$min", min::parse),
    ("$minN", min_n::parse),
    ("$percentile", percentile::parse_accumulator),
    ("$push", push::parse),
    ("$stdDevPop", std_dev_pop::parse),
    ("$stdDevSamp", std_dev_samp::parse),
    ("$sum", sum::parse),
    ("$top", top::parse),
    ("$topN", top_n::parse),
];

/// The accumulator of that name.
pub(crate) fn find(name: &str) -> Option<(&'static str, Parse)> {
    let at = ACCUMULATORS.binary_search_by(|(known, _)| (*known).cmp(name));
    at.ok().and_then(|at| ACCUMULATORS.get(at)).copied()
}

/// The names of all accumulators, in order.
pub fn accumulator_names() -> impl Iterator<Item = &'static str> {
    ACCUMULATORS.iter().map(|(name, _)| *name)
}

impl Gather {
    /// Adds the names of the outermost members that it looks at; false, if it may look at all of them.
    pub(crate) fn fields(&self, names: &mut Vec<Str>) -> bool {
        match &self.argument {
            Argument::Value(value) => value.fields(names),
            Argument::Sorted { by, output } => {
                let first = |path: &str| Str::new(path.split('.').next().unwrap_or(path));
                names.extend(by.fields().map(|(path, _)| first(path)));
                output.fields(names)
            }
        }
    }

    /// Reads `{$sum: …}`.
    pub(crate) fn parse(field: &str, spec: &Value, names: &Names) -> Result<Gather> {
        let Some(object) = spec.as_object() else {
            let message = format!("The field '{field}' must be an accumulator object");
            return Err(MqlError::new(40234, message));
        };
        let mut members = object.iter();
        let (Some((name, argument)), None) = (members.next(), members.next()) else {
            let message = match object.is_empty() {
                true => format!("The field '{field}' must be an accumulator object"),
                false => format!("The field '{field}' must specify one accumulator"),
            };
            let code = if object.is_empty() { 40234 } else { 40238 };
            return Err(MqlError::new(code, message));
        };
        if !name.starts_with('$') {
            let message = format!("The field '{field}' must be an accumulator object");
            return Err(MqlError::new(40234, message));
        }
        match find(name) {
            Some((name, parse)) => parse(name, argument, names),
            None => Err(MqlError::new(
                15952,
                format!("unknown group operator '{name}'"),
            )),
        }
    }

    /// A new accumulator; the group's id is what counts may depend on.
    pub(crate) fn start(&self, id: &Value, env: &Env) -> Result<Box<dyn Accumulator>> {
        let count = |n: &Expr| {
            let empty = Object::new();
            let root = id.as_object().unwrap_or(&empty);
            read_n(&n.eval(&Scope::new(root, env))?)
        };
        match &self.start {
            Start::Plain(start) => Ok(start()),
            Start::Counted(n, start) => Ok(start(count(n)?)),
            Start::Ordered { by, n, last } => {
                let kept = match n {
                    Some(n) => top_n::Kept::Several(count(n)?),
                    None => top_n::Kept::One,
                };
                Ok(Box::new(top_n::Top::new(by.clone(), kept, *last)))
            }
            Start::Percentile(spec) => Ok(Box::new(percentile::Percentile::new(spec.clone()))),
        }
    }

    /// Adds what a document has.
    pub(crate) fn add(&self, accumulator: &mut dyn Accumulator, scope: &Scope<'_>) -> Result<()> {
        scope.budget().work(accumulator.work())?;
        match &self.argument {
            Argument::Value(expr) => accumulator.add(&*expr.get(scope)?),
            Argument::Sorted { by, output } => {
                let mut values = by.plain_key(scope.root())?;
                values.push(output.eval(scope)?);
                accumulator.add(&Value::Array(values))
            }
        }
    }
}

/// An accumulator of one expression; an array of several is refused.
fn unary(
    operator: &str,
    spec: &Value,
    names: &Names,
    start: fn() -> Box<dyn Accumulator>,
) -> Result<Gather> {
    if spec.as_array().is_some() {
        let message = format!("The {operator} accumulator is a unary operator");
        return Err(MqlError::new(40237, message));
    }
    Ok(Gather {
        argument: Argument::Value(Expr::parse(spec, names)?),
        start: Start::Plain(start),
    })
}

/// An accumulator of `n` values.
fn counted(
    operator: &str,
    spec: &Value,
    names: &Names,
    start: fn(usize) -> Box<dyn Accumulator>,
) -> Result<Gather> {
    let mut parts = N_FIELDS.parse(operator, spec, names)?.into_iter();
    let mut part = || {
        parts
            .next()
            .flatten()
            .unwrap_or(Expr::Literal(Value::Undefined))
    };
    let (n, input) = (part(), part());
    if let Some(n) = n.constant() {
        read_n(n)?;
    }
    Ok(Gather {
        argument: Argument::Value(input),
        start: Start::Counted(n, start),
    })
}

use crate::expressions::{N_FIELDS, read_n};

/// Bytes that a value takes in memory, roughly.
pub(crate) fn weight(value: &Value) -> usize {
    VALUE_BYTES + owned_bytes(value)
}

/// Bytes that a document takes in memory, roughly.
pub(crate) fn object_weight(object: &Object) -> usize {
    object_bytes(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        let names: Vec<_> = ACCUMULATORS.iter().map(|(name, _)| *name).collect();
        assert!(names.is_sorted());
    }
}
