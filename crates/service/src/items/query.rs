//! Queries by scan: every living item of the selection passes through the evaluator, page by page.
//!
//! A query whose rows come one by one resumes at the item where its page ended. One that must see everything first
//! (order, groups, aggregates, DISTINCT, TOP, OFFSET) is run again for each page and resumes by row.

use bytes::Bytes;
use lapsedb_record::Live;
use lapsedb_sql::{Bound, Env, Executor, Flow, Progress};
use lapsedb_store::ScanLimits;
use lapsedb_value::{Value, json};

use crate::charge::{self, QueryWork};
use crate::ctx::{Ctx, Scope};
use crate::error::{Error, Result};
use crate::feed::Query;
use crate::items::feed::Selection;
use crate::items::narrow::Source;
use crate::items::order_rule;
use crate::limits::{PAGE_BYTES_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};
use crate::resource::item_value;

/// Items read from the store in one step; between steps other requests get their turn.
const STEP_ITEMS: usize = 128;

/// What a query is asked about.
pub struct Request<'a> {
    /// Which items.
    pub selection: Selection,
    /// Rows of a page at most; none if the server may choose.
    pub items_max: Option<usize>,
    /// Where an earlier page ended.
    pub continuation: Option<&'a str>,
}

/// A page of rows.
pub struct QueryPage {
    /// Where they come from.
    pub scope: Scope,
    /// The rows.
    pub rows: Vec<Value>,
    /// Where the next page begins.
    pub continuation: Option<String>,
    /// What it cost.
    pub charge: f64,
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Position {
    /// At this place of the scan, behind so many rows of the item there; before it the query had come so far.
    Item {
        resume: Vec<u8>,
        rows: usize,
        progress: Progress,
    },
    /// Behind so many rows.
    Row(usize),
}

/// Checks a query's text without running it.
///
/// # Errors
/// When the text is wrong.
pub fn check(query: &Query) -> Result<()> {
    query.bind().map(drop)
}

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
    let scope = ctx.scope(address.0, address.1).await?;
    scope.expect_rid(intended)?;
    ctx.who
        .may_read_items(&scope.collection, request.selection.partition.as_ref())?;
    let throughputs = ctx.service().throughputs();
    throughputs.admit(&scope.view, &scope.collection)?;
    let bound = query.bind_for(&scope.collection)?;
    order_rule::check(&bound, &scope.collection)?;
    let range = request.selection.range(&scope.collection)?;
    let source = Source::new(range, &bound, &scope.collection);
    let position = request.continuation.map(Position::parse).transpose()?;
    let items_max = request
        .items_max
        .unwrap_or(PAGE_ITEMS_DEFAULT)
        .clamp(1, PAGE_ITEMS_MAX);
    let now_ms = i64::try_from(scope.view.now().0).unwrap_or(i64::MAX);
    let lens = scope.view.lens(&scope.collection);
    let expiry = |item: &Value| crate::ttl::expiry_of(&lens, item);
    let run = Run {
        scope: &scope,
        bound: &bound,
        env: Env::new(now_ms).with_expiry(&expiry),
        source,
        items_max,
    };
    let (rows, next, work) = match position {
        None if bound.counts_everything() && run.source.is_everything() => {
            let count = scope.view.count(&scope.collection).await?;
            #[expect(
                clippy::cast_precision_loss,
                reason = "numbers of the query language are doubles"
            )]
            let count = Value::number(count as f64);
            (vec![count], None, QueryWork::default())
        }
        None if !bound.reads_documents() => {
            let rows = Executor::new(&bound, run.env).finish()?;
            (rows, None, QueryWork::default())
        }
        None if bound.is_streaming() => run.stream(Vec::new(), 0, Progress::default()).await?,
        Some(Position::Item {
            resume,
            rows,
            progress,
        }) if bound.is_streaming() => run.stream(resume, rows, progress).await?,
        None => run.whole(0).await?,
        Some(Position::Row(row)) if !bound.is_streaming() => run.whole(row).await?,
        Some(Position::Item { .. } | Position::Row(_)) => return Err(invalid_token()),
    };
    let charge = charge::query(work);
    throughputs.spend(&scope.view, &scope.collection, charge);
    Ok(QueryPage {
        rows,
        continuation: next.map(|position| position.text()),
        charge,
        scope,
    })
}

/// One page under way.
struct Run<'a> {
    scope: &'a Scope,
    bound: &'a Bound,
    env: Env<'a>,
    source: Source,
    items_max: usize,
}

type Rows = (Vec<Value>, Option<Position>, QueryWork);

impl Run<'_> {
    /// Rows as they come, from an item on.
    async fn stream(&self, from: Vec<u8>, mut skip: usize, progress: Progress) -> Result<Rows> {
        let mut executor = Executor::resume(self.bound, self.env, progress);
        let mut rows = Vec::new();
        let mut work = QueryWork::default();
        let mut at = from;
        loop {
            let resume = Some(at.as_slice()).filter(|at| !at.is_empty());
            // One item at a time decides where a page ends, so the place behind each must be known.
            let page = self.step(resume).await?;
            for (place, item) in page.items {
                work.loaded_bytes += item.body().len();
                let before = executor.progress();
                let flow = executor.push(item_value(&self.scope.collection, &item)?)?;
                let mut fresh = executor.take_rows();
                fresh.drain(..skip.min(fresh.len()));
                let taken = skip;
                skip = 0;
                for (index, row) in fresh.into_iter().enumerate() {
                    let full = rows.len() >= self.items_max
                        || (!rows.is_empty() && work.returned_bytes >= PAGE_BYTES_MAX);
                    if full {
                        let next = Position::Item {
                            resume: place,
                            rows: taken + index,
                            progress: before,
                        };
                        return Ok((rows, Some(next), work));
                    }
                    work.returned_bytes += size(&row);
                    rows.push(row);
                }
                if flow == Flow::Done {
                    return Ok((rows, None, work));
                }
            }
            match page.resume {
                Some(resume) => at = resume,
                None => return Ok((rows, None, work)),
            }
            tokio::task::yield_now().await;
        }
    }

    /// All rows, and the page of them that begins behind so many.
    async fn whole(&self, from: usize) -> Result<Rows> {
        let mut executor = Executor::new(self.bound, self.env);
        let mut work = QueryWork::default();
        let mut all = Vec::new();
        let mut at: Option<Vec<u8>> = None;
        'scan: loop {
            let mut page = self.step(at.as_deref()).await?;
            // Ties are broken by the order of creation, which the order of keys is not.
            page.items.sort_by_key(|(_, item)| item.header().ordinal);
            for (_, item) in page.items {
                work.loaded_bytes += item.body().len();
                let flow = executor.push(item_value(&self.scope.collection, &item)?)?;
                all.append(&mut executor.take_rows());
                if matches!(flow, Flow::Done) {
                    break 'scan;
                }
            }
            match page.resume {
                Some(resume) => at = Some(resume),
                None => break,
            }
            tokio::task::yield_now().await;
        }
        all.append(&mut executor.finish()?);
        let mut rows = Vec::new();
        let total = all.len();
        for row in all.into_iter().skip(from) {
            if rows.len() >= self.items_max
                || (!rows.is_empty() && work.returned_bytes >= PAGE_BYTES_MAX)
            {
                break;
            }
            work.returned_bytes += size(&row);
            rows.push(row);
        }
        let end = from + rows.len();
        Ok((rows, (end < total).then_some(Position::Row(end)), work))
    }

    /// The next items, each with the place it stands at.
    async fn step(&self, resume: Option<&[u8]>) -> Result<Step> {
        let limits = ScanLimits {
            items_max: STEP_ITEMS,
            bytes_max: PAGE_BYTES_MAX,
        };
        let page = self
            .source
            .read(&self.scope.view, &self.scope.collection, resume, limits)
            .await?;
        let items = page
            .items
            .into_iter()
            .zip(page.places)
            .map(|((_, item), place)| (place, item))
            .collect();
        Ok(Step {
            items,
            resume: page.resume,
        })
    }
}

struct Step {
    items: Vec<(Vec<u8>, Live<Bytes>)>,
    resume: Option<Vec<u8>>,
}

fn size(row: &Value) -> usize {
    let mut text = Vec::new();
    json::write(row, &mut text);
    text.len()
}

impl Position {
    fn text(&self) -> String {
        match self {
            Position::Row(row) => format!("Q1~R{row}"),
            Position::Item {
                resume,
                rows,
                progress,
            } => {
                let hex: String = resume.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("Q1~I{rows}~{}~{}~{hex}", progress.skipped, progress.emitted)
            }
        }
    }

    fn parse(token: &str) -> Result<Position> {
        let read = || {
            let body = token.strip_prefix("Q1~")?;
            if let Some(row) = body.strip_prefix('R') {
                return row.parse().ok().map(Position::Row);
            }
            let mut parts = body.strip_prefix('I')?.split('~');
            let rows = parts.next()?.parse().ok()?;
            let progress = Progress {
                skipped: parts.next()?.parse().ok()?,
                emitted: parts.next()?.parse().ok()?,
            };
            let hex = parts.next()?;
            if hex.is_empty() || !hex.is_ascii() || hex.len() % 2 != 0 {
                return None;
            }
            let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
            let resume = (0..hex.len()).step_by(2).map(byte).collect::<Option<_>>()?;
            Some(Position::Item {
                resume,
                rows,
                progress,
            })
        };
        read().ok_or_else(invalid_token)
    }
}

fn invalid_token() -> Error {
    Error::bad_request("Invalid Continuation Token")
}
