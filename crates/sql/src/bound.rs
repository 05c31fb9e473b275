//! A query ready to run, and what can be said of it without running it.

use lapsedb_value::Value;
use lapsedb_value::path::Path;

use crate::ast::{Query, SelectList};
use crate::bind::{self, Origins};
use crate::composition;
use crate::error::SqlError;
use crate::exec;
use crate::filter_paths::{Comparison, comparisons_in, paths_in, searched_by};
use crate::params::Params;
use crate::partition::{self, PartitionFilter};
use crate::plan::{
    AggregateKind, BoundOrder, BoundQuery, Expr, ExprKind, Projection, SourceKind, Step,
};
use crate::schema::{self, Schema};
use crate::stack;

/// A query whose names are resolved and whose parameters are known.
#[derive(Clone, Debug)]
pub struct Bound {
    query: BoundQuery,
    origins: Origins,
    not_run: Option<SqlError>,
    composes_aggregates: bool,
    selects_value: bool,
    /// How deep its expressions nest.
    pub(crate) height: u16,
}

/// Resolves names, checks functions and counts, and puts the parameters in.
pub fn bind(query: &Query, params: &Params) -> Result<Bound, SqlError> {
    bind_with(query, params, &schema::NONE)
}

/// The same for a container of which something is known.
pub fn bind_with(query: &Query, params: &Params, schema: &Schema) -> Result<Bound, SqlError> {
    let resolved = bind::bind_query(query, params, schema)?;
    Ok(Bound {
        query: resolved.query,
        origins: resolved.origins,
        not_run: resolved.not_run,
        composes_aggregates: composition::of_aggregates(query),
        selects_value: matches!(query.select.list, SelectList::Value(_)),
        height: query.height,
    })
}

impl Bound {
    /// The query itself.
    pub fn query(&self) -> &BoundQuery {
        &self.query
    }

    /// Refuses what the service plans and does not run.
    ///
    /// # Errors
    /// For calls of user-defined functions, of which there are none, and an order by what a `JOIN` or a subquery makes.
    pub fn check_runs(&self) -> Result<(), SqlError> {
        self.not_run.clone().map_or(Ok(()), Err)
    }

    /// Refuses what the service does not plan, and runs all the same: a client that asks for a plan merges the rows of several
    /// ranges, and cannot compute anything of aggregates afterwards. The texts that plans contain are of this form.
    ///
    /// # Errors
    /// For expressions over aggregates.
    pub fn check_plan(&self) -> Result<(), SqlError> {
        if self.composes_aggregates {
            Err(SqlError::composition())
        } else {
            Ok(())
        }
    }

    /// Whether it says `SELECT VALUE`, so that rows need not be objects.
    pub fn selects_value(&self) -> bool {
        self.selects_value
    }

    /// Whether the rows of a document are known as soon as it is pushed: nothing is aggregated,
    /// grouped, ordered, ranked or made distinct.
    pub fn is_streaming(&self) -> bool {
        streams(&self.query)
    }

    /// Whether the query reads documents at all; `SELECT 1` does not.
    pub fn reads_documents(&self) -> bool {
        self.query.reads_container()
    }

    /// Whether each row is a whole document, unchanged: `SELECT * FROM c WHERE …`. Such a query can
    /// be answered with the stored bytes.
    pub fn returns_documents(&self) -> bool {
        match (self.query.sources.as_slice(), &self.query.projection) {
            ([source], Projection::Value(expr)) => {
                matches!(source.kind, SourceKind::Container)
                    && matches!(expr.kind, ExprKind::Slot(slot) if slot == source.slot)
                    && self.query.grouping.is_none()
            }
            _ => false,
        }
    }

    /// Whether the query streams as soon as its documents come in the order it wants: it is only sorted, and by paths.
    pub fn is_sortable(&self) -> bool {
        let query = &self.query;
        let inner = match query.sources.first().map(|source| &source.kind) {
            Some(SourceKind::Feed(inner)) => streams(inner),
            Some(SourceKind::Container) => true,
            Some(SourceKind::Value(_) | SourceKind::Rows(_)) | None => false,
        };
        inner
            && !query.order.is_empty()
            && query.order.iter().all(|item| item.path.is_some())
            && query.grouping.is_none()
            && query.rank.is_none()
            && !query.distinct
    }

    /// The key of a document's row in a result that is sorted by paths.
    pub fn sort_key(&self, document: &Value, ordinal: u64, row: u32) -> Vec<u8> {
        let order = &self.query.order;
        let values = order.iter().map(|item| {
            let steps = item.path.as_deref().unwrap_or_default();
            steps.iter().fold(document, |value, step| match step {
                Step::Member(name) => value.get(name),
                Step::Index(index) => usize::try_from(*index)
                    .ok()
                    .and_then(|index| value.as_array()?.get(index))
                    .unwrap_or(Value::undefined()),
            })
        });
        let mut key = exec::sort_key(order, values);
        exec::push_tie(order, ordinal, row, &mut key);
        key
    }

    /// Whether the query is exactly `SELECT VALUE COUNT(1) FROM c`, whose answer a tally knows.
    pub fn counts_everything(&self) -> bool {
        let query = &self.query;
        let plain = query.filter.is_none()
            && query.offset == 0
            && query.limit.is_none_or(|limit| limit > 0);
        let [source] = query.sources.as_slice() else {
            return false;
        };
        let Some(grouping) = &query.grouping else {
            return false;
        };
        let [(counted, AggregateKind::Count, argument)] = grouping.aggregates.as_slice() else {
            return false;
        };
        let every_row = match &argument.kind {
            ExprKind::Constant(value) => !value.is_undefined(),
            ExprKind::Slot(slot) => *slot == source.slot,
            _ => false,
        };
        plain
            && every_row
            && grouping.keys.is_empty()
            && matches!(source.kind, SourceKind::Container)
            && matches!(&query.projection, Projection::Value(Expr { kind: ExprKind::Slot(slot), .. }) if slot == counted)
    }

    /// Rows that `OFFSET` leaves out and rows that `TOP` or `LIMIT` lets through.
    pub fn window(&self) -> (u64, Option<u64>) {
        (self.query.offset, self.query.limit)
    }

    /// What the rows are sorted by.
    pub fn order(&self) -> &[BoundOrder] {
        &self.query.order
    }

    /// The path of an expression from the root of the document, if it is nothing but a path.
    pub fn path(&self, expr: &Expr) -> Option<Vec<Step>> {
        self.origins.path(expr)
    }

    /// The paths of the document that the query looks for something at, subqueries apart: those of the filter, or of a function
    /// that searches and whose result is the row.
    pub fn filter_paths(&self) -> Vec<Vec<Step>> {
        match &self.query.filter {
            Some(filter) => stack::for_height(self.height, || paths_in(filter, &self.origins)),
            None => searched_by(&self.query.projection, &self.origins),
        }
    }

    /// The paths that every row must have certain values at, and which kind of values.
    pub fn comparisons(&self) -> Vec<(Vec<Step>, Comparison)> {
        match &self.query.filter {
            Some(filter) => {
                stack::for_height(self.height, || comparisons_in(filter, &self.origins))
            }
            None => Vec::new(),
        }
    }

    /// The paths that rows are grouped by; none if they are not, or by something else.
    pub fn group_paths(&self) -> Option<Vec<Vec<Step>>> {
        let grouping = self.query.grouping.as_ref()?;
        let keys = grouping.keys.iter();
        keys.map(|(_, key)| self.origins.path(key)).collect()
    }

    /// Which values of the partition key the query can find documents under. `paths` are the paths of
    /// the key, outermost first.
    pub fn partition_filter(&self, paths: &[Path]) -> PartitionFilter {
        if !self.query.reads_container() {
            return PartitionFilter::Everything;
        }
        let mut filters = Vec::new();
        let mut query = &self.query;
        loop {
            filters.extend(&query.filter);
            match query.sources.first().map(|source| &source.kind) {
                Some(SourceKind::Feed(inner)) => query = inner,
                Some(SourceKind::Container | SourceKind::Value(_) | SourceKind::Rows(_)) | None => {
                    break;
                }
            }
        }
        stack::for_height(self.height, || {
            partition::infer(&filters, paths, &self.origins)
        })
    }

    /// The constant that an expression is, if it is one.
    pub fn constant(expr: &Expr) -> Option<&Value> {
        expr.constant()
    }
}

fn streams(mut query: &BoundQuery) -> bool {
    loop {
        if query.grouping.is_some()
            || !query.order.is_empty()
            || query.rank.is_some()
            || query.distinct
        {
            return false;
        }
        match query.sources.first().map(|source| &source.kind) {
            Some(SourceKind::Feed(inner)) => query = inner,
            Some(SourceKind::Container | SourceKind::Value(_) | SourceKind::Rows(_)) | None => {
                return true;
            }
        }
    }
}
