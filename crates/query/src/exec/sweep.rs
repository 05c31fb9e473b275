//! Entries by the values of one index, upwards or downwards, and the items that have no entry there before or behind them.

use std::collections::VecDeque;

use lapsedb_store::Result;
use lapsedb_store::index::scan::{Entry, EntrySpan};

use super::{Io, Node};

/// Entries that the first step reads; each further one reads twice as many.
const SWEEP_ROWS_FIRST: usize = 16;
/// Entries that one step reads at most.
const SWEEP_ROWS_MAX: usize = 256;

/// A way through one index.
pub struct Sweep {
    /// The index.
    pub(crate) index: u64,
    pub(crate) reverse: bool,
    /// What is left of the index, in the order it is read.
    pub(crate) spans: VecDeque<EntrySpan>,
    /// Items without an entry: they come before all upwards, and behind all downwards.
    pub(crate) lacking: Option<Node>,
    /// Where the items without an entry go on; none if they are through.
    pub(crate) lacking_at: Option<u64>,
    ready: VecDeque<Entry>,
    rows: usize,
}

/// An entry on the way.
pub(crate) struct Swept {
    pub(crate) entry: Entry,
    /// Whether the item has no entry in the index; then this one is of another.
    pub(crate) lacks: bool,
}

impl Sweep {
    pub(crate) fn new(
        index: u64,
        reverse: bool,
        spans: impl IntoIterator<Item = EntrySpan>,
        lacking: Option<Node>,
    ) -> Sweep {
        let mut spans: VecDeque<EntrySpan> = spans.into_iter().collect();
        if reverse {
            spans.make_contiguous().reverse();
        }
        Sweep {
            index,
            reverse,
            spans,
            lacking,
            lacking_at: Some(if reverse { u64::MAX } else { 0 }),
            ready: VecDeque::new(),
            rows: SWEEP_ROWS_FIRST,
        }
    }

    /// Goes on at an entry (inclusive).
    pub(crate) fn start_at(&mut self, value: &[u8], ordinal: u64) {
        if !self.reverse {
            // Upwards, whoever lacks a value has been before.
            self.lacking = None;
        }
        let reverse = self.reverse;
        self.spans = std::mem::take(&mut self.spans)
            .into_iter()
            .map(|span| span.starting_at(value, ordinal, reverse))
            .filter(|span| !span.is_empty())
            .collect();
    }

    /// Goes on among the items that have no entry, at an ordinal (inclusive).
    pub(crate) fn start_lacking(&mut self, ordinal: u64) {
        if self.reverse {
            self.spans.clear();
        }
        self.lacking_at = Some(ordinal);
    }

    /// The next entry.
    pub(crate) async fn next(&mut self, io: &mut Io<'_>) -> Result<Option<Swept>> {
        if !self.reverse
            && let Some(entry) = self.next_lacking(io).await?
        {
            return Ok(Some(Swept { entry, lacks: true }));
        }
        while self.ready.is_empty() {
            let Some(span) = self.spans.pop_front() else {
                let entry = self.next_lacking(io).await?;
                return Ok(entry.map(|entry| Swept { entry, lacks: true }));
            };
            let page = io.entries(span, self.reverse, self.rows).await?;
            self.rows = (self.rows * 2).min(SWEEP_ROWS_MAX);
            self.ready = page.entries.into();
            if let Some(rest) = page.rest {
                self.spans.push_front(rest);
            }
        }
        let entry = self.ready.pop_front();
        Ok(entry.map(|entry| Swept {
            entry,
            lacks: false,
        }))
    }

    async fn next_lacking(&mut self, io: &mut Io<'_>) -> Result<Option<Entry>> {
        let (Some(node), Some(at)) = (&mut self.lacking, self.lacking_at) else {
            return Ok(None);
        };
        let Some(entry) = node.seek(io, at, self.reverse).await? else {
            self.lacking = None;
            return Ok(None);
        };
        self.lacking_at = if self.reverse {
            entry.ordinal.checked_sub(1)
        } else {
            entry.ordinal.checked_add(1)
        };
        Ok(Some(entry))
    }
}
