//! `ORDER BY` and `DISTINCT`: rows are kept with the keys they are sorted by; what cannot come out any more is dropped early.

use std::collections::HashSet;

use lapsedb_query::order::{identity_bytes, sort_bytes};
use lapsedb_value::Value;

use crate::error::SqlError;
use crate::eval::{Ctx, weight};
use crate::plan::BoundOrder;

/// Rows beyond the wanted ones that are kept before the rest is dropped.
const SLACK_ROWS: usize = 1_024;

struct Row {
    key: Vec<u8>,
    value: Value,
    bytes: u64,
}

/// What makes a row the same as another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sameness {
    /// Nothing: every row counts.
    None,
    /// Its key, which is that of its value.
    Key,
    /// Its value, whose key begins so many bytes before the end of the key of the row.
    Value,
}

/// The rows seen so far.
pub(super) struct Sorter {
    /// Rows up to this key came out before.
    after: Option<Vec<u8>>,
    /// How many rows can come out at most.
    wanted: Option<usize>,
    sameness: Sameness,
    rows: Vec<Row>,
    /// The key of the last row that can come out, if there are enough already.
    last: Option<Vec<u8>>,
    /// Values that came out before, though they occur again.
    done: HashSet<Vec<u8>>,
    /// Rows at which those that cannot come out are dropped.
    full: usize,
}

impl Sorter {
    pub(super) fn new(after: Option<Vec<u8>>, wanted: Option<u64>, sameness: Sameness) -> Sorter {
        let wanted = match sameness {
            // A value may turn out to have come before, so that others move up.
            Sameness::Value => None,
            Sameness::None | Sameness::Key => wanted,
        };
        let wanted = wanted.map(|wanted| usize::try_from(wanted).unwrap_or(usize::MAX));
        Sorter {
            after,
            wanted,
            sameness,
            rows: Vec::new(),
            last: None,
            done: HashSet::new(),
            full: wanted
                .unwrap_or(0)
                .saturating_mul(2)
                .saturating_add(SLACK_ROWS),
        }
    }

    pub(super) const fn sameness(&self) -> Sameness {
        self.sameness
    }

    /// Whether a row with this key can come out.
    pub(super) fn admits(&self, key: &[u8]) -> bool {
        self.after.as_deref().is_none_or(|after| key > after)
            && self.last.as_deref().is_none_or(|last| key < last)
    }

    /// Takes one row with its key; `value_at` is where the key of the value begins in it.
    pub(super) fn add(
        &mut self,
        ctx: &Ctx<'_>,
        key: Vec<u8>,
        value_at: usize,
        value: Value,
    ) -> Result<(), SqlError> {
        if !self.admits(&key) {
            if self.sameness == Sameness::Value {
                self.done
                    .insert(key.get(value_at..).unwrap_or_default().to_vec());
            }
            return Ok(());
        }
        let bytes = key.len() as u64 + weight(&value);
        ctx.keep(bytes)?;
        self.rows.push(Row { key, value, bytes });
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
        if self.sameness == Sameness::Key {
            self.rows.dedup_by(|a, b| a.key == b.key);
        }
    }

    /// All rows that can come out, sorted, with their keys.
    pub(super) fn finish(mut self) -> impl Iterator<Item = (Vec<u8>, Value)> {
        self.sort();
        let (distinct, mut seen) = (self.sameness == Sameness::Value, self.done);
        self.rows.into_iter().filter_map(move |row| {
            if distinct {
                let mut identity = Vec::new();
                identity_bytes(&row.value, &mut identity);
                if !seen.insert(identity) {
                    return None;
                }
            }
            Some((row.key, row.value))
        })
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
