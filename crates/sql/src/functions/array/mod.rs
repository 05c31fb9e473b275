//! Arrays, sets and objects.

pub(super) mod contains;
pub(super) mod elements;
pub(super) mod reduce;
pub(super) mod sets;
