//! Aggregates, one value at a time.

use std::cmp::Ordering;
use std::collections::HashSet;

use lapsedb_value::Value;
use lapsedb_value::number::Sum;
use lapsedb_value::order::compare_sql;

use super::Key;
use crate::error::SqlError;
use crate::eval::{Ctx, Found, own, weight};
use crate::plan::AggregateKind;

/// What an aggregate has seen so far.
pub(super) enum Aggregate {
    Count(u64),
    CountIf(u64),
    /// The sum, until something that is no number spoils it.
    Sum(Option<Sum>),
    /// Likewise, with the number of values.
    Avg(Option<Sum>, u64),
    /// The smallest or largest value, until an array or object spoils it.
    Extreme {
        wanted: Ordering,
        best: Option<Value>,
        spoiled: bool,
    },
    List(Vec<Value>),
    Set(Vec<Value>, HashSet<Key>),
}

impl Aggregate {
    pub(super) fn new(kind: AggregateKind) -> Aggregate {
        match kind {
            AggregateKind::Count => Aggregate::Count(0),
            AggregateKind::CountIf => Aggregate::CountIf(0),
            AggregateKind::Sum => Aggregate::Sum(Some(Sum::ZERO)),
            AggregateKind::Avg => Aggregate::Avg(Some(Sum::ZERO), 0),
            AggregateKind::Min => Aggregate::Extreme {
                wanted: Ordering::Less,
                best: None,
                spoiled: false,
            },
            AggregateKind::Max => Aggregate::Extreme {
                wanted: Ordering::Greater,
                best: None,
                spoiled: false,
            },
            AggregateKind::MakeList => Aggregate::List(Vec::new()),
            AggregateKind::MakeSet => Aggregate::Set(Vec::new(), HashSet::new()),
        }
    }

    /// Takes one value; an undefined one counts for nothing.
    pub(super) fn add(&mut self, ctx: &Ctx<'_>, value: Found<'_>) -> Result<(), SqlError> {
        if value.is_undefined() {
            return Ok(());
        }
        match self {
            Aggregate::Count(count) => *count += 1,
            Aggregate::CountIf(count) => *count += u64::from(value.as_bool() == Some(true)),
            Aggregate::Sum(sum) => *sum = sum.and_then(|sum| sum.plus(&value)),
            Aggregate::Avg(sum, count) => {
                *sum = sum.and_then(|sum| sum.plus(&value));
                *count += 1;
            }
            Aggregate::Extreme {
                wanted,
                best,
                spoiled,
            } => {
                if !is_primitive(&value) {
                    *spoiled = true;
                } else if best
                    .as_ref()
                    .is_none_or(|best| compare_sql(&value, best) == *wanted)
                {
                    *best = Some(own(ctx, value)?);
                }
            }
            Aggregate::List(items) => {
                ctx.keep(weight(&value))?;
                items.push(own(ctx, value)?);
            }
            Aggregate::Set(items, seen) => {
                let value = own(ctx, value)?;
                if seen.insert(Key(vec![value.clone()])) {
                    ctx.keep(2 * weight(&value))?;
                    items.push(value);
                }
            }
        }
        Ok(())
    }

    /// The result.
    pub(super) fn finish(self) -> Value {
        match self {
            Aggregate::Count(count) | Aggregate::CountIf(count) => Value::number(count as f64),
            Aggregate::Sum(sum) => sum.map(Sum::total).unwrap_or_default(),
            Aggregate::Avg(sum, count) => {
                let mean = sum.and_then(|sum| sum.divided_by(count));
                mean.unwrap_or_default()
            }
            Aggregate::Extreme { spoiled: true, .. } => Value::Undefined,
            Aggregate::Extreme { best, .. } => best.unwrap_or_default(),
            Aggregate::List(items) | Aggregate::Set(items, _) => Value::Array(items),
        }
    }
}

fn is_primitive(value: &Value) -> bool {
    value.is_number() || matches!(value, Value::Null | Value::Bool(_) | Value::String(_))
}
