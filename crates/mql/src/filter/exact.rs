//! Whether the bounds of a filter say all that it asks, so that entries within them need no second look.

use lapsedb_value::Value;
use lapsedb_value::order::bson_class;

use super::Filter;
use super::node::Node;
use super::operators::Test;
use super::operators::compare::{Compare, Op};

impl Filter {
    /// The paths it speaks of, if its bounds on them are exactly what it asks of documents without arrays.
    pub fn exact_paths(&self) -> Option<Vec<&str>> {
        let parts = match &self.root {
            Node::And(parts) => parts.as_slice(),
            only => std::slice::from_ref(only),
        };
        parts
            .iter()
            .map(|part| match part {
                Node::Field { path, test } if is_exact(test) => Some(path.text()),
                _ => None,
            })
            .collect()
    }
}

/// Whether the intervals of a test hold exactly the values that pass it, missing ones apart.
pub(super) fn is_exact(test: &Test) -> bool {
    match test {
        Test::Compare(compare) => is_exact_comparison(compare),
        Test::In(list) => list.patterns.is_empty() && list.values.iter().all(is_plain),
        _ => false,
    }
}

fn is_exact_comparison(compare: &Compare) -> bool {
    let number = bson_class(&compare.value) == bson_class(&Value::Int32(0));
    let nan = compare.value.as_f64().is_some_and(f64::is_nan);
    match compare.op {
        Op::Eq => is_plain(&compare.value),
        // NaN lies below every number and is less than none.
        Op::Lt | Op::Lte => is_plain(&compare.value) && !number,
        Op::Gt | Op::Gte => is_plain(&compare.value) && !nan,
    }
}

fn is_plain(value: &Value) -> bool {
    !matches!(
        value,
        Value::Null | Value::Undefined | Value::Array(_) | Value::MinKey | Value::MaxKey
    )
}
