//! `$eq`, `$gt`, `$gte`, `$lt`, `$lte`: comparisons within one class of types.

use std::cmp::Ordering;
use std::sync::Arc;

use lapsedb_value::Value;
use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::order::{bson_class, compare_bson};

use crate::collation::Collation;

/// Which way a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Eq,
    Lt,
    Lte,
    Gt,
    Gte,
}

impl Op {
    fn accepts(self, order: Ordering) -> bool {
        match self {
            Op::Eq => order.is_eq(),
            Op::Lt => order.is_lt(),
            Op::Lte => order.is_le(),
            Op::Gt => order.is_gt(),
            Op::Gte => order.is_ge(),
        }
    }

    fn allows_equal(self) -> bool {
        matches!(self, Op::Eq | Op::Lte | Op::Gte)
    }
}

/// A comparison with a value.
#[derive(Clone, Debug)]
pub(crate) struct Compare {
    pub(crate) op: Op,
    /// What to compare with; folded if there is a collation.
    pub(crate) value: Value,
    pub(crate) collation: Option<Arc<Collation>>,
}

impl Compare {
    pub(crate) fn new(op: Op, value: &Value, collation: Option<&Arc<Collation>>) -> Compare {
        Compare {
            op,
            value: fold(value, collation),
            collation: collation.cloned(),
        }
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        if bson_class(value) != bson_class(&self.value) {
            return matches!(
                (&self.value, self.op),
                (Value::MaxKey, Op::Lt | Op::Lte) | (Value::MinKey, Op::Gt | Op::Gte)
            );
        }
        match (is_nan(value), is_nan(&self.value)) {
            (false, false) => self.op.accepts(self.order(value)),
            (a, b) => a && b && self.op.allows_equal(),
        }
    }

    fn order(&self, value: &Value) -> Ordering {
        match &self.collation {
            Some(collation) if Collation::matters(value) => {
                compare_bson(&collation.fold(value), &self.value)
            }
            Some(_) | None => compare_bson(value, &self.value),
        }
    }
}

/// The value as it is compared: text in the form its collation gives it.
pub(crate) fn fold(value: &Value, collation: Option<&Arc<Collation>>) -> Value {
    match collation {
        Some(collation) => collation.fold(value),
        None => value.clone(),
    }
}

/// NaN equals itself and is neither below nor above anything.
fn is_nan(value: &Value) -> bool {
    match value {
        Value::Double(n) => n.is_nan(),
        Value::Decimal128(bytes) => Decimal128::from_bytes(bytes).is_nan(),
        _ => false,
    }
}
