//! `$median`: the value in the middle, which is the 50th percentile.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    percentile::parse_accumulator(operator, spec, names)
}
