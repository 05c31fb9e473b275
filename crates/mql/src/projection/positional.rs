//! `a.$`: the element that the filter found.

use lapsedb_value::{Object, Str, Value};

use crate::{MqlError, Result};

/// Reduces the first array along the path to the element at the position.
pub(super) fn apply(
    path: &[Str],
    before: &Object,
    shown: &mut Object,
    position: Option<usize>,
) -> Result<()> {
    let [name, rest @ ..] = path else {
        return Ok(());
    };
    match (before.get(name), shown.get_mut(name)) {
        (Some(Value::Object(before)), Some(Value::Object(shown))) => {
            apply(rest, before, shown, position)
        }
        (Some(Value::Array(before)), Some(Value::Array(shown))) => {
            let position = position.ok_or_else(|| {
                MqlError::new(
                    51246,
                    "Executor error during find command :: caused by :: positional operator '.$' couldn't find a matching \
                     element in the array",
                )
            })?;
            let element = survivor(before, shown, position).cloned();
            *shown = vec![element.ok_or_else(|| {
                MqlError::new(
                    51247,
                    "Executor error during find command :: caused by :: positional operator '.$' element mismatch",
                )
            })?];
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The element that was at the position before elements without members were left out.
fn survivor<'s>(before: &[Value], shown: &'s [Value], position: usize) -> Option<&'s Value> {
    let stays = |element: &Value| matches!(element, Value::Object(_) | Value::Array(_));
    let at = match before.len() == shown.len() {
        true => position,
        false => {
            before.get(position).filter(|element| stays(element))?;
            before
                .iter()
                .take(position)
                .filter(|element| stays(element))
                .count()
        }
    };
    shown.get(at)
}
