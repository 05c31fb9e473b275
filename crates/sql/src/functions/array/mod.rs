//! Arrays, sets and objects.

pub(super) mod array_concat;
pub(super) mod array_contains;
pub(super) mod array_contains_all;
pub(super) mod array_contains_any;
pub(super) mod array_length;
pub(super) mod array_slice;
pub(super) mod choose;
pub(super) mod object_to_array;
pub(super) mod reduce;
pub(super) mod set_difference;
pub(super) mod set_equal;
pub(super) mod set_intersect;
pub(super) mod set_union;
