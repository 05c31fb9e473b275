//! `$objectToArray`: the members as pairs of name and value.

use super::*;

pub(crate) const FORM: Form = Form::Charged(Count::Exactly(1), run);

/// Bytes of the object that a member becomes, without what it owns itself.
const PAIR_BYTES: usize = VALUE_BYTES + 2 * MEMBER_BYTES;

fn run(args: &Args<'_>, budget: &Budget) -> Result<Value> {
    let object = match &*args[0] {
        Value::Object(object) => object,
        other if is_nullish(other) => return Ok(Value::Null),
        other => {
            let found = type_name(other);
            let message = format!("$objectToArray requires a document input, found: {found}");
            return Err(MqlError::new(40390, message));
        }
    };
    budget.charge(object_bytes(object) + object.len() * PAIR_BYTES)?;
    let pair = |(name, value): (&Str, &Value)| {
        let mut pair = Object::with_capacity(2);
        pair.push("k", Value::String(name.clone()));
        pair.push("v", value.clone());
        Value::Object(pair)
    };
    Ok(Value::Array(object.iter().map(pair).collect()))
}
