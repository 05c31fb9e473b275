//! Entries by creation: of one value, of several that must all be there, of several any of which will do.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use lapsedb_store::Result;
use lapsedb_store::index::scan::{Entry, EntrySpan};

use super::Io;

/// Entries that the first step of a stream reads; each further one reads twice as many.
const STREAM_ROWS_FIRST: usize = 16;
/// Entries that one step of a stream reads at most.
const STREAM_ROWS_MAX: usize = 256;

/// A list of entries by ordinal, each item once.
pub enum Node {
    /// The entries of a span that lies in the order of creation.
    Stream(Stream),
    /// Entries that are known.
    Set(VecDeque<Entry>),
    /// Items that stand in all of them.
    All(Vec<Node>),
    /// Items that stand in one of them.
    Any(Vec<Node>),
}

/// A span under way.
pub struct Stream {
    value: Vec<u8>,
    rest: Option<EntrySpan>,
    ready: VecDeque<Entry>,
    rows: usize,
}

type Found<'f> = Pin<Box<dyn Future<Output = Result<Option<Entry>>> + Send + 'f>>;

impl Stream {
    /// The entries of a span, all of which have one encoded value.
    #[must_use]
    pub fn new(span: EntrySpan, value: &[u8]) -> Stream {
        Stream {
            value: value.to_vec(),
            rest: Some(span),
            ready: VecDeque::new(),
            rows: STREAM_ROWS_FIRST,
        }
    }

    async fn seek(&mut self, io: &mut Io<'_>, at: u64, reverse: bool) -> Result<Option<Entry>> {
        loop {
            while let Some(entry) = self.ready.front() {
                if !is_before(reverse, entry.ordinal, at) {
                    return Ok(Some(entry.clone()));
                }
                self.ready.pop_front();
            }
            let Some(rest) = self.rest.take() else {
                return Ok(None);
            };
            // Whatever lies between is jumped over, not read.
            let span = rest.starting_at(&self.value, at, reverse);
            let page = io.entries(span, reverse, self.rows).await?;
            self.rows = (self.rows * 2).min(STREAM_ROWS_MAX);
            self.ready = page.entries.into();
            self.rest = page.rest;
        }
    }
}

impl Node {
    /// Known entries in any order.
    #[must_use]
    pub fn set(mut entries: Vec<Entry>, reverse: bool) -> Node {
        entries.sort_by_key(|entry| entry.ordinal);
        entries.dedup_by_key(|entry| entry.ordinal);
        if reverse {
            entries.reverse();
        }
        Node::Set(entries.into())
    }

    /// No entry.
    #[must_use]
    pub const fn nothing() -> Node {
        Node::Set(VecDeque::new())
    }

    /// The first entry at or behind an ordinal. Ordinals may only go on in one direction.
    pub(crate) fn seek<'f>(&'f mut self, io: &'f mut Io<'_>, at: u64, reverse: bool) -> Found<'f> {
        Box::pin(async move {
            match self {
                Node::Stream(stream) => stream.seek(io, at, reverse).await,
                Node::Set(entries) => {
                    while let Some(entry) = entries.front() {
                        if !is_before(reverse, entry.ordinal, at) {
                            return Ok(Some(entry.clone()));
                        }
                        entries.pop_front();
                    }
                    Ok(None)
                }
                Node::All(nodes) => all(nodes, io, at, reverse).await,
                Node::Any(nodes) => {
                    let mut first: Option<Entry> = None;
                    for node in nodes {
                        if let Some(entry) = node.seek(io, at, reverse).await?
                            && first.as_ref().is_none_or(|first| {
                                is_before(reverse, entry.ordinal, first.ordinal)
                            })
                        {
                            first = Some(entry);
                        }
                    }
                    Ok(first)
                }
            }
        })
    }
}

/// Who is behind makes the others follow, until all stand at one item.
async fn all(
    nodes: &mut [Node],
    io: &mut Io<'_>,
    mut at: u64,
    reverse: bool,
) -> Result<Option<Entry>> {
    let mut agreed = 0;
    let mut found = None;
    let count = nodes.len();
    for turn in (0..count).cycle() {
        if agreed == count {
            return Ok(found);
        }
        let Some(node) = nodes.get_mut(turn) else {
            return Ok(found);
        };
        let Some(entry) = node.seek(io, at, reverse).await? else {
            return Ok(None);
        };
        agreed = if entry.ordinal == at { agreed + 1 } else { 1 };
        at = entry.ordinal;
        found = Some(entry);
    }
    Ok(None)
}

const fn is_before(reverse: bool, a: u64, b: u64) -> bool {
    if reverse { a > b } else { a < b }
}
