//! Choices.

pub(super) mod iif;
