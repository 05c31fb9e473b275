//! `$setWindowFields`: fields computed over the documents around each.

use std::fmt;

use lapsedb_value::budget::{Held, sort_by};

use crate::accumulators::{Gather, weight};
use crate::expressions::form::is_nullish;
use crate::expressions::numeric::Num;
use crate::expressions::values::compare;
use crate::expressions::{Env, Scope, missing_to_null};

use super::*;

mod bounds;
mod covariance_pop;
mod covariance_samp;
mod dense_rank;
mod derivative;
mod document_number;
mod exp_moving_avg;
mod gathered;
mod integral;
mod linear_fill;
mod locf;
mod rank;
mod shift;

use bounds::Bounds;

/// The parts, the order within them, and what is computed.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    partition: Option<Expr>,
    sort: Option<Sort>,
    output: Vec<(Vec<Str>, Arc<dyn Function>)>,
}

/// A function over the documents of one part, which are in order.
trait Function: fmt::Debug + Send + Sync {
    /// One value for each document.
    fn run(&self, part: &Part<'_>) -> Result<Vec<Value>>;
}

/// The documents of one part, in order.
struct Part<'a> {
    documents: &'a [Object],
    sort: Option<&'a Sort>,
    env: &'a Env,
    /// Counts what is computed.
    held: &'a Held,
}

impl Part<'_> {
    fn len(&self) -> usize {
        self.documents.len()
    }

    /// The value of an expression for one document.
    fn eval(&self, expr: &Expr, at: usize) -> Result<Value> {
        self.env.budget().step()?;
        match self.documents.get(at) {
            Some(document) => self.counted(expr.eval(&Scope::new(document, self.env))?),
            None => Ok(Value::Undefined),
        }
    }

    /// Counts a value that has been computed for one document.
    fn counted(&self, value: Value) -> Result<Value> {
        self.env.budget().set_scratch(0);
        self.held.add(weight(&value))?;
        Ok(value)
    }

    /// What a document is ordered by, when the order has one field.
    fn position(&self, at: usize) -> Value {
        let field = self.sort.and_then(|sort| sort.fields().next());
        let (Some((field, _)), Some(document)) = (field, self.documents.get(at)) else {
            return Value::Undefined;
        };
        let steps: Vec<Str> = field.split('.').map(Str::new).collect();
        match steps.split_first() {
            Some((first, rest)) => {
                let member = document.get(first).unwrap_or(Value::undefined());
                path::follow(member, rest).into_owned()
            }
            None => Value::Undefined,
        }
    }
}

/// What a window function is read from.
struct Spec<'a> {
    name: &'static str,
    argument: &'a Value,
    bounds: Option<Bounds>,
    sort: Option<&'a Sort>,
    names: &'a Names,
}

type ParseFunction = fn(Spec<'_>) -> Result<Arc<dyn Function>>;

/// Sorted by name, so that a search halves it. Accumulators are functions too.
const FUNCTIONS: &[(&str, ParseFunction)] = &[
    ("$covariancePop", covariance_pop::parse),
    ("$covarianceSamp", covariance_samp::parse),
    ("$denseRank", dense_rank::parse),
    ("$derivative", derivative::parse),
    ("$documentNumber", document_number::parse),
    ("$expMovingAvg", exp_moving_avg::parse),
    ("$integral", integral::parse),
    ("$linearFill", linear_fill::parse),
    ("$locf", locf::parse),
    ("$rank", rank::parse),
    ("$shift", shift::parse),
];

/// Accumulators that have no meaning over windows.
const NOT_OVER_WINDOWS: &[&str] = &["$mergeObjects"];

fn failed(message: impl Into<String>) -> MqlError {
    MqlError::failed_to_parse(message)
}

pub(super) fn parse(
    stage: &'static str,
    spec: &Value,
    context: &Context<'_>,
) -> Result<Vec<Stage>> {
    let message = "the $setWindowFields stage specification must be an object, found";
    let object = object_of(9, spec, message)?;
    let (mut partition, mut sort, mut output) = (None, None, None);
    for (name, value) in object {
        match (name.as_str(), value) {
            ("partitionBy", value) => partition = Some(Expr::parse(value, &context.names)?),
            ("sortBy", Value::Object(fields)) => {
                let order = Sort::parse(fields)?;
                sort = Some(order.with_collation(context.options.collation.clone()));
            }
            ("sortBy", other) => return Err(wrong_type(stage, "sortBy", other, "object")),
            ("output", Value::Object(fields)) => output = Some(fields),
            ("output", other) => return Err(wrong_type(stage, "output", other, "object")),
            (other, _) => return Err(unknown_field(stage, other)),
        }
    }
    let output = output.ok_or_else(|| missing_field(stage, "output"))?;
    let field = |(name, value): (&Str, &Value)| {
        let steps = path::split(name)?;
        let function = parse_field(name, value, sort.as_ref(), &context.names)?;
        Ok((steps, function))
    };
    let output = output.iter().map(field).collect::<Result<Vec<_>>>()?;
    Ok(vec![Stage::SetWindowFields(Arc::new(Windows {
        partition,
        sort,
        output,
    }))])
}

fn parse_field(
    field: &str,
    value: &Value,
    sort: Option<&Sort>,
    names: &Names,
) -> Result<Arc<dyn Function>> {
    let Some(object) = value.as_object() else {
        return Err(failed(format!("The field '{field}' must be an object")));
    };
    let (mut function, mut bounds) = (None, None);
    for (name, value) in object {
        match name.as_str() {
            "window" => bounds = Some(Bounds::parse(value, sort)?),
            name if name.starts_with('$') && function.is_none() => function = Some((name, value)),
            name if name.starts_with('$') => {
                return Err(failed(
                    "Cannot specify two functions in window function spec",
                ));
            }
            other => {
                let message = format!("Window function found an unknown argument: {other}");
                return Err(failed(message));
            }
        }
    }
    let (name, argument) =
        function.ok_or_else(|| failed("Expected a $-prefixed window function"))?;
    let at = FUNCTIONS.binary_search_by(|(known, _)| (*known).cmp(name));
    if let Some((name, parse)) = at.ok().and_then(|at| FUNCTIONS.get(at)) {
        return parse(Spec {
            name,
            argument,
            bounds,
            sort,
            names,
        });
    }
    if crate::accumulators::find(name).is_none() || NOT_OVER_WINDOWS.contains(&name) {
        return Err(failed(format!("Unrecognized window function, {name}")));
    }
    let mut only = Object::new();
    only.push(name, argument.clone());
    let gather = Gather::parse(field, &Value::Object(only), names)?;
    Ok(Arc::new(gathered::Gathered::new(gather, bounds)))
}

impl Spec<'_> {
    /// The order of functions that need exactly one field.
    fn one_field(&self, code: i32) -> Result<()> {
        match self.sort.map(|sort| sort.fields().count()) {
            Some(1) => Ok(()),
            Some(_) | None => {
                let message = format!(
                    "{} must be specified with a top level sortBy expression with exactly one element",
                    self.name
                );
                Err(MqlError::new(code, message))
            }
        }
    }

    /// The argument of functions that take none.
    fn no_arguments(&self) -> Result<()> {
        if self.bounds.is_some() {
            return Err(MqlError::new(
                5371601,
                "Rank style window functions take no other arguments",
            ));
        }
        match self.argument.as_object() {
            Some(object) if object.is_empty() => Ok(()),
            Some(_) | None => {
                let message = format!("{} must be specified with '{{}}' as the value", self.name);
                Err(MqlError::new(5371603, message))
            }
        }
    }

    /// The named arguments of a function, each an expression or a value as it stands.
    fn object(&self) -> Result<&Object> {
        self.argument.as_object().ok_or_else(|| {
            let found = type_name(self.argument);
            failed(format!(
                "{} expects an object, but got a {found}",
                self.name
            ))
        })
    }
}

pub(super) fn start(windows: &Arc<Windows>, env: Shared) -> Work {
    Work::Step(Box::new(Windowing {
        windows: Arc::clone(windows),
        rows: Vec::new(),
        memory: Memory::new("$setWindowFields", &env),
        computed: Held::new(env.budget()),
        env,
    }))
}

struct Windowing {
    windows: Arc<Windows>,
    env: Shared,
    /// Each document with its part and its place in the order.
    rows: Vec<(Value, Vec<Value>, Object)>,
    memory: Memory,
    /// What is computed over windows.
    computed: Held,
}

impl Step for Windowing {
    fn holds(&self) -> bool {
        true
    }

    fn push(&mut self, document: Object, _: &mut Vec<Object>) -> Result<Flow> {
        self.memory.add_document(&document)?;
        let partition = match &self.windows.partition {
            Some(expr) => missing_to_null(expr.eval(&Scope::new(&document, &self.env))?),
            None => Value::Null,
        };
        if partition.as_array().is_some() {
            return Err(MqlError::type_mismatch(
                "An expression used to partition cannot evaluate to value of type array",
            ));
        }
        let key = match &self.windows.sort {
            Some(sort) => sort.key(&document)?,
            None => Vec::new(),
        };
        self.rows.push((partition, key, document));
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<Object>) -> Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        let sort = self.windows.sort.as_ref();
        rows = sort_by(
            rows,
            self.env.budget(),
            |(part_a, key_a, _), (part_b, key_b, _)| {
                compare(part_a, part_b).then_with(|| match sort {
                    Some(sort) => sort.compare_keys(key_a, key_b),
                    None => std::cmp::Ordering::Equal,
                })
            },
        )?;
        let mut rows = rows.into_iter().peekable();
        while let Some((partition, _, first)) = rows.next() {
            let mut documents = vec![first];
            while let Some((_, _, document)) =
                rows.next_if(|(other, _, _)| compare(other, &partition).is_eq())
            {
                documents.push(document);
            }
            self.run(documents, out)?;
        }
        Ok(())
    }
}

impl Windowing {
    /// Computes all fields over one part as it came, then sets them.
    fn run(&self, mut documents: Vec<Object>, out: &mut Vec<Object>) -> Result<()> {
        let part = Part {
            documents: &documents,
            sort: self.windows.sort.as_ref(),
            env: &self.env,
            held: &self.computed,
        };
        let columns = self.windows.output.iter();
        let columns = columns.map(|(_, function)| function.run(&part));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        for ((steps, _), column) in self.windows.output.iter().zip(columns) {
            for (document, value) in documents.iter_mut().zip(column) {
                if !value.is_undefined() {
                    set_path(document, steps, value);
                }
            }
        }
        out.append(&mut documents);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_window_functions_is_sorted() {
        assert!(FUNCTIONS.is_sorted_by_key(|(name, _)| *name));
    }
}
