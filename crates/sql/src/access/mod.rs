//! What a query demands of the documents it can find rows in, as far as an index can tell.
//!
//! Every condition here is one that follows from the filter. The filter itself is asked of each document.

mod cover;
mod demand;
mod origin;

use lapsedb_query::plan::Condition;
use lapsedb_value::path::{Path, Segment};

use crate::bound::Bound;
use crate::plan::{BoundQuery, SourceKind, Step};
use crate::stack;
use origin::Places;

/// The number of the index that has an entry for every value found at a path, if there is one.
pub type IndexOf<'a> = &'a (dyn Fn(&Path) -> Option<u64> + Sync);

impl Bound {
    /// What a document must have, at paths that are indexed, for the query to find rows in it.
    pub fn condition(&self, index_of: IndexOf<'_>) -> Condition {
        stack::for_height(self.height, || demanded(self.query(), index_of))
    }

    /// The paths the result is sorted by, with whether large values come first; none if it is not sorted by such.
    pub fn order_paths(&self) -> Option<Vec<(Path, bool)>> {
        let order = self.order();
        let paths = order.iter().map(|item| {
            let steps = item.path.as_deref()?;
            let segments = steps.iter().map(|step| match step {
                Step::Member(name) => Some(Segment::Member(name.clone())),
                Step::Index(_) => None,
            });
            Some((
                Path::new(segments.collect::<Option<Vec<_>>>()?),
                item.descending,
            ))
        });
        paths
            .collect::<Option<Vec<_>>>()
            .filter(|paths| !paths.is_empty())
    }

    /// The paths of all that the query reads of a document; none if it reads more than single paths.
    pub fn paths_read(&self) -> Option<Vec<Path>> {
        stack::for_height(self.height, || cover::paths(self.query()))
    }
}

fn demanded(query: &BoundQuery, index_of: IndexOf<'_>) -> Condition {
    match query.sources.first().map(|source| &source.kind) {
        Some(SourceKind::Container) => match &query.filter {
            Some(filter) => {
                let places = Places::of(&query.sources);
                demand::Demand {
                    places: &places,
                    index_of,
                }
                .of(filter)
            }
            None => Condition::Always,
        },
        Some(SourceKind::Feed(inner)) => demanded(inner, index_of),
        Some(SourceKind::Value(_) | SourceKind::Rows(_)) | None => Condition::Always,
    }
}
