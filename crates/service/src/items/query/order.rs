//! The index that holds the items in the order a query wants.

use lapsedb_query::order::{tie_len, tie_len_of_parts};
use lapsedb_query::plan::{Bounds, Condition, OrderBy, Seek};
use lapsedb_store::index::composite::{Direction, composite_id, direction_of, is_stored};
use lapsedb_store::index::encode::PathId;
use lapsedb_store::index::policy::{CompositePath, Order};

use super::access::Access;

impl Access<'_> {
    /// An index of the one path that is sorted by, or of several, behind paths that the filter fixes. What those fix is added
    /// to the condition.
    pub(super) fn order<'w>(&self, condition: &mut Condition) -> Option<OrderBy<'w>> {
        if !self.bound.is_sortable() {
            return None;
        }
        let paths = self.bound.order_paths()?;
        let wanted: Vec<CompositePath> = paths
            .into_iter()
            .map(|(path, falling)| CompositePath {
                path,
                order: match falling {
                    true => Order::Descending,
                    false => Order::Ascending,
                },
            })
            .collect();
        if let Some(order) = self.composite(&wanted, condition) {
            return Some(order);
        }
        let [one] = wanted.as_slice() else {
            return None;
        };
        Some(OrderBy {
            index: self.index_of(&one.path)?,
            reverse: one.order == Order::Descending,
            complete: false,
            prefix: Vec::new(),
            tie_len: Box::new(tie_len),
        })
    }

    fn composite<'w>(
        &self,
        wanted: &[CompositePath],
        condition: &mut Condition,
    ) -> Option<OrderBy<'w>> {
        let policy = &self.collection.index;
        if !self.collection.index_is_whole() {
            return None;
        }
        for paths in &policy.composites {
            let Some(fixed) = paths.len().checked_sub(wanted.len()) else {
                continue;
            };
            let (first, rest) = paths.split_at(fixed);
            let Some(direction) = direction_of(rest, wanted) else {
                continue;
            };
            let Some(prefix) = fixed_prefix(first, condition) else {
                continue;
            };
            if !is_stored(policy, paths) {
                continue;
            }
            let index = composite_id(paths).0;
            if !prefix.is_empty() {
                let bounds = vec![Bounds::beginning_with(prefix.clone())];
                let seek = Condition::Seek(Seek {
                    index,
                    bounds,
                    many: false,
                    partition: false,
                });
                let before = std::mem::replace(condition, Condition::Always);
                *condition = Condition::All(vec![before, seek]);
            }
            let falling: Vec<bool> = rest
                .iter()
                .map(|part| part.order == Order::Descending)
                .collect();
            let reverse = direction == Direction::Backward;
            // Equals come by creation in the direction of the first path. Where the index has them the other way round, they
            // are told to tie, and are compared.
            let first_falls = wanted
                .first()
                .is_some_and(|part| part.order == Order::Descending);
            let skipped = prefix.len();
            return Some(OrderBy {
                index,
                reverse,
                complete: true,
                prefix,
                tie_len: Box::new(move |bytes| {
                    let len = tie_len_of_parts(bytes.get(skipped..)?, &falling);
                    let whole = (reverse != first_falls).then_some(bytes.len());
                    len.map(|len| skipped + len).or(whole)
                }),
            });
        }
        None
    }
}

/// The bytes of the first paths of an index, if the condition fixes the value of each.
fn fixed_prefix(paths: &[CompositePath], condition: &Condition) -> Option<Vec<u8>> {
    let mut prefix = Vec::new();
    for part in paths {
        let mut value = fixed(condition, PathId::of(&part.path).0)?.to_vec();
        if part.order == Order::Descending {
            value.iter_mut().for_each(|byte| *byte = !*byte);
        }
        prefix.extend_from_slice(&value);
    }
    Some(prefix)
}

/// The one value that a condition allows in an index.
fn fixed(condition: &Condition, index: u64) -> Option<&[u8]> {
    match condition {
        Condition::Seek(seek) if seek.index == index && !seek.many => {
            match seek.bounds.as_slice() {
                [Bounds::Value(value)] => Some(value),
                _ => None,
            }
        }
        Condition::All(inner) => inner.iter().find_map(|condition| fixed(condition, index)),
        Condition::Seek(_)
        | Condition::Always
        | Condition::Never
        | Condition::Lacks(_)
        | Condition::Any(_) => None,
    }
}
