//! Which index, which order.
//!
//! Nothing is known of how often a value occurs, so it is tried out: the first condition whose entries come to an end within a
//! growing number of them is the most selective one. What none of the indexes can tell, the items are asked.

use lapsedb_store::index::encode::PathId;
use lapsedb_store::index::scan::{Entry, EntrySpan};
use lapsedb_store::{ItemRange, Result};

use crate::exec::{Io, Node, Stream, Sweep};
use crate::plan::{Bounds, Choice, Condition, Cover, Plan, Seek, Track, Wanted};

/// From where on one way of reading is preferred to another. Tests set it low, so that few items take every way.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// How many entries of each condition are read, round by round, to find a selective one.
    pub probes: [usize; 3],
    /// Entries of a condition up to which its items are all read and sorted, rather than read in order.
    pub sorted_set_max: usize,
    /// Entries of a condition up to which they are preferred to the items of a partition.
    pub partition_set_max: usize,
    /// Items of a range up to which all are read and sorted by creation, where an index has that order too.
    pub gathered_max: usize,
    /// The same where no index has it; beyond it items come by key.
    pub gathered_unindexed_max: usize,
    /// Entries of a condition up to which the items are asked, rather than other indexes.
    pub intersect_min: usize,
    /// Streams of single values that are read side by side.
    pub streams_max: usize,
    /// Shapes of items up to which those that lack a path are found by shape.
    pub shapes_max: usize,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            probes: [64, 512, 4096],
            sorted_set_max: 1024,
            partition_set_max: 256,
            gathered_max: 256,
            gathered_unindexed_max: 4096,
            intersect_min: 16,
            streams_max: 1024,
            shapes_max: 256,
        }
    }
}

/// Chooses a way to read. A page that goes on where rows came item by item stays on the track of the one before.
///
/// # Errors
/// When the engine fails or the bytes are damaged.
pub async fn choose(
    io: &mut Io<'_>,
    wanted: &Wanted<'_>,
    track: Option<Track>,
    tuning: &Tuning,
) -> Result<Option<Choice>> {
    let Some(members) = wanted.condition.clone().members() else {
        return Ok(Some(unsorted(Plan::Ordinals(Node::nothing()))));
    };
    let mut planner = Planner {
        io,
        wanted,
        members,
        tuning,
    };
    if let Some(track) = track {
        return planner.on_track(track).await;
    }
    if let Some(choice) = planner.covered().await? {
        return Ok(Some(choice));
    }
    if let Some(choice) = planner.in_order().await? {
        return Ok(Some(choice));
    }
    let plan = planner.best().await?;
    Ok(Some(Choice {
        covered: wanted.cover == Cover::Presence && !matches!(plan, Plan::Items),
        ..unsorted(plan)
    }))
}

const fn unsorted(plan: Plan) -> Choice {
    Choice {
        plan,
        sorted: false,
        covered: false,
    }
}

struct Planner<'p, 'v> {
    io: &'p mut Io<'v>,
    wanted: &'p Wanted<'p>,
    members: Vec<Condition>,
    tuning: &'p Tuning,
}

impl Planner<'_, '_> {
    /// Whatever continues on a track; none if the query cannot have been on it.
    async fn on_track(&mut self, track: Track) -> Result<Option<Choice>> {
        let plan = match track {
            Track::Items if matches!(self.wanted.within, ItemRange::Everything) => return Ok(None),
            Track::Items => Plan::Items,
            Track::Ordinal => match self.best().await? {
                plan @ (Plan::Ordinals(_) | Plan::Gathered(_)) => plan,
                Plan::Items | Plan::Sweep(_) => Plan::Ordinals(self.by_ordinal().await?),
            },
            Track::Index(index) => match self.seek_on(index).cloned() {
                Some(seek) if !seek.many => self.sweep(&seek, false, None),
                Some(_) | None => return Ok(None),
            },
        };
        Ok(Some(unsorted(plan)))
    }

    /// The index that tells all that must be known.
    async fn covered(&mut self) -> Result<Option<Choice>> {
        let Cover::Index(index) = self.wanted.cover else {
            return Ok(None);
        };
        let others = |member: &Condition| !is_on(member, index);
        if let Some((entries, _)) = self.selective(others, self.tuning.sorted_set_max).await? {
            return Ok(Some(unsorted(Plan::Ordinals(Node::set(entries, false)))));
        }
        if self.is_restricted() && !self.has_partition_seek() {
            return Ok(None);
        }
        let (seek, lacking) = match self.seek_on(index).cloned() {
            Some(seek) if seek.many => return Ok(None),
            Some(seek) => (seek, None),
            None => match self.lacking(index).await? {
                Some(node) => (everything(index), Some(node)),
                None => return Ok(None),
            },
        };
        let plan = self.sweep(&seek, false, lacking);
        Ok(Some(Choice {
            covered: true,
            ..unsorted(plan)
        }))
    }

    /// The index that holds the items in order, unless few items are of interest.
    async fn in_order(&mut self) -> Result<Option<Choice>> {
        let Some(order) = &self.wanted.order else {
            return Ok(None);
        };
        if self.wanted.points {
            return Ok(None);
        }
        let index = order.index;
        let others = |member: &Condition| !is_on(member, index);
        if let Some((entries, _)) = self.selective(others, self.tuning.sorted_set_max).await? {
            return Ok(Some(unsorted(Plan::Ordinals(Node::set(entries, false)))));
        }
        if self.is_restricted() && !self.has_partition_seek() {
            return Ok(None);
        }
        let (seek, lacking) = match self.seek_on(index).cloned() {
            Some(seek) => (seek, None),
            None if order.complete => (everything(index), None),
            None => match self.lacking(index).await? {
                Some(node) => (everything(index), Some(node)),
                None => {
                    // Too many shapes: whoever has no value is among all items.
                    let all = EntrySpan::everything(self.io.collection);
                    (everything(index), Some(Node::Stream(Stream::new(all, &[]))))
                }
            },
        };
        let plan = self.sweep(&seek, order.reverse, lacking);
        Ok(Some(Choice {
            plan,
            sorted: true,
            covered: false,
        }))
    }

    /// The way that reads least, whatever the order.
    async fn best(&mut self) -> Result<Plan> {
        let presence = self.wanted.cover == Cover::Presence;
        if self.is_restricted() && !(presence && self.has_partition_seek()) {
            if !self.wanted.points
                && let Some((entries, at)) = self
                    .selective(
                        |member| !is_partition(member),
                        self.tuning.partition_set_max,
                    )
                    .await?
            {
                return self.intersected(entries, at).await;
            }
            return match self.wanted.by_creation {
                true => self.range_by_creation().await,
                false => Ok(Plan::Items),
            };
        }
        let most = self.tuning.probes.into_iter().max().unwrap_or_default();
        if let Some((entries, at)) = self.selective(|_| true, most).await? {
            return self.intersected(entries, at).await;
        }
        let members = std::mem::take(&mut self.members);
        let node = self.native_all(&members).await?;
        self.members = members;
        if let Some(node) = node {
            return Ok(Plan::Ordinals(node));
        }
        let ranges = self.members.iter().filter_map(|member| match member {
            Condition::Seek(seek) if !seek.many => Some(seek),
            _ => None,
        });
        match ranges.min_by_key(|seek| width(seek)).cloned() {
            Some(seek) => Ok(self.sweep(&seek, false, None)),
            None => Ok(Plan::Ordinals(self.everything())),
        }
    }

    /// The items of a range by creation: read and sorted if they are few, else by an index that has this order. Where none
    /// has, many items come by key: an order of its own for each partition would cost an entry on every write.
    async fn range_by_creation(&mut self) -> Result<Plan> {
        let indexed = self.has_partition_seek();
        let few = !indexed
            || self.wanted.points
            || self
                .selective(is_partition, self.tuning.gathered_max)
                .await?
                .is_some();
        let max = match indexed {
            true => self.tuning.gathered_max,
            false => self.tuning.gathered_unindexed_max,
        };
        if few && let Some(items) = self.io.gather(&self.wanted.within, max).await? {
            return Ok(Plan::Gathered(items));
        }
        if indexed {
            return Ok(Plan::Ordinals(self.by_ordinal().await?));
        }
        Ok(match &self.wanted.within {
            // Entries of all items are read, and those outside are passed over: worth it where many lie inside.
            ItemRange::Epk(range) if range.is_wide() => Plan::Ordinals(self.everything()),
            ItemRange::Everything
            | ItemRange::Partition(_)
            | ItemRange::Prefix(_)
            | ItemRange::Epk(_)
            | ItemRange::Spans(_) => Plan::Items,
        })
    }

    /// Some way by creation, for a page that goes on there.
    async fn by_ordinal(&mut self) -> Result<Node> {
        let members = std::mem::take(&mut self.members);
        let node = self.native_all(&members).await?;
        self.members = members;
        Ok(node.unwrap_or_else(|| self.everything()))
    }

    fn everything(&self) -> Node {
        let span = EntrySpan::everything(self.io.collection);
        Node::Stream(Stream::new(span, &[]))
    }

    /// The entries of a selective condition, met with those of the others that are single values.
    async fn intersected(&mut self, entries: Vec<Entry>, at: usize) -> Result<Plan> {
        let set = Node::set(entries, false);
        let small =
            matches!(&set, Node::Set(entries) if entries.len() <= self.tuning.intersect_min);
        let mut nodes = vec![set];
        if !small {
            let members = std::mem::take(&mut self.members);
            for (other, member) in members.iter().enumerate() {
                if other != at
                    && let Condition::Seek(seek) = member
                    && seek.is_points()
                    && let Some(node) = self.streams(seek)
                {
                    nodes.push(node);
                }
            }
            self.members = members;
        }
        Ok(Plan::Ordinals(match nodes.len() {
            1 => nodes.pop().unwrap_or_else(Node::nothing),
            _ => Node::All(nodes),
        }))
    }

    /// All entries of the condition that has the fewest, if those are few.
    async fn selective(
        &mut self,
        allowed: impl Fn(&Condition) -> bool,
        max: usize,
    ) -> Result<Option<(Vec<Entry>, usize)>> {
        for most in self.tuning.probes {
            for at in 0..self.members.len() {
                let Some(member) = self.members.get(at).filter(|member| allowed(member)) else {
                    continue;
                };
                let member = member.clone();
                if let Some(entries) = self.collect(&member, most.min(max)).await? {
                    return Ok(Some((entries, at)));
                }
            }
            if most >= max {
                break;
            }
        }
        Ok(None)
    }

    /// All entries of a condition, if there are not more than so many.
    async fn collect(&mut self, condition: &Condition, max: usize) -> Result<Option<Vec<Entry>>> {
        match condition {
            Condition::Never => Ok(Some(Vec::new())),
            Condition::Always | Condition::Lacks(_) => Ok(None),
            Condition::Seek(seek) => self.collect_seek(seek, max).await,
            Condition::All(inner) => {
                for condition in inner {
                    if let Some(entries) = Box::pin(self.collect(condition, max)).await? {
                        return Ok(Some(entries));
                    }
                }
                Ok(None)
            }
            Condition::Any(inner) => {
                let mut union = Vec::new();
                for condition in inner {
                    let left = max - union.len();
                    match Box::pin(self.collect(condition, left)).await? {
                        Some(entries) => union.extend(entries),
                        None => return Ok(None),
                    }
                }
                Ok(Some(union))
            }
        }
    }

    async fn collect_seek(&mut self, seek: &Seek, max: usize) -> Result<Option<Vec<Entry>>> {
        if seek.bounds.len() > max {
            return Ok(None);
        }
        let mut entries = Vec::new();
        let mut read = 0;
        for bounds in &seek.bounds {
            let mut rest = Some(self.span(seek.index, bounds));
            while let Some(span) = rest {
                // One more than allowed tells that there are too many; the dead count, for they are read as well.
                let page = self.io.entries(span, false, max + 1 - read).await?;
                read += usize::try_from(page.read).unwrap_or(usize::MAX);
                if read > max {
                    return Ok(None);
                }
                entries.extend(page.entries);
                rest = page.rest;
            }
        }
        let within = &self.wanted.within;
        entries.retain(|entry| within.contains(self.io.collection, &entry.item));
        Ok(Some(entries))
    }

    /// What can be read by creation of conditions that must all hold; the others are left to the items.
    async fn native_all(&mut self, members: &[Condition]) -> Result<Option<Node>> {
        let mut nodes = Vec::new();
        for member in members {
            nodes.extend(Box::pin(self.native(member)).await?);
        }
        Ok(match nodes.len() {
            0 => None,
            1 => nodes.pop(),
            _ => Some(Node::All(nodes)),
        })
    }

    /// A condition by creation, if that is possible.
    async fn native(&mut self, condition: &Condition) -> Result<Option<Node>> {
        Ok(match condition {
            Condition::Always => None,
            Condition::Never => Some(Node::nothing()),
            Condition::Lacks(index) => self.lacking(*index).await?,
            Condition::Seek(seek) if seek.is_points() => self.streams(seek),
            Condition::Seek(_) => None,
            Condition::All(inner) => self.native_all(inner).await?,
            Condition::Any(inner) => {
                let most = self.tuning.probes.into_iter().max().unwrap_or_default();
                let mut nodes = Vec::with_capacity(inner.len());
                for condition in inner {
                    let node = match Box::pin(self.native(condition)).await? {
                        Some(node) => Some(node),
                        None => self
                            .collect(condition, most)
                            .await?
                            .map(|entries| Node::set(entries, false)),
                    };
                    match node {
                        Some(node) => nodes.push(node),
                        None => return Ok(None),
                    }
                }
                Some(Node::Any(nodes))
            }
        })
    }

    /// Streams of single values, side by side.
    fn streams(&self, seek: &Seek) -> Option<Node> {
        if seek.bounds.len() > self.tuning.streams_max {
            return None;
        }
        let collection = self.io.collection;
        let stream = |bounds: &Bounds| {
            let value = bounds.from();
            let span = EntrySpan::of_value(collection, seek.index, value);
            Node::Stream(Stream::new(span, value))
        };
        let mut nodes: Vec<Node> = seek.bounds.iter().map(stream).collect();
        Some(match nodes.len() {
            1 => nodes.pop()?,
            _ => Node::Any(nodes),
        })
    }

    /// The items without an entry in an index; none if there are too many shapes to find them by.
    async fn lacking(&mut self, index: u64) -> Result<Option<Node>> {
        let collection = self.io.collection;
        let shapes = self
            .io
            .view
            .shapes(collection, self.tuning.shapes_max)
            .await?;
        self.io.work.index_entries_read += shapes.read;
        if shapes.too_many {
            return Ok(None);
        }
        let mut nodes = Vec::new();
        for (value, sample) in shapes.known {
            let sample = self.io.items(&[sample]).await?.pop().flatten();
            if sample.is_some_and(|item| !(self.wanted.has)(index, &item)) {
                let span = EntrySpan::of_value(collection, PathId::SHAPE.0, &value);
                nodes.push(Node::Stream(Stream::new(span, &value)));
            }
        }
        Ok(Some(Node::Any(nodes)))
    }

    fn sweep(&self, seek: &Seek, reverse: bool, lacking: Option<Node>) -> Plan {
        let mut bounds = seek.bounds.clone();
        bounds.sort_by(|a, b| a.from().cmp(b.from()));
        bounds.dedup();
        let spans = bounds.iter().map(|bounds| self.span(seek.index, bounds));
        Plan::Sweep(Sweep::new(seek.index, reverse, spans, lacking))
    }

    fn span(&self, index: u64, bounds: &Bounds) -> EntrySpan {
        match bounds {
            Bounds::Value(value) => EntrySpan::of_value(self.io.collection, index, value),
            Bounds::Range(from, to) => EntrySpan::between(self.io.collection, index, from, to),
        }
    }

    fn seek_on(&self, index: u64) -> Option<&Seek> {
        self.members.iter().find_map(|member| match member {
            Condition::Seek(seek) if seek.index == index && !seek.many => Some(seek),
            _ => None,
        })
    }

    const fn is_restricted(&self) -> bool {
        !matches!(self.wanted.within, ItemRange::Everything)
    }

    fn has_partition_seek(&self) -> bool {
        self.members.iter().any(is_partition)
    }
}

fn everything(index: u64) -> Seek {
    Seek {
        index,
        bounds: vec![Bounds::everything()],
        many: false,
        partition: false,
    }
}

fn is_on(member: &Condition, index: u64) -> bool {
    matches!(member, Condition::Seek(seek) if seek.index == index && !seek.many)
}

fn is_partition(member: &Condition) -> bool {
    matches!(member, Condition::Seek(seek) if seek.partition)
}

/// How wide a range is, roughly: what has two ends within one kind of values comes first.
fn width(seek: &Seek) -> usize {
    let open = |bounds: &Bounds| match bounds {
        Bounds::Value(_) => 0,
        Bounds::Range(from, to) => usize::from(from.len() <= 1) + usize::from(to.len() <= 1),
    };
    seek.bounds.iter().map(open).max().unwrap_or_default()
}
