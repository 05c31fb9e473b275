//! What a document has in a named index: its entries, its unique values, its earliest date.
//!
//! An array gives one key for each of its elements; fields below the same array go through it together. Two arrays side by
//! side would give every pair, and are refused.

use lapsedb_record::{Dated, Dates, Mark, Secs};
use lapsedb_value::{Object, Str, Value};

use super::made::{made_keys, made_parts, made_stems};
use super::notes::Note;
use super::{IndexPart, NamedIndex, PartKind};
use crate::catalog::Collection;
use crate::index::bson_key::{self, Part};
use crate::keys;

/// Why a document cannot stand in an index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unindexable {
    /// Two of its fields are arrays.
    #[error("cannot index parallel arrays [{other}] [{one}]")]
    ParallelArrays {
        /// The index's name.
        index: Str,
        /// The path of one.
        one: Str,
        /// The path of the other.
        other: Str,
    },
    /// A hashed field is an array.
    #[error("hashed indexes do not currently support array values. Found array at path: {path}")]
    HashedArray {
        /// The index's name.
        index: Str,
        /// The path.
        path: Str,
    },
    #[error(
        "Ambiguous field name found in array (do not use numeric field names in embedded elements in an array), path: '{path}'"
    )]
    /// A number in a path names both an element of an array and a member of its elements.
    AmbiguousPath {
        /// The index's name.
        index: Str,
        /// The path.
        path: Str,
    },
    /// An index that makes its own keys can make none of it.
    #[error("{message}")]
    Refused {
        /// The index's name.
        index: Str,
        /// What clients know it by.
        code: i32,
        /// Why.
        message: String,
    },
}

/// What a document has in all named indexes of its collection.
#[derive(Debug, Default)]
pub(crate) struct NamedTerms {
    /// Keys of index entries without their ordinal.
    pub(crate) stems: Vec<Vec<u8>>,
    /// Keys of unique values, each with the number of its index.
    pub(crate) unique: Vec<(Vec<u8>, u32)>,
    /// The earliest date under each index that ends documents.
    pub(crate) dates: Dates,
    /// What is to be noted of the indexes.
    pub(crate) notes: Vec<Note>,
}

/// The keys of a document in one index, before they become bytes.
pub(crate) struct IndexKeys<'a> {
    /// One value for each field; each list is one key.
    tuples: Vec<Vec<Part<'a>>>,
    /// The arrays that were met.
    arrays: Vec<Note>,
}

/// What a document has in the indexes of its collection.
///
/// # Errors
/// When it cannot stand in one of them.
pub(crate) fn terms(collection: &Collection, document: &Object) -> Result<NamedTerms, Unindexable> {
    let mut terms = NamedTerms::default();
    for index in collection.indexes.all() {
        terms.add_all(collection, index, document)?;
    }
    Ok(terms)
}

/// The same of a document that is stored already: in an index that it cannot stand in, it has nothing.
pub(crate) fn stored_terms(collection: &Collection, document: &Object) -> NamedTerms {
    let mut terms = NamedTerms::default();
    for index in collection.indexes.all() {
        // One that cannot stand in it adds nothing.
        let _ = terms.add_all(collection, index, document);
    }
    terms
}

impl Collection {
    /// The dates that a document would keep if it were written now: by them a living one ends, whenever it was written.
    #[must_use]
    pub fn dates_of(&self, document: &Object) -> Dates {
        if self.indexes.date_rules().all().is_empty() {
            return Dates::new();
        }
        let mut dates = stored_terms(self, document).dates;
        dates.extend(self.indexes.life_of(document).1);
        dates
    }

    /// What the rule would ask of a document that is as it was written in a second.
    #[must_use]
    pub fn mark_of(&self, document: &Object, written: Secs) -> Mark {
        Mark {
            dates: self.dates_of(document),
            ..Mark::undated(self.indexes.life_of(document).0, written)
        }
    }
}

/// What a document has in one index.
///
/// # Errors
/// When it cannot stand in it.
pub(crate) fn terms_in(
    collection: &Collection,
    index: &NamedIndex,
    document: &Object,
) -> Result<NamedTerms, Unindexable> {
    let mut terms = NamedTerms::default();
    terms.add_all(collection, index, document)?;
    Ok(terms)
}

/// The values of a document under the fields of a unique index, where they have this key.
pub(crate) fn values_at(
    collection: &Collection,
    index: &NamedIndex,
    document: &Object,
    key: &[u8],
) -> Object {
    let of = |tuples: Vec<Vec<Part<'_>>>| {
        let mut values = Object::with_capacity(index.parts.len());
        let same = |tuple: &&Vec<Part<'_>>| unique_key(collection, index, tuple) == key;
        let found = tuples.iter().find(same).into_iter().flatten();
        for (part, value) in index.parts.iter().zip(found) {
            values.push(part.path.as_str(), shown(index, *value));
        }
        values
    };
    if index.made.is_some() {
        let keys = made_keys(index, document).unwrap_or_default();
        return of(keys.iter().map(|values| made_parts(values)).collect());
    }
    of(index_keys(index, document).map_or_else(|_| Vec::new(), |keys| keys.tuples))
}

/// A part as clients see it: a text that a collation has folded is shown as the bytes of its key.
fn shown(index: &NamedIndex, part: Part<'_>) -> Value {
    let value = match part {
        Part::Missing => return Value::Null,
        Part::Empty => return Value::Undefined,
        Part::Value(value) => value,
    };
    match index.fold.as_ref().map(|fold| fold(value)) {
        Some(Value::String(key)) => {
            let digits = key.bytes().map(|byte| format!("{byte:02x}"));
            Value::from(digits.collect::<String>())
        }
        Some(folded) => folded,
        None => value.clone(),
    }
}

/// The keys of a document in an index, one value for each field, in the order of the index's entries; none of an index that
/// has no entries.
#[must_use]
pub fn document_keys(index: &NamedIndex, document: &Object) -> Vec<(Vec<u8>, Object)> {
    let (true, None, Ok(keys)) = (
        index.has_entries(),
        &index.wildcard,
        index_keys(index, document),
    ) else {
        return Vec::new();
    };
    let one = |tuple: &Vec<Part<'_>>| {
        let values = index.parts.iter().zip(tuple);
        let values = values.map(|(part, value)| (part.path.clone(), shown(index, *value)));
        (stem(index, tuple, Vec::new()), values.collect())
    };
    keys.tuples.iter().map(one).collect()
}

/// Appends a key's parts as they stand in an entry.
fn stem(index: &NamedIndex, tuple: &[Part<'_>], mut stem: Vec<u8>) -> Vec<u8> {
    for (part, value) in index.parts.iter().zip(tuple) {
        let descending = matches!(part.kind, PartKind::Descending);
        match (*value, &index.fold) {
            (Part::Value(value), Some(fold)) => {
                bson_key::push_part(Part::Value(&fold(value)), descending, &mut stem);
            }
            (plain, _) => bson_key::push_part(plain, descending, &mut stem),
        }
    }
    stem
}

impl NamedTerms {
    /// Adds what a document has in an index; nothing, if it cannot stand in it.
    fn add_all(
        &mut self,
        collection: &Collection,
        index: &NamedIndex,
        document: &Object,
    ) -> Result<(), Unindexable> {
        if index.made.is_some() {
            let stem = keys::named_stem(collection.cid, index.number);
            let keys = made_keys(index, document)?;
            self.stems.append(&mut made_stems(index, &keys, &stem));
            if index.unique {
                let tuples = keys.iter().map(|values| made_parts(values));
                self.claim(collection, index, tuples);
            }
            return Ok(());
        }
        if index.wildcard.is_some() {
            self.add_wild(collection, index, document);
            return Ok(());
        }
        self.add(collection, index, &index_keys(index, document)?);
        Ok(())
    }

    fn add(&mut self, collection: &Collection, index: &NamedIndex, keys: &IndexKeys<'_>) {
        if index.has_entries() {
            let prefix = keys::named_stem(collection.cid, index.number);
            for tuple in &keys.tuples {
                let stem = stem(index, tuple, prefix.clone());
                if bson_key::may_hold_cut(stem.get(prefix.len()..).unwrap_or_default()) {
                    self.notes.push(Note::cut(index.number));
                }
                self.stems.push(stem);
            }
            self.notes.extend(keys.arrays.iter().cloned());
            self.notes.sort_unstable();
            self.notes.dedup();
        }
        if index.unique {
            self.claim(collection, index, keys.tuples.iter());
        }
        if index.expire_after.is_some()
            && let (Some(number), Some(at)) = (index.dates.last(), keys.earliest_date())
        {
            let number = *number;
            self.dates.push(Dated { number, at });
        }
    }
}

impl NamedTerms {
    /// Adds the unique values of a document, each once.
    fn claim<'a>(
        &mut self,
        collection: &Collection,
        index: &NamedIndex,
        tuples: impl Iterator<Item: AsRef<[Part<'a>]>>,
    ) {
        let key = |tuple: &[Part<'_>]| (unique_key(collection, index, tuple), index.number);
        let mut unique: Vec<_> = tuples.map(|tuple| key(tuple.as_ref())).collect();
        unique.sort_unstable();
        unique.dedup();
        self.unique.append(&mut unique);
    }
}

impl NamedIndex {
    /// Whether a document has something else than null where the index looks, and no date among it.
    #[must_use]
    pub fn holds_no_date(&self, document: &Object) -> bool {
        let something = |part: &Part<'_>| match part {
            Part::Value(value) => !matches!(value, Value::Null),
            Part::Missing | Part::Empty => false,
        };
        index_keys(self, document).is_ok_and(|keys| {
            keys.earliest_date().is_none() && keys.tuples.iter().flatten().any(something)
        })
    }
}

/// The entries of a wildcard index, which are its only purpose.
impl NamedTerms {
    fn add_wild(&mut self, collection: &Collection, index: &NamedIndex, document: &Object) {
        let Some(wildcard) = index.wildcard.as_ref().filter(|_| index.covers(document)) else {
            return;
        };
        let stems = wildcard.stems(document, index.fold.as_ref());
        let prefix = keys::named_stem(collection.cid, index.number);
        let whole = |key: Vec<u8>| [prefix.as_slice(), &key].concat();
        self.stems.extend(stems.keys.into_iter().map(whole));
        if stems.multikey {
            self.notes.push(Note::wild_array(index.number));
        }
    }
}

impl IndexKeys<'_> {
    /// The earliest date among the values; what is no date is passed over.
    fn earliest_date(&self) -> Option<i64> {
        let dates = self.tuples.iter().flatten().filter_map(|part| match part {
            Part::Value(Value::Date(at)) => Some(*at),
            Part::Value(_) | Part::Missing | Part::Empty => None,
        });
        dates.min()
    }
}

fn unique_key(collection: &Collection, index: &NamedIndex, tuple: &[Part<'_>]) -> Vec<u8> {
    let mut values = Vec::new();
    for value in tuple {
        match (*value, &index.fold) {
            (Part::Value(value), Some(fold)) => {
                bson_key::push_whole(Part::Value(&fold(value)), &mut values);
            }
            (plain, _) => bson_key::push_whole(plain, &mut values),
        }
    }
    keys::named_unique(collection.cid, index.number, &values)
}

/// The keys of a document in an index.
fn index_keys<'a>(index: &NamedIndex, document: &'a Object) -> Result<IndexKeys<'a>, Unindexable> {
    let mut walk = Expansion {
        index,
        keys: IndexKeys {
            tuples: Vec::new(),
            arrays: Vec::new(),
        },
    };
    if index.covers(document) {
        let slots = index
            .parts
            .iter()
            .map(|part| Slot::Open(part.path.as_str()));
        let slots: Vec<_> = slots.collect();
        walk.expand(slots, Some(document))?;
    }
    Ok(walk.keys)
}

/// How far a field has been followed.
#[derive(Clone, Copy)]
enum Slot<'p, 'a> {
    /// Still this path to go, from the present object.
    Open(&'p str),
    /// Arrived.
    Fixed(Part<'a>),
}

/// Where a path leads.
enum Reached<'p, 'a> {
    Missing,
    Value(&'a Value),
    /// An array, and the path that is left below its elements.
    Array(&'a [Value], &'p str),
}

struct Expansion<'p, 'a> {
    index: &'p NamedIndex,
    keys: IndexKeys<'a>,
}

impl<'p, 'a> Expansion<'p, 'a> {
    fn expand(
        &mut self,
        mut slots: Vec<Slot<'p, 'a>>,
        object: Option<&'a Object>,
    ) -> Result<(), Unindexable> {
        let mut array: Option<(&'a [Value], usize)> = None;
        let mut met: Option<(&'a [Value], usize)> = None;
        let mut through = Vec::new();
        for (at, slot) in slots.iter_mut().enumerate() {
            let Slot::Open(path) = *slot else { continue };
            let (reached, first) = self.follow(object, path, at)?;
            // Also an array of which the path names one element by its place.
            if let Some(elements) = first {
                match met {
                    Some((other, one)) if !std::ptr::eq(other, elements) => {
                        return Err(self.parallel(one, at));
                    }
                    Some(_) => {}
                    None => met = Some((elements, at)),
                }
            }
            *slot = match reached {
                Reached::Missing => Slot::Fixed(Part::Missing),
                Reached::Value(value) => Slot::Fixed(Part::Value(value)),
                Reached::Array(elements, rest) => {
                    match array {
                        Some((other, first)) if !std::ptr::eq(other, elements) => {
                            return Err(self.parallel(first, at));
                        }
                        Some(_) => {}
                        None => array = Some((elements, at)),
                    }
                    let part = self.index.parts.get(at);
                    if part.is_some_and(|part| matches!(part.kind, PartKind::Hashed)) {
                        return Err(Unindexable::HashedArray {
                            index: self.index.name.clone(),
                            path: self.path(at),
                        });
                    }
                    through.push(at);
                    self.note(at, rest);
                    Slot::Open(rest)
                }
            };
        }
        let Some((elements, _)) = array else {
            self.emit(&slots);
            return Ok(());
        };
        if elements.is_empty() {
            return self.descend(slots, &through, Part::Empty, None);
        }
        for element in elements {
            let part = Part::Value(element);
            self.descend(slots.clone(), &through, part, element.as_object())?;
        }
        Ok(())
    }

    /// Goes into one element of an array.
    fn descend(
        &mut self,
        mut slots: Vec<Slot<'p, 'a>>,
        through: &[usize],
        element: Part<'a>,
        object: Option<&'a Object>,
    ) -> Result<(), Unindexable> {
        for at in through {
            if let Some(slot @ Slot::Open("")) = slots.get_mut(*at) {
                *slot = Slot::Fixed(element);
            }
        }
        self.expand(slots, object)
    }

    fn emit(&mut self, slots: &[Slot<'p, 'a>]) {
        let tuple: Vec<_> = slots
            .iter()
            .map(|slot| match slot {
                Slot::Fixed(part) => *part,
                Slot::Open(_) => Part::Missing,
            })
            .collect();
        let absent = tuple.iter().all(|part| matches!(part, Part::Missing));
        if !(self.index.sparse && absent) {
            self.keys.tuples.push(tuple);
        }
    }

    /// Follows a path to its end, or to the first array on it of which it names no element; and tells the first array that it met.
    fn follow(
        &self,
        mut object: Option<&'a Object>,
        path: &'p str,
        at: usize,
    ) -> Result<(Reached<'p, 'a>, Option<&'a [Value]>), Unindexable> {
        let mut path = path;
        let mut first = None;
        loop {
            let (name, mut rest) = path.split_once('.').unwrap_or((path, ""));
            let Some(mut value) = object.and_then(|object| object.get(name)) else {
                return Ok((Reached::Missing, first));
            };
            while let Value::Array(elements) = value {
                first = first.or(Some(elements.as_slice()));
                let (place, after) = rest.split_once('.').unwrap_or((rest, ""));
                let Some(element) = element_at(elements, place) else {
                    return Ok((Reached::Array(elements, rest), first));
                };
                if has_member(elements, place) {
                    return Err(Unindexable::AmbiguousPath {
                        index: self.index.name.clone(),
                        path: self.path(at),
                    });
                }
                (value, rest) = (element, after);
            }
            if rest.is_empty() {
                return Ok((Reached::Value(value), first));
            }
            (object, path) = (value.as_object(), rest);
        }
    }

    /// Notes an array on the way of a field.
    fn note(&mut self, at: usize, rest: &str) {
        let names = |path: &str| path.split('.').filter(|name| !name.is_empty()).count();
        let behind = names(&self.path(at)).saturating_sub(names(rest));
        self.keys
            .arrays
            .push(Note::array(self.index.number, at, behind));
    }

    fn path(&self, at: usize) -> Str {
        let part: Option<&IndexPart> = self.index.parts.get(at);
        part.map(|part| part.path.clone()).unwrap_or_default()
    }

    fn parallel(&self, one: usize, other: usize) -> Unindexable {
        Unindexable::ParallelArrays {
            index: self.index.name.clone(),
            one: self.path(one),
            other: self.path(other),
        }
    }
}

/// The element that a step of a path names by its place.
fn element_at<'a>(elements: &'a [Value], place: &str) -> Option<&'a Value> {
    let plain = !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || (place.len() > 1 && place.starts_with('0')) {
        return None;
    }
    elements.get(place.parse::<usize>().ok()?)
}

fn has_member(elements: &[Value], name: &str) -> bool {
    elements
        .iter()
        .any(|element| !element.get(name).is_undefined())
}
