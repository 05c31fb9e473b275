//! Which entries of an index hold all that a filter can find.

use lapsedb_mql::filter::{Edge, Filter, Interval};
use lapsedb_store::Collection;
use lapsedb_store::index::bson_key::{Part, class_prefix, is_kept_whole, prefix};
use lapsedb_store::index::named::notes::IndexNotes;
use lapsedb_store::index::named::wildcard::{is_wild, path_prefix};
use lapsedb_store::index::named::{NamedIndex, PartKind};
use lapsedb_store::index::scan::{Beginning, EntrySpan};
use lapsedb_value::order::bson_class;
use lapsedb_value::{Object, Value};

/// Stretches an index is read for at most.
const STRETCHES_MAX: usize = 1000;

/// What a filter says of the fields of an index.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// The intervals of each field; none for one that is read whole.
    pub(super) fields: Vec<Option<Vec<Interval>>>,
    /// The path that stands for a wildcard.
    pub(super) wild: Option<String>,
}

impl Bounds {
    /// No bounds at all.
    pub(super) fn whole(index: &NamedIndex) -> Bounds {
        Bounds {
            fields: vec![None; index.parts.len()],
            wild: None,
        }
    }

    /// What a filter says of an index; texts say nothing if they are not compared alike.
    pub(super) fn of(
        index: &NamedIndex,
        filter: &Filter,
        notes: &IndexNotes,
        same_collation: bool,
    ) -> Bounds {
        if index.wildcard.is_some() {
            return Bounds::wild(index, filter, notes, same_collation);
        }
        let mut bounds = Bounds::whole(index);
        let mut stretches = 1usize;
        for (at, part) in index.parts.iter().enumerate() {
            if bounds.shares_array(index, notes, at) {
                break;
            }
            let found = filter
                .bounds(&part.path, notes.is_multikey(at))
                .filter(|all| same_collation || !all.iter().any(Interval::touches_text));
            let Some(found) = found else { break };
            let points = are_points(&found);
            stretches = stretches.saturating_mul(found.len().max(1));
            let kept = !matches!(part.kind, PartKind::Hashed) || points;
            if !kept || stretches > STRETCHES_MAX {
                break;
            }
            if let Some(field) = bounds.fields.get_mut(at) {
                *field = Some(found);
            }
            if !points {
                break;
            }
        }
        bounds
    }

    /// A wildcard holds plain values at every path: one path that the filter bounds to such is enough.
    fn wild(
        index: &NamedIndex,
        filter: &Filter,
        notes: &IndexNotes,
        same_collation: bool,
    ) -> Bounds {
        let covered = |path: &&str| {
            let numbered = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
            let wildcard = index.wildcard.as_ref();
            wildcard.is_some_and(|wildcard| wildcard.covers(path)) && !path.split('.').any(numbered)
        };
        let mut best = Bounds::whole(index);
        for path in filter.paths().into_iter().filter(covered) {
            let found = filter
                .bounds(path, notes.multikey)
                .filter(|all| same_collation || !all.iter().any(Interval::touches_text))
                .filter(|all| all.iter().all(is_leaf) && all.len() <= STRETCHES_MAX);
            if let Some(found) = found
                && (best.wild.is_none() || are_points(&found))
            {
                best = Bounds {
                    fields: vec![Some(found)],
                    wild: Some(path.to_owned()),
                };
            }
        }
        best
    }

    /// Whether a field and an earlier bounded one may go through one array: then different elements may fulfil the two.
    pub(super) fn shares_array(&self, index: &NamedIndex, notes: &IndexNotes, at: usize) -> bool {
        let path = |at: usize| index.parts.get(at).map_or("", |part| part.path.as_str());
        let bounded = self.fields.iter().enumerate().take(at);
        let bounded = bounded.filter(|(_, intervals)| intervals.is_some());
        bounded.into_iter().any(|(earlier, _)| {
            let names = path(earlier).split('.').zip(path(at).split('.'));
            let common = names.take_while(|(a, b)| a == b).count();
            notes.has_array_within(earlier, common) || notes.has_array_within(at, common)
        })
    }

    /// How many fields are bound to single values, and whether one more to ranges.
    pub(super) fn strength(&self) -> (usize, bool) {
        let bounded = self.fields.iter().flatten();
        let points = bounded.clone().filter(|all| are_points(all)).count();
        (points, bounded.count() > points)
    }

    /// Whether anything is bounded.
    pub(super) fn narrows(&self) -> bool {
        self.fields.iter().any(Option::is_some)
    }

    /// Whether a field is bound to one single value.
    pub(super) fn is_one_value(&self, at: usize) -> bool {
        matches!(self.fields.get(at), Some(Some(all)) if are_points(all) && all.len() == 1)
    }

    /// Whether a field is bound to single values.
    pub(super) fn is_points(&self, at: usize) -> bool {
        matches!(self.fields.get(at), Some(Some(all)) if are_points(all))
    }

    /// The stretches to read: those of the first fields apart, for each of their values, those behind them in order.
    pub(super) fn branches(
        &self,
        collection: &Collection,
        index: &NamedIndex,
        stem_fields: usize,
    ) -> Vec<(usize, Vec<EntrySpan>)> {
        let beginning = match &self.wild {
            Some(path) => path_prefix(path),
            None => Vec::new(),
        };
        let mut stems = vec![beginning];
        for at in 0..stem_fields {
            stems = self.behind(index, &stems, at);
        }
        let span = |(low, high): (Beginning, Beginning)| {
            EntrySpan::named_between(collection, index, &low, &high)
        };
        stems
            .into_iter()
            .map(|stem| {
                let length = stem.len();
                let stretches = self.stretches(index, stem, stem_fields);
                (length, stretches.into_iter().map(span).collect())
            })
            .collect()
    }

    /// Every beginning with every value of a field behind it.
    fn behind(&self, index: &NamedIndex, stems: &[Vec<u8>], at: usize) -> Vec<Vec<u8>> {
        let intervals = self.fields.get(at).and_then(Option::as_ref);
        let values: Vec<&Value> = intervals
            .into_iter()
            .flatten()
            .filter_map(Interval::as_point)
            .collect();
        let descending = is_descending(index, at);
        let with = |stem: &Vec<u8>, value: &Value| {
            [stem.as_slice(), &prefix(Part::Value(value), descending)].concat()
        };
        stems
            .iter()
            .flat_map(|stem| values.iter().map(move |value| with(stem, value)))
            .collect()
    }

    fn stretches(
        &self,
        index: &NamedIndex,
        stem: Vec<u8>,
        from: usize,
    ) -> Vec<(Beginning, Beginning)> {
        let mut stems = vec![stem];
        let mut at = from;
        let mut stretches = loop {
            match self.fields.get(at).and_then(Option::as_ref) {
                None => {
                    let whole = |parts: Vec<u8>| Beginning {
                        parts,
                        included: true,
                    };
                    let all = stems.into_iter();
                    break all
                        .map(|stem| (whole(stem.clone()), whole(stem)))
                        .collect::<Vec<_>>();
                }
                Some(intervals) if are_points(intervals) => {
                    stems = self.behind(index, &stems, at);
                    at += 1;
                }
                Some(intervals) => {
                    let descending = is_descending(index, at);
                    let of = |stem: &Vec<u8>| {
                        let own = intervals.iter();
                        own.map(|interval| stretch(stem, interval, descending))
                            .collect::<Vec<_>>()
                    };
                    break stems.iter().flat_map(of).collect();
                }
            }
        };
        stretches.sort_unstable();
        stretches.dedup();
        stretches
    }

    /// Whether the index with these bounds answers all that a filter asks, so that documents need not be asked again.
    pub(super) fn is_exact(&self, index: &NamedIndex, filter: &Filter, notes: &IndexNotes) -> bool {
        let Some(paths) = filter.exact_paths() else {
            return false;
        };
        let bounded = |path: &&str| {
            let own = |(part, bound): (&lapsedb_store::IndexPart, &Option<Vec<Interval>>)| {
                part.path == **path && bound.is_some()
            };
            let wild = self.wild.as_deref() == Some(*path);
            wild || index.parts.iter().zip(&self.fields).any(own)
        };
        !notes.multikey && !notes.cut && paths.iter().all(bounded) && self.are_short()
    }

    /// Whether no value is so long that entries hold only its beginning.
    fn are_short(&self) -> bool {
        let short = |edge: &Edge| match edge {
            Edge::Before(value) | Edge::After(value) => is_kept_whole(Part::Value(value)),
            Edge::ClassStart(_) | Edge::ClassEnd(_) => true,
        };
        let mut all = self.fields.iter().flatten().flatten();
        all.all(|interval| short(&interval.low) && short(&interval.high))
    }
}

pub(super) fn are_points(intervals: &[Interval]) -> bool {
    intervals
        .iter()
        .all(|interval| interval.as_point().is_some())
}

pub(super) fn is_descending(index: &NamedIndex, at: usize) -> bool {
    let wild = |path: &str| is_wild(path);
    index
        .parts
        .get(at)
        .is_some_and(|part| matches!(part.kind, PartKind::Descending) && !wild(&part.path))
}

/// Whether values in the interval stand in a wildcard index as they are: what is missing, an array or an object does not.
fn is_leaf(interval: &Interval) -> bool {
    let other = [
        Value::MinKey,
        Value::Null,
        Value::Object(Object::new()),
        Value::Array(Vec::new()),
        Value::MaxKey,
    ];
    let leaf = |edge: &Edge| {
        let class = match edge {
            Edge::ClassStart(class) | Edge::ClassEnd(class) => *class,
            Edge::Before(value) | Edge::After(value) => bson_class(value),
        };
        !other.iter().any(|value| bson_class(value) == class)
    };
    leaf(&interval.low) && leaf(&interval.high)
}

/// The beginnings between which an interval lies.
fn stretch(stem: &[u8], interval: &Interval, descending: bool) -> (Beginning, Beginning) {
    let bound = |edge: &Edge, inner: bool| {
        let (own, whole) = match edge {
            Edge::Before(value) | Edge::After(value) => (
                prefix(Part::Value(value), descending),
                is_kept_whole(Part::Value(value)),
            ),
            Edge::ClassStart(class) | Edge::ClassEnd(class) => {
                (vec![class_prefix(*class, descending)], true)
            }
        };
        Beginning {
            parts: [stem, &own].concat(),
            // Of a value that was cut, others share the beginning.
            included: inner || !whole,
        }
    };
    let low_inner = matches!(interval.low, Edge::Before(_) | Edge::ClassStart(_));
    let high_inner = matches!(interval.high, Edge::After(_) | Edge::ClassEnd(_));
    let (low, high) = (
        bound(&interval.low, low_inner),
        bound(&interval.high, high_inner),
    );
    if descending { (high, low) } else { (low, high) }
}
