//! One query at work: filter, group, project, sort, distinct, window.

use std::collections::HashSet;

use lapsedb_value::Value;

use super::Key;
use super::group::{Group, Groups};
use super::rank::Ranker;
use super::sort::Sorter;
use crate::error::SqlError;
use crate::eval::{self, Ctx, Flow, Scope, ScopeRef, own, weight};
use crate::plan::{BoundQuery, BoundSource, ExprKind, Projection, Slot, SourceKind};

/// A query and what it holds between documents.
pub(crate) struct Pipeline<'q> {
    query: &'q BoundQuery,
    /// The subquery that stands between the documents and this query.
    feed: Option<Box<Pipeline<'q>>>,
    stage: Stage<'q>,
    out: Output,
    /// Whether it works on the current row of another query, and on that row's budget.
    nested: bool,
}

/// Where rows go once they passed the filter.
enum Stage<'q> {
    Straight,
    Sorted(Sorter<'q>),
    Ranked(Ranker<'q>),
    Grouped(Groups<'q>),
}

/// Rows that came out, and how many more may.
struct Output {
    seen: Option<HashSet<Key>>,
    skipped: u64,
    emitted: u64,
    offset: u64,
    limit: Option<u64>,
    rows: Vec<Value>,
}

impl<'q> Pipeline<'q> {
    /// A query before its first document.
    pub(crate) fn new(query: &'q BoundQuery) -> Pipeline<'q> {
        let feed = query.sources.first().and_then(|source| match &source.kind {
            SourceKind::Feed(inner) => Some(Box::new(Pipeline::new(inner))),
            SourceKind::Container | SourceKind::Value(_) | SourceKind::Rows(_) => None,
        });
        let stage = match (&query.grouping, &query.rank) {
            (Some(grouping), _) => Stage::Grouped(Groups::new(grouping)),
            (None, Some(rank)) => Stage::Ranked(Ranker::new(rank)),
            (None, None) if query.order.is_empty() => Stage::Straight,
            (None, None) => {
                let wanted = query.limit.map(|limit| limit.saturating_add(query.offset));
                Stage::Sorted(Sorter::new(
                    &query.order,
                    if query.distinct { None } else { wanted },
                ))
            }
        };
        let out = Output {
            seen: query.distinct.then(HashSet::new),
            skipped: 0,
            emitted: 0,
            offset: query.offset,
            limit: query.limit,
            rows: Vec::new(),
        };
        Pipeline {
            query,
            feed,
            stage,
            out,
            nested: false,
        }
    }

    /// All rows of a subquery over the current row, or the first ones if that is enough.
    pub(crate) fn run_nested(
        ctx: &Ctx<'_>,
        query: &BoundQuery,
        scope: ScopeRef<'_>,
        enough: Option<u64>,
    ) -> Result<Vec<Value>, SqlError> {
        let kept = ctx.kept();
        let mut pipeline = Pipeline::new(query);
        pipeline.nested = true;
        pipeline.out.limit = match (pipeline.out.limit, enough) {
            (Some(limit), Some(enough)) => Some(limit.min(enough)),
            (limit, enough) => limit.or(enough),
        };
        eval::rows(ctx, &query.sources, scope, &mut |scope| {
            pipeline.row(ctx, scope)
        })?;
        let rows = pipeline.finish_in(ctx, scope)?;
        ctx.forget_since(kept);
        Ok(rows)
    }

    /// Goes on where an earlier execution stopped.
    pub(crate) fn resume(&mut self, skipped: u64, emitted: u64) {
        self.out.skipped = skipped;
        self.out.emitted = emitted;
    }

    /// Rows left out by `OFFSET` and rows let through so far.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.out.skipped, self.out.emitted)
    }

    /// Takes one document.
    pub(crate) fn push(&mut self, ctx: &Ctx<'_>, document: Value) -> Result<Flow, SqlError> {
        let Some((source, rest)) = self.query.sources.split_first() else {
            return Ok(Flow::Done);
        };
        if self.out.is_full() {
            return Ok(Flow::Done);
        }
        if let Some(feed) = &mut self.feed {
            let flow = feed.push(ctx, document)?;
            let rows = std::mem::take(&mut feed.out.rows);
            let own = self.fed(ctx, source, rest, rows)?;
            return Ok(if flow == Flow::Done { flow } else { own });
        }
        if rest.is_empty() && self.returns_documents(source.slot) {
            return self.push_whole(ctx, source.slot, document);
        }
        let scope = Scope::one(source.slot, &document, None);
        eval::rows(ctx, rest, Some(&scope), &mut |scope| self.row(ctx, scope))
    }

    /// Whether each row is the very document, so that it need not be copied.
    fn returns_documents(&self, container: Slot) -> bool {
        matches!(self.stage, Stage::Straight)
            && matches!(&self.query.projection,
                Projection::Value(expr) if matches!(expr.kind, ExprKind::Slot(slot) if slot == container))
    }

    fn push_whole(&mut self, ctx: &Ctx<'_>, slot: Slot, document: Value) -> Result<Flow, SqlError> {
        let scope = Scope::one(slot, &document, None);
        let kept = match &self.query.filter {
            Some(filter) => eval::holds(ctx, filter, Some(&scope))?,
            None => true,
        };
        if kept {
            self.out.emit(ctx, document)
        } else {
            Ok(Flow::More)
        }
    }

    /// Takes rows of the subquery that feeds this query.
    fn fed(
        &mut self,
        ctx: &Ctx<'_>,
        source: &BoundSource,
        rest: &[BoundSource],
        rows: Vec<Value>,
    ) -> Result<Flow, SqlError> {
        for row in rows {
            let flow = eval::values(ctx, source, &row, rest, None, &mut |scope| {
                self.row(ctx, scope)
            })?;
            if flow == Flow::Done {
                return Ok(flow);
            }
        }
        Ok(Flow::More)
    }

    /// Takes one row of the sources.
    fn row(&mut self, ctx: &Ctx<'_>, scope: ScopeRef<'_>) -> Result<Flow, SqlError> {
        if let Some(filter) = &self.query.filter
            && !eval::holds(ctx, filter, scope)?
        {
            return Ok(Flow::More);
        }
        match &mut self.stage {
            Stage::Grouped(groups) => {
                groups.add(ctx, scope)?;
                Ok(Flow::More)
            }
            Stage::Sorted(sorter) => {
                let value = project(ctx, &self.query.projection, scope)?;
                if !value.is_undefined() {
                    let mut keys = Vec::with_capacity(self.query.order.len());
                    for item in &self.query.order {
                        keys.push(own(ctx, eval::eval(ctx, &item.expr, scope)?)?);
                    }
                    sorter.add(ctx, keys, value)?;
                }
                Ok(Flow::More)
            }
            Stage::Ranked(ranker) => {
                let value = project(ctx, &self.query.projection, scope)?;
                if !value.is_undefined() {
                    ranker.add(ctx, scope, value)?;
                }
                Ok(Flow::More)
            }
            Stage::Straight => {
                if self.out.is_full() {
                    return Ok(Flow::Done);
                }
                let value = project(ctx, &self.query.projection, scope)?;
                self.out.emit(ctx, value)
            }
        }
    }

    /// Rows that are ready now.
    pub(crate) fn take_rows(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.out.rows)
    }

    /// The remaining rows, after the last document.
    pub(crate) fn finish(mut self, ctx: &Ctx<'_>) -> Result<Vec<Value>, SqlError> {
        match (self.feed.take(), self.query.sources.split_first()) {
            (Some(feed), Some((source, rest))) => {
                let rows = feed.finish(ctx)?;
                self.fed(ctx, source, rest, rows)?;
            }
            (None, Some((source, _))) => {
                // A query over constant rows needs no document.
                if let SourceKind::Value(_) | SourceKind::Rows(_) = source.kind {
                    let query = self.query;
                    eval::rows(ctx, &query.sources, None, &mut |scope| self.row(ctx, scope))?;
                }
            }
            (_, None) => {
                self.row(ctx, None)?;
            }
        }
        self.finish_in(ctx, None)
    }

    /// Ends grouping and sorting; `scope` holds the variables around the query.
    fn finish_in(mut self, ctx: &Ctx<'_>, scope: ScopeRef<'_>) -> Result<Vec<Value>, SqlError> {
        match std::mem::replace(&mut self.stage, Stage::Straight) {
            Stage::Straight => {}
            Stage::Sorted(sorter) => {
                for value in sorter.finish() {
                    if self.out.emit(ctx, value)? == Flow::Done {
                        break;
                    }
                }
            }
            Stage::Ranked(ranker) => {
                for value in ranker.finish() {
                    if self.out.emit(ctx, value)? == Flow::Done {
                        break;
                    }
                }
            }
            Stage::Grouped(groups) => {
                for group in groups.finish() {
                    if !self.nested {
                        ctx.next_document();
                    }
                    let value = self.project_group(ctx, &group, scope)?;
                    if self.out.emit(ctx, value)? == Flow::Done {
                        break;
                    }
                }
            }
        }
        Ok(self.out.rows)
    }

    /// Binds keys and aggregates to their variables and projects them.
    fn project_group(
        &self,
        ctx: &Ctx<'_>,
        group: &Group,
        scope: ScopeRef<'_>,
    ) -> Result<Value, SqlError> {
        let Some(grouping) = &self.query.grouping else {
            return Ok(Value::Undefined);
        };
        let slots = grouping.keys.iter().map(|(slot, _)| *slot);
        let slots = slots.chain(grouping.aggregates.iter().map(|(slot, _, _)| *slot));
        let mut variables: Vec<(Slot, &Value)> = slots.zip(group).collect();
        variables.sort_unstable_by_key(|(slot, _)| *slot);
        project(
            ctx,
            &self.query.projection,
            Some(&Scope::many(&variables, scope)),
        )
    }
}

impl Output {
    fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.emitted >= limit)
    }

    /// Lets a row out, unless it is undefined, came before, or lies outside the window.
    fn emit(&mut self, ctx: &Ctx<'_>, value: Value) -> Result<Flow, SqlError> {
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
        if self.skipped < self.offset {
            self.skipped += 1;
            return Ok(Flow::More);
        }
        self.emitted += 1;
        self.rows.push(value);
        Ok(if self.is_full() {
            Flow::Done
        } else {
            Flow::More
        })
    }
}

/// The row as the query shows it.
fn project(ctx: &Ctx<'_>, projection: &Projection, scope: ScopeRef<'_>) -> Result<Value, SqlError> {
    match projection {
        Projection::Value(expr) => own(ctx, eval::eval(ctx, expr, scope)?),
        Projection::Object(members) => eval::object(ctx, members, scope),
    }
}
