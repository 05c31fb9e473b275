//! Events that are too large for one document, told in parts.

use lapsedb_store::EventPlace;
use lapsedb_value::{Object, Value};

use crate::changes::{FATAL, not_resumable, token};
use crate::cursors::encoded;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::ID;

/// The stage that asks for parts.
const STAGE: &str = "$changeStreamSplitLargeEvent";
/// Code of a stage that has options.
const HAS_OPTIONS: i32 = 7_182_800;
/// Code of a stage that others follow.
const NOT_LAST: i32 = 7_182_802;
/// Bytes of an event that is told in one piece: those of a document, and room for what stands around it.
pub(crate) const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024 + 16 * 1024;

/// The stages without the one that asks for parts, if it is there.
///
/// # Errors
/// When it stands where it may not, or has options.
pub(crate) fn take(pipeline: &[Value]) -> Result<Option<&[Value]>> {
    let named = |stage: &Value, name: &str| {
        let stage = stage.as_object();
        stage.is_some_and(|stage| stage.contains_key(name))
    };
    let Some(at) = pipeline.iter().position(|stage| named(stage, STAGE)) else {
        return Ok(None);
    };
    let options = pipeline.get(at).map(|stage| stage.get(STAGE));
    let empty = options
        .and_then(Value::as_object)
        .is_some_and(Object::is_empty);
    if !empty {
        let message = format!("{STAGE} spec should be an empty object");
        return Err(Fault::new(HAS_OPTIONS, message));
    }
    if !pipeline
        .first()
        .is_some_and(|first| named(first, "$changeStream"))
    {
        let message = format!("{STAGE} can only be used in a $changeStream pipeline");
        return Err(Fault::new(code::ILLEGAL_OPERATION, message));
    }
    match pipeline.split_last() {
        Some((_, rest)) if rest.len() == at => Ok(Some(rest)),
        Some(_) | None => {
            let message = format!("{STAGE} must be the last stage in the pipeline");
            Err(Fault::new(NOT_LAST, message))
        }
    }
}

/// An event in parts of at most so many bytes, the smallest members first, each part with a token of its own; none, if it
/// fits as it is.
///
/// # Errors
/// When a single member is too large.
pub(crate) fn parts(event: &Object, place: EventPlace, bytes_max: usize) -> Result<Vec<Object>> {
    if encoded(event).len() <= bytes_max {
        return Ok(Vec::new());
    }
    let alone = |name: &str, value: &Value| {
        let mut object = Object::with_capacity(1);
        object.push(name, value.clone());
        encoded(&object).len()
    };
    let members = event.iter().filter(|(name, _)| name.as_str() != ID);
    let mut members: Vec<_> = members
        .map(|(name, value)| (alone(name, value), name, value))
        .collect();
    members.sort_by_key(|(bytes, name, _)| (*bytes, name.to_string()));
    let around = encoded(&part(place, 1, 1)).len();
    let mut groups: Vec<Vec<(&str, &Value)>> = Vec::new();
    let mut room = 0;
    for (bytes, name, value) in members {
        if around + bytes > bytes_max {
            return Err(too_large(around + bytes));
        }
        match groups.last_mut() {
            Some(group) if bytes <= room => group.push((name, value)),
            Some(_) | None => {
                groups.push(vec![(name, value)]);
                room = bytes_max - around;
            }
        }
        room -= bytes;
    }
    let of = groups.len();
    let whole = |(at, group): (usize, Vec<(&str, &Value)>)| {
        let mut one = part(place, at + 1, of);
        for (name, value) in group {
            one.push(name, value.clone());
        }
        one
    };
    Ok(groups.into_iter().enumerate().map(whole).collect())
}

fn part(place: EventPlace, number: usize, of: usize) -> Object {
    let small = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let mut split = Object::with_capacity(2);
    split.push("fragment", small(number));
    split.push("of", small(of));
    let number = u16::try_from(number).unwrap_or(u16::MAX);
    let mut part = Object::with_capacity(8);
    part.push(ID, Value::Object(token::write_part(place, number)));
    part.push("splitEvent", Value::Object(split));
    part
}

/// The answer to an event that fits into no document.
pub(crate) fn too_large(bytes: usize) -> Fault {
    Fault::new(
        code::BSON_OBJECT_TOO_LARGE,
        format!(
            "BSONObj size: {bytes} ({bytes:#X}) is invalid. Size must be between 0 and {EVENT_BYTES_MAX}(16MB)"
        ),
    )
}

/// The answer to who wants to go on behind a part that there is not.
pub(crate) fn no_such_part() -> Fault {
    not_resumable(
        FATAL,
        "The resume token is of a part of a split event, and this stream does not split the event so",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const PLACE: EventPlace = EventPlace { lsn: 7, index: 1 };

    fn event(sizes: &[(&str, usize)]) -> Object {
        let mut event = Object::new();
        event.push(ID, Value::Object(token::write(PLACE, false)));
        for (name, size) in sizes {
            event.push(*name, "x".repeat(*size));
        }
        event
    }

    #[test]
    fn parts_hold_all_members_once_and_are_small_enough() {
        let event = event(&[("a", 300), ("b", 5), ("c", 290), ("d", 40)]);
        let parts = parts(&event, PLACE, 500).unwrap();
        let mut names = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            assert!(encoded(part).len() <= 500);
            let split = part.get("splitEvent").unwrap();
            assert_eq!(split.get("fragment").as_i64(), Some(at as i64 + 1));
            assert_eq!(split.get("of").as_i64(), Some(parts.len() as i64));
            names.extend(part.keys().skip(2).map(ToString::to_string));
        }
        assert_eq!(parts.len(), 2);
        assert_eq!(names, ["b", "d", "c", "a"]);
    }

    #[test]
    fn what_fits_stays_whole_and_what_never_fits_is_refused() {
        assert!(parts(&event(&[("a", 100)]), PLACE, 500).unwrap().is_empty());
        let refused = parts(&event(&[("a", 600)]), PLACE, 500).unwrap_err();
        assert_eq!(refused.code(), Some(code::BSON_OBJECT_TOO_LARGE));
    }

    #[test]
    fn the_stage_stands_at_the_end_of_a_stream() {
        let stage = |name: &str| {
            let mut stage = Object::new();
            stage.push(name, Value::Object(Object::new()));
            Value::Object(stage)
        };
        let (stream, split) = (stage("$changeStream"), stage(STAGE));
        let all = [stream.clone(), split.clone()];
        assert_eq!(take(&all).unwrap().map(<[Value]>::len), Some(1));
        assert!(take(&all[..1]).unwrap().is_none());
        let code = |pipeline: &[Value]| take(pipeline).unwrap_err().code().unwrap();
        assert_eq!(code(&all[1..]), code::ILLEGAL_OPERATION);
        assert_eq!(code(&[stream.clone(), split.clone(), split]), NOT_LAST);
        let mut wrong = Object::new();
        wrong.push(STAGE, 1);
        assert_eq!(code(&[stream, Value::Object(wrong)]), HAS_OPTIONS);
    }
}
