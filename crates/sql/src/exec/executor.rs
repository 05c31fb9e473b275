//! The way in for whoever has documents.

use lapsedb_value::Value;

use super::{PageOf, Pipeline};
use crate::bound::Bound;
use crate::error::SqlError;
use crate::eval::{self, Ctx, Env, Flow, Scope};
use crate::plan::SourceKind;
use crate::stack;

/// How far a streaming query has come, so that a later execution can go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows that `OFFSET` has left out.
    pub skipped: u64,
    /// Rows that came out.
    pub emitted: u64,
}

/// A row with its key. Keys tell where a later execution goes on: see [`Executor::page`].
#[derive(Clone, Debug)]
pub struct Row {
    /// What rows are sorted by, if the query is not streaming. Else the last four bytes say which row of its document it is.
    pub key: Vec<u8>,
    /// The row.
    pub value: Value,
}

impl Row {
    /// The number of a streaming query's row among the rows of its document.
    pub fn number(&self) -> u32 {
        self.key
            .last_chunk::<4>()
            .map_or(0, |bytes| u32::from_be_bytes(*bytes))
    }
}

/// One execution of a query: documents are pushed in, in the order of their `_rid`, and rows come
/// out.
pub struct Executor<'a> {
    bound: &'a Bound,
    ctx: Ctx<'a>,
    pipeline: Pipeline<'a>,
    /// The place of the next document, if nobody says it.
    next: u64,
}

impl<'a> Executor<'a> {
    /// An execution from the start.
    pub fn new(bound: &'a Bound, env: Env<'a>) -> Executor<'a> {
        Executor::of_page(bound, env, PageOf::default())
    }

    /// An execution that goes on where another one of the same streaming query stopped.
    pub fn resume(bound: &'a Bound, env: Env<'a>, progress: Progress) -> Executor<'a> {
        let page = PageOf {
            skipped: progress.skipped,
            emitted: progress.emitted,
            ..PageOf::default()
        };
        Executor::of_page(bound, env, page)
    }

    /// The same for a query whose documents come in the order it wants, so that it streams.
    pub fn sorted(bound: &'a Bound, env: Env<'a>, progress: Progress) -> Executor<'a> {
        let page = PageOf {
            skipped: progress.skipped,
            emitted: progress.emitted,
            sorted: true,
            ..PageOf::default()
        };
        Executor::of_page(bound, env, page)
    }

    /// An execution of a query that is not streaming, for its first rows behind a key. All documents are pushed again, in
    /// any order; so many rows come out at most. Where they come in the order of their places, rows that are wanted in that
    /// order come out at once.
    pub fn page(
        bound: &'a Bound,
        env: Env<'a>,
        progress: Progress,
        after: Option<Vec<u8>>,
        rows_max: usize,
        by_place: bool,
    ) -> Executor<'a> {
        let page = PageOf {
            skipped: progress.skipped,
            emitted: progress.emitted,
            after,
            rows_max: Some(rows_max),
            sorted: by_place && bound.query().order.is_empty(),
        };
        Executor::of_page(bound, env, page)
    }

    fn of_page(bound: &'a Bound, env: Env<'a>, page: PageOf) -> Executor<'a> {
        Executor {
            bound,
            ctx: Ctx::new(env),
            pipeline: Pipeline::page(bound.query(), page),
            next: 0,
        }
    }

    /// How far the query has come.
    pub fn progress(&self) -> Progress {
        let (skipped, emitted) = self.pipeline.progress();
        Progress { skipped, emitted }
    }

    /// Takes the next document.
    pub fn push(&mut self, document: Value) -> Result<Flow, SqlError> {
        let place = self.next;
        self.next += 1;
        self.push_at(document, place, 0)
    }

    /// Takes a document by its place among all, but for the first rows of it, which came out in an earlier execution.
    pub fn push_at(
        &mut self,
        document: Value,
        ordinal: u64,
        rows_done: u32,
    ) -> Result<Flow, SqlError> {
        self.ctx.next_document();
        stack::for_height(self.bound.height, || {
            self.pipeline.push(&self.ctx, document, ordinal, rows_done)
        })
    }

    /// Whether the filter keeps a document. Only a query that [returns documents](Bound::returns_documents)
    /// is answered by this alone, and only if it has no window; for others the answer is true.
    pub fn keeps(&self, document: &Value) -> Result<bool, SqlError> {
        self.ctx.next_document();
        let query = self.bound.query();
        match (&query.filter, query.sources.as_slice()) {
            (Some(filter), [source]) if matches!(source.kind, SourceKind::Container) => {
                let scope = Scope::one(source.slot, document, None);
                stack::for_height(self.bound.height, || {
                    eval::holds(&self.ctx, filter, Some(&scope))
                })
            }
            _ => Ok(true),
        }
    }

    /// The rows that are ready now: for a streaming query all rows of the documents pushed so far.
    pub fn take_rows(&mut self) -> Vec<Value> {
        values(self.pipeline.take_rows())
    }

    /// The same, with their keys.
    pub fn take_keyed(&mut self) -> Vec<Row> {
        keyed(self.pipeline.take_rows())
    }

    /// The rows that are left, after the last document.
    pub fn finish(self) -> Result<Vec<Value>, SqlError> {
        self.rest().map(values)
    }

    /// The same, with their keys.
    pub fn finish_keyed(self) -> Result<Vec<Row>, SqlError> {
        self.rest().map(keyed)
    }

    fn rest(self) -> Result<Vec<(Vec<u8>, Value)>, SqlError> {
        self.ctx.next_document();
        stack::for_height(self.bound.height, || self.pipeline.finish(&self.ctx))
    }
}

fn values(rows: Vec<(Vec<u8>, Value)>) -> Vec<Value> {
    rows.into_iter().map(|(_, value)| value).collect()
}

fn keyed(rows: Vec<(Vec<u8>, Value)>) -> Vec<Row> {
    let row = |(key, value)| Row { key, value };
    rows.into_iter().map(row).collect()
}
