//! The entries of composite indexes: one entry per item and index, whose bytes sort as the policy says.
//!
//! For whoever reads them:
//!
//! - The path of an entry is [`composite_id`] of the whole list of paths with its directions; its value is
//!   [`composite_bytes`] of the item. All entries of one index lie together, between the stem of the id and its end.
//! - Every item has exactly one entry, also one that lacks some or all of the paths: undefined is the lowest value.
//!   So an ORDER BY read from here misses nobody, and never sees an item twice.
//! - The parts stand one behind the other; those of descending paths are inverted, byte by byte. Forward, the entries
//!   have the directions of the policy; backward, all of them reversed. Which of the two an ORDER BY needs says
//!   [`direction_of`].
//! - An equality on the first paths is a prefix: [`composite_prefix`]. A range on the path behind it lies between
//!   [`part_bytes`] of its ends; of a descending path the ends change places.
//! - Long strings, arrays and objects are kept by a hash, as in every other index ([`encode::is_exact`]). Entries whose
//!   parts are alike up to such a value are neighbours, but the order among them is not that of the values: whoever
//!   needs it sorts them again.
//! - A system property such as `_ts` is not part of the stored item, so an index over one has no entries:
//!   [`is_stored`] says whether an index has any.
//! - Entries end with the item's ordinal, ascending. Backward, ties therefore come in the reverse order of creation.

use lapsedb_value::path::{Path, Segment};
use lapsedb_value::{Object, Value};

use super::encode::{self, PathId, Term, TermBytes};
use super::policy::{CompositePath, IndexPolicy, Order};

/// Members that the server adds when it shows an item; the stored body has none of them.
const SYSTEM_MEMBERS: [&str; 6] = ["_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"];

/// Which way the entries of an index are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// In the order the policy says.
    Forward,
    /// In exactly the opposite order.
    Backward,
}

/// The path number of a composite index. It is stored: it must never change.
#[must_use]
pub fn composite_id(paths: &[CompositePath]) -> PathId {
    paths.iter().fold(PathId::ROOT.composite(), |id, part| {
        let id = id.part(part.order == Order::Descending);
        part.path
            .segments()
            .iter()
            .fold(id, |id, segment| match segment {
                Segment::Member(name) => id.member(name),
                Segment::Elements => id.elements(),
            })
    })
}

/// Whether items have entries in a composite index of the policy.
#[must_use]
pub fn is_stored(policy: &IndexPolicy, paths: &[CompositePath]) -> bool {
    policy.is_complete() && paths.iter().all(|part| !is_system(&part.path))
}

fn is_system(path: &Path) -> bool {
    match path.segments().first() {
        Some(Segment::Member(name)) => SYSTEM_MEMBERS.contains(&name.as_str()),
        Some(Segment::Elements) | None => true,
    }
}

/// One value as a part of an entry.
#[must_use]
pub fn part_bytes(order: Order, value: &Value) -> TermBytes {
    let mut bytes = encode::value_bytes(value);
    match order {
        Order::Ascending => {}
        Order::Descending => bytes.iter_mut().for_each(|byte| *byte = !*byte),
    }
    bytes
}

/// The bytes with which all entries begin whose first parts have these values.
#[must_use]
pub fn composite_prefix<'v>(
    paths: &[CompositePath],
    values: impl IntoIterator<Item = &'v Value>,
) -> TermBytes {
    let mut bytes = TermBytes::new();
    for (part, value) in paths.iter().zip(values) {
        bytes.extend_from_slice(&part_bytes(part.order, value));
    }
    bytes
}

/// The value of an item's entry.
#[must_use]
pub fn composite_bytes(paths: &[CompositePath], item: &Object) -> TermBytes {
    composite_prefix(paths, paths.iter().map(|part| value_at(item, &part.path)))
}

/// How an index serves an order by these paths; none if it does not.
///
/// The index must have the very same paths in the same sequence, with the same directions or all of them reversed.
#[must_use]
pub fn direction_of(paths: &[CompositePath], wanted: &[CompositePath]) -> Option<Direction> {
    let same_paths = paths.len() == wanted.len()
        && paths
            .iter()
            .zip(wanted)
            .all(|(own, other)| own.path == other.path);
    let alike = paths
        .iter()
        .zip(wanted)
        .filter(|(own, other)| own.order == other.order)
        .count();
    match alike {
        _ if !same_paths => None,
        alike if alike == paths.len() => Some(Direction::Forward),
        0 => Some(Direction::Backward),
        _ => None,
    }
}

/// An item's entries in all composite indexes of the policy.
pub fn terms(policy: &IndexPolicy, item: &Object) -> Vec<Term> {
    policy
        .composites
        .iter()
        .filter(|paths| is_stored(policy, paths))
        .map(|paths| Term {
            path: composite_id(paths).0,
            bytes: composite_bytes(paths, item),
        })
        .collect()
}

/// The value at a path of members; undefined if there is none.
pub(crate) fn value_at<'a>(item: &'a Object, path: &Path) -> &'a Value {
    let mut segments = path.segments().iter();
    let mut value = match segments.next() {
        Some(Segment::Member(name)) => item.get(name).unwrap_or(Value::undefined()),
        Some(Segment::Elements) | None => return Value::undefined(),
    };
    for segment in segments {
        value = match segment {
            Segment::Member(name) => value.get(name),
            Segment::Elements => Value::undefined(),
        };
    }
    value
}

#[cfg(test)]
#[path = "composite_tests.rs"]
mod tests;
