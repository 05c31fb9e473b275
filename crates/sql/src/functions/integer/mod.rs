//! Arithmetic and bits of 64-bit integers.

pub(super) mod int_add;
pub(super) mod int_bit_and;
pub(super) mod int_bit_left_shift;
pub(super) mod int_bit_not;
pub(super) mod int_bit_or;
pub(super) mod int_bit_right_shift;
pub(super) mod int_bit_xor;
pub(super) mod int_div;
pub(super) mod int_mod;
pub(super) mod int_mul;
pub(super) mod int_sub;
