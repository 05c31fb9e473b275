//! Queries whose rows come item by item: as the items are found, or as an index sorts them.

use lapsedb_query::exec::{Candidate, Io, Reader};
use lapsedb_query::page::{Place, Position};
use lapsedb_query::plan::{OrderBy, Track};
use lapsedb_sql::{Executor, Flow, Progress, Row};
use lapsedb_value::Value;

use super::Run;
use super::page::Page;
use crate::continuation::invalid_token;
use crate::error::Result;
use crate::turns::pass_on;

/// Bytes at the end of a row's key that tell equals apart: the ordinal of its item, and its number among the item's rows.
const TIE_BYTES: usize = 12;
const NUMBER_BYTES: usize = 4;

impl Run<'_> {
    /// Rows as items are found, from a place on.
    pub(super) async fn stream(
        &self,
        io: &mut Io<'_>,
        mut reader: Reader<'_>,
        page: Page,
        progress: Progress,
        place: Option<Place>,
    ) -> Result<Page> {
        let track = reader.track();
        let begun = match place {
            Some(Place::At { place, rows, .. }) => {
                if !reader.start_at(&place) {
                    return Err(invalid_token());
                }
                Some((place, rows))
            }
            Some(Place::After(_)) | None => None,
        };
        let mut streaming = Streaming {
            run: self,
            executor: Executor::resume(self.bound, self.env, progress),
            page: page.after(progress, None),
            begun,
            track,
            last: None,
        };
        while let Some(step) = reader
            .next(io, streaming.page.step(self.left(progress)))
            .await?
        {
            let ended = streaming.step(step)?;
            match ended {
                Some(Some(next)) => return Ok(streaming.page.ended_at(next)),
                Some(None) => return Ok(streaming.page),
                None => {}
            }
            if streaming.page.is_exhausted(io.work)
                && let Some(place) = streaming.last.take()
            {
                let next = streaming.at(place, u32::MAX);
                return Ok(streaming.page.ended_at(next));
            }
            pass_on(|| (self.late)()).await;
        }
        Ok(streaming.page)
    }

    /// Rows in the order of an index, from behind a key on.
    pub(super) async fn sorted(
        &self,
        io: &mut Io<'_>,
        mut reader: Reader<'_>,
        page: Page,
        progress: Progress,
        order: Option<&OrderBy<'_>>,
        after: Option<Vec<u8>>,
    ) -> Result<Page> {
        let reverse = order.is_some_and(|order| order.reverse);
        if let (Some(after), Some(order)) = (&after, order) {
            start(&mut reader, after, order)?;
        }
        let executor = Executor::sorted(self.bound, self.env, progress);
        let mut sorting = Sorting {
            run: self,
            executor,
            page: page.after(progress, after),
            last: None,
            tied: Vec::new(),
            reverse,
        };
        while let Some(step) = reader
            .next(io, sorting.page.step(self.left(progress)))
            .await?
        {
            let ended = sorting.step(&step)?;
            if let Some(end) = ended {
                return Ok(sorting.ended(end));
            }
            if sorting.page.is_exhausted(io.work)
                && sorting.tied.is_empty()
                && sorting.last.is_some()
            {
                return Ok(sorting.ended(End::Pause));
            }
            pass_on(|| (self.late)()).await;
        }
        // What the last ones tie with may lie outside of what is asked for, and never come.
        Ok(match sorting.settle()? {
            Some(end) => sorting.ended(end),
            None => sorting.page,
        })
    }

    /// Rows that may still come out, those that are left out included.
    fn left(&self, progress: Progress) -> Option<u64> {
        let (offset, limit) = self.bound.window();
        let hidden = offset.saturating_sub(progress.skipped);
        limit.map(|limit| {
            limit
                .saturating_sub(progress.emitted)
                .saturating_add(hidden)
        })
    }
}

/// A page under way whose rows come as items are found.
struct Streaming<'r, 'a> {
    run: &'r Run<'a>,
    executor: Executor<'r>,
    page: Page,
    /// Where the last page ended, and how many rows of the item there had come.
    begun: Option<(Vec<u8>, u32)>,
    track: Track,
    /// The last item that was looked at.
    last: Option<Vec<u8>>,
}

impl Streaming<'_, '_> {
    /// Rows of some items; says if the page ends with them, and where the next one begins.
    fn step(&mut self, step: Vec<Candidate>) -> Result<Option<Option<Position>>> {
        for candidate in step {
            // Rows of an item that was there when the last page ended have come out; another in its place begins anew.
            let done = match &self.begun {
                Some((place, rows)) if *place == candidate.place => *rows,
                Some(_) | None => 0,
            };
            let document = self.run.document(&candidate, None)?;
            let flow = self.executor.push_at(document, candidate.ordinal, done)?;
            for row in self.executor.take_keyed() {
                if self.page.is_full() {
                    return Ok(Some(Some(self.at(candidate.place, row.number()))));
                }
                self.page.push(row.value);
            }
            if flow == Flow::Done {
                return Ok(Some(None));
            }
            self.last = Some(candidate.place);
        }
        Ok(None)
    }

    fn at(&self, place: Vec<u8>, rows: u32) -> Position {
        let track = self.track;
        Position {
            skipped: self.executor.progress().skipped,
            emitted: self.page.emitted(),
            place: Place::At { track, place, rows },
        }
    }
}

/// Moves a reader to the item that a key names, or where it would be.
fn start(reader: &mut Reader<'_>, after: &[u8], order: &OrderBy<'_>) -> Result<()> {
    let (sorted, tie) = after
        .split_last_chunk::<TIE_BYTES>()
        .ok_or_else(invalid_token)?;
    let (ordinal, _) = tie.split_first_chunk::<8>().ok_or_else(invalid_token)?;
    let mut ordinal = u64::from_be_bytes(*ordinal);
    let mut value = sorted.to_vec();
    if order.reverse {
        // Keys are in the order of the result, entries in that of the index.
        value.iter_mut().for_each(|byte| *byte = !*byte);
        ordinal = !ordinal;
    }
    // An item without a value has no entry, unless every item has one.
    let lacks = !order.complete && value == [0];
    let value = [order.prefix.as_slice(), &value].concat();
    reader.start_sorted((!lacks).then_some(&value), ordinal);
    Ok(())
}

/// Why a sorted page ends.
enum End {
    /// All rows that may come have come.
    Done,
    /// Another row is waiting.
    Full,
    /// It was work enough.
    Pause,
}

/// A sorted page under way.
struct Sorting<'r, 'a> {
    run: &'r Run<'a>,
    executor: Executor<'r>,
    page: Page,
    /// The key of the last row that came out, or behind all rows of the last item.
    last: Option<Vec<u8>>,
    /// Items whose bytes tie wait for each other.
    tied: Vec<(Vec<u8>, u64, Value)>,
    reverse: bool,
}

impl Sorting<'_, '_> {
    /// Rows of some items; says if the page ends with them.
    fn step(&mut self, step: &[Candidate]) -> Result<Option<End>> {
        for candidate in step {
            if let Some(item) = self.keyed(candidate)? {
                self.tied.push(item);
            }
            if candidate.tied {
                continue;
            }
            if let Some(end) = self.settle()? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// Rows of the items that have waited for each other; says if the page ends with them.
    fn settle(&mut self) -> Result<Option<End>> {
        let mut items = std::mem::take(&mut self.tied);
        items.sort_by(|(a, _, _), (b, _, _)| a.cmp(b));
        for item in items {
            if let Some(end) = self.push(item)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// The item with its key, unless all of it came out before or it belongs elsewhere.
    fn keyed(&self, candidate: &Candidate) -> Result<Option<(Vec<u8>, u64, Value)>> {
        let document = self.run.document(candidate, None)?;
        let key = self.run.bound.sort_key(&document, candidate.ordinal, 0);
        // Among those without a value there may be others, if all items had to be read to find them.
        let undefined = if self.reverse { u8::MAX } else { 0 };
        if candidate.value.is_none() && key.first() != Some(&undefined) {
            return Ok(None);
        }
        let before = |after: &Vec<u8>| stem(&key) < stem(after);
        Ok(match self.page.after.as_ref().is_some_and(before) {
            true => None,
            false => Some((key, candidate.ordinal, document)),
        })
    }

    /// Rows of one item; says if the page ends with it.
    fn push(&mut self, (key, ordinal, document): (Vec<u8>, u64, Value)) -> Result<Option<End>> {
        let done = match &self.page.after {
            Some(after) if stem(after) == stem(&key) => number(after).saturating_add(1),
            Some(_) | None => 0,
        };
        let flow = self.executor.push_at(document, ordinal, done)?;
        for row in self.executor.take_keyed() {
            if self.page.is_full() {
                return Ok(Some(End::Full));
            }
            self.last = Some(numbered(&key, &row));
            self.page.push(row.value);
        }
        if flow == Flow::Done {
            return Ok(Some(End::Done));
        }
        if !self.page.is_full() {
            // Nothing more comes from this item, so the next page need not look at it.
            let mut all = stem(&key).to_vec();
            all.extend_from_slice(&[u8::MAX; NUMBER_BYTES]);
            self.last = Some(all);
        }
        Ok(None)
    }

    fn ended(self, end: End) -> Page {
        match (end, self.last) {
            (End::Full | End::Pause, Some(key)) => {
                let position = Position {
                    skipped: self.executor.progress().skipped,
                    emitted: self.page.emitted(),
                    place: Place::After(key),
                };
                self.page.ended_at(position)
            }
            (End::Done, _) | (End::Full | End::Pause, None) => self.page,
        }
    }
}

/// A key without the number of the row.
fn stem(key: &[u8]) -> &[u8] {
    key.get(..key.len().saturating_sub(NUMBER_BYTES))
        .unwrap_or_default()
}

fn number(key: &[u8]) -> u32 {
    key.last_chunk::<NUMBER_BYTES>()
        .map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

fn numbered(key: &[u8], row: &Row) -> Vec<u8> {
    [stem(key), &row.number().to_be_bytes()].concat()
}
