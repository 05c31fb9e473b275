//! What a language asks for, and the ways to read it.
//!
//! A language says which entries of which index an item must have to be of interest; it may say too little, never too much,
//! and asks its own filter of each item that comes. Indexes are numbers and values are bytes here.

use bytes::Bytes;
use lapsedb_record::Live;
use lapsedb_store::{ItemKey, ItemRange};

use crate::exec::{Node, Sweep};

/// Which encoded values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// Exactly this one: its entries lie in the order of creation.
    Value(Vec<u8>),
    /// All from the first (inclusive) to the second (exclusive).
    Range(Vec<u8>, Vec<u8>),
}

/// The entries of one index that have certain values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seek {
    /// The index.
    pub index: u64,
    /// The values, any of which will do.
    pub bounds: Vec<Bounds>,
    /// Whether one item may have several such entries, as it has for the elements of an array.
    pub many: bool,
    /// Whether this says no more than the range of items does.
    pub partition: bool,
}

/// What an item of interest must fulfil.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    Always,
    /// What no item does.
    Never,
    /// It has one of these entries.
    Seek(Seek),
    /// It has no entry in this index.
    Lacks(u64),
    /// All of them.
    All(Vec<Condition>),
    /// One of them.
    Any(Vec<Condition>),
}

/// The index that holds items in the order a result wants.
pub struct OrderBy<'a> {
    /// The index.
    pub index: u64,
    /// Whether it is read from its end.
    pub reverse: bool,
    /// Whether every item has an entry, so that none is missing from it.
    pub complete: bool,
    /// What all encoded values of interest begin with; what is sorted by follows.
    pub prefix: Vec<u8>,
    /// How many bytes of an encoded value are in order, if not all.
    pub tie_len: OwnTieLen<'a>,
}

/// Says how many of the first bytes of an encoded value are in order, if not all.
pub type TieLen<'a> = &'a (dyn Fn(&[u8]) -> Option<usize> + Sync);

/// The same, owned.
pub type OwnTieLen<'a> = Box<dyn Fn(&[u8]) -> Option<usize> + Send + Sync + 'a>;

/// What must be known of the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// All of them.
    Items,
    /// The values in one index.
    Index(u64),
    /// Only that they are there.
    Presence,
}

/// Says whether an item has a value in an index.
pub type Has<'a> = &'a (dyn Fn(u64, &Live<Bytes>) -> bool + Sync);

/// All that a language asks for.
pub struct Wanted<'a> {
    /// What the items must fulfil.
    pub condition: Condition,
    /// Where they must lie.
    pub within: ItemRange,
    /// Whether the range is nothing but single items.
    pub points: bool,
    /// In which order they are wanted, if an index has it.
    pub order: Option<OrderBy<'a>>,
    /// Whether rows come item by item, so that the order in which a range is read is seen: it is that of creation.
    pub by_creation: bool,
    /// What must be known of them.
    pub cover: Cover,
    /// Whether an item has a value in an index.
    pub has: Has<'a>,
}

/// The places at which a page can end when rows come item by item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// By creation: a place is an ordinal.
    Ordinal,
    /// By key: a place is where a scan of items goes on.
    Items,
    /// By the values of one index: a place is a value and an ordinal.
    Index(u64),
}

/// A way to read.
pub enum Plan {
    /// Items by creation.
    Ordinals(Node),
    /// All items of a range, which are few: already read, and sorted by creation.
    Gathered(Vec<(ItemKey, Live<Bytes>)>),
    /// The items of a range by key.
    Items,
    /// Items by the values of an index.
    Sweep(Sweep),
}

/// The way that was chosen.
pub struct Choice {
    /// How to read.
    pub plan: Plan,
    /// Whether items come in the order that is wanted.
    pub sorted: bool,
    /// Whether entries suffice, as far as [`Wanted::cover`] goes.
    pub covered: bool,
}

impl Bounds {
    /// The first bytes inside.
    #[must_use]
    pub fn from(&self) -> &[u8] {
        match self {
            Bounds::Value(value) => value,
            Bounds::Range(from, _) => from,
        }
    }

    /// The first bytes behind. No value begins another, so those behind one value are its bytes with the last one raised.
    #[must_use]
    pub fn to(&self) -> Vec<u8> {
        match self {
            Bounds::Value(value) => behind(value),
            Bounds::Range(_, to) => to.clone(),
        }
    }

    /// All that begin so.
    #[must_use]
    pub fn beginning_with(prefix: Vec<u8>) -> Bounds {
        let to = behind(&prefix);
        Bounds::Range(prefix, to)
    }

    /// All values there are.
    #[must_use]
    pub fn everything() -> Bounds {
        Bounds::Range(Vec::new(), vec![u8::MAX; 2])
    }

    fn meet(&self, other: &Bounds) -> Option<Bounds> {
        let inside = |value: &[u8], bounds: &Bounds| {
            bounds.from() <= value && value < bounds.to().as_slice()
        };
        match (self, other) {
            (Bounds::Value(value), bounds) | (bounds, Bounds::Value(value)) => {
                inside(value, bounds).then(|| Bounds::Value(value.clone()))
            }
            (Bounds::Range(..), Bounds::Range(..)) => {
                let from = self.from().max(other.from()).to_vec();
                let to = self.to().min(other.to());
                (from < to).then_some(Bounds::Range(from, to))
            }
        }
    }
}

/// The least bytes above all that begin with these.
fn behind(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    while let Some(last) = bytes.pop() {
        if last < u8::MAX {
            bytes.push(last + 1);
            return bytes;
        }
    }
    vec![u8::MAX; 2]
}

impl Seek {
    /// Both conditions on one index.
    fn meet(&self, other: &Seek) -> Seek {
        let mut bounds = Vec::new();
        for a in &self.bounds {
            bounds.extend(other.bounds.iter().filter_map(|b| a.meet(b)));
        }
        Seek {
            index: self.index,
            bounds,
            many: self.many,
            partition: self.partition || other.partition,
        }
    }

    /// Whether all bounds are single values.
    #[must_use]
    pub fn is_points(&self) -> bool {
        self.bounds
            .iter()
            .all(|bounds| matches!(bounds, Bounds::Value(_)))
    }
}

impl Condition {
    /// The conditions that must all hold: flat, one for each index, and never one that holds anyway.
    #[must_use]
    pub fn members(self) -> Option<Vec<Condition>> {
        let mut members: Vec<Condition> = Vec::new();
        let mut open = vec![self];
        while let Some(condition) = open.pop() {
            match condition {
                Condition::Always => {}
                Condition::Never => return None,
                Condition::All(inner) => open.extend(inner.into_iter().rev()),
                Condition::Any(inner) if inner.contains(&Condition::Always) => {}
                Condition::Seek(seek) if !seek.many => {
                    let same = members.iter_mut().find_map(|member| match member {
                        Condition::Seek(known) if known.index == seek.index && !known.many => {
                            Some(known)
                        }
                        _ => None,
                    });
                    match same {
                        Some(known) => *known = known.meet(&seek),
                        None => members.push(Condition::Seek(seek)),
                    }
                }
                other @ (Condition::Seek(_) | Condition::Lacks(_) | Condition::Any(_)) => {
                    members.push(other);
                }
            }
        }
        let empty =
            |member: &Condition| matches!(member, Condition::Seek(seek) if seek.bounds.is_empty());
        (!members.iter().any(empty)).then_some(members)
    }
}
