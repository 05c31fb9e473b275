//! A plan under way: candidates in its order, with their items where they are needed.

use std::collections::VecDeque;

use bytes::Bytes;
use lapsedb_record::Live;
use lapsedb_store::index::scan::Entry;
use lapsedb_store::{ItemKey, ItemRange, Result, ScanLimits};

use super::sweep::Swept;
use super::{Io, Node, Sweep};
use crate::plan::{Plan, TieLen, Track};

/// Items asked of the engine at once.
const LOAD_ITEMS_STEP: usize = 16;
/// A step ends with the item that reaches so many bytes.
const STEP_BYTES_MAX: usize = 4 << 20;
/// Entries that one step looks at, at most, to find those that lie in the range: between steps others get their turn.
const STEP_ENTRIES_MAX: u64 = 4096;

/// An item that may be of interest.
pub struct Candidate {
    /// Its creation ordinal.
    pub ordinal: u64,
    /// Where it lies.
    pub key: ItemKey,
    /// Where a reader that goes on with it begins.
    pub place: Vec<u8>,
    /// The encoded value by which it was found, if its index is swept and it has one there.
    pub value: Option<Vec<u8>>,
    /// Whether the next candidate has the same bytes as far as they are in order: the items must be compared.
    pub tied: bool,
    /// The item, if it was asked for.
    pub item: Option<Live<Bytes>>,
}

/// A plan under way.
pub struct Reader<'w> {
    way: Way,
    within: ItemRange,
    tie_len: Option<TieLen<'w>>,
    needs_item: &'w (dyn Fn(&Candidate) -> bool + Sync),
    waiting: VecDeque<Candidate>,
    held: Option<Swept>,
    ended: bool,
}

enum Way {
    Ordinals { node: Node, at: Option<u64> },
    Gathered(VecDeque<(ItemKey, Live<Bytes>)>),
    Items { resume: Option<Vec<u8>> },
    Sweep(Sweep),
}

impl<'w> Reader<'w> {
    /// A plan before its first step. `needs_item` says which candidates are loaded.
    pub fn new(
        plan: Plan,
        within: ItemRange,
        tie_len: Option<TieLen<'w>>,
        needs_item: &'w (dyn Fn(&Candidate) -> bool + Sync),
    ) -> Reader<'w> {
        let way = match plan {
            Plan::Ordinals(node) => Way::Ordinals { node, at: Some(0) },
            Plan::Gathered(items) => Way::Gathered(items.into()),
            Plan::Items => Way::Items { resume: None },
            Plan::Sweep(sweep) => Way::Sweep(sweep),
        };
        Reader {
            way,
            within,
            tie_len,
            needs_item,
            waiting: VecDeque::new(),
            held: None,
            ended: false,
        }
    }

    /// What its places are.
    #[must_use]
    pub const fn track(&self) -> Track {
        match &self.way {
            Way::Ordinals { .. } | Way::Gathered(_) => Track::Ordinal,
            Way::Items { .. } => Track::Items,
            Way::Sweep(sweep) => Track::Index(sweep.index),
        }
    }

    /// Goes on at a place of its own track (inclusive); false if it is none.
    #[must_use]
    pub fn start_at(&mut self, place: &[u8]) -> bool {
        match &mut self.way {
            Way::Ordinals { at, .. } => match place.try_into() {
                Ok(bytes) => {
                    *at = Some(u64::from_be_bytes(bytes));
                    true
                }
                Err(_) => false,
            },
            Way::Gathered(items) => match place.try_into() {
                Ok(bytes) => {
                    let at = u64::from_be_bytes(bytes);
                    items.retain(|(_, item)| item.header().ordinal >= at);
                    true
                }
                Err(_) => false,
            },
            Way::Items { resume } => {
                *resume = Some(place.to_vec());
                true
            }
            Way::Sweep(sweep) => match (place.split_first(), place.split_last_chunk::<8>()) {
                (Some((1, _)), Some((_, ordinal))) => {
                    sweep.start_lacking(u64::from_be_bytes(*ordinal));
                    true
                }
                (Some((0, _)), Some(([_, value @ ..], ordinal))) => {
                    sweep.start_at(value, u64::from_be_bytes(*ordinal));
                    true
                }
                _ => false,
            },
        }
    }

    /// Goes on where an index is swept in the order of a result: at a value and an ordinal, or among those without a value.
    pub fn start_sorted(&mut self, value: Option<&[u8]>, ordinal: u64) {
        let tie = |value: &[u8]| self.tie_len.and_then(|tie_len| tie_len(value));
        if let Way::Sweep(sweep) = &mut self.way {
            match value {
                None => sweep.start_lacking(ordinal),
                // Those that tie are compared again, so all of them are read again.
                Some(value) => match tie(value) {
                    Some(len) => {
                        let mut start = value.get(..len).unwrap_or(value).to_vec();
                        if sweep.reverse {
                            start.extend_from_slice(&[u8::MAX; 16]);
                        }
                        sweep.start_at(&start, if sweep.reverse { u64::MAX } else { 0 });
                    }
                    None => sweep.start_at(value, ordinal),
                },
            }
        }
    }

    /// The next candidates, about as many as asked for; none at the end. It may be an empty list although more follow.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn next(&mut self, io: &mut Io<'_>, count: usize) -> Result<Option<Vec<Candidate>>> {
        match &mut self.way {
            Way::Items { .. } => return self.next_items(io, count).await,
            Way::Gathered(items) => return Ok(next_gathered(items, io, count)),
            Way::Ordinals { .. } | Way::Sweep(_) => {}
        }
        self.fill(io, count).await?;
        if self.waiting.is_empty() {
            return Ok((!self.ended).then(Vec::new));
        }
        self.load(io, count).await.map(Some)
    }

    async fn next_items(
        &mut self,
        io: &mut Io<'_>,
        count: usize,
    ) -> Result<Option<Vec<Candidate>>> {
        let Way::Items { resume } = &mut self.way else {
            return Ok(None);
        };
        if self.ended {
            return Ok(None);
        }
        let limits = ScanLimits {
            items_max: count.max(1),
            bytes_max: STEP_BYTES_MAX,
        };
        let page = io.scan(&self.within, resume.as_deref(), limits).await?;
        self.ended = page.resume.is_none();
        *resume = page.resume;
        let mut candidates = Vec::with_capacity(page.items.len());
        for ((key, item), place) in page.items.into_iter().zip(page.places) {
            candidates.push(Candidate {
                ordinal: item.header().ordinal,
                key,
                place: place.to_vec(),
                value: None,
                tied: false,
                item: Some(item),
            });
        }
        Ok(Some(candidates))
    }

    /// Waits for entries of the range, up to a number of them.
    async fn fill(&mut self, io: &mut Io<'_>, count: usize) -> Result<()> {
        let entries_end = io.work.index_entries_read + STEP_ENTRIES_MAX;
        while self.waiting.len() < count && !self.ended && io.work.index_entries_read < entries_end
        {
            let Some(swept) = self.advance(io).await? else {
                self.ended = true;
                break;
            };
            let inside = self.within.contains(io.collection, &swept.entry.item);
            let tied = self.ties(io, &swept).await?;
            if !inside {
                // It may have tied two others together, which both know of it.
                if let Some(last) = self.waiting.back_mut() {
                    last.tied &= tied;
                }
                continue;
            }
            let candidate = self.candidate(swept, tied);
            self.waiting.push_back(candidate);
        }
        Ok(())
    }

    async fn advance(&mut self, io: &mut Io<'_>) -> Result<Option<Swept>> {
        if let Some(held) = self.held.take() {
            return Ok(Some(held));
        }
        match &mut self.way {
            Way::Sweep(sweep) => sweep.next(io).await,
            Way::Ordinals { node, at: next } => {
                let Some(at) = *next else {
                    return Ok(None);
                };
                let entry = node.seek(io, at, false).await?;
                *next = entry
                    .as_ref()
                    .and_then(|entry| entry.ordinal.checked_add(1));
                Ok(entry.map(|entry| Swept {
                    entry,
                    lacks: false,
                }))
            }
            Way::Items { .. } | Way::Gathered(_) => Ok(None),
        }
    }

    /// Whether the entry behind this one has the same bytes as far as they are in order.
    async fn ties(&mut self, io: &mut Io<'_>, swept: &Swept) -> Result<bool> {
        let (Some(tie_len), false) = (self.tie_len, swept.lacks) else {
            return Ok(false);
        };
        let Some(len) = tie_len(swept.entry.value()) else {
            return Ok(false);
        };
        self.held = self.advance(io).await?;
        let prefix = |entry: &Entry| entry.value().get(..len).map(<[u8]>::to_vec);
        Ok(self
            .held
            .as_ref()
            .is_some_and(|next| !next.lacks && prefix(&next.entry) == prefix(&swept.entry)))
    }

    fn candidate(&self, swept: Swept, tied: bool) -> Candidate {
        let Swept { entry, lacks } = swept;
        let ordinal = entry.ordinal.to_be_bytes();
        let (place, value) = match &self.way {
            Way::Sweep(_) if lacks => ([&[1], ordinal.as_slice()].concat(), None),
            Way::Sweep(_) => {
                let value = entry.value().to_vec();
                ([&[0], value.as_slice(), &ordinal].concat(), Some(value))
            }
            Way::Ordinals { .. } | Way::Gathered(_) | Way::Items { .. } => (ordinal.to_vec(), None),
        };
        Candidate {
            ordinal: entry.ordinal,
            key: entry.item,
            place,
            value,
            tied,
            item: None,
        }
    }

    /// The items of those that wait, until there are enough bytes of them.
    async fn load(&mut self, io: &mut Io<'_>, count: usize) -> Result<Vec<Candidate>> {
        let mut loaded = Vec::new();
        let mut bytes = 0;
        while loaded.len() < count && bytes < STEP_BYTES_MAX && !self.waiting.is_empty() {
            let step = self.waiting.len().min(LOAD_ITEMS_STEP);
            let step: Vec<Candidate> = self.waiting.drain(..step).collect();
            let keys: Vec<ItemKey> = step
                .iter()
                .filter(|candidate| (self.needs_item)(candidate))
                .map(|candidate| candidate.key.clone())
                .collect();
            let mut items = io.items(&keys).await?.into_iter();
            for mut candidate in step {
                if (self.needs_item)(&candidate) {
                    candidate.item = items.next().flatten();
                    bytes += candidate.item.as_ref().map_or(0, |item| item.body().len());
                    if candidate.item.is_none() {
                        continue;
                    }
                }
                loaded.push(candidate);
            }
        }
        Ok(loaded)
    }
}

/// The next of the items that are already read; none at the end. What is not asked for is not counted as read.
fn next_gathered(
    items: &mut VecDeque<(ItemKey, Live<Bytes>)>,
    io: &mut Io<'_>,
    count: usize,
) -> Option<Vec<Candidate>> {
    if items.is_empty() {
        return None;
    }
    let step = items.drain(..count.clamp(1, items.len()));
    Some(
        step.map(|(key, item)| {
            io.read(&item);
            let ordinal = item.header().ordinal;
            Candidate {
                ordinal,
                key,
                place: ordinal.to_be_bytes().to_vec(),
                value: None,
                tied: false,
                item: Some(item),
            }
        })
        .collect(),
    )
}
