//! What a query asks of the store: as few items as its filter allows, never too few. The filter itself is asked of each.

use std::collections::HashMap;

use bytes::Bytes;
use lapsedb_query::encode;
use lapsedb_query::plan::{Bounds, Condition, Cover, Seek, Wanted};
use lapsedb_record::Live;
use lapsedb_sql::{Bound, PartitionFilter};
use lapsedb_store::index::encode::PathId;
use lapsedb_store::partition_key::{Component, PartitionKey};
use lapsedb_store::{Collection, ItemKey, ItemRange, Span};
use lapsedb_value::path::{Path, Segment};
use lapsedb_value::{Object, Value, bson};
use parking_lot::Mutex;

use crate::resource::SYSTEM_PROPERTIES;

/// Digits of an object id as text.
const OBJECT_ID_DIGITS: usize = 24;

/// A query seen as a demand on one collection.
pub(super) struct Access<'a> {
    pub(super) bound: &'a Bound,
    pub(super) collection: &'a Collection,
    /// The paths of the indexes that are spoken of.
    paths: Mutex<HashMap<u64, Path>>,
}

/// Where the items of a query lie.
struct Within {
    range: ItemRange,
    points: bool,
    /// What being there says of the paths of the partition key.
    condition: Condition,
}

impl<'a> Access<'a> {
    pub(super) fn new(bound: &'a Bound, collection: &'a Collection) -> Access<'a> {
        Access {
            bound,
            collection,
            paths: Mutex::new(HashMap::new()),
        }
    }

    /// The number of the index with an entry for every value at a path.
    pub(super) fn index_of(&self, path: &Path) -> Option<u64> {
        let index = index_of(self.collection, path)?;
        self.paths.lock().insert(index, path.clone());
        Some(index)
    }

    /// Whether an item has a value in an index.
    pub(super) fn has(&self, index: u64, item: &Live<Bytes>) -> bool {
        let paths = self.paths.lock();
        match (paths.get(&index), bson::read_document(item.body())) {
            (Some(path), Ok(document)) => !value_at(&document, path).is_undefined(),
            _ => true,
        }
    }

    /// The path of an index that is spoken of.
    pub(super) fn path(&self, index: u64) -> Option<Path> {
        self.paths.lock().get(&index).cloned()
    }

    /// All that is asked for, within a range.
    pub(super) fn wanted<'w>(
        &self,
        range: ItemRange,
        has: lapsedb_query::plan::Has<'w>,
    ) -> Wanted<'w> {
        let index_of = |path: &Path| self.index_of(path);
        let filter = self.bound.condition(&index_of);
        let within = self.within(range);
        let keys = self.partition_indexes();
        let mut condition = Condition::All(vec![within.condition, filter]);
        if !matches!(within.range, ItemRange::Everything) {
            mark_partition(&mut condition, &keys);
        }
        let order = self.order(&mut condition);
        Wanted {
            condition,
            within: within.range,
            points: within.points,
            order,
            by_creation: self.bound.is_streaming(),
            cover: self.cover(),
            has,
        }
    }

    /// Whether entries alone can answer; only asked of queries that see everything before their first row.
    fn cover(&self) -> Cover {
        if self.bound.is_streaming() || !self.bound.order().is_empty() {
            return Cover::Items;
        }
        match self.bound.paths_read().as_deref() {
            Some([]) => Cover::Presence,
            Some([path]) => self.index_of(path).map_or(Cover::Items, Cover::Index),
            Some(_) | None => Cover::Items,
        }
    }

    fn partition_indexes(&self) -> Vec<u64> {
        let paths = &self.collection.partition_key.paths;
        paths
            .iter()
            .filter_map(|path| self.index_of(path))
            .collect()
    }

    /// The part of a range that can fulfil the filter.
    fn within(&self, range: ItemRange) -> Within {
        match range {
            ItemRange::Everything => self.by_filter(),
            ItemRange::Partition(partition) => self.by_partition(partition),
            ItemRange::Prefix(_) | ItemRange::Epk(_) | ItemRange::Spans(_) => Within {
                range,
                points: false,
                condition: Condition::Always,
            },
        }
    }

    /// The partitions that the filter fixes, and single items where it fixes their ids too.
    fn by_filter(&self) -> Within {
        let collection = self.collection;
        let levels = collection.partition_key.paths.len();
        let mut paths = collection.partition_key.paths.clone();
        paths.push(id_path());
        let span = |key: &Vec<Value>| {
            let partition = PartitionKey::new(key.iter().take(levels).map(Component::of));
            match key.get(levels) {
                Some(Value::String(id)) => Span::of_item(&ItemKey::new(collection, &partition, id)),
                Some(_) | None => Span::of_partition(collection, &partition),
            }
        };
        let (range, points) = match self.bound.partition_filter(&paths) {
            PartitionFilter::Everything => (ItemRange::Everything, false),
            PartitionFilter::Nothing => (ItemRange::Spans(Vec::new()), true),
            PartitionFilter::Keys(keys) => (
                ItemRange::spans(keys.iter().map(span).collect()),
                keys.iter().all(|key| key.len() > levels),
            ),
        };
        Within {
            range,
            points,
            condition: Condition::Always,
        }
    }

    /// One partition, or those of its items whose ids the filter fixes.
    fn by_partition(&self, partition: PartitionKey) -> Within {
        let collection = self.collection;
        let item = |key: &Vec<Value>| match key.first() {
            Some(Value::String(id)) => {
                Some(Span::of_item(&ItemKey::new(collection, &partition, id)))
            }
            // No id is anything but a text.
            Some(_) | None => None,
        };
        match self.bound.partition_filter(&[id_path()]) {
            PartitionFilter::Everything => {}
            PartitionFilter::Nothing => {
                return Within {
                    range: ItemRange::Spans(Vec::new()),
                    points: true,
                    condition: Condition::Always,
                };
            }
            PartitionFilter::Keys(keys) => {
                return Within {
                    range: ItemRange::spans(keys.iter().filter_map(item).collect()),
                    points: true,
                    condition: Condition::Always,
                };
            }
        }
        Within {
            condition: in_partition(collection, &partition, |path| self.index_of(path)),
            range: ItemRange::Partition(partition.clone()).into_spans(collection),
            points: false,
        }
    }
}

/// The number of the index with an entry for every value at a path, if it may be relied on.
pub(in crate::items) fn index_of(collection: &Collection, path: &Path) -> Option<u64> {
    let system = match path.segments().first() {
        Some(Segment::Member(name)) => SYSTEM_PROPERTIES.contains(&name.as_str()),
        Some(Segment::Elements) | None => true,
    };
    // An index that is being built is not whole until it has entries of the items that were there before.
    let usable = !system && collection.index_is_whole() && collection.index.indexes(path);
    usable.then(|| PathId::of(path).0)
}

/// What being in a partition, or under the first levels of a hierarchical key, says of the entries of an item.
pub(in crate::items) fn in_partition(
    collection: &Collection,
    partition: &PartitionKey,
    index_of: impl Fn(&Path) -> Option<u64>,
) -> Condition {
    let levels = collection.partition_key.paths.iter();
    let seeks = levels
        .zip(partition.components())
        .filter_map(|(path, component)| {
            let value = certain_value(collection, component)?;
            Some(Condition::Seek(Seek {
                index: index_of(path)?,
                bounds: vec![Bounds::Value(encode::value_bytes(&value).to_vec())],
                many: false,
                partition: true,
            }))
        });
    Condition::All(seeks.collect())
}

/// The value that every item of a partition has in the index, if that is certain.
fn certain_value(collection: &Collection, component: &Component) -> Option<Value> {
    match component {
        Component::Undefined => None,
        // Of a Mongo-owned collection one partition holds all integers that round to one double.
        Component::Number(_) | Component::Integer(_) if collection.mongo.is_some() => None,
        // It may stand for an object id.
        Component::String(text) if text.len() == OBJECT_ID_DIGITS => None,
        Component::Null
        | Component::Bool(_)
        | Component::Number(_)
        | Component::Integer(_)
        | Component::String(_) => Some(component.to_value()),
    }
}

/// Says of conditions on the partition key that they are nothing beyond the range.
fn mark_partition(condition: &mut Condition, indexes: &[u64]) {
    match condition {
        Condition::Seek(seek) => {
            seek.partition |= indexes.contains(&seek.index) && seek.is_points()
        }
        Condition::All(inner) => inner
            .iter_mut()
            .for_each(|condition| mark_partition(condition, indexes)),
        Condition::Always | Condition::Never | Condition::Lacks(_) | Condition::Any(_) => {}
    }
}

fn id_path() -> Path {
    Path::new(vec![Segment::Member("id".into())])
}

fn value_at<'d>(document: &'d Object, path: &Path) -> &'d Value {
    let mut segments = path.segments().iter();
    let first = match segments.next() {
        Some(Segment::Member(name)) => document.get(name).unwrap_or(Value::undefined()),
        Some(Segment::Elements) | None => Value::undefined(),
    };
    segments.fold(first, |value, segment| match segment {
        Segment::Member(name) => value.get(name),
        Segment::Elements => Value::undefined(),
    })
}

/// A document that has nothing but a value at a path.
pub(super) fn document_with(path: &Path, value: Value) -> Value {
    path.segments()
        .iter()
        .rev()
        .fold(value, |value, segment| match segment {
            Segment::Member(name) => {
                let mut object = Object::with_capacity(1);
                object.push(name.clone(), value);
                Value::Object(object)
            }
            Segment::Elements => value,
        })
}
