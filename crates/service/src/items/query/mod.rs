//! Queries: read from the index that tells most, page by page.
//!
//! Rows that come item by item resume at the item where the page ended; so do sorted ones that an index holds in order. What
//! must be seen whole first (other sorts, groups, aggregates, DISTINCT) resumes behind the key of its last row.

pub(super) mod access;
mod order;
mod page;
mod stream;
mod whole;

use std::time::Duration;

use lapsedb_query::exec::{Candidate, Io, Reader, Times};
use lapsedb_query::order as encoded;
use lapsedb_query::page::{Place, Position};
use lapsedb_query::plan::{Choice, Plan, TieLen, Wanted};
use lapsedb_query::planner;
pub use lapsedb_query::planner::Tuning;
use lapsedb_record::Clock;
use lapsedb_sql::{Bound, Env, Executor, Progress};
use lapsedb_store::ItemRange;
use lapsedb_value::budget::Held;
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Value};

use crate::charge::{self, QueryWork};
use crate::continuation::{Mark, invalid_token};
use crate::ctx::{Ctx, Scope};
use crate::error::Result;
use crate::feed::Query;
use crate::items::feed::Selection;
pub use crate::items::index_metrics::{IndexMetrics, Indexes};
use crate::items::{index_metrics, order_rule};
use crate::limits::{PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX, QUERY_MILLIS_MAX};
use crate::resource::item_value;
use access::Access;
pub use lapsedb_store::index::policy::{CompositePath, Order as PathOrder};
use page::Page;

/// What a query is asked about.
pub struct Request<'a> {
    /// Which items.
    pub selection: Selection,
    /// Rows of a page at most; none if the server may choose.
    pub items_max: Option<usize>,
    /// Where an earlier page ended.
    pub continuation: Option<&'a str>,
    /// What the answer tells besides its rows.
    pub metrics: Metrics,
}

/// What an answer tells besides its rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metrics {
    /// The indexes that serve the query.
    pub index_metrics: bool,
    /// How long the store took.
    pub times: bool,
}

/// A page of rows.
pub struct QueryPage {
    /// Where they come from.
    pub scope: Scope,
    /// The rows.
    pub rows: Vec<Value>,
    /// What counts them.
    pub held: Held,
    /// Where the next page begins.
    pub continuation: Option<String>,
    /// What it took.
    pub work: QueryWork,
    /// What it cost.
    pub charge: f64,
    /// How long it took.
    pub times: QueryTimes,
    /// What part of the items that were read was of use: 1 if none was read in vain.
    pub index_ratio: f64,
    /// The indexes of the policy that serve the query, and those that could, if that was asked.
    pub index_metrics: Option<IndexMetrics>,
}

/// How long a page took, for those who ask. Nothing depends on it.
#[derive(Clone, Copy, Debug)]
pub struct QueryTimes {
    /// From the text to the query that runs.
    pub compile: Duration,
    /// Judging it by the collection's definition.
    pub judge: Duration,
    /// What came behind that; waits are zero unless they were asked for.
    pub parts: Times,
    /// All in all.
    pub total: Duration,
}

/// What a client that asks for a plan must know of a query.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// Whether it says `SELECT VALUE`. The Java SDK reads rows that are no objects only if it knows.
    pub selects_value: bool,
}

/// Checks a query without running it, as a plan of it is asked for: over all partitions, or for a single one.
///
/// # Errors
/// When the text is wrong, or the query has no plan.
pub fn plan(query: &Query, single_partition: bool) -> Result<Planned> {
    let bound = query.bind_plan(single_partition)?;
    Ok(Planned {
        selects_value: bound.selects_value(),
    })
}

/// Without a filter every item is of use.
fn index_ratio(bound: &Bound, work: QueryWork) -> f64 {
    if work.items_read == 0 || bound.query().filter.is_none() {
        return 1.0;
    }
    (work.output_rows as f64 / work.items_read as f64).min(1.0)
}

impl Request<'_> {
    /// Rows of a page at most.
    fn rows_max(&self) -> usize {
        self.items_max
            .unwrap_or(PAGE_ITEMS_DEFAULT)
            .clamp(1, PAGE_ITEMS_MAX)
    }
}

/// How long a query may take that must see everything before its first row.
const TIME_MAX: Duration = Duration::from_millis(QUERY_MILLIS_MAX);

/// Runs one page of a query.
///
/// # Errors
/// When the text is wrong, the collection is not there, or who asks may not read it.
pub async fn query(
    ctx: &Ctx,
    address: (&str, &str),
    intended: Option<&str>,
    query: &Query,
    request: Request<'_>,
) -> Result<QueryPage> {
    let tuning = Tuning::default();
    query_within(ctx, address, intended, query, request, (&tuning, TIME_MAX)).await
}

/// The same, with another judgement of which way of reading is the best. The rows are the same.
///
/// # Errors
/// As [`query`].
pub async fn query_tuned(
    ctx: &Ctx,
    address: (&str, &str),
    intended: Option<&str>,
    query: &Query,
    request: Request<'_>,
    tuning: &Tuning,
) -> Result<QueryPage> {
    query_within(ctx, address, intended, query, request, (tuning, TIME_MAX)).await
}

/// The same, within another time.
///
/// # Errors
/// As [`query`]; also when it must see everything before its first row and has not in that time.
pub async fn query_within(
    ctx: &Ctx,
    address: (&str, &str),
    intended: Option<&str>,
    query: &Query,
    request: Request<'_>,
    (tuning, time_max): (&Tuning, Duration),
) -> Result<QueryPage> {
    let scope = ctx.scope(address.0, address.1).await?;
    scope.expect_rid(intended)?;
    ctx.who
        .may_read_items(&scope.collection, request.selection.partition.as_ref())?;
    let throughputs = ctx.service().throughputs();
    throughputs.admit(&scope.view, &scope.collection)?;
    let in_partition = request.selection.partition.is_some();
    let started = Clock::monotonic();
    let (bound, sequence) = query.bind_for(&scope.collection)?;
    let compile = started.elapsed();
    order_rule::check(&bound, &scope.collection)?;
    let judge = started.elapsed().saturating_sub(compile);
    let range = request.selection.range(&scope.collection)?;
    let mark = Mark::of_items(&scope.collection, &range).in_sequence(&sequence);
    let position = request.continuation.map(|token| parse(token, mark));
    let position = position.transpose()?;
    let now_ms = i64::try_from(scope.view.now().0).unwrap_or(i64::MAX);
    let lens = scope.view.lens(&scope.collection);
    let expiry = |item: &Value| crate::ttl::expiry_of(&scope.collection, &lens, item);
    let late = || started.elapsed() >= time_max;
    let budget = ctx.service().query_budget(time_max, ctx);
    let run = Run {
        scope: &scope,
        bound: &bound,
        env: Env::new(now_ms).with_expiry(&expiry).within(&budget),
        late: &late,
        tuning,
    };
    let mut io = Io::new(&scope.view, &scope.collection).timed(request.metrics.times);
    let page = Page::new(request.rows_max(), &budget);
    let page = run.page(&mut io, range, page, position).await?;
    let (rows, next, returned_bytes, held) = page.into_parts()?;
    let work = QueryWork {
        items_read: io.work.items_read,
        index_entries_read: io.work.index_entries_read,
        loaded_bytes: usize::try_from(io.work.loaded_bytes).unwrap_or(usize::MAX),
        output_rows: rows.len() as u64,
        returned_bytes,
    };
    ctx.service().counts().add_query(work);
    let charge = charge::query(work);
    throughputs.spend(&scope.view, &scope.collection, charge);
    Ok(QueryPage {
        rows,
        held,
        continuation: next.map(|position| position.text(mark.number())),
        work,
        charge,
        times: QueryTimes {
            compile,
            judge,
            parts: io.times,
            total: started.elapsed(),
        },
        index_ratio: index_ratio(&bound, work),
        index_metrics: request
            .metrics
            .index_metrics
            .then(|| index_metrics::of(&bound, &scope.collection, in_partition)),
        scope,
    })
}

fn parse(token: &str, mark: Mark) -> Result<Position> {
    Position::parse(token, mark.number()).ok_or_else(invalid_token)
}

/// One page under way.
struct Run<'a> {
    scope: &'a Scope,
    bound: &'a Bound,
    env: Env<'a>,
    /// Whether the query has taken too long.
    late: &'a (dyn Fn() -> bool + Sync),
    tuning: &'a Tuning,
}

impl Run<'_> {
    /// The page that begins at a position, or the first.
    async fn page(
        &self,
        io: &mut Io<'_>,
        range: ItemRange,
        page: Page,
        position: Option<Position>,
    ) -> Result<Page> {
        let bound = self.bound;
        match position {
            None if bound.counts_everything() && matches!(range, ItemRange::Everything) => {
                self.count(page).await
            }
            None if !bound.reads_documents() => {
                Ok(page.with(Executor::new(bound, self.env).finish()?))
            }
            position => self.read(io, range, page, position).await,
        }
    }

    /// The number of living items, which the calendar knows.
    async fn count(&self, page: Page) -> Result<Page> {
        let count = self.scope.view.count(&self.scope.collection).await?;
        let count = Value::from(i64::try_from(count).unwrap_or(i64::MAX));
        Ok(page.with(vec![count]))
    }

    /// Rows from items.
    async fn read(
        &self,
        io: &mut Io<'_>,
        range: ItemRange,
        page: Page,
        position: Option<Position>,
    ) -> Result<Page> {
        let started = Clock::monotonic();
        let access = Access::new(self.bound, &self.scope.collection);
        let has = |index: u64, item: &lapsedb_record::Live<bytes::Bytes>| access.has(index, item);
        let wanted = access.wanted(range, &has);
        io.times.optimize = started.elapsed();
        let track = match position.as_ref().map(|position| &position.place) {
            None => None,
            Some(Place::At { track, .. }) if self.bound.is_streaming() => Some(*track),
            Some(Place::After(_)) if !self.bound.is_streaming() => None,
            Some(Place::At { .. } | Place::After(_)) => return Err(invalid_token()),
        };
        let choice = planner::choose(io, &wanted, track, self.tuning)
            .await?
            .ok_or_else(invalid_token)?;
        // What was looked up to choose counts as looking up.
        let others = io.times.optimize + io.times.entries + io.times.items;
        io.times.plan = started.elapsed().saturating_sub(others);
        self.run(io, &access, &wanted, choice, page, position).await
    }

    async fn run(
        &self,
        io: &mut Io<'_>,
        access: &Access<'_>,
        wanted: &Wanted<'_>,
        choice: Choice,
        page: Page,
        position: Option<Position>,
    ) -> Result<Page> {
        let progress = position.as_ref().map_or_else(Progress::default, progress);
        let place = position.map(|position| position.place);
        let path = match wanted.cover {
            lapsedb_query::plan::Cover::Index(index) if choice.covered => access.path(index),
            _ => None,
        };
        let covered = choice.covered;
        let by_creation = matches!(choice.plan, Plan::Ordinals(_));
        let needs_item = move |candidate: &Candidate| match &candidate.value {
            Some(value) if covered => encoded::decode(value).is_none(),
            Some(_) | None => !covered,
        };
        let order = wanted.order.as_ref().filter(|_| choice.sorted);
        let tie_len = order.map(|order| &*order.tie_len as TieLen<'_>);
        let within = wanted.within.clone();
        let reader = Reader::new(choice.plan, within, tie_len, &needs_item);
        match place {
            place if self.bound.is_streaming() => {
                self.stream(io, reader, page, progress, place).await
            }
            place if choice.sorted => {
                let after = place.and_then(key);
                self.sorted(io, reader, page, progress, order, after).await
            }
            place => {
                let after = place.and_then(key);
                let page = page.after(progress, after);
                self.whole(io, reader, page, path.as_ref(), by_creation)
                    .await
            }
        }
    }

    /// The document that a candidate stands for, or as much of it as is asked for.
    fn document(&self, candidate: &Candidate, path: Option<&Path>) -> Result<Value> {
        match (&candidate.item, &candidate.value, path) {
            (Some(item), _, _) => item_value(&self.scope.collection, item),
            (None, Some(value), Some(path)) => {
                let value = encoded::decode(value).unwrap_or_default();
                Ok(access::document_with(path, value))
            }
            (None, _, _) => Ok(Value::Object(Object::new())),
        }
    }
}

fn progress(position: &Position) -> Progress {
    Progress {
        skipped: position.skipped,
        emitted: position.emitted,
    }
}

fn key(place: Place) -> Option<Vec<u8>> {
    match place {
        Place::After(key) => Some(key),
        Place::At { .. } => None,
    }
}
