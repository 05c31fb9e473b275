//! `ORDER BY`: rows are kept with their sort values; what cannot come out any more is dropped early.

use std::cmp::Ordering;

use lapsedb_value::Value;
use lapsedb_value::order::compare_sql;

use crate::error::SqlError;
use crate::eval::{Ctx, weight};
use crate::plan::BoundOrder;

/// Rows beyond the wanted ones that are kept before the rest is dropped.
const SLACK_ROWS: usize = 1_024;

struct Row {
    keys: Vec<Value>,
    value: Value,
    bytes: u64,
}

/// The rows seen so far.
pub(super) struct Sorter<'q> {
    order: &'q [BoundOrder],
    /// How many rows can come out at most.
    wanted: Option<usize>,
    rows: Vec<Row>,
}

impl<'q> Sorter<'q> {
    pub(super) fn new(order: &'q [BoundOrder], wanted: Option<u64>) -> Sorter<'q> {
        let wanted = wanted.map(|wanted| usize::try_from(wanted).unwrap_or(usize::MAX));
        Sorter {
            order,
            wanted,
            rows: Vec::new(),
        }
    }

    /// Takes one row with its sort values.
    pub(super) fn add(
        &mut self,
        ctx: &Ctx<'_>,
        keys: Vec<Value>,
        value: Value,
    ) -> Result<(), SqlError> {
        let bytes = keys.iter().map(weight).sum::<u64>() + weight(&value);
        ctx.keep(bytes)?;
        self.rows.push(Row { keys, value, bytes });
        if let Some(wanted) = self.wanted
            && self.rows.len() > wanted.saturating_mul(2).saturating_add(SLACK_ROWS)
        {
            self.sort();
            for row in self.rows.drain(wanted..) {
                ctx.release(1, row.bytes);
            }
        }
        Ok(())
    }

    /// All rows that can come out, sorted; rows that tie stay in the order they came.
    pub(super) fn finish(mut self) -> impl Iterator<Item = Value> {
        self.sort();
        self.rows.into_iter().map(|row| row.value)
    }

    fn sort(&mut self) {
        let order = self.order;
        self.rows.sort_by(|a, b| compare(order, &a.keys, &b.keys));
    }
}

fn compare(order: &[BoundOrder], a: &[Value], b: &[Value]) -> Ordering {
    for (item, (a, b)) in order.iter().zip(a.iter().zip(b)) {
        let ordering = match (item.is_distance(), a.is_undefined(), b.is_undefined()) {
            (true, true, false) => Ordering::Greater,
            (true, false, true) => Ordering::Less,
            _ if item.descending => compare_sql(b, a),
            _ => compare_sql(a, b),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}
