//! Mathematics.

pub(super) mod abs;
pub(super) mod acos;
pub(super) mod asin;
pub(super) mod atan;
pub(super) mod atn2;
pub(super) mod ceiling;
pub(super) mod cos;
pub(super) mod cot;
pub(super) mod degrees;
pub(super) mod exp;
pub(super) mod floor;
pub(super) mod log;
pub(super) mod log10;
pub(super) mod number_bin;
pub(super) mod pi;
pub(super) mod power;
pub(super) mod radians;
pub(super) mod rand;
pub(super) mod round;
pub(super) mod sign;
pub(super) mod sin;
pub(super) mod sqrt;
pub(super) mod square;
pub(super) mod tan;
pub(super) mod trunc;
