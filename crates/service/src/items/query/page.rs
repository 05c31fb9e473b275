//! A page that fills: rows, their bytes, the time it took, and where it ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lapsedb_query::exec::Work;
use lapsedb_query::page::Position;
use lapsedb_record::Clock;
use lapsedb_sql::Progress;
use lapsedb_value::budget::{Held, VALUE_BYTES, owned_bytes};
use lapsedb_value::{Budget, Value, json};

use crate::error::{Error, Kind, Result};
use crate::limits::{PAGE_BYTES_MAX, QUERY_PAGE_ENTRIES_MAX, QUERY_PAGE_MILLIS_MAX};

/// Items or entries that a step reads at most; between steps other requests get their turn.
const STEP_ITEMS_MAX: usize = 128;
/// Items of the first step at least.
const STEP_ITEMS_MIN: usize = 4;

/// A page under way.
pub(super) struct Page {
    rows: Vec<Value>,
    rows_max: usize,
    bytes: usize,
    begun: Instant,
    step: usize,
    /// What came before.
    pub(super) progress: Progress,
    /// The key of the last row before, if rows have keys.
    pub(super) after: Option<Vec<u8>>,
    next: Option<Position>,
    /// What the rows take.
    held: Held,
    budget: Arc<Budget>,
}

impl Page {
    pub(super) fn new(rows_max: usize, budget: &Arc<Budget>) -> Page {
        Page {
            rows: Vec::new(),
            rows_max,
            bytes: 0,
            begun: Clock::monotonic(),
            step: 0,
            progress: Progress::default(),
            after: None,
            next: None,
            held: Held::new(budget),
            budget: Arc::clone(budget),
        }
    }

    /// A page that goes on behind another.
    pub(super) fn after(self, progress: Progress, after: Option<Vec<u8>>) -> Page {
        Page {
            progress,
            after,
            ..self
        }
    }

    /// A page of these rows, all there are.
    pub(super) fn with(mut self, rows: Vec<Value>) -> Page {
        for row in rows {
            self.push(row);
        }
        self
    }

    pub(super) const fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// Whether another row must wait for the next page.
    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= self.rows_max || (!self.rows.is_empty() && self.bytes >= PAGE_BYTES_MAX)
    }

    pub(super) fn push(&mut self, row: Value) {
        self.bytes += size(&row);
        self.held.put(VALUE_BYTES + owned_bytes(&row));
        self.rows.push(row);
    }

    /// Rows that came out, those of earlier pages too.
    pub(super) const fn emitted(&self) -> u64 {
        self.progress.emitted + self.rows.len() as u64
    }

    /// Whether the page has taken as much work as one may.
    pub(super) fn is_exhausted(&self, work: Work) -> bool {
        work.items_read + work.index_entries_read >= QUERY_PAGE_ENTRIES_MAX
            || self.begun.elapsed() >= Duration::from_millis(QUERY_PAGE_MILLIS_MAX)
    }

    /// How many items the next step asks for: about as many as can fill the page, and more with each step.
    pub(super) fn step(&mut self, limit: Option<u64>) -> usize {
        let room = self.rows_max.saturating_sub(self.rows.len()) + 1;
        let limit = limit.map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        let first = room.min(limit.max(STEP_ITEMS_MIN));
        self.step = first.max(self.step * 2).min(STEP_ITEMS_MAX);
        self.step
    }

    /// Ends the page.
    pub(super) fn ended_at(mut self, next: Position) -> Page {
        self.next = Some(next);
        self
    }

    /// What the page became: its rows, where the next begins, its bytes, and what counts the rows.
    ///
    /// # Errors
    /// When all requests together would hold too much, and this one was stopped.
    pub(super) fn into_parts(self) -> Result<(Vec<Value>, Option<Position>, usize, Held)> {
        match self.budget.stopped() {
            Some(stop) => Err(Error::new(Kind::NoMemory, stop.to_string())),
            None => Ok((self.rows, self.next, self.bytes, self.held)),
        }
    }
}

fn size(row: &Value) -> usize {
    let mut text = Vec::new();
    json::write(row, &mut text);
    text.len()
}
