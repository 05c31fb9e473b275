//! `$setUnion`: what is in any of the arrays, each once.

use super::*;

pub(crate) const FORM: Form = Form::Charged(Count::Any, run);

fn run(args: &Args<'_>, budget: &Budget) -> Result<Value> {
    let mut union = BTreeSet::new();
    for value in args {
        match &**value {
            Value::Array(elements) => {
                for element in elements {
                    budget.step()?;
                    if !union.contains(&Ordered(element)) {
                        budget.charge(NODE_BYTES + owned_bytes(element))?;
                        union.insert(Ordered(element));
                    }
                }
            }
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
