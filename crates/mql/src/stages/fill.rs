//! `$fill`: values for fields that are null or missing. It is short for `$setWindowFields` and `$addFields`.

use super::*;

pub(super) fn parse(
    stage: &'static str,
    spec: &Value,
    context: &Context<'_>,
) -> Result<Vec<Stage>> {
    let object = object_of(
        9,
        spec,
        "the $fill stage specification must be an object, found",
    )?;
    let (mut partition, mut order, mut output) = (None, None, None);
    for (name, value) in object {
        match (name.as_str(), value) {
            ("partitionBy", value) if !object.contains_key("partitionByFields") => {
                partition = Some(value.clone());
            }
            ("partitionByFields", Value::Array(fields)) if !object.contains_key("partitionBy") => {
                partition = Some(by_fields(fields)?);
            }
            ("partitionBy" | "partitionByFields", _) => {
                return Err(MqlError::new(
                    6050204,
                    "Maximum one of 'partitionBy' and 'partitionByFields' can be specified in '$fill'",
                ));
            }
            ("sortBy", Value::Object(_)) => order = Some(value.clone()),
            ("sortBy", other) => return Err(wrong_type(stage, "sortBy", other, "object")),
            ("output", Value::Object(fields)) => output = Some(fields),
            ("output", other) => return Err(wrong_type(stage, "output", other, "object")),
            (other, _) => return Err(unknown_field(stage, other)),
        }
    }
    let output = output.ok_or_else(|| missing_field(stage, "output"))?;
    if output.is_empty() {
        return Err(MqlError::new(
            6050203,
            "The output field in '$fill' must not be empty",
        ));
    }
    let (mut windows, mut values) = (Object::new(), Object::new());
    for (name, how) in output {
        read_field(name, how, &mut windows, &mut values)?;
    }
    let mut stages = Vec::new();
    if !windows.is_empty() {
        let mut spec = Object::new();
        if let Some(partition) = partition {
            spec.push("partitionBy", partition);
        }
        if let Some(order) = order {
            spec.push("sortBy", order);
        }
        spec.push("output", Value::Object(windows));
        let spec = Value::Object(spec);
        stages.extend(set_window_fields::parse(
            "$setWindowFields",
            &spec,
            context,
        )?);
    }
    if !values.is_empty() {
        stages.extend(add_fields::parse(
            "$addFields",
            &Value::Object(values),
            context,
        )?);
    }
    Ok(stages)
}

/// An object of the fields' values.
fn by_fields(fields: &[Value]) -> Result<Value> {
    let mut parts = Object::new();
    for field in fields {
        let Some(name) = field.as_str() else {
            return Err(wrong_type("$fill", "partitionByFields", field, "string"));
        };
        path::split(name)?;
        parts.insert(name.replace('.', "_"), Value::from(format!("${name}")));
    }
    Ok(Value::Object(parts))
}

fn read_field(name: &Str, how: &Value, windows: &mut Object, values: &mut Object) -> Result<()> {
    let how = how.as_object().and_then(|how| match how.as_slice() {
        [only] => Some(only),
        _ => None,
    });
    let field = Value::from(format!("${name}"));
    match how.map(|(key, value)| (key.as_str(), value)) {
        Some(("value", value)) => {
            let mut default = Object::new();
            default.push("$ifNull", Value::Array(vec![field, value.clone()]));
            values.insert(name.clone(), Value::Object(default));
        }
        Some(("method", Value::String(method))) if method == "linear" || method == "locf" => {
            let function = if method == "locf" {
                "$locf"
            } else {
                "$linearFill"
            };
            let mut window = Object::new();
            window.push(function, field);
            windows.insert(name.clone(), Value::Object(window));
        }
        Some(("method", other)) => {
            let message = format!("Method must be either locf or linear, found {other}");
            return Err(MqlError::new(6050202, message));
        }
        Some(_) | None => {
            let message = format!("'{name}' needs exactly one of 'value' and 'method'");
            return Err(MqlError::failed_to_parse(message));
        }
    }
    Ok(())
}
