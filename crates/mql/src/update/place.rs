//! Members of objects and elements of arrays, as an update names them.

use lapsedb_value::Value;

/// Where a member that is not there would go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Member,
    Element(usize),
    Blocked,
}

/// Where the member would go.
pub(super) fn place(holder: &Value, name: &str) -> Place {
    match holder {
        Value::Object(_) => Place::Member,
        Value::Array(_) => index(name).map_or(Place::Blocked, Place::Element),
        _ => Place::Blocked,
    }
}

/// Updates take any digits as a position, leading zeros too.
fn index(name: &str) -> Option<usize> {
    match name.bytes().all(|byte| byte.is_ascii_digit()) {
        true => name.parse().ok(),
        false => None,
    }
}

/// The member, if it is there.
pub(super) fn member<'v>(holder: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    match holder {
        Value::Object(object) => object.get_mut(name),
        Value::Array(elements) => elements.get_mut(index(name)?),
        _ => None,
    }
}
