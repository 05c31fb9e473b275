//! Vectors.

pub(super) mod distance;
pub(super) mod options;
