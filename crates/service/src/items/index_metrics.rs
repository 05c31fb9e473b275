//! What a query could gain from indexes, by the container's policy: the answer to who asks for index metrics.

use lapsedb_sql::plan::Step;
use lapsedb_sql::{Bound, Comparison};
use lapsedb_store::Collection;
use lapsedb_store::index::policy::{COMPOSITE_PATHS_MAX, CompositePath, Order};
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
    let composites = composites_for(bound);
    let (mut utilized, mut potential) = (Indexes::default(), Indexes::default());
    for path in single_paths(bound, !composites.is_empty()) {
        match collection.index.indexes(&path) {
            true => utilized.single.push(path),
            false => potential.single.push(path),
        }
    }
    // An order by several paths is only run when an index for it is in the policy.
    let order = order_rule::wanted(bound.order()).filter(|wanted| wanted.len() > 1);
    utilized.composite.extend(order);
    for wanted in composites {
        let mut policy = collection.index.composites.iter();
        match policy.find(|paths| wanted.is_served_by(paths)) {
            Some(paths) if utilized.composite.contains(paths) => {}
            Some(paths) => utilized.composite.push(paths.clone()),
            None => potential.composite.push(wanted.to_index()),
        }
    }
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

/// The paths that an index over one path serves, in the order in which the service names them: as they stand in the query, `id` last.
fn single_paths(bound: &Bound, has_composite: bool) -> Vec<Path> {
    let mut paths = bound.filter_paths();
    if let [item] = bound.order()
        && let Some(path) = &item.path
    {
        if !paths.contains(path) {
            paths.push(path.clone());
        } else if paths.len() > 1 && !has_composite {
            // What rows are sorted by is not named beside what else they are found by.
            paths.retain(|other| other != path);
        }
    }
    let mut paths: Vec<Path> = paths.iter().filter_map(|path| pointer(path)).collect();
    paths.sort_by_key(is_id);
    paths
}

fn is_id(path: &Path) -> bool {
    matches!(path.segments(), [Segment::Member(name)] if name == "id")
}

/// A composite index that would find the rows of a query in one place.
#[derive(Debug, PartialEq, Eq)]
struct WantedComposite {
    /// Paths with one value each, in any order.
    equal: Vec<Path>,
    /// The path with a range of values, behind them.
    range: Option<Path>,
}

impl WantedComposite {
    /// Whether an index finds the rows: directions do not matter to it.
    fn is_served_by(&self, paths: &[CompositePath]) -> bool {
        let Some((first, rest)) = paths.split_at_checked(self.equal.len()) else {
            return false;
        };
        let equal = first.iter().all(|part| self.equal.contains(&part.path));
        let range = match &self.range {
            Some(range) => rest.first().is_some_and(|part| part.path == *range),
            None => true,
        };
        equal && range
    }

    fn to_index(&self) -> Vec<CompositePath> {
        let paths = self.equal.iter().chain(&self.range);
        let ascending = paths.map(|path| CompositePath {
            path: path.clone(),
            order: Order::Ascending,
        });
        ascending.collect()
    }
}

/// The composite indexes that would help: paths with one value each and, behind them, one with a range of values; and those of a
/// group whose paths have one value each. Two ranges gain nothing from each other, nor do values that single indexes find.
fn composites_for(bound: &Bound) -> Vec<WantedComposite> {
    let (mut equal, mut ranges) = (Vec::new(), Vec::new());
    let compared = bound.comparisons();
    for wanted in [Comparison::Equality, Comparison::Range] {
        for (steps, _) in compared.iter().filter(|(_, kind)| *kind == wanted) {
            match pointer(steps) {
                Some(path) if equal.contains(&path) || ranges.contains(&path) => {}
                Some(path) if wanted == Comparison::Equality => equal.push(path),
                Some(path) => ranges.push(path),
                None => {}
            }
        }
    }
    if equal.is_empty() || equal.len() >= COMPOSITE_PATHS_MAX {
        return Vec::new();
    }
    if ranges.is_empty() {
        let grouped = bound.group_paths().unwrap_or_default();
        let grouped: Vec<Path> = grouped.iter().filter_map(|path| pointer(path)).collect();
        let helps = grouped.len() > 1 && grouped.iter().all(|path| equal.contains(path));
        return helps
            .then_some(WantedComposite {
                equal: grouped,
                range: None,
            })
            .into_iter()
            .collect();
    }
    let wanted = ranges.into_iter().map(|range| WantedComposite {
        equal: equal.clone(),
        range: Some(range),
    });
    wanted.collect()
}

fn pointer(steps: &[Step]) -> Option<Path> {
    let segments = steps.iter().map(|step| match step {
        Step::Member(name) => Some(Segment::Member(name.clone())),
        Step::Index(_) => None,
    });
    segments.collect::<Option<Vec<_>>>().map(Path::new)
}
