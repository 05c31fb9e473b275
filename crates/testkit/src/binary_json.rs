//! Cosmos binary JSON as clients read it: a reader of its own, so that what the server writes is judged by another.

use serde_json::{Map, Value};

/// The strings that markers 0x20 and up stand for.
const SYSTEM_STRINGS: &str = "$s $t $v _attachments _etag _rid _self _ts attachments/ coordinates geometry GeometryCollection id url Value label LineString link MultiLineString MultiPoint MultiPolygon name Name Type Point Polygon properties type value Feature FeatureCollection _id";

/// Whether a body is in binary JSON.
#[must_use]
pub(crate) fn is_binary(body: &[u8]) -> bool {
    body.first() == Some(&0x80)
}

/// The value of a body; none if it is not whole, has a form that the server has no need of, or is not the shortest for a number.
#[must_use]
pub(crate) fn read(body: &[u8]) -> Option<Value> {
    let mut rest = body.strip_prefix(&[0x80])?;
    let value = value(&mut rest)?;
    rest.is_empty().then_some(value)
}

fn take<'b>(rest: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    take(rest, 1)?.first().copied()
}

/// A signed number of so many bytes, the least significant first.
fn signed(rest: &mut &[u8], width: usize) -> Option<i64> {
    let bytes = take(rest, width)?;
    let sign = if bytes.last()? & 0x80 == 0 { 0 } else { 0xFF };
    let mut wide = [sign; 8];
    wide.get_mut(..width)?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(wide))
}

/// A length of 1, 2 or 4 bytes.
fn length(rest: &mut &[u8], step: u8) -> Option<usize> {
    let bytes = take(rest, 1 << step)?;
    let length = bytes
        .iter()
        .rev()
        .fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    usize::try_from(length).ok()
}

fn value(rest: &mut &[u8]) -> Option<Value> {
    let marker = byte(rest)?;
    Some(match marker {
        0x00..0x20 => Value::from(marker),
        0xC8 => Value::from(byte(rest).filter(|n| *n >= 0x20)?),
        0xC9 => Value::from(signed(rest, 2).filter(|n| u8::try_from(*n).is_err())?),
        0xCA => Value::from(signed(rest, 4).filter(|n| i16::try_from(*n).is_err())?),
        0xCB => Value::from(signed(rest, 8).filter(|n| i32::try_from(*n).is_err())?),
        0xCC => Value::from(f64::from_le_bytes(take(rest, 8)?.try_into().ok()?)),
        0xD0 => Value::Null,
        0xD1 | 0xD2 => Value::Bool(marker == 0xD2),
        0xE0..=0xE7 => {
            let mut elements = Vec::new();
            entries(rest, marker & 7, |rest| {
                elements.push(value(rest)?);
                Some(())
            })?;
            Value::Array(elements)
        }
        0xE8..=0xEF => {
            let mut members = Map::new();
            entries(rest, marker & 7, |rest| {
                let marker = byte(rest)?;
                let name = string(rest, marker)?;
                let twice = members.insert(name, value(rest)?);
                twice.is_none().then_some(())
            })?;
            Value::Object(members)
        }
        _ => Value::String(string(rest, marker)?),
    })
}

fn string(rest: &mut &[u8], marker: u8) -> Option<String> {
    let bytes = match marker {
        0x20..0x40 => {
            let mut all = SYSTEM_STRINGS.split(' ');
            return all.nth(usize::from(marker - 0x20)).map(str::to_owned);
        }
        0x80..0xC0 => take(rest, usize::from(marker - 0x80))?,
        0xC0..=0xC2 => {
            let length = length(rest, marker - 0xC0)?;
            take(rest, length)?
        }
        _ => return None,
    };
    let text = std::str::from_utf8(bytes).ok()?;
    Some(text.to_owned())
}

/// The entries of a container: none, one, those in a length, or those in a length that are counted.
fn entries(
    rest: &mut &[u8],
    form: u8,
    mut entry: impl FnMut(&mut &[u8]) -> Option<()>,
) -> Option<()> {
    if form < 2 {
        return (0..form).try_for_each(|_| entry(rest));
    }
    let step = (form - 2) % 3;
    let bytes = length(rest, step)?;
    let announced = if form < 5 {
        None
    } else {
        Some(length(rest, step)?)
    };
    let mut inner = take(rest, bytes)?;
    let mut count = 0;
    while !inner.is_empty() {
        entry(&mut inner)?;
        count += 1;
    }
    announced
        .is_none_or(|announced| announced == count)
        .then_some(())
}
