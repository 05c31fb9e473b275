//! What a posted script says.

use lapsedb_value::{Object, Str, Value};

use crate::error::{Error, Result};
use crate::named::Named;
use crate::names;
use crate::scripts::ScriptKind;

/// Properties of a script that its author writes, besides the id.
pub(super) const SHOWN: [&str; 3] = ["body", "triggerType", "triggerOperation"];

const TRIGGER_TYPES: [&str; 2] = ["Pre", "Post"];
const TRIGGER_OPERATIONS: [&str; 6] = ["All", "Create", "Update", "Delete", "Replace", "Upsert"];

/// A script as posted, checked.
#[derive(Debug)]
pub(super) struct Source {
    /// Its name.
    pub id: Str,
    members: Vec<(&'static str, Value)>,
}

impl Source {
    /// Reads a posted script.
    pub(super) fn of_body(kind: ScriptKind, body: &Object) -> Result<Source> {
        let id = names::script_id_of(body)?;
        let text = match body.get("body") {
            Some(Value::String(text)) => Value::String(text.clone()),
            Some(Value::Undefined | Value::Null) | None => return Err(names::missing(&["body"])),
            Some(_) => {
                return Err(Error::bad_request("The body of a script must be a text."));
            }
        };
        let mut members = vec![("body", text)];
        match kind {
            ScriptKind::Trigger => {
                for (name, allowed) in [
                    ("triggerType", &TRIGGER_TYPES[..]),
                    ("triggerOperation", &TRIGGER_OPERATIONS[..]),
                ] {
                    members.push((name, one_of(body, name, allowed)?));
                }
            }
            ScriptKind::StoredProcedure | ScriptKind::UserDefinedFunction => {}
        }
        Ok(Source { id, members })
    }

    /// The record of the script.
    pub(super) fn record(&self, number: u32) -> Named {
        let mut named = Named::new(number, self.id.clone());
        for (name, value) in &self.members {
            named.body.push(*name, value.clone());
        }
        named
    }
}

/// A property that has one of a few values, whatever the case of its letters; it is told again as it was sent.
fn one_of(body: &Object, name: &str, allowed: &[&'static str]) -> Result<Value> {
    let Some(given) = body.get(name).filter(|given| !given.is_null()) else {
        return Err(names::missing(&[name]));
    };
    let text = given.as_str().unwrap_or_default();
    allowed
        .iter()
        .find(|value| value.eq_ignore_ascii_case(text))
        .map(|_| given.clone())
        .ok_or_else(|| {
            Error::bad_request(format!(
                "The input {name} {given} is invalid; one of {} is allowed.",
                allowed.join(", ")
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapsedb_value::json;

    fn read(kind: ScriptKind, text: &str) -> Result<Source> {
        let limits = json::Limits {
            depth_max: 8,
            duplicates_refused: &[],
        };
        let body = json::parse(text.as_bytes(), &limits).unwrap();
        Source::of_body(kind, body.as_object().unwrap())
    }

    #[test]
    fn the_text_of_a_script_is_kept() {
        for kind in [ScriptKind::StoredProcedure, ScriptKind::UserDefinedFunction] {
            let source = read(kind, r#"{"id":"s","body":"function () {}","x":1}"#).unwrap();
            let record = source.record(9);
            assert_eq!(record.number, 9);
            assert_eq!(
                record.body.get("body").unwrap().as_str(),
                Some("function () {}")
            );
            assert!(record.body.get("x").is_none());
        }
    }

    #[test]
    fn a_trigger_says_when_it_runs() {
        let source = read(
            ScriptKind::Trigger,
            r#"{"id":"t","body":"","triggerType":"pre","triggerOperation":"All"}"#,
        );
        let record = source.unwrap().record(1);
        assert_eq!(
            record.body.get("triggerType").unwrap().as_str(),
            Some("pre")
        );
        for bad in [
            r#"{"id":"t","body":""}"#,
            r#"{"id":"t","body":"","triggerType":"Pre"}"#,
            r#"{"id":"t","body":"","triggerType":"During","triggerOperation":"All"}"#,
            r#"{"id":"t","body":"","triggerType":"Pre","triggerOperation":"Read"}"#,
            r#"{"id":"t","body":"","triggerType":0,"triggerOperation":"All"}"#,
        ] {
            assert!(read(ScriptKind::Trigger, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_script_has_a_name_and_a_text() {
        for bad in [
            r#"{"id":"s"}"#,
            r#"{"body":"x"}"#,
            r#"{"id":"s","body":null}"#,
            r#"{"id":"s","body":5}"#,
            r#"{"id":"a/b","body":"x"}"#,
        ] {
            assert!(read(ScriptKind::StoredProcedure, bad).is_err(), "{bad}");
        }
    }
}
