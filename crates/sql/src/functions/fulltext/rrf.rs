//! `RRF`: ranks fused by their reciprocals; only in ORDER BY RANK.

use lapsedb_value::Value;

use crate::functions::args::Args;

/// Never evaluated: the binder refuses it outside `ORDER BY RANK`.
pub(crate) fn call(_: &Args<'_>) -> Option<Value> {
    None
}
