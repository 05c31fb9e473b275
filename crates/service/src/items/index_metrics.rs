//! What a query could gain from indexes, by the container's policy: the answer to who asks for index metrics.

use lapsedb_sql::Bound;
use lapsedb_sql::plan::Step;
use lapsedb_store::Collection;
use lapsedb_store::index::policy::{CompositePath, Order};
use lapsedb_value::path::{Path, Segment};
use lapsedb_value::{Object, Value};

use crate::items::order_rule;

/// The indexes that serve a query, and those that could. What a request says of partitions is served like a filter.
pub(crate) fn of(bound: &Bound, collection: &Collection, in_partition: bool) -> Value {
    let mut paths = bound.filter_paths();
    if let [item] = bound.order()
        && let Some(path) = &item.path
        && !paths.contains(path)
    {
        paths.push(path.clone());
    }
    let (mut used, mut potential) = (Vec::new(), Vec::new());
    if in_partition {
        used.extend(collection.partition_key.paths.iter().map(single));
    } else {
        used.push(single(&Path::new(vec![Segment::Member("_epk".into())])));
    }
    for path in paths.iter().filter_map(|path| pointer(path)) {
        let list = match collection.index.indexes(&path) {
            true => &mut used,
            false => &mut potential,
        };
        list.push(single(&path));
    }
    let composites = order_rule::wanted(bound.order()).filter(|wanted| wanted.len() > 1);
    let composites = composites.map(|wanted| vec![composite(&wanted)]);
    let mut metrics = Object::with_capacity(4);
    metrics.push("UtilizedSingleIndexes", Value::Array(used));
    metrics.push("PotentialSingleIndexes", Value::Array(potential));
    // An order by several paths is only run when an index for it is in the policy.
    metrics.push(
        "UtilizedCompositeIndexes",
        Value::Array(composites.unwrap_or_default()),
    );
    metrics.push("PotentialCompositeIndexes", Value::Array(Vec::new()));
    Value::Object(metrics)
}

fn pointer(steps: &[Step]) -> Option<Path> {
    let segments = steps.iter().map(|step| match step {
        Step::Member(name) => Some(Segment::Member(name.clone())),
        Step::Index(_) => None,
    });
    segments.collect::<Option<Vec<_>>>().map(Path::new)
}

fn text(path: &Path) -> String {
    let segments = path.segments().iter().map(|segment| match segment {
        Segment::Member(name) => format!("/{name}"),
        Segment::Elements => "/[]".to_owned(),
    });
    segments.collect()
}

fn single(path: &Path) -> Value {
    let mut index = Object::with_capacity(5);
    index.push("FilterExpression", Value::from(""));
    index.push("IndexSpec", Value::from(format!("{}/?", text(path))));
    index.push("FilterPreciseSet", Value::Bool(true));
    index.push("IndexPreciseSet", Value::Bool(true));
    index.push("IndexImpactScore", Value::from("High"));
    Value::Object(index)
}

fn composite(paths: &[CompositePath]) -> Value {
    let specs = paths.iter().map(|part| {
        let direction = match part.order {
            Order::Ascending => "ASC",
            Order::Descending => "DESC",
        };
        Value::from(format!("{} {direction}", text(&part.path)))
    });
    let mut index = Object::with_capacity(3);
    index.push("IndexSpecs", Value::Array(specs.collect()));
    index.push("IndexPreciseSet", Value::Bool(true));
    index.push("IndexImpactScore", Value::from("High"));
    Value::Object(index)
}
