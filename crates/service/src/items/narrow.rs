//! Which items a query needs to look at: as few as its filter allows, never too few. The filter itself is asked of each.

use lapsedb_sql::plan::{BinaryOp, Expr, ExprKind, Step};
use lapsedb_sql::{Bound, PartitionFilter};
use lapsedb_store::index::encode::PathId;
use lapsedb_store::partition_key::{Component, PartitionKey};
use lapsedb_store::{Collection, ItemKey, ItemPage, ItemRange, ScanLimits, Span, View};
use lapsedb_value::Value;
use lapsedb_value::path::{Path, Segment};

use crate::error::Result;
use crate::resource::SYSTEM_PROPERTIES;

/// Where a query's items are read from.
pub(crate) enum Source {
    /// The items of a range.
    Items(ItemRange),
    /// The items behind entries of the index.
    Index(Vec<Span>),
}

impl Source {
    /// The part of a range that can fulfil the query's filter.
    pub(crate) fn new(range: ItemRange, bound: &Bound, collection: &Collection) -> Source {
        match range {
            ItemRange::Everything => by_partition(bound, collection)
                .or_else(|| by_index(bound, collection))
                .unwrap_or(Source::Items(ItemRange::Everything)),
            ItemRange::Partition(_) | ItemRange::Epk(_) | ItemRange::Spans(_) => {
                Source::Items(range)
            }
        }
    }

    /// Whether all items are read.
    pub(crate) fn is_everything(&self) -> bool {
        matches!(self, Source::Items(ItemRange::Everything))
    }

    /// The next living items, from a place on.
    pub(crate) async fn read(
        &self,
        view: &View,
        collection: &Collection,
        resume: Option<&[u8]>,
        limits: ScanLimits,
    ) -> Result<ItemPage> {
        Ok(match self {
            Source::Items(range) => view.scan(collection, range, resume, limits).await?,
            Source::Index(spans) => view.scan_index(collection, spans, resume, limits).await?,
        })
    }
}

/// The partitions that the filter fixes, and single items where it fixes their ids too.
fn by_partition(bound: &Bound, collection: &Collection) -> Option<Source> {
    let levels = collection.partition_key.paths.len();
    let mut paths = collection.partition_key.paths.clone();
    paths.push(Path::new(vec![Segment::Member("id".into())]));
    let span = |key: &Vec<Value>| {
        let partition = PartitionKey::new(key.iter().take(levels).map(Component::of));
        match key.get(levels) {
            Some(Value::String(id)) => Span::of_item(&ItemKey::new(collection, &partition, id)),
            Some(_) | None => Span::of_partition(collection, &partition),
        }
    };
    match bound.partition_filter(&paths) {
        PartitionFilter::Everything => None,
        PartitionFilter::Nothing => Some(Vec::new()),
        PartitionFilter::Keys(keys) => Some(keys.iter().map(span).collect()),
    }
    .map(|spans| Source::Items(ItemRange::spans(spans)))
}

/// The items that have, at some indexed path, a value that the filter demands there.
fn by_index(bound: &Bound, collection: &Collection) -> Option<Source> {
    // A later generation begins empty, and is not whole until it has been built for the items that were there.
    if !collection.index_is_whole() {
        return None;
    }
    let filter = bound.query().filter.as_ref()?;
    let conjuncts = match &filter.kind {
        ExprKind::And(conjuncts) => conjuncts.as_slice(),
        _ => std::slice::from_ref(filter),
    };
    let demands = conjuncts
        .iter()
        .filter_map(|conjunct| demand(bound, collection, conjunct));
    // The fewer values are allowed, the fewer items have one of them.
    let (path, values) = demands.min_by_key(|(_, values)| values.len())?;
    Some(Source::Index(
        values
            .iter()
            .map(|value| Span::of_value(collection, path, value))
            .collect(),
    ))
}

/// The values a condition allows at a path, if it is an equality or an IN with constants.
fn demand<'b>(
    bound: &'b Bound,
    collection: &Collection,
    conjunct: &'b Expr,
) -> Option<(PathId, Vec<&'b Value>)> {
    let (path, values) = match &conjunct.kind {
        ExprKind::Binary(BinaryOp::Equal, left, right) => match (left.constant(), right.constant())
        {
            (None, Some(value)) => (left, vec![value]),
            (Some(value), None) => (right, vec![value]),
            (Some(_), Some(_)) | (None, None) => return None,
        },
        ExprKind::In {
            needle,
            list,
            negated: false,
            ..
        } => (
            needle,
            list.iter()
                .map(Expr::constant)
                .collect::<Option<Vec<_>>>()?,
        ),
        _ => return None,
    };
    let path = indexed_path(bound, collection, path)?;
    values
        .iter()
        .all(|value| is_scalar(value))
        .then_some((path, values))
}

/// The path of an expression, if every item that has a value there has an entry in the index.
fn indexed_path(bound: &Bound, collection: &Collection, expr: &Expr) -> Option<PathId> {
    let mut segments = Vec::new();
    for step in bound.path(expr)? {
        match step {
            Step::Member(name) => segments.push(Segment::Member(name)),
            Step::Index(_) => return None,
        }
    }
    let system = match segments.first() {
        Some(Segment::Member(name)) => SYSTEM_PROPERTIES.contains(&name.as_str()),
        Some(Segment::Elements) | None => true,
    };
    let path = Path::new(segments);
    (!system && collection.index.indexes(&path)).then(|| PathId::of(&path))
}

fn is_scalar(value: &Value) -> bool {
    matches!(
        value,
        Value::Null
            | Value::Bool(_)
            | Value::Int32(_)
            | Value::Int64(_)
            | Value::Double(_)
            | Value::String(_)
    )
}
