//! `$setUnion`: what is in any of the arrays, each once.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    let mut union = BTreeSet::new();
    for value in args {
        match &**value {
            Value::Array(elements) => union.extend(elements.iter().map(Ordered)),
            other if is_nullish(other) => return Ok(Value::Null),
            other => {
                return Err(MqlError::new(
                    17043,
                    format!(
                        "All operands of $setUnion must be arrays. One argument is of type: {}",
                        type_name(other)
                    ),
                ));
            }
        }
    }
    Ok(to_array(union))
}
