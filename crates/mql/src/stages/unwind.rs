//! `$unwind`: one document for each element of an array.

use super::*;
use crate::accumulators::object_weight;

/// The array's path, and what to do where it has no elements.
#[derive(Clone, Debug)]
pub(crate) struct Unwind {
    steps: Vec<Str>,
    index: Option<Vec<Str>>,
    preserve: bool,
}

pub(super) fn parse(_: &'static str, spec: &Value, _: &Context<'_>) -> Result<Vec<Stage>> {
    let (mut text, mut index, mut preserve) = (None, None, false);
    match spec {
        Value::String(path) => text = Some(path),
        Value::Object(object) => {
            for (name, value) in object {
                match (name.as_str(), value) {
                    ("path", Value::String(path)) => text = Some(path),
                    ("path", other) => {
                        let found = type_name(other);
                        let message =
                            format!("expected a string as the path for $unwind stage, got {found}");
                        return Err(MqlError::new(28808, message));
                    }
                    ("includeArrayIndex", value) => index = Some(parse_index(value)?),
                    ("preserveNullAndEmptyArrays", Value::Bool(truth)) => preserve = *truth,
                    ("preserveNullAndEmptyArrays", other) => {
                        let found = type_name(other);
                        let message = format!(
                            "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got {found}"
                        );
                        return Err(MqlError::new(28809, message));
                    }
                    (other, _) => {
                        let message = format!("unrecognized option to $unwind stage: {other}");
                        return Err(MqlError::new(28811, message));
                    }
                }
            }
        }
        other => {
            let found = type_name(other);
            let message = format!(
                "expected either a string or an object as specification for $unwind stage, got {found}"
            );
            return Err(MqlError::new(15981, message));
        }
    }
    let text = text.filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| MqlError::new(28812, "no path specified to $unwind stage"))?;
    let Some(path) = text.strip_prefix('$') else {
        let message = format!("path option to $unwind stage should be prefixed with a '$': {text}");
        return Err(MqlError::new(28818, message));
    };
    Ok(vec![Stage::Unwind(Arc::new(Unwind {
        steps: path::split(path)?,
        index,
        preserve,
    }))])
}

fn parse_index(value: &Value) -> Result<Vec<Str>> {
    match value {
        Value::String(name) if name.starts_with('$') => Err(MqlError::new(
            28822,
            format!(
                "includeArrayIndex option to $unwind stage should not be prefixed with a '$': {name}"
            ),
        )),
        Value::String(name) if !name.is_empty() => path::split(name),
        other => {
            let found = type_name(other);
            let message = format!(
                "expected a non-empty string for the includeArrayIndex  option to $unwind stage, got {found}"
            );
            Err(MqlError::new(28810, message))
        }
    }
}

pub(super) fn start(unwind: &Arc<Unwind>, env: Shared) -> Work {
    Work::Step(Box::new(Unwinding(Arc::clone(unwind), env)))
}

struct Unwinding(Arc<Unwind>, Shared);

impl Unwinding {
    fn with_index(&self, mut document: Object, index: Value) -> Object {
        if let Some(steps) = &self.0.index {
            set_path(&mut document, steps, index);
        }
        document
    }
}

impl Step for Unwinding {
    fn push(&mut self, mut document: Object, out: &mut Vec<Object>) -> Result<Flow> {
        let Some(place) = place_of(&mut document, &self.0.steps) else {
            if self.0.preserve {
                out.push(self.with_index(document, Value::Null));
            }
            return Ok(Flow::More);
        };
        let elements = match place {
            Value::Array(elements) => std::mem::take(elements),
            Value::Null | Value::Undefined => {
                if self.0.preserve {
                    out.push(self.with_index(document, Value::Null));
                }
                return Ok(Flow::More);
            }
            _ => {
                out.push(self.with_index(document, Value::Null));
                return Ok(Flow::More);
            }
        };
        if elements.is_empty() {
            if self.0.preserve {
                if self.0.index.as_ref() != Some(&self.0.steps) {
                    remove_path(&mut document, &self.0.steps);
                }
                out.push(self.with_index(document, Value::Null));
            }
            return Ok(Flow::More);
        }
        // What each copy takes beside its element.
        let rest = object_weight(&document);
        for (at, element) in elements.into_iter().enumerate() {
            self.1.budget().charge(rest)?;
            let mut copy = document.clone();
            if let Some(place) = place_of(&mut copy, &self.0.steps) {
                *place = element;
            }
            out.push(self.with_index(copy, Value::Int64(at as i64)));
        }
        Ok(Flow::More)
    }
}

/// What lies at a path through objects only.
fn place_of<'d>(document: &'d mut Object, steps: &[Str]) -> Option<&'d mut Value> {
    let (first, rest) = steps.split_first()?;
    let member = document.get_mut(first)?;
    match rest.is_empty() {
        true => Some(member),
        false => place_of(member.as_object_mut()?, rest),
    }
}

fn remove_path(document: &mut Object, steps: &[Str]) {
    match steps {
        [] => {}
        [last] => {
            document.remove(last);
        }
        [first, rest @ ..] => {
            if let Some(Value::Object(inner)) = document.get_mut(first) {
                remove_path(inner, rest);
            }
        }
    }
}
