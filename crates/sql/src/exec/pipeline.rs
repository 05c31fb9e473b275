//! One query at work: filter, group, project, sort, distinct, window.

use std::collections::HashSet;

use lapsedb_query::order::identity_bytes;
use lapsedb_value::Value;

use super::finite::{finite, is_finite};
use super::group::{Group, Groups};
use super::output::{Output, PageOf, origin};
use super::rank::Ranker;
use super::sort::{Sorter, push_tie, sort_key};
use crate::error::SqlError;
use crate::eval::{self, Ctx, Flow, Scope, ScopeRef, own};
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
    /// Whether its rows are those of the whole query, which leave it.
    outermost: bool,
    /// The document that is pushed, by its place among all.
    ordinal: u64,
    /// Rows of it that passed the filter.
    rows: u32,
    /// Rows of it that came out in an earlier execution.
    rows_done: u32,
}

/// Where rows go once they passed the filter.
enum Stage<'q> {
    Straight,
    Sorted(Sorter),
    Ranked(Ranker<'q>),
    Grouped(Groups<'q>),
}

impl<'q> Pipeline<'q> {
    /// A subquery before its first row.
    fn new(query: &'q BoundQuery) -> Pipeline<'q> {
        let mut pipeline = Pipeline::page(query, PageOf::default());
        pipeline.outermost = false;
        if query.distinct && query.order.is_empty() && query.grouping.is_none() {
            // The rows of a subquery come as they are found; nobody asks for a page of them.
            pipeline.stage = Stage::Straight;
            pipeline.out.seen = Some(HashSet::new());
        }
        pipeline
    }

    /// A query before its first document, or where a page of it begins.
    pub(crate) fn page(query: &'q BoundQuery, page: PageOf) -> Pipeline<'q> {
        let feed = query.sources.first().and_then(|source| match &source.kind {
            SourceKind::Feed(inner) => Some(Box::new(Pipeline::new(inner))),
            SourceKind::Container | SourceKind::Value(_) | SourceKind::Rows(_) => None,
        });
        let stage = match (&query.grouping, &query.rank) {
            (Some(grouping), _) => Stage::Grouped(Groups::new(grouping)),
            (None, Some(rank)) => Stage::Ranked(Ranker::new(rank, query)),
            (None, None) if page.sorted => Stage::Straight,
            // A page of rows needs them in one order, whatever the order of the documents.
            (None, None)
                if query.order.is_empty() && !query.distinct && page.rows_max.is_none() =>
            {
                Stage::Straight
            }
            (None, None) => Stage::Sorted(Sorter::new(
                page.after.clone(),
                page.wanted(query),
                query.distinct,
            )),
        };
        let by_stage = matches!(stage, Stage::Sorted(_));
        let out = Output::new(query, page, query.distinct && !by_stage);
        Pipeline {
            query,
            feed,
            stage,
            out,
            nested: false,
            outermost: true,
            ordinal: 0,
            rows: 0,
            rows_done: 0,
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
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// Rows left out by `OFFSET` and rows let through so far.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.out.skipped, self.out.emitted)
    }

    /// Takes one document by its place among all, but for the first rows of it.
    pub(crate) fn push(
        &mut self,
        ctx: &Ctx<'_>,
        document: Value,
        ordinal: u64,
        rows_done: u32,
    ) -> Result<Flow, SqlError> {
        self.ordinal = ordinal;
        self.rows = 0;
        self.rows_done = rows_done;
        let Some((source, rest)) = self.query.sources.split_first() else {
            return Ok(Flow::Done);
        };
        if self.out.is_full() {
            return Ok(Flow::Done);
        }
        if let Some(feed) = &mut self.feed {
            let flow = feed.push(ctx, document, ordinal, 0)?;
            let rows = feed.take_rows();
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
            self.emit_here(ctx, document)
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
        rows: Vec<(Vec<u8>, Value)>,
    ) -> Result<Flow, SqlError> {
        for (_, row) in rows {
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
        if let Stage::Ranked(_) = self.stage {
            return self.rank_row(ctx, scope);
        }
        if !self.passes(ctx, scope)? {
            return Ok(Flow::More);
        }
        match &mut self.stage {
            Stage::Grouped(groups) => {
                groups.add(ctx, scope)?;
                Ok(Flow::More)
            }
            Stage::Sorted(_) => self.sort_row(ctx, scope),
            Stage::Straight | Stage::Ranked(_) => {
                if self.out.is_full() {
                    return Ok(Flow::Done);
                }
                let value = project(ctx, self.query, self.outermost, scope)?;
                self.emit_here(ctx, value)
            }
        }
    }

    #[inline]
    fn passes(&self, ctx: &Ctx<'_>, scope: ScopeRef<'_>) -> Result<bool, SqlError> {
        match &self.query.filter {
            Some(filter) => eval::holds(ctx, filter, scope),
            None => Ok(true),
        }
    }

    /// Keeps a row to rank it. The texts of rows that the filter drops count too: they say how rare a word is.
    #[inline(never)]
    fn rank_row(&mut self, ctx: &Ctx<'_>, scope: ScopeRef<'_>) -> Result<Flow, SqlError> {
        let Stage::Ranked(ranker) = &mut self.stage else {
            return Ok(Flow::More);
        };
        let texts = ranker.observe(ctx, scope)?;
        if !self.passes(ctx, scope)? {
            return Ok(Flow::More);
        }
        let value = project(ctx, self.query, self.outermost, scope)?;
        if let Stage::Ranked(ranker) = &mut self.stage
            && !value.is_undefined()
        {
            let origin = origin(self.ordinal, self.rows);
            ranker.add(ctx, scope, texts, origin, value)?;
        }
        self.rows = self.rows.saturating_add(1);
        Ok(Flow::More)
    }

    /// Lets a row out at once.
    fn emit_here(&mut self, ctx: &Ctx<'_>, value: Value) -> Result<Flow, SqlError> {
        let row = self.rows;
        self.rows = row.saturating_add(1);
        if row < self.rows_done {
            return Ok(Flow::More);
        }
        let key = origin(self.ordinal, row);
        self.out.emit(ctx, key.to_vec(), value)
    }

    /// Keeps a row by what it is sorted by; it is only made if it can come out.
    fn sort_row(&mut self, ctx: &Ctx<'_>, scope: ScopeRef<'_>) -> Result<Flow, SqlError> {
        let row = self.rows;
        self.rows = row.saturating_add(1);
        let Stage::Sorted(sorter) = &mut self.stage else {
            return Ok(Flow::More);
        };
        let order = &self.query.order;
        let mut values = Vec::with_capacity(order.len());
        for item in order {
            values.push(own(ctx, eval::eval(ctx, &item.expr, scope)?)?);
        }
        let mut key = sort_key(order, &values);
        let mut identity = Vec::new();
        if !sorter.is_distinct() {
            push_tie(order, self.ordinal, row, &mut key);
            if !sorter.admits(&key) {
                return Ok(Flow::More);
            }
        }
        let value = project(ctx, self.query, self.outermost, scope)?;
        if value.is_undefined() {
            return Ok(Flow::More);
        }
        if sorter.is_distinct() {
            identity_bytes(&value, &mut identity);
            match order.is_empty() {
                // Each value comes where it is found first.
                true => key.extend_from_slice(&origin(self.ordinal, row)),
                false => key.extend_from_slice(&identity),
            }
        }
        sorter.add(ctx, key, identity, value)?;
        Ok(Flow::More)
    }

    /// Rows that are ready now.
    pub(crate) fn take_rows(&mut self) -> Vec<(Vec<u8>, Value)> {
        std::mem::take(&mut self.out.rows)
    }

    /// The remaining rows, after the last document.
    pub(crate) fn finish(mut self, ctx: &Ctx<'_>) -> Result<Vec<(Vec<u8>, Value)>, SqlError> {
        // What comes now belongs to no document: it is told apart by its number alone.
        self.ordinal = u64::MAX;
        self.rows = 0;
        self.rows_done = 0;
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
    fn finish_in(
        mut self,
        ctx: &Ctx<'_>,
        scope: ScopeRef<'_>,
    ) -> Result<Vec<(Vec<u8>, Value)>, SqlError> {
        match std::mem::replace(&mut self.stage, Stage::Straight) {
            Stage::Straight => {}
            Stage::Sorted(sorter) => {
                for (key, value) in sorter.finish() {
                    if self.out.emit(ctx, key, value)? == Flow::Done {
                        break;
                    }
                }
            }
            Stage::Ranked(ranker) => {
                for (key, value) in ranker.finish() {
                    if self.out.emit(ctx, key, value)? == Flow::Done {
                        break;
                    }
                }
            }
            Stage::Grouped(groups) => {
                for (key, group) in self.sorted_groups(ctx, groups, scope)? {
                    if !self.nested {
                        ctx.next_document();
                    }
                    let (query, outermost) = (self.query, self.outermost);
                    let value = self.of_group(ctx, &group, scope, |scope| {
                        project(ctx, query, outermost, scope)
                    })?;
                    if self.out.emit(ctx, key, value)? == Flow::Done {
                        break;
                    }
                }
            }
        }
        Ok(self.out.rows)
    }

    /// The groups with the keys they are sorted by: what `ORDER BY` says, then what they are grouped by.
    fn sorted_groups(
        &self,
        ctx: &Ctx<'_>,
        groups: Groups<'q>,
        scope: ScopeRef<'_>,
    ) -> Result<Vec<(Vec<u8>, Group)>, SqlError> {
        let mut groups = groups.finish();
        let order = &self.query.order;
        if order.is_empty() {
            return Ok(groups);
        }
        for (key, group) in &mut groups {
            let values = self.of_group(ctx, group, scope, |scope| {
                let values = order
                    .iter()
                    .map(|item| own(ctx, eval::eval(ctx, &item.expr, scope)?));
                values.collect::<Result<Vec<Value>, SqlError>>()
            })?;
            let grouped_by = std::mem::replace(key, sort_key(order, &values));
            key.extend(grouped_by);
        }
        groups.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(groups)
    }

    /// Binds keys and aggregates of a group to their variables.
    fn of_group<T>(
        &self,
        ctx: &Ctx<'_>,
        group: &Group,
        scope: ScopeRef<'_>,
        run: impl FnOnce(ScopeRef<'_>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError>
    where
        T: Default,
    {
        let Some(grouping) = &self.query.grouping else {
            return Ok(T::default());
        };
        let slots = grouping.keys.iter().map(|(slot, _)| *slot);
        let slots = slots.chain(grouping.aggregates.iter().map(|(slot, _, _)| *slot));
        // A sum can be beyond all finite numbers, whatever it is made of.
        group.iter().for_each(|value| ctx.notice(value));
        let mut variables: Vec<(Slot, &Value)> = slots.zip(group).collect();
        variables.sort_unstable_by_key(|(slot, _)| *slot);
        run(Some(&Scope::many(&variables, scope)))
    }
}

/// The row as the query shows it. JSON has no text for NaN and the infinities: they are numbers within the query, but outside
/// they are absent, as if they were undefined.
fn project(
    ctx: &Ctx<'_>,
    query: &BoundQuery,
    outermost: bool,
    scope: ScopeRef<'_>,
) -> Result<Value, SqlError> {
    let value = match &query.projection {
        Projection::Value(expr) => own(ctx, eval::eval(ctx, expr, scope)?)?,
        Projection::Object(members) => eval::object(ctx, members, scope)?,
    };
    Ok(if outermost && ctx.has_nonfinite() && !is_finite(&value) {
        finite(value)
    } else {
        value
    })
}
