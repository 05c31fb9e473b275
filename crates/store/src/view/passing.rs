//! Passes through all items of a collection in the order of their keys, which is no order anybody asks for but the one in
//! which they lie: the next item costs a fraction of one that is looked for.

use bytes::Bytes;
use lapsedb_kv::{Scan, Snapshot, Space};
use lapsedb_record::{Live, Stored};

use super::walk::{Found, Walk};
use super::{ScanLimits, View};
use crate::catalog::Collection;
use crate::error::Result;
use crate::keys::{self, ItemKey};

/// Items passed in one step of the engine.
const PASSED_STEP: usize = 4096;

impl View {
    /// Shows living items of a collection where they lie, in no order that means anything, from the beginning or from where
    /// an earlier call ended. Says where the next call begins; none at the end.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn pass(
        &self,
        collection: &Collection,
        resume: Option<Vec<u8>>,
        limits: ScanLimits,
        mut see: impl FnMut(&[u8], Live<&[u8]>) + Send,
    ) -> Result<Option<Vec<u8>>> {
        let lens = self.lens(collection);
        let prefix = keys::collection_prefix(collection.cid);
        let to = lapsedb_kv::prefix_end(&prefix);
        let scan = Scan {
            space: Space::Items,
            from: resume.map_or_else(|| prefix.clone(), |resume| resume.max(prefix.clone())),
            to,
            reverse: false,
            rows_max: limits.items_max,
            bytes_max: limits.bytes_max,
        };
        let mut damaged = None;
        let next = self
            .snapshot
            .visit(scan, |key, value| match Stored::new(value).reveal(&lens) {
                Ok(Some(live)) if damaged.is_none() => see(key, live),
                Ok(_) => {}
                Err(corrupt) => damaged = Some(corrupt),
            });
        let next = next.await?;
        match damaged {
            Some(corrupt) => Err(corrupt.into()),
            None => Ok(next),
        }
    }
}

impl Walk<'_> {
    /// The living items that some entries stand for, each in the place of its entry, picked out while passing through all.
    pub(super) async fn items_passing(
        &self,
        rows: &[(Bytes, Bytes)],
        bytes_usual: usize,
    ) -> Result<Vec<Option<Found>>> {
        let keys = self.keys_of(rows)?;
        let wanted = in_order(&keys);
        let mut scan = Scan {
            space: Space::Items,
            from: Vec::new(),
            to: Vec::new(),
            reverse: false,
            rows_max: PASSED_STEP,
            bytes_max: usize::MAX,
        };
        if let (Some((_, first)), Some((_, last))) = (wanted.first(), wanted.last()) {
            scan.from = first.to_vec();
            scan.to = [last, &[0][..]].concat();
        }
        let mut wanted = wanted.as_slice();
        // What was picked out lies in one allocation that all share.
        let mut bytes = Vec::with_capacity(bytes_usual);
        let mut found = vec![None; rows.len()];
        while !wanted.is_empty() {
            let next = self.view.snapshot.visit(scan.clone(), |key, value| {
                let mut begin = None;
                while let [(place, own), rest @ ..] = wanted
                    && *own <= key
                {
                    if *own == key
                        && let Some(found) = found.get_mut(*place)
                    {
                        let begin = *begin.get_or_insert_with(|| {
                            bytes.extend_from_slice(value);
                            bytes.len() - value.len()
                        });
                        *found = Some(begin..begin + value.len());
                    }
                    wanted = rest;
                }
            });
            match next.await? {
                Some(next) => scan.from = next,
                None => break,
            }
        }
        let bytes = Bytes::from(bytes);
        let items = keys.into_iter().zip(found).map(|(key, found)| {
            let (Some(key), Some(range)) = (key, found) else {
                return Ok(None);
            };
            let item = Stored::new(bytes.slice(range)).reveal(&self.lens)?;
            Ok(item.map(|item| (key, item)))
        });
        items.collect()
    }
}

/// Keys in order, with their places.
fn in_order(keys: &[Option<ItemKey>]) -> Vec<(usize, &[u8])> {
    // Most keys differ in their first bytes behind the collection's number, which are compared as one number.
    let first = |key: &ItemKey| {
        let mut first = [0; 16];
        for (to, from) in first.iter_mut().zip(key.tail()) {
            *to = *from;
        }
        u128::from_be_bytes(first)
    };
    let mut sorted: Vec<(u128, usize, &[u8])> = keys
        .iter()
        .enumerate()
        .filter_map(|(place, key)| {
            let key = key.as_ref()?;
            Some((first(key), place, key.as_bytes()))
        })
        .collect();
    sorted.sort_unstable_by(|(a, _, x), (b, _, y)| a.cmp(b).then_with(|| x.cmp(y)));
    sorted
        .into_iter()
        .map(|(_, place, key)| (place, key))
        .collect()
}
