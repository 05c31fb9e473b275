//! The keys of a document: one value per path, once for every element of the array that the paths lead through.

use lapsedb_value::{Object, Str, Value};

use crate::show::show_value;
use crate::{MqlError, Result};

/// The value of an empty array at the end of a path; it comes before null.
static NOTHING: Value = Value::Undefined;

/// The value of what is missing.
static MISSING: Value = Value::Null;

/// One path on its way into a document.
#[derive(Clone, Copy)]
struct Slot<'v> {
    /// The names that are left; none once the value is known, or is an array's element.
    rest: &'v [Str],
    value: &'v Value,
}

/// The element of an array that a path names by its position, followed to its value or to the next array.
#[derive(Clone, Copy)]
struct Positioned<'v> {
    element: &'v Value,
    /// The array that the element is in, for the message.
    array: &'v Value,
    found: Option<(&'v Value, &'v [Str])>,
}

/// All keys of a document; two arrays side by side are refused.
pub(crate) fn keys<'v>(paths: &[&'v [Str]], document: &'v Object) -> Result<Vec<Vec<&'v Value>>> {
    let slots = paths.iter().map(|rest| Slot {
        rest,
        value: &MISSING,
    });
    let mut keys = Vec::new();
    let positioned = vec![None; paths.len()];
    collect(slots.collect(), Some(document), &positioned, &mut keys)?;
    Ok(keys)
}

fn collect<'v>(
    mut slots: Vec<Slot<'v>>,
    holder: Option<&'v Object>,
    positioned: &[Option<Positioned<'v>>],
    keys: &mut Vec<Vec<&'v Value>>,
) -> Result<()> {
    let mut array: Option<&'v Value> = None;
    let mut through = vec![false; slots.len()];
    let mut expands = true;
    for (at, slot) in slots.iter_mut().enumerate() {
        if slot.rest.is_empty() {
            continue;
        }
        let own = positioned.get(at).copied().flatten();
        let (found, nested) = next(holder, own, slot.rest)?;
        match found {
            Some((value @ Value::Array(_), rest)) => {
                if array.is_some_and(|other| !std::ptr::eq(other, value)) {
                    return Err(MqlError::bad_value(
                        "cannot sort with keys that are parallel arrays",
                    ));
                }
                array = Some(value);
                slot.rest = rest;
                if let Some(through) = through.get_mut(at) {
                    *through = true;
                }
            }
            Some((value, _)) => *slot = Slot { rest: &[], value },
            None => {
                *slot = Slot {
                    rest: &[],
                    value: &MISSING,
                };
            }
        }
        expands &= !nested;
    }
    match array {
        None => {
            keys.push(slots.iter().map(|slot| slot.value).collect());
            Ok(())
        }
        Some(array) => elements(slots, array, &through, expands, keys),
    }
}

/// A key for each element of the array.
fn elements<'v>(
    slots: Vec<Slot<'v>>,
    array: &'v Value,
    through: &[bool],
    expands: bool,
    keys: &mut Vec<Vec<&'v Value>>,
) -> Result<()> {
    let elements = array.as_array().unwrap_or_default();
    let with = |value: &'v Value| {
        let slots = slots
            .iter()
            .zip(through)
            .map(|(slot, through)| match slot.rest {
                [] if *through => Slot { rest: &[], value },
                _ => *slot,
            });
        slots.collect::<Vec<_>>()
    };
    if elements.is_empty() {
        let none = vec![None; slots.len()];
        return collect(with(&NOTHING), None, &none, keys);
    }
    let positioned: Vec<Option<Positioned<'v>>> = slots
        .iter()
        .map(|slot| position(array, elements, slot.rest))
        .collect();
    for element in elements {
        let value = if expands { element } else { array };
        collect(with(value), element.as_object(), &positioned, keys)?;
    }
    Ok(())
}

/// A value, or the array in its way, and the names that are left.
type Reached<'v> = Option<(&'v Value, &'v [Str])>;

/// The next value of a path: a member of the object, or what the path names by position in the array around it. Also says
/// whether that is an array right inside an array.
fn next<'v>(
    holder: Option<&'v Object>,
    positioned: Option<Positioned<'v>>,
    path: &'v [Str],
) -> Result<(Reached<'v>, bool)> {
    let [name, rest @ ..] = path else {
        return Ok((None, false));
    };
    let member = holder.and_then(|holder| holder.get(name));
    match (member, positioned) {
        (Some(_), Some(positioned)) => Err(MqlError::new(
            16746,
            format!(
                "Ambiguous field name found in array (do not use numeric field names in embedded elements in an array), \
                 field: '{name}' for array: {}",
                show_value(positioned.array)
            ),
        )),
        (Some(member), None) => Ok((follow(member, rest), false)),
        (None, Some(positioned)) => {
            let nested = matches!(positioned.element, Value::Array(_));
            Ok((positioned.found, nested))
        }
        (None, None) => Ok((None, false)),
    }
}

/// Goes through objects to the end of the path, or to the first array.
fn follow<'v>(mut value: &'v Value, mut rest: &'v [Str]) -> Reached<'v> {
    while let [name, after @ ..] = rest {
        match value {
            Value::Object(object) => value = object.get(name)?,
            Value::Array(_) => return Some((value, rest)),
            _ => return None,
        }
        rest = after;
    }
    Some((value, rest))
}

fn position<'v>(
    array: &'v Value,
    elements: &'v [Value],
    path: &'v [Str],
) -> Option<Positioned<'v>> {
    let [name, rest @ ..] = path else {
        return None;
    };
    let element = elements.get(crate::filter::path::position(name)?)?;
    Some(Positioned {
        element,
        array,
        found: follow(element, rest),
    })
}
