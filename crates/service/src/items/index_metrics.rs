//! What a query could gain from indexes, by the container's policy: the answer to who asks for index metrics.

use lapsedb_sql::Bound;
use lapsedb_sql::plan::Step;
use lapsedb_store::Collection;
use lapsedb_store::index::policy::CompositePath;
use lapsedb_value::path::{Path, Segment};

use crate::items::order_rule;

/// The indexes that serve a query, and those that could.
#[derive(Clone, Debug)]
pub struct IndexMetrics {
    /// What finds the partitions that the request names: the paths of their key, or none if it names none.
    pub partition: Vec<Path>,
    /// The indexes that serve it.
    pub utilized: Indexes,
    /// Indexes that the policy does not have and that would serve it.
    pub potential: Indexes,
}

/// Indexes of a policy.
#[derive(Clone, Debug, Default)]
pub struct Indexes {
    /// Those over one path.
    pub single: Vec<Path>,
    /// Those over several.
    pub composite: Vec<Vec<CompositePath>>,
}

/// The indexes that serve a query, and those that could.
pub(crate) fn of(bound: &Bound, collection: &Collection, in_partition: bool) -> IndexMetrics {
    let mut paths = bound.filter_paths();
    if let [item] = bound.order()
        && let Some(path) = &item.path
        && !paths.contains(path)
    {
        paths.push(path.clone());
    }
    let (mut utilized, mut potential) = (Indexes::default(), Indexes::default());
    for path in paths.iter().filter_map(|path| pointer(path)) {
        match collection.index.indexes(&path) {
            true => utilized.single.push(path),
            false => potential.single.push(path),
        }
    }
    // An order by several paths is only run when an index for it is in the policy.
    let composite = order_rule::wanted(bound.order()).filter(|wanted| wanted.len() > 1);
    utilized.composite.extend(composite);
    let partition = match in_partition {
        true => collection.partition_key.paths.clone(),
        false => Vec::new(),
    };
    IndexMetrics {
        partition,
        utilized,
        potential,
    }
}

fn pointer(steps: &[Step]) -> Option<Path> {
    let segments = steps.iter().map(|step| match step {
        Step::Member(name) => Some(Segment::Member(name.clone())),
        Step::Index(_) => None,
    });
    segments.collect::<Option<Vec<_>>>().map(Path::new)
}
