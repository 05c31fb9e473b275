//! `$arrayToObject`: an object from pairs of name and value.

use super::*;

pub(crate) const FORM: Form = Form::Charged(Count::Exactly(1), run);

fn run(args: &Args<'_>, budget: &Budget) -> Result<Value> {
    let elements = match &*args[0] {
        Value::Array(elements) => elements,
        other if is_nullish(other) => return Ok(Value::Null),
        other => {
            let found = type_name(other);
            let message = format!("$arrayToObject requires an array input, found: {found}");
            return Err(MqlError::new(40386, message));
        }
    };
    let pairs_are_arrays = match elements.first() {
        None => return Ok(Value::Object(Object::new())),
        Some(Value::Array(_)) => true,
        Some(Value::Object(_)) => false,
        Some(other) => {
            let found = type_name(other);
            let message = format!("Unrecognised input type format for $arrayToObject: {found}");
            return Err(MqlError::new(40398, message));
        }
    };
    let mut object = Members::new();
    for element in elements {
        let (name, value) = match pairs_are_arrays {
            true => from_array(element)?,
            false => from_object(element)?,
        };
        if name.contains('\0') {
            let code = match pairs_are_arrays {
                true => 4940400,
                false => 4940401,
            };
            let message = "Key field cannot contain an embedded null byte";
            return Err(MqlError::new(code, message));
        }
        budget.charge(MEMBER_BYTES + name.len() + owned_bytes(value))?;
        object.insert(name, value.clone());
    }
    Ok(Value::Object(object.into_object()))
}

const MIXED: &str = "$arrayToObject requires a consistent input format. Elements must all be arrays or all be objects.";

fn from_array(element: &Value) -> Result<(&Str, &Value)> {
    let Some(pair) = element.as_array() else {
        return Err(MqlError::new(40396, MIXED));
    };
    let [name, value] = pair else {
        let size = pair.len();
        let message = format!(
            "$arrayToObject requires an array of size 2 arrays,found array of size: {size}"
        );
        return Err(MqlError::new(40397, message));
    };
    match name {
        Value::String(name) => Ok((name, value)),
        other => {
            let found = type_name(other);
            let message = format!(
                "$arrayToObject requires an array of key-value pairs, where the key must be of type string. Found key type: {found}"
            );
            Err(MqlError::new(40395, message))
        }
    }
}

fn from_object(element: &Value) -> Result<(&Str, &Value)> {
    let Some(pair) = element.as_object() else {
        return Err(MqlError::new(40391, MIXED));
    };
    if pair.len() != 2 {
        let size = pair.len();
        let message = format!(
            "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:{size}"
        );
        return Err(MqlError::new(40392, message));
    }
    match (pair.get("k"), pair.get("v")) {
        (Some(Value::String(name)), Some(value)) => Ok((name, value)),
        (Some(other), Some(_)) => {
            let found = type_name(other);
            let message = format!(
                "$arrayToObject requires an object with keys 'k' and 'v', where the value of 'k' must be of type string. Found type: {found}"
            );
            Err(MqlError::new(40394, message))
        }
        _ => Err(MqlError::new(
            40393,
            format!(
                "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys from: {element}"
            ),
        )),
    }
}
