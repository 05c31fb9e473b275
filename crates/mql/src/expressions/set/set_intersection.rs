//! `$setIntersection`: what is in all of the arrays, each once.
//!
//! Of members that are equal but not the same, such as 1 and 1.0, those of the smaller set are shown, as MongoDB does.

use super::*;

pub(crate) const FORM: Form = Form::Charged(Count::Any, run);

fn run(args: &Args<'_>, budget: &Budget) -> Result<Value> {
    let mut common: Option<BTreeSet<Ordered<'_>>> = None;
    for value in args {
        match &**value {
            Value::Array(elements) => {
                let set = counted_set(elements, budget)?;
                common = Some(match common {
                    None => set,
                    Some(common) if common.len() > set.len() => both(&set, &common),
                    Some(common) => both(&common, &set),
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

/// The members of the first set that are in the second.
fn both<'a>(shown: &BTreeSet<Ordered<'a>>, other: &BTreeSet<Ordered<'a>>) -> BTreeSet<Ordered<'a>> {
    let members = shown.iter().filter(|member| other.contains(member));
    members.copied().collect()
}
