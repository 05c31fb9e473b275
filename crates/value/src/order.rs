//! Orders and equality of values.

use std::cmp::Ordering;
use std::hash::Hasher;

use crate::Value;

/// The total order of SQL.
pub fn compare_sql(a: &Value, b: &Value) -> Ordering {
    let _ = (a, b);
    Ordering::Equal
}

/// Whether two values are the same document: `1` equals `1.0`, objects are maps.
pub fn deep_equal(a: &Value, b: &Value) -> bool {
    let _ = (a, b);
    false
}

/// Feeds the value to a hasher so that equal values hash alike.
pub fn hash_into<H: Hasher + ?Sized>(value: &Value, state: &mut H) {
    let _ = (value, state);
}
