//! The rules of a schema that a value does not fulfil.

use lapsedb_value::bson::type_name;
use lapsedb_value::order::equal_bson;
use lapsedb_value::{Budget, Object, Str, Value};

use super::named;
use crate::filter::schema::Schema;
use crate::pattern::Pattern;

/// The rules in the order in which they are told.
const RULES: [&str; 25] = [
    "pattern",
    "multipleOf",
    "maximum",
    "minimum",
    "maxLength",
    "minLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "items",
    "additionalItems",
    "properties",
    "additionalProperties",
    "patternProperties",
    "required",
    "minProperties",
    "maxProperties",
    "dependencies",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "enum",
    "bsonType",
    "type",
];

/// Says what a schema is called.
pub(super) fn push_annotations(schema: &Object, details: &mut Object) {
    for name in ["title", "description"] {
        if let Some(text) = schema.get(name) {
            details.push(name, text.clone());
        }
    }
}

/// The rules that a value does not fulfil, each described.
pub(super) fn failed(schema: &Object, value: &Value) -> Vec<Value> {
    let mut rules = Vec::new();
    for rule in RULES {
        if let Some(argument) = schema.get(rule)
            && let Some(details) = describe(rule, argument, schema, value)
        {
            rules.push(Value::Object(details));
        }
    }
    rules
}

fn describe(rule: &str, argument: &Value, schema: &Object, value: &Value) -> Option<Object> {
    let mut details = named(rule);
    match rule {
        "properties" => properties(argument, value, &mut details),
        "additionalProperties" => additional_properties(argument, schema, value, &mut details),
        "patternProperties" => pattern_properties(argument, value, &mut details),
        "dependencies" => dependencies(argument, value, &mut details),
        "required" => required(argument, value, &mut details),
        "allOf" | "anyOf" | "oneOf" => choices(rule, argument, value, &mut details),
        "not" => fulfils(argument, value).then(|| {
            details.push("reason", "child expression matched");
        }),
        "items" => items(argument, value, &mut details),
        "additionalItems" => additional_items(argument, schema, value, &mut details),
        _ => single(rule, argument, schema, value, &mut details),
    }?;
    Some(details)
}

/// Whether a value fulfils a schema; one that cannot be read was refused before.
fn fulfils(schema: &Value, value: &Value) -> bool {
    Schema::parse(schema).is_ok_and(|schema| schema.accepts(value))
}

fn fails(schema: &Object, value: &Value) -> bool {
    !fulfils(&Value::Object(schema.clone()), value)
}

/// A rule that speaks of the value itself.
fn single(
    rule: &str,
    argument: &Value,
    schema: &Object,
    value: &Value,
    details: &mut Object,
) -> Option<()> {
    let mut own = Object::with_capacity(2);
    own.push(rule, argument.clone());
    let companion = match rule {
        "minimum" => "exclusiveMinimum",
        "maximum" => "exclusiveMaximum",
        _ => "",
    };
    if let Some(exclusive) = schema.get(companion) {
        own.push(companion, exclusive.clone());
    }
    if !fails(&own, value) {
        return None;
    }
    details.push("specifiedAs", Value::Object(own));
    let reason = match rule {
        "bsonType" | "type" => "type did not match",
        "enum" => "value was not found in enum",
        "pattern" => "regular expression did not match",
        "minLength" | "maxLength" => "specified string length was not satisfied",
        "minItems" | "maxItems" => "array did not match specified length",
        "uniqueItems" => "found a duplicate item",
        "multipleOf" => "considered value is not a multiple of the specified value",
        "minProperties" | "maxProperties" => "specified number of properties was not satisfied",
        _ => "comparison failed",
    };
    details.push("reason", reason);
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    if let (true, Some(object)) = (rule.ends_with("Properties"), value.as_object()) {
        details.push("numberOfProperties", number(object.len()));
        return Some(());
    }
    details.push("consideredValue", value.clone());
    let elements = value.as_array().unwrap_or_default();
    match rule {
        "bsonType" | "type" => details.push("consideredType", type_name(value)),
        "minItems" | "maxItems" => details.push("numberOfItems", number(elements.len())),
        "uniqueItems" => {
            let again = |(at, element): &(usize, &Value)| {
                elements
                    .iter()
                    .take(*at)
                    .any(|other| equal_bson(other, element))
            };
            if let Some((_, twice)) = elements.iter().enumerate().find(again) {
                details.push("duplicatedValue", twice.clone());
            }
        }
        _ => {}
    }
    Some(())
}

fn properties(argument: &Value, value: &Value, details: &mut Object) -> Option<()> {
    let (members, object) = (argument.as_object()?, value.as_object()?);
    let mut failing = Vec::new();
    for (name, schema) in members {
        let (Some(schema), Some(member)) = (schema.as_object(), object.get(name)) else {
            continue;
        };
        if fails(schema, member) {
            let mut one = Object::with_capacity(4);
            one.push("propertyName", Value::String(name.clone()));
            push_annotations(schema, &mut one);
            one.push("details", Value::Array(failed(schema, member)));
            failing.push(Value::Object(one));
        }
    }
    filled(details, "propertiesNotSatisfied", failing)
}

/// The members that no other rule names.
fn unnamed<'v>(schema: &Object, object: &'v Object) -> Vec<(&'v Str, &'v Value)> {
    let names = schema.get("properties").and_then(Value::as_object);
    let patterns: Vec<_> = schema
        .get("patternProperties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Object::keys)
        .filter_map(|pattern| Pattern::new(pattern, "", &Budget::default()).ok())
        .collect();
    object
        .iter()
        .filter(|(name, _)| !names.is_some_and(|names| names.contains_key(name)))
        .filter(|(name, _)| !patterns.iter().any(|pattern| holds(pattern, name)))
        .collect()
}

fn additional_properties(
    argument: &Value,
    schema: &Object,
    value: &Value,
    details: &mut Object,
) -> Option<()> {
    let others = unnamed(schema, value.as_object()?);
    match argument {
        Value::Object(inner) => {
            let (name, member) = others
                .into_iter()
                .find(|(_, member)| fails(inner, member))?;
            details.push(
                "reason",
                "at least one additional property did not match the subschema",
            );
            details.push("failingProperty", Value::String(name.clone()));
            details.push("details", Value::Array(failed(inner, member)));
            Some(())
        }
        Value::Bool(false) if !others.is_empty() => {
            details.push(
                "specifiedAs",
                Value::Object(one("additionalProperties", argument)),
            );
            let names = others
                .iter()
                .map(|(name, _)| Value::String((*name).clone()));
            details.push("additionalProperties", Value::Array(names.collect()));
            Some(())
        }
        _ => None,
    }
}

fn pattern_properties(argument: &Value, value: &Value, details: &mut Object) -> Option<()> {
    let (patterns, object) = (argument.as_object()?, value.as_object()?);
    let mut failing = Vec::new();
    for (text, schema) in patterns {
        let (Ok(pattern), Some(schema)) = (
            Pattern::new(text, "", &Budget::default()),
            schema.as_object(),
        ) else {
            continue;
        };
        for (name, member) in object {
            if holds(&pattern, name) && fails(schema, member) {
                let mut one = Object::with_capacity(3);
                one.push("propertyName", Value::String(name.clone()));
                one.push("regexMatched", Value::String(text.clone()));
                one.push("details", Value::Array(failed(schema, member)));
                failing.push(Value::Object(one));
            }
        }
    }
    filled(details, "details", failing)
}

fn dependencies(argument: &Value, value: &Value, details: &mut Object) -> Option<()> {
    let object = value.as_object()?;
    let mut failing = Vec::new();
    for (name, dependency) in argument.as_object()? {
        if !object.contains_key(name) {
            continue;
        }
        let mut one = Object::with_capacity(2);
        one.push("conditionalProperty", Value::String(name.clone()));
        match dependency {
            Value::Object(schema) if fails(schema, value) => {
                one.push("details", Value::Array(failed(schema, value)));
            }
            Value::Array(_) => {
                let missing = missing(dependency, object);
                if missing.is_empty() {
                    continue;
                }
                one.push("missingProperties", Value::Array(missing));
            }
            _ => continue,
        }
        failing.push(Value::Object(one));
    }
    filled(details, "failingDependencies", failing)
}

fn required(argument: &Value, value: &Value, details: &mut Object) -> Option<()> {
    let missing = missing(argument, value.as_object()?);
    if missing.is_empty() {
        return None;
    }
    details.push("specifiedAs", Value::Object(one("required", argument)));
    details.push("missingProperties", Value::Array(missing));
    Some(())
}

/// The names that an object lacks.
fn missing(names: &Value, object: &Object) -> Vec<Value> {
    let names = names.as_array().unwrap_or_default();
    let lacks = |name: &&Value| name.as_str().is_some_and(|name| !object.contains_key(name));
    names.iter().filter(lacks).cloned().collect()
}

fn choices(rule: &str, argument: &Value, value: &Value, details: &mut Object) -> Option<()> {
    let schemas = argument.as_array()?;
    let index = |at: usize| Value::Int32(i32::try_from(at).unwrap_or(i32::MAX));
    let (mut failing, mut matching) = (Vec::new(), Vec::new());
    for (at, schema) in schemas.iter().enumerate() {
        match schema.as_object().filter(|schema| fails(schema, value)) {
            Some(schema) => {
                let mut one = Object::with_capacity(2);
                one.push("index", index(at));
                one.push("details", Value::Array(failed(schema, value)));
                failing.push(Value::Object(one));
            }
            None => matching.push(index(at)),
        }
    }
    match (rule, matching.len()) {
        ("anyOf", 1..) | ("oneOf", 1) => None,
        ("oneOf", 2..) => {
            details.push("reason", "more than one subschema matched");
            filled(details, "matchingSchemaIndexes", matching)
        }
        _ => filled(details, "schemasNotSatisfied", failing),
    }
}

fn items(argument: &Value, value: &Value, details: &mut Object) -> Option<()> {
    let elements = value.as_array()?;
    let index = |at: usize| i32::try_from(at).unwrap_or(i32::MAX);
    match argument {
        Value::Object(schema) => {
            let mut failing = elements.iter().enumerate();
            let (at, element) = failing.find(|(_, element)| fails(schema, element))?;
            details.push("reason", "At least one item did not match the sub-schema");
            details.push("itemIndex", index(at));
            details.push("details", Value::Array(failed(schema, element)));
            Some(())
        }
        Value::Array(schemas) => {
            let mut failing = Vec::new();
            for (at, (schema, element)) in schemas.iter().zip(elements).enumerate() {
                if let Some(schema) = schema.as_object().filter(|schema| fails(schema, element)) {
                    let mut one = Object::with_capacity(2);
                    one.push("itemIndex", index(at));
                    one.push("details", Value::Array(failed(schema, element)));
                    failing.push(Value::Object(one));
                }
            }
            filled(details, "details", failing)
        }
        _ => None,
    }
}

fn additional_items(
    argument: &Value,
    schema: &Object,
    value: &Value,
    details: &mut Object,
) -> Option<()> {
    let named = schema.get("items").and_then(Value::as_array)?.len();
    let rest = value.as_array()?.get(named..).unwrap_or_default();
    match argument {
        Value::Bool(false) if !rest.is_empty() => {
            details.push(
                "specifiedAs",
                Value::Object(one("additionalItems", argument)),
            );
            details.push("reason", "found additional items");
            filled(details, "additionalItems", rest.to_vec())
        }
        Value::Object(inner) => {
            let mut failing = rest.iter().enumerate();
            let (at, element) = failing.find(|(_, element)| fails(inner, element))?;
            details.push(
                "reason",
                "At least one additional item did not match the sub-schema",
            );
            let at = i32::try_from(named + at).unwrap_or(i32::MAX);
            details.push("itemIndex", at);
            details.push("details", Value::Array(failed(inner, element)));
            Some(())
        }
        _ => None,
    }
}

/// Adds a list that says something.
fn filled(details: &mut Object, name: &str, list: Vec<Value>) -> Option<()> {
    if list.is_empty() {
        return None;
    }
    details.push(name, Value::Array(list));
    Some(())
}

fn one(name: &str, value: &Value) -> Object {
    let mut one = Object::with_capacity(1);
    one.push(name, value.clone());
    one
}

fn holds(pattern: &Pattern, text: &str) -> bool {
    pattern.is_match(text, &Budget::default()).unwrap_or(false)
}
