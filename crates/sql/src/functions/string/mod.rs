//! Text.

pub(super) mod build;
pub(super) mod case;
pub(super) mod parse;
pub(super) mod parts;
pub(super) mod regex;
pub(super) mod search;
pub(super) mod string_to_number;
pub(super) mod to_string;
pub(super) mod trim;
