//! Documents to schemas.

use lapsedb_value::bson::type_name;
use lapsedb_value::{Budget, Object, Str, Value};

use super::{Additional, Dependency, Items, Limit, Schema};
use crate::filter::operators::integer::non_negative;
use crate::filter::operators::modulo::is_number;
use crate::filter::operators::type_is::TypeIs;
use crate::pattern::Pattern;
use crate::{MqlError, Result};

/// Levels that schemas may nest.
const DEPTH_MAX: usize = 100;

/// Keywords of JSON Schema that MongoDB does not know.
const UNSUPPORTED: [&str; 6] = ["$ref", "$schema", "default", "definitions", "format", "id"];

pub(super) fn parse(schema: &Value) -> Result<Schema> {
    match schema {
        Value::Object(object) => parse_object(object, 0),
        _ => Err(MqlError::type_mismatch("$jsonSchema must be an object")),
    }
}

fn parse_object(object: &Object, depth: usize) -> Result<Schema> {
    if depth > DEPTH_MAX {
        return Err(MqlError::bad_value(format!(
            "Maximum number of subschemas nested in $jsonSchema exceeded: {DEPTH_MAX}"
        )));
    }
    let mut schema = Schema::default();
    for (keyword, value) in object {
        keyword_of(&mut schema, keyword, value, object, depth)?;
    }
    Ok(schema)
}

fn keyword_of(
    schema: &mut Schema,
    keyword: &str,
    value: &Value,
    all: &Object,
    depth: usize,
) -> Result<()> {
    match keyword {
        "title" | "description" => {
            text(keyword, value)?;
        }
        "bsonType" => schema.types = Some(types(keyword, value, false)?),
        "type" => schema.types = Some(types(keyword, value, true)?),
        "enum" => schema.values = Some(filled(keyword, value)?.to_vec()),
        "minimum" => schema.minimum = Some(limit(keyword, value, all, "exclusiveMinimum")?),
        "maximum" => schema.maximum = Some(limit(keyword, value, all, "exclusiveMaximum")?),
        "exclusiveMinimum" => exclusive(keyword, value, all, "minimum")?,
        "exclusiveMaximum" => exclusive(keyword, value, all, "maximum")?,
        "multipleOf" => schema.multiple_of = Some(multiple(keyword, value)?),
        "pattern" => {
            schema.pattern = Some(Pattern::new(text(keyword, value)?, "", &Budget::default())?)
        }
        "minLength" => schema.min_length = Some(count(keyword, value)?),
        "maxLength" => schema.max_length = Some(count(keyword, value)?),
        "minItems" => schema.min_items = Some(count(keyword, value)?),
        "maxItems" => schema.max_items = Some(count(keyword, value)?),
        "minProperties" => schema.min_properties = Some(count(keyword, value)?),
        "maxProperties" => schema.max_properties = Some(count(keyword, value)?),
        "uniqueItems" => schema.unique_items = truth(keyword, value)?,
        "required" => schema.required = names(keyword, value)?,
        _ => return nested(schema, keyword, value, depth + 1),
    }
    Ok(())
}

/// The keywords that hold further schemas.
fn nested(schema: &mut Schema, keyword: &str, value: &Value, depth: usize) -> Result<()> {
    match keyword {
        "items" => schema.items = items(keyword, value, depth)?,
        "additionalItems" => schema.additional_items = additional(keyword, value, depth)?,
        "additionalProperties" => schema.additional_properties = additional(keyword, value, depth)?,
        "properties" => {
            for (name, inner) in object(keyword, value)? {
                schema
                    .properties
                    .push((name.clone(), sub(keyword, inner, depth)?));
            }
        }
        "patternProperties" => {
            for (name, inner) in object(keyword, value)? {
                let pattern = Pattern::new(name, "", &Budget::default())?;
                schema
                    .pattern_properties
                    .push((pattern, sub(keyword, inner, depth)?));
            }
        }
        "dependencies" => {
            for (name, inner) in object(keyword, value)? {
                let dependency = match inner {
                    Value::Array(_) => Dependency::Members(names(keyword, inner)?),
                    _ => Dependency::Fulfil(Box::new(sub(keyword, inner, depth)?)),
                };
                schema.dependencies.push((name.clone(), dependency));
            }
        }
        "allOf" => schema.all_of = list(keyword, value, depth)?,
        "anyOf" => schema.any_of = list(keyword, value, depth)?,
        "oneOf" => schema.one_of = list(keyword, value, depth)?,
        "not" => schema.not = Some(Box::new(sub(keyword, value, depth)?)),
        _ if UNSUPPORTED.contains(&keyword) => {
            return Err(MqlError::failed_to_parse(format!(
                "$jsonSchema keyword '{keyword}' is not currently supported"
            )));
        }
        _ => {
            return Err(MqlError::failed_to_parse(format!(
                "Unknown $jsonSchema keyword: {keyword}"
            )));
        }
    }
    Ok(())
}

fn must(keyword: &str, what: &str) -> MqlError {
    MqlError::type_mismatch(format!("$jsonSchema keyword '{keyword}' must be {what}"))
}

fn text<'a>(keyword: &str, value: &'a Value) -> Result<&'a str> {
    value.as_str().ok_or_else(|| must(keyword, "a string"))
}

fn truth(keyword: &str, value: &Value) -> Result<bool> {
    value.as_bool().ok_or_else(|| must(keyword, "a boolean"))
}

fn object<'a>(keyword: &str, value: &'a Value) -> Result<&'a Object> {
    value.as_object().ok_or_else(|| must(keyword, "an object"))
}

fn sub(keyword: &str, value: &Value, depth: usize) -> Result<Schema> {
    parse_object(object(keyword, value)?, depth)
}

fn filled<'a>(keyword: &str, value: &'a Value) -> Result<&'a [Value]> {
    match value.as_array() {
        None => Err(must(
            keyword,
            &format!(
                "an array, but found an element of type {}",
                type_name(value)
            ),
        )),
        Some([]) => Err(MqlError::failed_to_parse(format!(
            "$jsonSchema keyword '{keyword}' cannot be an empty array"
        ))),
        Some(elements) => Ok(elements),
    }
}

fn names(keyword: &str, value: &Value) -> Result<Vec<Str>> {
    let name = |value: &Value| text(keyword, value).map(Str::new);
    filled(keyword, value)?.iter().map(name).collect()
}

fn list(keyword: &str, value: &Value, depth: usize) -> Result<Vec<Schema>> {
    match value.as_array() {
        Some([]) => Err(MqlError::bad_value(format!(
            "$jsonSchema keyword '{keyword}' must be a non-empty array"
        ))),
        Some(schemas) => schemas
            .iter()
            .map(|inner| sub(keyword, inner, depth))
            .collect(),
        None => Err(must(keyword, "an array")),
    }
}

fn additional(keyword: &str, value: &Value, depth: usize) -> Result<Additional> {
    match value {
        Value::Bool(true) => Ok(Additional::Allowed),
        Value::Bool(false) => Ok(Additional::Refused),
        Value::Object(inner) => Ok(Additional::Fulfil(Box::new(parse_object(inner, depth)?))),
        _ => Err(must(keyword, "either an object or a boolean")),
    }
}

fn items(keyword: &str, value: &Value, depth: usize) -> Result<Items> {
    match value {
        Value::Object(inner) => Ok(Items::Each(Box::new(parse_object(inner, depth)?))),
        Value::Array(schemas) => {
            let schemas = schemas.iter().map(|inner| sub(keyword, inner, depth));
            Ok(Items::ByPosition(schemas.collect::<Result<_>>()?))
        }
        _ => Err(must(keyword, "an array or an object")),
    }
}

/// Types by their names; the names of JSON are fewer, and `integer` is not among them.
fn types(keyword: &str, value: &Value, json: bool) -> Result<TypeIs> {
    let given = match value {
        Value::String(_) => std::slice::from_ref(value),
        Value::Array(names) => names.as_slice(),
        _ => return Err(must(keyword, "either a string or an array of strings")),
    };
    let mut translated = Vec::with_capacity(given.len());
    for name in given {
        let name = name
            .as_str()
            .ok_or_else(|| must(keyword, "either a string or an array of strings"))?;
        translated.push(Value::from(match (name, json) {
            ("boolean", true) => "bool",
            ("integer", _) => {
                return Err(MqlError::failed_to_parse(
                    "$jsonSchema type 'integer' is not currently supported.",
                ));
            }
            ("object" | "array" | "number" | "string" | "null", true) | (_, false) => name,
            (_, true) => {
                return Err(MqlError::bad_value(format!(
                    "Unknown type name alias: {name}"
                )));
            }
        }));
    }
    TypeIs::parse(keyword, &Value::Array(translated))
}

fn limit(keyword: &str, value: &Value, all: &Object, exclusive: &str) -> Result<Limit> {
    if !is_number(value) {
        return Err(must(keyword, "a number"));
    }
    Ok(Limit {
        value: value.clone(),
        exclusive: all.get(exclusive).and_then(Value::as_bool).unwrap_or(false),
    })
}

fn exclusive(keyword: &str, value: &Value, all: &Object, of: &str) -> Result<()> {
    truth(keyword, value)?;
    match all.contains_key(of) {
        true => Ok(()),
        false => Err(MqlError::failed_to_parse(format!(
            "$jsonSchema keyword '{of}' must be a present if {keyword} is present"
        ))),
    }
}

fn multiple(keyword: &str, value: &Value) -> Result<Value> {
    if !is_number(value) {
        return Err(must(keyword, "a number"));
    }
    let positive = lapsedb_value::order::compare_numbers(value, &Value::Int32(0));
    match positive.is_some_and(std::cmp::Ordering::is_gt) {
        true => Ok(value.clone()),
        false => Err(MqlError::failed_to_parse(format!(
            "$jsonSchema keyword '{keyword}' must have a positive value"
        ))),
    }
}

fn count(keyword: &str, value: &Value) -> Result<usize> {
    let number = non_negative(keyword, value, "", 9)?;
    Ok(usize::try_from(number).unwrap_or(usize::MAX))
}
