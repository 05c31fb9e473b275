//! `$near`, `$geoWithin` and `$geoIntersects`: the entries of an index over places that name what may lie there.

use lapsedb_mql::filter::geo::{Grid, Place};
use lapsedb_store::Collection;
use lapsedb_store::index::bson_key::{Part, prefix};
use lapsedb_store::index::named::{IndexPart, NamedIndex, PartKind};
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::language::Filter;
use crate::documents::plan::Hint;
use crate::documents::search::choose::Stretch;
use crate::documents::search::text::{follows, unusable};
use crate::documents::search::{PLANE_MAX, PLANE_MIN};

/// What an index divides into cells.
pub(super) fn grid(options: &Object) -> Grid {
    if options.contains_key("2dsphereIndexVersion") {
        return Grid::SPHERE;
    }
    let edge =
        |name: &str, default: f64| options.get(name).and_then(Value::as_f64).unwrap_or(default);
    Grid::plane(edge("min", PLANE_MIN), edge("max", PLANE_MAX))
}

/// The kind of places that a field of an index holds.
fn kind(part: &IndexPart) -> Option<&str> {
    match &part.kind {
        PartKind::Other(kind) => kind
            .as_str()
            .filter(|kind| ["2d", "2dsphere"].contains(kind)),
        PartKind::Ascending | PartKind::Descending | PartKind::Hashed => None,
    }
}

/// The indexes over places that can be asked.
fn indexes(collection: &Collection) -> impl Iterator<Item = &NamedIndex> {
    let all = collection.indexes.all().iter();
    all.filter(|index| index.is_searchable() && index.parts.iter().any(|part| kind(part).is_some()))
}

/// The field that `$geoNear` means if it names none: that of the only index.
///
/// # Errors
/// When there is none, or more than one of a kind.
pub(crate) fn near_field(collection: Option<&Collection>) -> Result<String> {
    for wanted in ["2d", "2dsphere"] {
        let fields = collection.into_iter().flat_map(indexes).flat_map(|index| {
            let own = index.parts.iter().filter(|part| kind(part) == Some(wanted));
            own.map(|part| part.path.to_string())
        });
        match fields.collect::<Vec<_>>().as_slice() {
            [] => {}
            [only] => return Ok(only.clone()),
            _ => {
                return Err(Fault::new(
                    code::INDEX_NOT_FOUND,
                    format!(
                        "There is more than one {wanted} index; unsure which to use for $geoNear"
                    ),
                ));
            }
        }
    }
    Err(Fault::new(
        code::INDEX_NOT_FOUND,
        "$geoNear requires a 2d or 2dsphere index, but none were found",
    ))
}

/// The index that `$near` needs, and the stretches of it to read.
///
/// # Errors
/// When there is no such index, or the client wants another one.
pub(super) fn near<'a>(
    collection: &'a Collection,
    filter: &Filter,
    hint: &Hint,
) -> Result<Option<(&'a NamedIndex, Vec<Stretch>)>> {
    let Some((path, near)) = filter.near() else {
        return Ok(None);
    };
    let fits = |part: &IndexPart| {
        let serves = match kind(part) {
            Some("2d") => near.on_plane(),
            Some(_) => near.on_sphere(),
            None => false,
        };
        serves && part.path == path.text()
    };
    let hinted = |index: &&NamedIndex| match hint {
        Hint::None => true,
        Hint::Name(name) => index.name == *name,
        Hint::Key(key) => lapsedb_value::order::equal_bson(
            &Value::Object(index.pattern()),
            &Value::Object(key.clone()),
        ),
    };
    let index = indexes(collection)
        .filter(hinted)
        .find(|index| index.parts.iter().any(fits) && holds_all(index, filter));
    let index = index.ok_or_else(|| unusable("unable to find index for $geoNear query"))?;
    if index.parts.iter().any(|part| kind(part) == Some("2d")) {
        near.check_inside(&grid(&index.options))?;
    }
    let place = filter
        .places()
        .into_iter()
        .find(|place| place.path() == path.text());
    Ok(Some((index, stretches(index, filter, place.as_ref()))))
}

/// An index over places that says which documents may fulfil a filter, and the stretches of it to read.
pub(super) fn within<'a>(
    collection: &'a Collection,
    filter: &Filter,
) -> Option<(&'a NamedIndex, Vec<Stretch>)> {
    let places = filter.places();
    if places.is_empty() {
        return None;
    }
    let mut usable = indexes(collection).filter(|index| holds_all(index, filter));
    usable.find_map(|index| {
        let serves = |place: &&Place<'_>| {
            let part = index.parts.iter().find(|part| part.path == place.path());
            let kind = part.and_then(kind);
            let ranges = |kind| place.ranges(&grid(&index.options), kind == "2dsphere");
            kind.and_then(ranges).is_some()
        };
        let place = places.iter().find(serves)?;
        Some((index, stretches(index, filter, Some(place))))
    })
}

/// Whether an index holds every document with a place that a filter may find.
fn holds_all(index: &NamedIndex, filter: &Filter) -> bool {
    let partial = index.filter.as_ref();
    partial.is_none_or(|partial| follows(&partial.expression, filter).unwrap_or(false))
}

/// The stretches of an index in which the documents lie that a filter may find: behind fields that equal something, by cells.
fn stretches(index: &NamedIndex, filter: &Filter, place: Option<&Place<'_>>) -> Vec<Stretch> {
    let mut stem = Vec::new();
    for part in &index.parts {
        let descending = matches!(part.kind, PartKind::Descending);
        if let Some(kind) = kind(part) {
            let place = place.filter(|place| place.path() == part.path);
            let ranges =
                place.and_then(|place| place.ranges(&grid(&index.options), kind == "2dsphere"));
            let Some(ranges) = ranges else { break };
            let bound = |cell: i64| {
                [
                    stem.as_slice(),
                    &prefix(Part::Value(&Value::Int64(cell)), false),
                ]
                .concat()
            };
            return ranges
                .iter()
                .map(|(low, high)| (bound(*low), bound(*high)))
                .collect();
        }
        match filter.equal_to(&part.path) {
            Some(Value::Array(_) | Value::Null) | None => break,
            Some(value) => stem.extend(prefix(Part::Value(value), descending)),
        }
    }
    vec![(stem.clone(), stem)]
}
