//! `$stdDevSamp`: the standard deviation of a sample.

use super::*;

pub(crate) fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Gather> {
    unary(operator, spec, names, || Box::new(new()))
}

/// An accumulator without values.
pub(crate) fn new() -> std_dev_pop::Deviation {
    std_dev_pop::Deviation::new(1)
}
