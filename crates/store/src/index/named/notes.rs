//! What is noted of the entries of a named index: where arrays stand in it, and whether parts were cut.
//!
//! Notes are only ever added, in the commit of the document that gives rise to them, so whoever sees the entry sees the note.

use lapsedb_kv::{Batch, Scan, Snapshot, Space, Template, prefix_end};

use crate::catalog::Collection;
use crate::error::Result;
use crate::keys::{self, CollectionId};
use crate::view::View;

/// Behind an index's number: a part was too long and ends with a hash.
const CUT: u8 = 0xFF;
/// Behind an index's number: an array stands at some path of a wildcard.
const WILD: u8 = 0xFE;
/// Notes that an index can have at most: a few per field and level of nesting.
const NOTES_MAX: usize = 32 * 128 + 3;

/// One thing to be noted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Note {
    number: u32,
    what: [u8; 2],
}

impl Note {
    /// An array was met on the way of a field, behind so many of its names.
    pub(crate) fn array(number: u32, part: usize, names: usize) -> Note {
        let part = u8::try_from(part).unwrap_or(u8::MAX - 2);
        let names = u8::try_from(names).unwrap_or(u8::MAX);
        Note {
            number,
            what: [part, names],
        }
    }

    /// An array was met somewhere in a wildcard index.
    pub(crate) const fn wild_array(number: u32) -> Note {
        Note {
            number,
            what: [WILD, 0],
        }
    }

    /// A part was cut.
    pub(crate) const fn cut(number: u32) -> Note {
        Note {
            number,
            what: [CUT, 0],
        }
    }

    /// Adds the note to a commit.
    pub(crate) fn put(&self, batch: &mut Batch, cid: CollectionId) {
        let mut key = keys::index_notes(cid, self.number);
        key.extend_from_slice(&self.what);
        batch.put(Space::Meta, Template::from(key), Template::from(vec![1]));
    }
}

/// All that is noted of an index.
#[derive(Clone, Debug, Default)]
pub struct IndexNotes {
    /// Whether an array has ever stood in it: then a document may have several entries.
    pub multikey: bool,
    /// Whether it is not known where: any field may be an array.
    pub anywhere: bool,
    /// Whether a part was cut: then entries are not in the order of their values.
    pub cut: bool,
    /// Fields by position, each with the number of its names behind which an array was met.
    paths: Vec<(usize, usize)>,
    /// Where the notes lie.
    pub(crate) keys: Vec<Vec<u8>>,
}

impl IndexNotes {
    /// Whether a field may lead through or to an array.
    #[must_use]
    pub fn is_multikey(&self, part: usize) -> bool {
        self.anywhere || self.paths.iter().any(|(at, _)| *at == part)
    }

    /// After how many of a field's names arrays were met, in order.
    #[must_use]
    pub fn arrays_of(&self, part: usize) -> Vec<usize> {
        let own = self.paths.iter().filter(|(at, _)| *at == part);
        let mut names: Vec<usize> = own.map(|(_, names)| *names).collect();
        names.sort_unstable();
        names
    }

    /// Whether an array may stand behind so many of a field's names or fewer.
    #[must_use]
    pub fn has_array_within(&self, part: usize, names: usize) -> bool {
        let own = |(at, depth): &(usize, usize)| *at == part && *depth <= names;
        names > 0 && (self.anywhere || self.paths.iter().any(own))
    }
}

impl View {
    /// What is noted of a named index.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn index_notes(&self, collection: &Collection, number: u32) -> Result<IndexNotes> {
        let prefix = keys::index_notes(collection.cid, number);
        let scan = Scan {
            space: Space::Meta,
            from: prefix.clone(),
            to: prefix_end(&prefix),
            reverse: false,
            rows_max: NOTES_MAX,
            bytes_max: usize::MAX,
        };
        let mut notes = IndexNotes::default();
        for (key, _) in self.snapshot.scan(scan).await?.rows {
            match key.get(prefix.len()..).unwrap_or_default() {
                [CUT, _] => notes.cut = true,
                [part, names] if *part != WILD => {
                    notes.multikey = true;
                    notes.paths.push((usize::from(*part), usize::from(*names)));
                }
                _ => {
                    notes.multikey = true;
                    notes.anywhere = true;
                }
            }
            notes.keys.push(key.to_vec());
        }
        Ok(notes)
    }
}
