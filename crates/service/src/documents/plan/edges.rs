//! `min` and `max`: the entries of one index between two keys.

use lapsedb_store::Collection;
use lapsedb_store::index::bson_key::{Part, push_part};
use lapsedb_store::index::named::{NamedIndex, PartKind};
use lapsedb_store::index::scan::{Beginning, EntrySpan};
use lapsedb_value::{Object, Value};

use super::access::Access;
use super::bounds::Bounds;
use super::candidates::Candidate;
use super::hint::{Hinted, refused};
use super::order::gives;
use super::{NO_PLANS, Plan, Question};
use crate::documents::fault::{Fault, Result};
use crate::documents::look::Look;
use crate::documents::scan::IndexScan;
use crate::documents::walk::Source;

/// Code of edges without an index to read between them.
const NO_HINT: i32 = 51_173;
/// Code of edges with other fields than the index has.
const OTHER_FIELDS: i32 = 51_174;
/// Code of an end before its beginning.
const WRONG_WAY: i32 = 51_175;
/// Code of two edges with different fields.
const UNLIKE: i32 = 51_176;

/// Reads the hinted index between two keys: from the first on, up to the second.
pub(super) async fn plan(
    look: &Look<'_>,
    collection: &Collection,
    hinted: &Hinted<'_>,
    question: Question<'_>,
    (min, max): (&Object, &Object),
) -> Result<Plan> {
    let index = named(hinted, (min, max))?;
    let (low, high) = (key(index, min), key(index, max));
    if !min.is_empty() && !max.is_empty() && low >= high {
        return Err(refused(
            WRONG_WAY,
            "The value provided for min() does not come before the value provided for max() in the hinted index",
        ));
    }
    let low = Beginning {
        parts: low,
        included: true,
    };
    let high = Beginning {
        parts: high,
        included: max.is_empty(),
    };
    let notes = look.view.index_notes(collection, index.number).await?;
    let bounds = Bounds::whole(index);
    let order = question
        .sort
        .map(|sort| gives(index, &bounds, &notes, sort));
    // An array's elements outside the edges decide its place too.
    let order = order.map(|order| order.filter(|_| !notes.multikey));
    let reverse = matches!(
        order,
        Some(Some(super::order::Gives::Entries { reverse: true, .. }))
    );
    let span = EntrySpan::named_between(collection, index, &low, &high);
    let multikey = notes.multikey;
    let candidate = Candidate {
        index,
        notes,
        bounds,
        gives: None,
        exact: false,
    };
    Ok(Plan {
        source: Source::Scan(Box::new(IndexScan::new(
            vec![(0, vec![span])],
            reverse,
            multikey,
        ))),
        sorted: order.is_none_or(|order| order.is_some()),
        access: Access::index(&candidate, reverse, 1),
        read: 0,
    })
}

/// The index that is to be read, if the edges fit it.
fn named<'a>(hinted: &Hinted<'a>, (min, max): (&Object, &Object)) -> Result<&'a NamedIndex> {
    if !min.is_empty() && !max.is_empty() && !min.keys().eq(max.keys()) {
        return Err(Fault::new(
            UNLIKE,
            "min and max must have the same field names",
        ));
    }
    let index = match hinted {
        Hinted::Index(index) => *index,
        Hinted::Natural { .. } => {
            return Err(refused(
                NO_PLANS,
                "min and max are incompatible with $natural",
            ));
        }
        Hinted::Free => {
            return Err(Fault::new(
                NO_HINT,
                "When using min()/max() a hint of which index to use must be provided",
            ));
        }
    };
    for edge in [min, max].into_iter().filter(|edge| !edge.is_empty()) {
        let fields = index.parts.iter().map(|part| part.path.as_str());
        if !edge.keys().map(|name| name.as_str()).eq(fields) || index.wildcard.is_some() {
            return Err(refused(
                OTHER_FIELDS,
                "The index chosen is not compatible with min/max",
            ));
        }
    }
    Ok(index)
}

/// The bytes of a key.
fn key(index: &NamedIndex, edge: &Object) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (part, value) in index.parts.iter().zip(edge.values()) {
        let folded = match &index.fold {
            Some(fold) => fold(value),
            None => Value::clone(value),
        };
        let descending = matches!(part.kind, PartKind::Descending);
        push_part(Part::Value(&folded), descending, &mut bytes);
    }
    bytes
}
