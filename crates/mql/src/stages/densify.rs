//! `$densify`: documents for the steps of a range that have none.

use std::cmp::Ordering;

use crate::expressions::date::{Unit, Zone, add_units};
use crate::expressions::form::is_nullish;
use crate::expressions::numeric::Num;
use crate::expressions::path::follow;
use crate::expressions::values::compare;

use super::*;

/// Documents that one `$densify` makes at most.
const DENSIFIED_DOCUMENTS_MAX: usize = 500_000;

/// The field, the parts that are densified by themselves, and the steps.
#[derive(Clone, Debug)]
pub(crate) struct Densify {
    field: Vec<Str>,
    partition: Vec<Vec<Str>>,
    step: Value,
    unit: Option<Unit>,
    bounds: Bounds,
}

#[derive(Clone, Debug)]
enum Bounds {
    /// From the least to the greatest value of all documents.
    Full,
    /// From the least to the greatest value of each part.
    Partition,
    /// From a value to before another.
    Explicit(Value, Value),
}

pub(super) fn parse(stage: &'static str, spec: &Value, _: &Context<'_>) -> Result<Vec<Stage>> {
    let object = object_of(
        5733201,
        spec,
        "The $densify stage specification must be an object, found",
    )?;
    let (mut field, mut partition, mut range) = (None, Vec::new(), None);
    for (name, value) in object {
        match (name.as_str(), value) {
            ("field", Value::String(text)) => field = Some(path::split(text)?),
            ("field", other) => return Err(wrong_type(stage, "field", other, "string")),
            ("partitionByFields", Value::Array(list)) => partition = read_paths(list)?,
            ("partitionByFields", other) => {
                return Err(wrong_type(stage, "partitionByFields", other, "array"));
            }
            ("range", Value::Object(object)) => range = Some(object),
            ("range", other) => return Err(wrong_type(stage, "range", other, "object")),
            (other, _) => return Err(unknown_field(stage, other)),
        }
    }
    let field = field.ok_or_else(|| missing_field(stage, "field"))?;
    let range = range.ok_or_else(|| missing_field(stage, "range"))?;
    let (step, unit, bounds) = read_range(range)?;
    if matches!(bounds, Bounds::Partition) && partition.is_empty() {
        return Err(MqlError::new(
            5733408,
            "one may not specify the bounds as 'partition' without specifying a non-empty array of partitionByFields. You may have meant to specify 'full' bounds.",
        ));
    }
    Ok(vec![Stage::Densify(Arc::new(Densify {
        field,
        partition,
        step,
        unit,
        bounds,
    }))])
}

fn read_paths(list: &[Value]) -> Result<Vec<Vec<Str>>> {
    let read = |value: &Value| match value.as_str() {
        Some(text) => path::split(text),
        None => Err(wrong_type("$densify", "partitionByFields", value, "string")),
    };
    list.iter().map(read).collect()
}

fn read_range(range: &Object) -> Result<(Value, Option<Unit>, Bounds)> {
    let (mut step, mut unit, mut bounds) = (None, None, None);
    for (name, value) in range {
        match (name.as_str(), value) {
            ("step", value) => step = Some(value.clone()),
            ("unit", Value::String(name)) => {
                let parsed = Unit::parse(name);
                unit = Some(parsed.ok_or_else(|| {
                    MqlError::failed_to_parse(format!("unknown time unit value: {name}"))
                })?);
            }
            ("bounds", value) => bounds = Some(read_bounds(value)?),
            (other, _) => return Err(unknown_field("$densify.range", other)),
        }
    }
    let step = step.ok_or_else(|| missing_field("$densify.range", "step"))?;
    let bounds = bounds.ok_or_else(|| missing_field("$densify.range", "bounds"))?;
    let number = Num::of(&step).ok_or_else(|| {
        MqlError::type_mismatch("The step parameter in a range statement must be a number")
    })?;
    if number.is_zero() || number.to_f64() < 0.0 || number.is_nan() {
        return Err(MqlError::new(
            5733401,
            "The step parameter in a range statement must be a strictly positive numeric value",
        ));
    }
    if unit.is_some() && number.to_i64_exact().is_none() {
        return Err(MqlError::new(
            6586400,
            "The step parameter in a range statement must be a whole number when densifying a date range",
        ));
    }
    if let Bounds::Explicit(low, high) = &bounds {
        check_bounds(low, high, unit)?;
        let kinds = [type_name(low), type_name(high), type_name(&step)];
        if unit.is_none() && kinds.iter().any(|kind| *kind != type_name(&step)) {
            return Err(MqlError::new(
                5876900,
                "Upper bound, lower bound, and step must all have the same type",
            ));
        }
    }
    Ok((step, unit, bounds))
}

fn read_bounds(value: &Value) -> Result<Bounds> {
    match value {
        Value::String(name) if name == "full" => Ok(Bounds::Full),
        Value::String(name) if name == "partition" => Ok(Bounds::Partition),
        Value::Array(pair) => match pair.as_slice() {
            [low, high] => Ok(Bounds::Explicit(low.clone(), high.clone())),
            _ => Err(MqlError::new(
                5733403,
                "a bounding array in a range statement must have exactly two elements",
            )),
        },
        _ => Err(MqlError::new(
            5946802,
            "the bounds in a range statement must be the string 'full', 'partition', or an ascending array of two numbers or two dates",
        )),
    }
}

fn check_bounds(low: &Value, high: &Value, unit: Option<Unit>) -> Result<()> {
    let kinds = match (low, high, unit) {
        (Value::Date(_), Value::Date(_), Some(_)) => true,
        (low, high, None) => Num::of(low).is_some() && Num::of(high).is_some(),
        _ => false,
    };
    if !kinds {
        return Err(MqlError::new(
            5733402,
            "a bounding array must contain either both dates, with a unit, or both numeric types",
        ));
    }
    match compare(low, high).is_le() {
        true => Ok(()),
        false => Err(MqlError::new(
            5733404,
            "the bounds in a range statement must be in ascending order",
        )),
    }
}

pub(super) fn start(densify: &Arc<Densify>, env: Shared) -> Work {
    Work::Step(Box::new(Densifying {
        densify: Arc::clone(densify),
        rows: Vec::new(),
        passed: Vec::new(),
        memory: Memory::new("$densify", &env),
    }))
}

/// A document, the part it belongs to, and its value.
struct Row {
    partition: Vec<Value>,
    value: Value,
    document: Object,
}

struct Densifying {
    densify: Arc<Densify>,
    rows: Vec<Row>,
    /// Documents without a value: they stay as they are.
    passed: Vec<Object>,
    memory: Memory,
}

impl Densify {
    fn value_at(document: &Object, steps: &[Str]) -> Value {
        match steps.split_first() {
            Some((first, rest)) => {
                let member = document.get(first).unwrap_or(Value::undefined());
                follow(member, rest).into_owned()
            }
            None => Value::Undefined,
        }
    }

    fn check(&self, value: &Value) -> Result<()> {
        match (self.unit, value) {
            (Some(_), Value::Date(_)) => Ok(()),
            (Some(_), _) => Err(MqlError::new(
                6053600,
                "Encountered non-date value in collection when step has a date unit.",
            )),
            (None, value) if Num::of(value).is_some() => Ok(()),
            (None, _) => Err(MqlError::new(
                5733201,
                "PlanExecutor error during aggregation: Densify field type must be numeric or date",
            )),
        }
    }

    /// The value in the kind of the step, if that is the wider one.
    fn widened(&self, value: Value) -> Value {
        match (Num::of(&value), &self.step) {
            (Some(number), Value::Double(_)) if !matches!(number, Num::Decimal(_)) => {
                Value::Double(number.to_f64())
            }
            _ => value,
        }
    }

    /// The value one step on.
    fn next(&self, value: &Value) -> Result<Value> {
        let overflow = || MqlError::new(15, "overflow in $densify");
        match (value, self.unit) {
            (Value::Date(millis), Some(unit)) => {
                let amount = Num::of(&self.step).and_then(Num::to_i64_exact).unwrap_or(1);
                let next = add_units(*millis, unit, amount, &Zone::Utc);
                Ok(Value::Date(next.ok_or_else(overflow)?))
            }
            _ => match (Num::of(value), Num::of(&self.step)) {
                (Some(value), Some(step)) => Ok(value.add(step).value()),
                _ => Err(overflow()),
            },
        }
    }

    /// A document that was not there: its part and its value.
    fn made(&self, partition: &[Value], value: Value) -> Object {
        let mut document = Object::new();
        for (steps, value) in self.partition.iter().zip(partition) {
            if !value.is_undefined() {
                set_path(&mut document, steps, value.clone());
            }
        }
        set_path(&mut document, &self.field, value);
        document
    }
}

impl Step for Densifying {
    fn holds(&self) -> bool {
        true
    }

    fn push(&mut self, document: Object, _: &mut Vec<Object>) -> Result<Flow> {
        self.memory.add_document(&document)?;
        let value = Densify::value_at(&document, &self.densify.field);
        if is_nullish(&value) {
            self.passed.push(document);
            return Ok(Flow::More);
        }
        self.densify.check(&value)?;
        let paths = self.densify.partition.iter();
        let partition = paths
            .map(|steps| Densify::value_at(&document, steps))
            .collect();
        self.rows.push(Row {
            partition,
            value,
            document,
        });
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<Object>) -> Result<()> {
        out.append(&mut self.passed);
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_by(|a, b| {
            compare_lists(&a.partition, &b.partition).then_with(|| compare(&a.value, &b.value))
        });
        let least = rows
            .iter()
            .map(|row| &row.value)
            .min_by(|a, b| compare(a, b))
            .cloned();
        let most = rows
            .iter()
            .map(|row| &row.value)
            .max_by(|a, b| compare(a, b))
            .cloned();
        let mut made = 0;
        if rows.is_empty() && self.densify.partition.is_empty() {
            return self.fill(Vec::new(), (&Value::Null, &Value::Null), &mut made, out);
        }
        let (least, most) = (least.unwrap_or_default(), most.unwrap_or_default());
        let mut rows = rows.into_iter().peekable();
        while let Some(first) = rows.next() {
            let mut part = vec![first];
            while let Some(row) = rows.next_if(|row| {
                part.first().is_some_and(|first| {
                    compare_lists(&first.partition, &row.partition) == Ordering::Equal
                })
            }) {
                part.push(row);
            }
            self.fill(part, (&least, &most), &mut made, out)?;
        }
        Ok(())
    }
}

impl Densifying {
    /// Hands on one part, with documents for the steps that it lacks.
    fn fill(
        &mut self,
        part: Vec<Row>,
        (least, most): (&Value, &Value),
        made: &mut usize,
        out: &mut Vec<Object>,
    ) -> Result<()> {
        let densify = Arc::clone(&self.densify);
        let memory = &mut self.memory;
        let own = |row: Option<&Row>| row.map(|row| row.value.clone()).unwrap_or_default();
        let (low, high, inclusive) = match &densify.bounds {
            Bounds::Full => (least.clone(), most.clone(), true),
            Bounds::Partition => (own(part.first()), own(part.last()), true),
            Bounds::Explicit(low, high) => (low.clone(), high.clone(), false),
        };
        if is_nullish(&low) {
            return Ok(());
        }
        let partition = part
            .first()
            .map(|row| row.partition.clone())
            .unwrap_or_default();
        let mut next = densify.widened(low);
        let mut make_before = |next: &mut Value,
                               end: &Value,
                               inclusive: bool,
                               out: &mut Vec<Object>| {
            loop {
                let order = compare(next, end);
                if order.is_gt() || (order.is_eq() && !inclusive) {
                    return Ok(());
                }
                *made += 1;
                if *made > DENSIFIED_DOCUMENTS_MAX {
                    let message = format!(
                        "Generated {made} documents in $densify, which is over the limit of {DENSIFIED_DOCUMENTS_MAX}"
                    );
                    return Err(MqlError::new(5897900, message));
                }
                let document = densify.made(&partition, next.clone());
                memory.add_document(&document)?;
                out.push(document);
                *next = densify.next(next)?;
            }
        };
        for row in part {
            let end = match compare(&row.value, &high).is_gt() {
                true => &high,
                false => &row.value,
            };
            make_before(&mut next, end, false, out)?;
            if compare(&next, &row.value).is_eq() {
                next = densify.next(&next)?;
            }
            out.push(row.document);
        }
        make_before(&mut next, &high, inclusive, out)
    }
}

fn compare_lists(a: &[Value], b: &[Value]) -> Ordering {
    let mut pairs = a.iter().zip(b).map(|(a, b)| compare(a, b));
    pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
