//! Mathematics. What has no finite result is a number all the same: it can be compared and asked for, but no row shows it.

pub(super) mod powers;
pub(super) mod random;
pub(super) mod rounding;
pub(super) mod trigonometry;
