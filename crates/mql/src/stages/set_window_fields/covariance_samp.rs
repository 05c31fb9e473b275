//! `$covarianceSamp`: how two values vary together, in a sample.

use super::*;

pub(super) fn parse(spec: Spec<'_>) -> Result<Arc<dyn Function>> {
    covariance_pop::parse_with(spec, 1)
}
