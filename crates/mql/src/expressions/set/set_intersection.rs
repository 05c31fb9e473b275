//! `$setIntersection`: what is in all of the arrays, each once.

use super::*;

pub(crate) const FORM: Form = Form::Any(run);

fn run(args: &Args<'_>) -> Result<Value> {
    let mut common: Option<BTreeSet<Ordered<'_>>> = None;
    for value in args {
        match &**value {
            Value::Array(elements) => {
                let set = set_of(elements);
                common = Some(match common {
                    None => set,
                    Some(common) => common.intersection(&set).copied().collect(),
                });
            }
            other if is_nullish(other) => return Ok(Value::Null),
            other => {
                return Err(MqlError::new(
                    17047,
                    format!(
                        "All operands of $setIntersection must be arrays. One argument is of type: {}",
                        type_name(other)
                    ),
                ));
            }
        }
    }
    Ok(to_array(common.unwrap_or_default()))
}
