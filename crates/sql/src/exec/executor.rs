//! The way in for whoever has documents.

use lapsedb_value::Value;

use super::Pipeline;
use crate::bound::Bound;
use crate::error::SqlError;
use crate::eval::{self, Ctx, Env, Flow, Scope};
use crate::plan::SourceKind;

/// How far a streaming query has come, so that a later execution can go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows that `OFFSET` has left out.
    pub skipped: u64,
    /// Rows that came out.
    pub emitted: u64,
}

/// One execution of a query: documents are pushed in, in the order of their `_rid`, and rows come
/// out.
pub struct Executor<'a> {
    bound: &'a Bound,
    ctx: Ctx<'a>,
    pipeline: Pipeline<'a>,
}

impl<'a> Executor<'a> {
    /// An execution from the start.
    pub fn new(bound: &'a Bound, env: Env<'a>) -> Executor<'a> {
        Executor {
            bound,
            ctx: Ctx::new(env),
            pipeline: Pipeline::new(bound.query()),
        }
    }

    /// An execution that goes on where another one of the same streaming query stopped.
    pub fn resume(bound: &'a Bound, env: Env<'a>, progress: Progress) -> Executor<'a> {
        let mut executor = Executor::new(bound, env);
        executor.pipeline.resume(progress.skipped, progress.emitted);
        executor
    }

    /// How far the query has come.
    pub fn progress(&self) -> Progress {
        let (skipped, emitted) = self.pipeline.progress();
        Progress { skipped, emitted }
    }

    /// Takes one document.
    pub fn push(&mut self, document: Value) -> Result<Flow, SqlError> {
        self.ctx.next_document();
        self.pipeline.push(&self.ctx, document)
    }

    /// Whether the filter keeps a document. Only a query that [returns documents](Bound::returns_documents)
    /// is answered by this alone, and only if it has no window; for others the answer is true.
    pub fn keeps(&self, document: &Value) -> Result<bool, SqlError> {
        self.ctx.next_document();
        let query = self.bound.query();
        match (&query.filter, query.sources.as_slice()) {
            (Some(filter), [source]) if matches!(source.kind, SourceKind::Container) => {
                eval::holds(
                    &self.ctx,
                    filter,
                    Some(&Scope::one(source.slot, document, None)),
                )
            }
            _ => Ok(true),
        }
    }

    /// The rows that are ready now: for a streaming query all rows of the documents pushed so far.
    pub fn take_rows(&mut self) -> Vec<Value> {
        self.pipeline.take_rows()
    }

    /// The rows that are left, after the last document.
    pub fn finish(self) -> Result<Vec<Value>, SqlError> {
        self.ctx.next_document();
        self.pipeline.finish(&self.ctx)
    }
}
