//! `$mergeObjects`: one object of the members of all; later ones win.

use super::*;

pub(crate) const FORM: Form = Form::Charged(Count::Any, run);

fn run(args: &Args<'_>, budget: &Budget) -> Result<Value> {
    let mut merged = Members::new();
    for value in args {
        let replaced = merge(&mut merged, value, |bytes| Ok(budget.charge(bytes)?))?;
        budget.set_scratch(budget.scratch().saturating_sub(replaced));
    }
    Ok(Value::Object(merged.into_object()))
}

/// Adds the members of an object; null and missing add nothing. Each member is charged before it is copied. Says how many bytes
/// of other members were replaced.
pub(crate) fn merge(
    merged: &mut Members,
    value: &Value,
    mut charge: impl FnMut(usize) -> Result<()>,
) -> Result<usize> {
    match value {
        Value::Object(object) => {
            let mut replaced = 0;
            for (name, member) in object {
                let own = MEMBER_BYTES + name.len();
                charge(own + owned_bytes(member))?;
                if let Some(old) = merged.insert(name, member.clone()) {
                    replaced += own + owned_bytes(&old);
                }
            }
            Ok(replaced)
        }
        other if is_nullish(other) => Ok(0),
        other => {
            let found = type_name(other);
            let message = format!(
                "$mergeObjects requires object inputs, but input {other} is of type {found}"
            );
            Err(MqlError::new(40400, message))
        }
    }
}
