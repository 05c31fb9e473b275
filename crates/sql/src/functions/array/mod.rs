//! Arrays, sets and objects.

pub(super) mod array_avg;
pub(super) mod array_max;
pub(super) mod array_median;
pub(super) mod array_min;
pub(super) mod array_sum;
pub(super) mod contains;
pub(super) mod elements;
pub(super) mod sets;
