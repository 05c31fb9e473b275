//! Rows on their way out: each once if it must be, none twice over pages, within the window.

use std::collections::HashSet;

use lapsedb_value::Value;

use super::Key;
use super::rank::ORIGIN_BYTES;
use crate::error::SqlError;
use crate::eval::{Ctx, Flow, weight};
use crate::plan::BoundQuery;

/// Which rows of the result an execution is for.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageOf {
    /// Rows that `OFFSET` has left out before.
    pub(crate) skipped: u64,
    /// Rows that came out before.
    pub(crate) emitted: u64,
    /// The key of the last of them, if rows are sorted by keys.
    pub(crate) after: Option<Vec<u8>>,
    /// Rows that are wanted now.
    pub(crate) rows_max: Option<usize>,
    /// Whether documents come in the order that the query wants.
    pub(crate) sorted: bool,
}

/// Rows that came out, and how many more may.
pub(super) struct Output {
    pub(super) seen: Option<HashSet<Key>>,
    pub(super) skipped: u64,
    pub(super) emitted: u64,
    pub(super) offset: u64,
    pub(super) limit: Option<u64>,
    /// Rows up to this key came out before.
    pub(super) after: Option<Vec<u8>>,
    /// Rows that may wait here.
    pub(super) rows_max: usize,
    /// The rows, with the keys they are sorted by.
    pub(super) rows: Vec<(Vec<u8>, Value)>,
}

impl Output {
    /// Nothing has come out yet, but for what came out before.
    pub(super) fn new(query: &BoundQuery, page: PageOf, distinct: bool) -> Output {
        Output {
            seen: distinct.then(HashSet::new),
            skipped: page.skipped,
            emitted: page.emitted,
            offset: query.offset,
            limit: query.limit,
            after: page.after,
            rows_max: page.rows_max.unwrap_or(usize::MAX),
            rows: Vec::new(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.emitted >= limit)
    }

    /// Lets a row out, unless it is undefined, came before, or lies outside the window.
    pub(super) fn emit(
        &mut self,
        ctx: &Ctx<'_>,
        key: Vec<u8>,
        value: Value,
    ) -> Result<Flow, SqlError> {
        if value.is_undefined() {
            return Ok(Flow::More);
        }
        if self.is_full() {
            return Ok(Flow::Done);
        }
        if let Some(seen) = &mut self.seen {
            let bytes = weight(&value);
            if !seen.insert(Key(vec![value.clone()])) {
                return Ok(Flow::More);
            }
            ctx.keep(bytes)?;
        }
        if self.after.as_ref().is_some_and(|after| key <= *after) {
            return Ok(Flow::More);
        }
        if self.skipped < self.offset {
            self.skipped += 1;
            return Ok(Flow::More);
        }
        self.emitted += 1;
        self.rows.push((key, value));
        Ok(if self.is_full() || self.rows.len() >= self.rows_max {
            Flow::Done
        } else {
            Flow::More
        })
    }
}

impl PageOf {
    /// How many sorted rows can be of use.
    pub(super) fn wanted(&self, query: &BoundQuery) -> Option<u64> {
        let left = query.limit.map(|limit| limit.saturating_sub(self.emitted));
        let page = self.rows_max.map(|rows| rows as u64);
        let shown = match (left, page) {
            (Some(left), Some(page)) => Some(left.min(page)),
            (left, page) => left.or(page),
        };
        let hidden = query.offset.saturating_sub(self.skipped);
        shown.map(|shown| shown.saturating_add(hidden))
    }
}

/// Where a row came from, as bytes that sort.
pub(super) fn origin(ordinal: u64, row: u32) -> [u8; ORIGIN_BYTES] {
    let mut origin = [0; ORIGIN_BYTES];
    let (left, right) = origin.split_at_mut(8);
    left.copy_from_slice(&ordinal.to_be_bytes());
    right.copy_from_slice(&row.to_be_bytes());
    origin
}
