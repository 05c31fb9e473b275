//! `ORDER BY` and `DISTINCT`: rows are kept with the keys they are sorted by; what cannot come out any more is dropped early.

use std::collections::HashSet;

use lapsedb_query::order::sort_bytes;
use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::{Ctx, weight};
use crate::plan::BoundOrder;

/// Rows beyond the wanted ones that are kept before the rest is dropped.
const SLACK_ROWS: usize = 1_024;

struct Row {
    key: Vec<u8>,
    /// What it has in common with the rows that are the same; empty where every row counts.
    identity: Vec<u8>,
    value: Value,
    bytes: u64,
}

/// The rows seen so far.
pub(super) struct Sorter {
    /// Rows up to this key came out before.
    after: Option<Vec<u8>>,
    /// How many rows can come out at most.
    wanted: Option<usize>,
    /// Whether only the first of the rows that are the same comes out.
    distinct: bool,
    rows: Vec<Row>,
    /// The key of the last row that can come out, if there are enough already.
    last: Option<Vec<u8>>,
    /// Values that came out before, though they occur again.
    done: HashSet<Vec<u8>>,
    /// Rows at which those that cannot come out are dropped.
    full: usize,
}

impl Sorter {
    pub(super) fn new(after: Option<Vec<u8>>, wanted: Option<u64>, distinct: bool) -> Sorter {
        // A value may turn out to have come before, so that others move up.
        let wanted = wanted.filter(|_| !distinct);
        let wanted = wanted.map(|wanted| usize::try_from(wanted).unwrap_or(usize::MAX));
        Sorter {
            after,
            wanted,
            distinct,
            rows: Vec::new(),
            last: None,
            done: HashSet::new(),
            full: wanted
                .unwrap_or(0)
                .saturating_mul(2)
                .saturating_add(SLACK_ROWS),
        }
    }

    pub(super) const fn is_distinct(&self) -> bool {
        self.distinct
    }

    /// Whether a row with this key can come out.
    pub(super) fn admits(&self, key: &[u8]) -> bool {
        self.after.as_deref().is_none_or(|after| key > after)
            && self.last.as_deref().is_none_or(|last| key < last)
    }

    /// Takes one row with its key and what it has in common with the rows that are the same.
    pub(super) fn add(
        &mut self,
        ctx: &Ctx<'_>,
        key: Vec<u8>,
        identity: Vec<u8>,
        value: Value,
    ) -> Result<(), SqlError> {
        if !self.admits(&key) {
            if self.distinct && !self.done.contains(&identity) {
                ctx.keep(identity.len() as u64)?;
                self.done.insert(identity);
            }
            return Ok(());
        }
        if self.distinct && self.done.contains(&identity) {
            return Ok(());
        }
        let bytes = (key.len() + identity.len()) as u64 + weight(&value);
        ctx.keep(bytes)?;
        self.rows.push(Row {
            key,
            identity,
            value,
            bytes,
        });
        if self.rows.len() > self.full {
            self.compact(ctx);
        }
        Ok(())
    }

    fn compact(&mut self, ctx: &Ctx<'_>) {
        let before = (
            self.rows.len(),
            self.rows.iter().map(|row| row.bytes).sum::<u64>(),
        );
        self.sort();
        if let Some(wanted) = self.wanted {
            self.rows.truncate(wanted);
            if self.rows.len() == wanted {
                self.last = self.rows.last().map(|row| row.key.clone());
            }
        } else {
            self.full = self.rows.len().saturating_mul(2).saturating_add(SLACK_ROWS);
        }
        let after: u64 = self.rows.iter().map(|row| row.bytes).sum();
        let dropped = before.0 - self.rows.len();
        ctx.release(dropped as u64, before.1 - after);
    }

    fn sort(&mut self) {
        // Keys hold the place among equals, so that the order is one whatever the sort does.
        self.rows.sort_by(|a, b| a.key.cmp(&b.key));
        if self.distinct {
            let mut seen: HashSet<&[u8]> = HashSet::with_capacity(self.rows.len());
            let firsts: Vec<bool> = self
                .rows
                .iter()
                .map(|row| {
                    !self.done.contains(&row.identity) && seen.insert(row.identity.as_slice())
                })
                .collect();
            let mut firsts = firsts.into_iter();
            self.rows.retain(|_| firsts.next().unwrap_or_default());
        }
    }

    /// All rows that can come out, sorted, with their keys.
    pub(super) fn finish(mut self) -> impl Iterator<Item = (Vec<u8>, Value)> {
        self.sort();
        self.rows.into_iter().map(|row| (row.key, row.value))
    }
}

/// The key that rows are sorted by, before what tells equals apart.
pub(crate) fn sort_key<'v>(
    order: &[BoundOrder],
    values: impl IntoIterator<Item = &'v Value>,
) -> Vec<u8> {
    let mut key = Vec::with_capacity(32);
    for (item, value) in order.iter().zip(values) {
        if item.is_distance() {
            // Distances of vectors: rows that have none come last in either direction.
            key.push(u8::from(value.is_undefined()));
        }
        let from = key.len();
        sort_bytes(value, &mut key);
        if item.descending {
            key.iter_mut().skip(from).for_each(|byte| *byte = !*byte);
        }
    }
    key
}

/// Appends the place of a row among those it ties with: by creation, in the direction of the first path it is sorted by.
pub(crate) fn push_tie(order: &[BoundOrder], ordinal: u64, row: u32, key: &mut Vec<u8>) {
    let falling = order
        .first()
        .is_some_and(|item| item.descending && !item.is_distance());
    let ordinal = if falling { !ordinal } else { ordinal };
    key.extend_from_slice(&ordinal.to_be_bytes());
    key.extend_from_slice(&row.to_be_bytes());
}
