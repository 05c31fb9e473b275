//! Questions about the type of a value.

pub(super) mod is_array;
pub(super) mod is_bool;
pub(super) mod is_defined;
pub(super) mod is_finite_number;
pub(super) mod is_integer;
pub(super) mod is_null;
pub(super) mod is_number;
pub(super) mod is_object;
pub(super) mod is_primitive;
pub(super) mod is_string;
