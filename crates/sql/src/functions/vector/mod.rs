//! Vectors.

pub(super) mod vector_distance;
