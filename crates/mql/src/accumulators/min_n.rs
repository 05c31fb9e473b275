//! `$minN`: the least values that are not null, the least first.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    counted(operator, spec, names, |n| {
        Box::new(max_n::Best::new(n, false))
    })
}
