//! Documents that are put in order in memory, because nothing names them in it.

use std::cmp::Ordering;
use std::sync::Arc;

use lapsedb_store::{Collection, ItemKey, ScanLimits};
use lapsedb_value::Budget;
use lapsedb_value::budget::{self, Held, VALUE_BYTES, owned_bytes};

use crate::charge::{self, QueryWork};
use crate::cursors::{HeldDocument, Origin, Query};
use crate::documents::fault::{Fault, Result, code};
use crate::documents::language::{Match, Sort};
use crate::documents::look::Look;
use crate::documents::needed::Needed;
use crate::documents::walk::{Row, STEP_ROWS_OF_ALL};
use crate::documents::work::Work;

/// Bytes of documents that are put in order in memory at most.
pub(crate) const SORT_BYTES_MAX: usize = 100 * 1024 * 1024;
/// Documents that are found before those too many are dropped for the first time.
const SORT_ROWS_MIN: usize = 64;
/// Bytes looked at between two looks at the clock.
const STEP_BYTES: usize = 4 << 20;

/// A document that was found, and what it is ordered by.
struct Found {
    key: Vec<lapsedb_value::Value>,
    /// Its place among those with the same key.
    place: u64,
    row: Row,
    position: Match,
}

impl Found {
    /// Bytes that it takes.
    fn bytes(&self) -> usize {
        let key: usize = self
            .key
            .iter()
            .map(|value| VALUE_BYTES + owned_bytes(value))
            .sum();
        size_of::<Found>() + key + self.row.body.len()
    }
}

/// The first documents of all that were offered.
struct First<'q> {
    sort: &'q Sort,
    needed: Needed,
    /// How many are wanted.
    enough: usize,
    found: Vec<Found>,
    /// Whether there are already as many as wanted, the last of them last: what comes behind that one is not among the first.
    full: bool,
    bytes: usize,
    /// What is found takes, beside its documents, keys and more.
    held: Held,
    budget: Arc<Budget>,
    loaded: QueryWork,
}

impl First<'_> {
    /// Looks at a document, and holds it if it may be among the first.
    fn offer(
        &mut self,
        query: &mut Query,
        (body, place): (&[u8], u64),
        row: impl FnOnce() -> Row,
    ) -> Result<()> {
        self.loaded.loaded_bytes += body.len();
        query.tally.documents += 1;
        let document = self.needed.read(body)?;
        let position = match query.filter.is_everything() {
            true => Match::default(),
            false => match query.filter.match_with_position(&document)? {
                Some(position) => position,
                None => return Ok(()),
            },
        };
        query.tally.matched += 1;
        let key = self
            .sort
            .key_beside(&document, position.score, position.distance)?;
        if self.full
            && let Some(last) = self.found.get(self.enough.saturating_sub(1))
            && self
                .sort
                .compare_keys(&key, &last.key)
                .then(place.cmp(&last.place))
                .is_gt()
        {
            return Ok(());
        }
        self.bytes += body.len();
        let found = Found {
            key,
            place,
            row: row(),
            position,
        };
        self.held.add(found.bytes())?;
        self.found.push(found);
        // Only the first ones are ever given, so the others go as soon as they are many.
        if self.found.len() >= self.enough.saturating_mul(2).max(SORT_ROWS_MIN) {
            self.put_in_order()?;
        }
        Ok(())
    }

    /// Refuses to hold too much.
    fn fits(&self) -> Result<()> {
        match self.bytes > SORT_BYTES_MAX {
            true => Err(Fault::new(
                code::MEMORY_LIMIT,
                format!("Sort exceeded memory limit of {SORT_BYTES_MAX} bytes"),
            )),
            false => Ok(()),
        }
    }

    /// Puts what was found in order, and drops what is behind the wanted ones.
    fn put_in_order(&mut self) -> Result<()> {
        let sort = self.sort;
        let order = |a: &Found, b: &Found| -> Ordering {
            let keys = sort.compare_keys(&a.key, &b.key);
            keys.then(a.place.cmp(&b.place))
        };
        let found = std::mem::take(&mut self.found);
        self.found = budget::sort_by(found, &self.budget, order)?;
        self.found.truncate(self.enough);
        self.full = self.found.len() == self.enough;
        self.bytes = self.found.iter().map(|found| found.row.body.len()).sum();
        let bytes: usize = self.found.iter().map(Found::bytes).sum();
        self.held.remove(self.held.bytes().saturating_sub(bytes));
        Ok(())
    }
}

/// All that a query finds, in order; with a limit, only so many are held.
pub(crate) async fn sorted(
    work: &Work,
    look: &Look<'_>,
    query: &mut Query,
    sort: &Sort,
) -> Result<Vec<HeldDocument>> {
    let skip = usize::try_from(query.skip).unwrap_or(usize::MAX);
    let limit = usize::try_from(query.left).unwrap_or(usize::MAX);
    let mut first = First {
        sort,
        needed: Needed::by(&query.filter).and_by(sort),
        enough: skip.saturating_add(limit),
        found: Vec::new(),
        full: false,
        bytes: 0,
        held: Held::new(work.memory()),
        budget: Arc::clone(work.memory()),
        loaded: QueryWork::default(),
    };
    match &look.collection {
        // In whichever order all are read, ties come as they were made.
        Some(collection)
            if query.walk.is_everything() && look.overlay.is_none() && sort.is_by_fields() =>
        {
            pass(work, look, collection, (query, &mut first)).await?;
        }
        Some(_) | None => walk(work, look, (query, &mut first)).await?,
    }
    look.spend(&work.ctx, charge::query(first.loaded));
    first.put_in_order()?;
    let mut held = Vec::with_capacity(first.found.len().saturating_sub(skip));
    for found in first.found.into_iter().skip(skip) {
        let Found {
            key, row, position, ..
        } = found;
        let body = match (&query.projection, query.shows.is_plain()) {
            (None, true) => row.body.clone(),
            _ => {
                let terms = (position, Some(key.as_slice()));
                query.present(look, &row, row.document()?, terms)?
            }
        };
        held.push(HeldDocument {
            body,
            origin: Some(Origin::of(look, &row)?),
        });
    }
    Ok(held)
}

/// Offers what the query's way leads to, as it comes.
async fn walk(
    work: &Work,
    look: &Look<'_>,
    (query, first): (&mut Query, &mut First<'_>),
) -> Result<()> {
    let mut place = 0;
    while !query.walk.ended() {
        work.in_time().await?;
        for row in query.walk.next(look, STEP_ROWS_OF_ALL).await? {
            query.tally.keys += row.passed;
            place += 1;
            let body = row.body.clone();
            first.offer(query, (&body, place), || row)?;
        }
        first.fits()?;
    }
    Ok(())
}

/// Offers all documents of a collection, as they lie. Only those that may be among the first are copied.
async fn pass(
    work: &Work,
    look: &Look<'_>,
    collection: &Collection,
    (query, first): (&mut Query, &mut First<'_>),
) -> Result<()> {
    let limits = ScanLimits {
        items_max: STEP_ROWS_OF_ALL,
        bytes_max: STEP_BYTES,
    };
    let lens = look.view.lens(collection);
    let (mut resume, mut wrong) = (None, None);
    loop {
        work.in_time().await?;
        let step = look.view.pass(collection, resume, limits, |key, live| {
            let (body, ordinal) = (live.body(), live.header().ordinal);
            if wrong.is_none() {
                let row = || Row::passed(ItemKey::from_bytes(key), &live, &lens);
                wrong = first.offer(query, (body, ordinal), row).err();
            }
        });
        resume = step.await?;
        if let Some(fault) = wrong.take() {
            return Err(fault);
        }
        first.fits()?;
        if resume.is_none() {
            return Ok(());
        }
    }
}
