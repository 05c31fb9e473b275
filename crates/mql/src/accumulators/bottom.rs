//! `$bottom`: a value of the last document by an order.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    top_n::ordered(operator, spec, names, true, false)
}
