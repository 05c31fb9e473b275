//! Comparisons over all types, by the order of BSON.

use lapsedb_value::Value;

use super::form::{Args, Form};
use super::values::compare;
use crate::Result;

pub(crate) mod cmp;
pub(crate) mod eq;
pub(crate) mod gt;
pub(crate) mod gte;
pub(crate) mod lt;
pub(crate) mod lte;
pub(crate) mod ne;
