//! Whether an index gives documents in the order that is asked for.

use lapsedb_mql::sort::Sort;
use lapsedb_store::index::named::notes::IndexNotes;
use lapsedb_store::index::named::{NamedIndex, PartKind};

use super::bounds::{Bounds, is_descending};

/// How an index gives the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    /// Every document has the same place in it.
    Any,
    /// By its entries behind so many bounded fields, in one direction.
    Entries { stem_fields: usize, reverse: bool },
}

/// How an index gives an order, if it does. Texts must be compared alike, which the caller has seen to.
pub(super) fn gives(
    index: &NamedIndex,
    bounds: &Bounds,
    notes: &IndexNotes,
    sort: &Sort,
) -> Option<Gives> {
    if !index.is_ordered() || notes.cut {
        return None;
    }
    let mut reading = Reading {
        index,
        bounds,
        notes,
        at: 0,
        stem_fields: None,
        reverse: None,
    };
    for (path, descending) in sort.fields() {
        reading.field(path, descending)?;
    }
    Some(match (reading.stem_fields, reading.reverse) {
        (Some(stem_fields), Some(reverse)) => Gives::Entries {
            stem_fields,
            reverse,
        },
        _ => Gives::Any,
    })
}

struct Reading<'a> {
    index: &'a NamedIndex,
    bounds: &'a Bounds,
    notes: &'a IndexNotes,
    /// The field of the index that comes next.
    at: usize,
    stem_fields: Option<usize>,
    reverse: Option<bool>,
}

impl Reading<'_> {
    /// Finds one field of the order, behind fields that do not disturb it.
    fn field(&mut self, path: &str, descending: bool) -> Option<()> {
        loop {
            match self.index.parts.get(self.at) {
                Some(part) if part.path == path => return self.serve(path, descending),
                _ if self.is_constant(path) => return Some(()),
                Some(_) if self.passes() => self.at += 1,
                Some(_) | None => return None,
            }
        }
    }

    /// Whether all documents that are found have the same value there.
    fn is_constant(&self, path: &str) -> bool {
        let parts = self.index.parts.iter().enumerate();
        let mut own = parts.filter(|(_, part)| part.path == path);
        own.any(|(at, _)| self.bounds.is_one_value(at) && !self.notes.is_multikey(at))
    }

    /// Whether entries behind the present field are in order for each of its values by itself.
    fn passes(&self) -> bool {
        match self.stem_fields {
            None => self.bounds.is_points(self.at),
            Some(_) => self.bounds.is_one_value(self.at) && !self.notes.is_multikey(self.at),
        }
    }

    fn serve(&mut self, path: &str, descending: bool) -> Option<()> {
        let at = self.at;
        let part = self.index.parts.get(at)?;
        let multikey = self.notes.is_multikey(at);
        let bounded = self.bounds.fields.get(at)?.is_some();
        let numbered = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        // The place of a document with an array is decided by all of its elements, not only by those within bounds.
        let apart = bounded || self.bounds.shares_array(self.index, self.notes, at);
        if multikey && (apart || path.split('.').any(numbered)) {
            return None;
        }
        self.at += 1;
        if self.bounds.is_one_value(at) {
            return Some(());
        }
        if !matches!(part.kind, PartKind::Ascending | PartKind::Descending) {
            return None;
        }
        let backward = is_descending(self.index, at) != descending;
        if self.reverse.is_some_and(|reverse| reverse != backward) {
            return None;
        }
        self.reverse = Some(backward);
        self.stem_fields.get_or_insert(at);
        Some(())
    }
}
