//! What each change of the catalog has touched, so that an image of an older epoch is brought up to date by reading that alone.
//!
//! A change has a number, one more than the change before it, which stands beside the epoch. Under its number modulo
//! [`CHANGES_KEPT`] it leaves the keys of the records it has written or removed, and the epochs before and after it. So the
//! last changes are kept and no older ones, without anything that would have to be removed; and whoever is further behind, or
//! finds that the epochs do not join (a change was made by a version that keeps no such notes), reads the catalog whole.

use std::collections::BTreeSet;

use lapsedb_kv::{Batch, Fill, Snapshot, Space, Template};

use crate::catalog::Catalog;
use crate::catalog::image::ImageKind;
use crate::error::Result;
use crate::keys::{self, MetaKind};

/// How many changes are kept; few in tests, so that some are missed.
pub(crate) const CHANGES_KEPT: u16 = if cfg!(test) { 8 } else { 1024 };

/// Where the catalog of a snapshot stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The commit of the last change; 0 if there was none.
    pub(crate) epoch: u64,
    /// The number of the last change; 0 if it was made by a version that does not count them.
    pub(crate) changes: u64,
}

impl Position {
    /// Where a snapshot's catalog stands.
    pub(crate) async fn of(snapshot: &impl Snapshot) -> Result<Position> {
        let bytes = snapshot.get(Space::Meta, keys::EPOCH).await?;
        let bytes = bytes.as_ref().map(AsRef::as_ref).unwrap_or_default();
        let number = |bytes: &[u8]| bytes.first_chunk::<8>().map(|it| u64::from_be_bytes(*it));
        Ok(Position {
            epoch: number(bytes).unwrap_or(0),
            changes: bytes.get(8..).and_then(number).unwrap_or(0),
        })
    }
}

/// The records that were changed, in the order in which they are put into the image.
pub(super) type Touched = BTreeSet<(ImageKind, Vec<u8>)>;

/// Adds to a batch that the catalog moves on from the epoch of an image, and what is touched by that.
pub(crate) fn put(catalog: &Catalog, touched: &BTreeSet<Vec<u8>>, batch: &mut Batch) {
    let change = catalog.changes + 1;
    let mut epoch = Template::with_capacity(16);
    epoch.fill(Fill::Stamp).push(&change.to_be_bytes());
    batch.put(Space::Meta, Template::from(keys::EPOCH), epoch);
    let mut note = Template::with_capacity(32 + 16 * touched.len());
    note.fill(Fill::Stamp)
        .push(&change.to_be_bytes())
        .push(&catalog.epoch.to_be_bytes());
    for key in touched {
        let length = u32::try_from(key.len()).unwrap_or(u32::MAX);
        note.push(&length.to_be_bytes()).push(key);
    }
    let key = keys::catalog_change(change, CHANGES_KEPT);
    batch.put(Space::Meta, Template::from(key), note);
}

/// Whether the image holds the record with this key, so that a change of it is to be noted.
pub(crate) fn is_noted(key: &[u8]) -> bool {
    ImageKind::of_key(key).is_some()
}

/// The keys of the records under a prefix, for a change that removes all of them.
pub(crate) fn under(catalog: &Catalog, prefix: &[u8]) -> Vec<Vec<u8>> {
    catalog.keys_under(prefix)
}

/// What was touched from the epoch of an image to where a snapshot stands; none, if that is not known any more.
pub(super) async fn since(
    catalog: &Catalog,
    snapshot: &impl Snapshot,
    to: Position,
) -> Result<Option<Touched>> {
    let missed = to.changes.checked_sub(catalog.changes);
    // An image of nothing would read every record by itself: after a start all are read in one go.
    if catalog.epoch == 0
        || !missed.is_some_and(|missed| (1..=u64::from(CHANGES_KEPT)).contains(&missed))
    {
        return Ok(None);
    }
    let numbers = catalog.changes + 1..=to.changes;
    let places: Vec<_> = numbers
        .clone()
        .map(|number| keys::catalog_change(number, CHANGES_KEPT))
        .collect();
    let notes = snapshot.multi_get(Space::Meta, &places).await?;
    catalog.work.reads(notes.len());
    let mut touched = Touched::new();
    let mut epoch = catalog.epoch;
    for (number, note) in numbers.zip(&notes) {
        let note = note.as_ref().and_then(|note| Note::read(note.as_ref()));
        let note = note.filter(|note| (note.number, note.before) == (number, epoch));
        let Some(note) = note.filter(|note| note.add_to(&mut touched).is_some()) else {
            return Ok(None);
        };
        epoch = note.epoch;
    }
    Ok((epoch == to.epoch).then_some(touched))
}

/// A note as stored.
struct Note<'a> {
    epoch: u64,
    number: u64,
    before: u64,
    keys: &'a [u8],
}

impl Note<'_> {
    fn read(bytes: &[u8]) -> Option<Note<'_>> {
        let (epoch, rest) = bytes.split_first_chunk::<8>()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let (before, keys) = rest.split_first_chunk::<8>()?;
        Some(Note {
            epoch: u64::from_be_bytes(*epoch),
            number: u64::from_be_bytes(*number),
            before: u64::from_be_bytes(*before),
            keys,
        })
    }

    /// Adds what it names; none, if it is damaged.
    fn add_to(&self, touched: &mut Touched) -> Option<()> {
        let mut rest = self.keys;
        while !rest.is_empty() {
            let (length, after) = rest.split_first_chunk::<4>()?;
            let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
            let (key, after) = after.split_at_checked(length)?;
            rest = after;
            // What this version does not hold is none of its business.
            let Some(kind) = ImageKind::of_key(key) else {
                continue;
            };
            touched.insert((kind, key.to_vec()));
            if kind == ImageKind::IndexBuild {
                // Whether its index is whole is said by the collection.
                let of_kind = keys::meta_all(kind.meta()).len();
                let number = key.get(of_kind..).unwrap_or_default();
                let collection = [&keys::meta_all(MetaKind::Collection), number].concat();
                touched.insert((ImageKind::Collection, collection));
            }
        }
        Some(())
    }
}
