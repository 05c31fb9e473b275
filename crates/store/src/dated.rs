//! Documents and their dates in the due index: who is dead by a date, and when the living end by one.
//!
//! The calendar counts every document by its ttl and its write time, dated or not. So the figures are those of the calendar
//! less the documents that a date has killed while their ttl would let them live. These are found here; the purger keeps
//! them few.

use std::collections::HashMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use lapsedb_kv::{Scan, Snapshot, Space};
use lapsedb_record::{DateRule, Expiry, Lens, Mark, Millis};

use crate::catalog::Collection;
use crate::error::{Result, StoreError};
use crate::index::bson_key::sortable;
use crate::keys::{self, CollectionId, ItemKey};
use crate::usage::Sum;
use crate::view::View;

/// How many date entries one step reads.
const DATES_ROWS_STEP: usize = 1000;
/// How many bytes of date entries one step reads.
const DATES_BYTES_STEP: usize = 1 << 20;

/// A document as its date entry tells it.
#[derive(Clone, Debug)]
pub(crate) struct DatedItem {
    pub(crate) mark: Mark,
    pub(crate) charged: u32,
    /// Its key without its collection.
    tail: Bytes,
    /// The key of the date entry.
    place: Bytes,
}

/// By number, up to which date entry a walk has come: what lies before is not looked for again.
pub(crate) type DateCursor = HashMap<u32, Bytes>;

impl DatedItem {
    fn read(place: &Bytes, value: &Bytes) -> Result<DatedItem> {
        let (mark, rest) = Mark::split(value)?;
        let (charged, tail) = rest
            .split_first_chunk::<4>()
            .ok_or_else(|| StoreError::Corrupt("a date entry is too short".into()))?;
        Ok(DatedItem {
            mark,
            charged: u32::from_be_bytes(*charged),
            tail: value.slice_ref(tail),
            place: place.clone(),
        })
    }

    /// Moves a cursor behind it, where a walk through the entries of a number has come to it.
    pub(crate) fn pass(&self, cursor: &mut DateCursor) {
        let number = self.place.get(5..).and_then(|rest| rest.first_chunk::<4>());
        if let Some(number) = number {
            cursor.insert(u32::from_be_bytes(*number), self.place.clone());
        }
    }

    pub(crate) fn key(&self, cid: CollectionId) -> ItemKey {
        ItemKey::from_tail(cid, &self.tail)
    }

    /// When its ttl would end it, whatever its dates say.
    pub(crate) fn end_by_ttl(&self, lens: &Lens) -> Option<Millis> {
        match Lens::new(lens.policy, lens.now).expiry(&self.mark) {
            Expiry::Never => None,
            Expiry::At(end) => Some(end),
        }
    }

    /// What the calendar counts for it.
    pub(crate) fn sum(&self) -> Sum {
        Sum {
            items: 1,
            bytes: i64::from(self.charged),
        }
    }
}

/// Date entries of one number, from (inclusive) to (inclusive), in steps.
pub(crate) struct DateWalk {
    scan: Option<Scan>,
}

impl DateWalk {
    pub(crate) fn new(cid: CollectionId, number: u32, from: i64, to: i64) -> DateWalk {
        let prefix = keys::due_dates(cid, number);
        let at = |date: i64| [prefix.as_slice(), &sortable(date).to_be_bytes()].concat();
        DateWalk {
            scan: Some(Scan {
                space: Space::Due,
                from: at(from),
                to: lapsedb_kv::prefix_end(&at(to)),
                reverse: false,
                rows_max: DATES_ROWS_STEP,
                bytes_max: DATES_BYTES_STEP,
            }),
        }
    }

    /// The same, from behind a place on.
    fn after(mut self, place: Option<&Bytes>) -> DateWalk {
        if let (Some(scan), Some(place)) = (&mut self.scan, place) {
            scan.resume_after(place);
        }
        self
    }

    /// The next documents; nothing at the end.
    pub(crate) async fn step(&mut self, view: &View) -> Result<Option<Vec<DatedItem>>> {
        let Some(mut scan) = self.scan.take() else {
            return Ok(None);
        };
        let page = view.snapshot.scan(scan.clone()).await?;
        if let Some((last, _)) = page.rows.last().filter(|_| page.more) {
            scan.resume_after(last);
            self.scan = Some(scan);
            // A million may have died at once: between steps others have their turn.
            tokio::task::yield_now().await;
        }
        let items = page
            .rows
            .iter()
            .map(|(key, value)| DatedItem::read(key, value));
        Ok(Some(items.collect::<Result<_>>()?))
    }
}

impl View {
    /// Whether no date entry of a number lies at or before a date.
    pub(crate) async fn dates_are_empty(
        &self,
        cid: CollectionId,
        number: u32,
        until: i64,
    ) -> Result<bool> {
        let mut walk = DateWalk::new(cid, number, i64::MIN, until);
        let first = walk.step(self).await?;
        Ok(first.is_none_or(|items| items.is_empty()))
    }

    /// Shows documents that are dead by a date and would live by their ttl, each once, through a lens, until enough are seen.
    pub(crate) async fn dead_by_date(
        &self,
        collection: &Collection,
        lens: &Lens,
        cursor: &DateCursor,
        mut see: impl FnMut(&DatedItem) -> ControlFlow<()>,
    ) -> Result<()> {
        let by_ttl = Lens::new(lens.policy, lens.now);
        for rule in lens.dates.all() {
            let Some(cut) = rule.dead_until(lens.now) else {
                continue;
            };
            let walk = DateWalk::new(collection.cid, rule.number, i64::MIN, cut);
            let mut walk = walk.after(cursor.get(&rule.number));
            while let Some(items) = walk.step(self).await? {
                for item in &items {
                    let mine = killer(lens, &item.mark) == Some(rule.number);
                    if mine && item.mark.is_live(&by_ttl) && see(item).is_break() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Living documents that a date will end before their ttl does, and when, each once.
    pub(crate) async fn ending_by_date(
        &self,
        collection: &Collection,
        lens: &Lens,
    ) -> Result<Vec<(DatedItem, Millis)>> {
        let mut ending = Vec::new();
        for rule in lens.dates.all().iter().filter(|rule| rule.life.is_some()) {
            let mut walk = self.living_dates(collection, rule);
            while let Some(items) = walk.step(self).await? {
                for item in items {
                    if let Some(end) = end_by(lens, &item.mark, rule.number) {
                        ending.push((item, end));
                    }
                }
            }
        }
        Ok(ending)
    }

    /// When the first living document ends by a date.
    pub(crate) async fn next_date_end(&self, collection: &Collection) -> Result<Option<Millis>> {
        let lens = self.lens(collection);
        let mut next: Option<Millis> = None;
        for rule in lens.dates.all().iter().filter(|rule| rule.life.is_some()) {
            let mut walk = self.living_dates(collection, rule);
            'rule: while let Some(items) = walk.step(self).await? {
                for item in items.iter().filter(|item| item.mark.is_live(&lens)) {
                    if let Expiry::At(end) = date_end(&lens, &item.mark, rule.number) {
                        next = Some(next.map_or(end, |next| next.min(end)));
                        break 'rule;
                    }
                }
            }
        }
        Ok(next)
    }

    /// When the longest dead of those died that a date has ended and whose ttl would let them live.
    pub(crate) async fn oldest_date_end(&self, collection: &Collection) -> Result<Option<Millis>> {
        let lens = self.lens(collection);
        let mut oldest: Option<Millis> = None;
        let see = |item: &DatedItem| {
            let number = killer(&lens, &item.mark);
            let end = number.map(|number| date_end(&lens, &item.mark, number));
            if let Some(Expiry::At(end)) = end {
                oldest = Some(oldest.map_or(end, |oldest| oldest.min(end)));
            }
            ControlFlow::Continue(())
        };
        self.dead_by_date(collection, &lens, &DateCursor::new(), see)
            .await?;
        Ok(oldest)
    }

    fn living_dates(&self, collection: &Collection, rule: &DateRule) -> DateWalk {
        let from = rule.dead_until(self.now());
        let from = from.map_or(i64::MIN, |cut| cut.saturating_add(1));
        DateWalk::new(collection.cid, rule.number, from, i64::MAX)
    }
}

/// The first of a document's dates that has killed it: under its number the document is counted.
fn killer(lens: &Lens, mark: &Mark) -> Option<u32> {
    let dead = |number: u32, at: i64| {
        lens.dates
            .of(number)
            .and_then(|rule| rule.dead_until(lens.now))
            .is_some_and(|cut| at <= cut)
    };
    let killer = mark.dates.iter().find(|date| dead(date.number, date.at));
    killer.map(|date| date.number)
}

/// When a document ends by its date of one number.
fn date_end(lens: &Lens, mark: &Mark, number: u32) -> Expiry {
    let date = mark.dates.iter().find(|date| date.number == number);
    match (date, lens.dates.of(number)) {
        (Some(date), Some(rule)) => rule.expiry(date.at),
        (Some(_) | None, _) => Expiry::Never,
    }
}

/// When a living document ends, if it is its date of this number that ends it first.
fn end_by(lens: &Lens, mark: &Mark, number: u32) -> Option<Millis> {
    if !mark.is_live(lens) {
        return None;
    }
    let end = lens.dates.expiry(&mark.dates);
    let by = mark
        .dates
        .iter()
        .find(|date| date_end(lens, mark, date.number) == end)?;
    let by_ttl = Lens::new(lens.policy, lens.now).expiry(mark);
    match (end, by_ttl) {
        (Expiry::At(end), Expiry::At(ttl)) if ttl <= end => None,
        (Expiry::At(end), Expiry::At(_) | Expiry::Never) if by.number == number => Some(end),
        (Expiry::At(_), Expiry::At(_) | Expiry::Never) | (Expiry::Never, _) => None,
    }
}
