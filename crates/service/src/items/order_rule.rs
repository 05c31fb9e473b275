//! Which orders the service serves: those that an index of the container could.
//!
//! The rule is about what the policy says, not about whether an index is read: a query that is refused there must be
//! refused here, or users' tests would pass by mistake. A collection that was made through the MongoDB API has no policy that
//! anybody could mend: there every order is served, from memory where no index holds it.

use lapsedb_sql::Bound;
use lapsedb_sql::plan::{BoundOrder, Step};
use lapsedb_store::Collection;
use lapsedb_store::index::composite::direction_of;
use lapsedb_store::index::policy::{CompositePath, Mode, Order};
use lapsedb_value::path::{Path, Segment};

use crate::error::{Error, Result};

/// System properties that every index has.
const ALWAYS_INDEXED: [&str; 3] = ["id", "_ts", "_rid"];

/// Refuses an order that no index of the policy could serve.
pub(crate) fn check(bound: &Bound, collection: &Collection) -> Result<()> {
    match bound.order() {
        _ if collection.mongo.is_some() => Ok(()),
        [] => Ok(()),
        [item] => check_one(item, collection),
        // An aggregate is one row, which has no order.
        _ if bound.query().grouping.is_some() => Ok(()),
        several => check_several(several, collection),
    }
}

fn check_one(item: &BoundOrder, collection: &Collection) -> Result<()> {
    let Some(path) = path_of(item) else {
        return Ok(());
    };
    let indexed = match (&item.computed, path.segments().first()) {
        // What is computed is indexed only where the policy says its name.
        (Some(_), _) => collection.index.includes_by_name(&path),
        (None, Some(Segment::Member(name)))
            if path.segments().len() == 1 && ALWAYS_INDEXED.contains(&name.as_str()) =>
        {
            collection.index.mode != Mode::None
        }
        (None, _) => collection.index.indexes(&path),
    };
    if indexed {
        return Ok(());
    }
    Err(Error::bad_request(
        "The order-by item requires a range index to be defined on the corresponding index path.",
    ))
}

fn check_several(items: &[BoundOrder], collection: &Collection) -> Result<()> {
    let served = wanted(items).is_some_and(|wanted| {
        let mut composites = collection.index.composites.iter();
        composites.any(|paths| direction_of(paths, &wanted).is_some())
    });
    if served && collection.index.mode != Mode::None {
        return Ok(());
    }
    Err(Error::bad_request(
        "The order by query does not have a corresponding composite index that it can be served from.",
    ))
}

/// The composite index that an order by these is made for; none where it is by something else than paths.
pub(crate) fn wanted(items: &[BoundOrder]) -> Option<Vec<CompositePath>> {
    let parts = items.iter().map(|item| {
        let order = match item.descending {
            true => Order::Descending,
            false => Order::Ascending,
        };
        path_of(item).map(|path| CompositePath { path, order })
    });
    parts.collect()
}

/// The path that an index would be made of; none where the order is by something else.
fn path_of(item: &BoundOrder) -> Option<Path> {
    if let Some(name) = &item.computed {
        return Some(Path::new(vec![Segment::Member(name.clone())]));
    }
    let steps = item.path.as_ref()?;
    let segments = steps.iter().map(|step| match step {
        Step::Member(name) => Some(Segment::Member(name.clone())),
        Step::Index(_) => None,
    });
    segments.collect::<Option<Vec<_>>>().map(Path::new)
}
