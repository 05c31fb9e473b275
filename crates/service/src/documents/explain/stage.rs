//! The stages of a plan as clients of MongoDB know them.

use lapsedb_value::{Object, Value};

use crate::documents::plan::{Access, IndexAccess};

/// A stage, with what it did if it was executed.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    name: &'static str,
    /// What it is told to do.
    members: Object,
    /// What it did, shown only of a plan that was executed.
    done: Object,
    returned: u64,
    inputs: Vec<Stage>,
}

/// What executing a plan took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Took {
    pub(super) keys: u64,
    pub(super) documents: u64,
    pub(super) matched: u64,
    pub(super) returned: u64,
}

impl Stage {
    pub(super) fn new(name: &'static str, returned: u64) -> Stage {
        Stage {
            name,
            members: Object::new(),
            done: Object::new(),
            returned,
            inputs: Vec::new(),
        }
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Stage {
        self.members.push(name, value.into());
        self
    }

    pub(super) fn did(mut self, name: &str, n: u64) -> Stage {
        self.done.push(name, number(n));
        self
    }

    pub(super) fn over(mut self, input: Stage) -> Stage {
        self.inputs.push(input);
        self
    }

    /// The stage as a document.
    pub(super) fn shown(&self, executed: bool) -> Object {
        let mut shown = Object::with_capacity(16);
        shown.push("stage", self.name);
        // Where a stage keeps a filter, it stands first.
        if let Some(filter) = self.members.get("filter") {
            shown.push("filter", filter.clone());
        }
        if executed {
            shown.push("nReturned", number(self.returned));
            shown.push("executionTimeMillisEstimate", 0);
            shown.push("works", number(self.returned + 1));
            shown.push("advanced", number(self.returned));
            for name in ["needTime", "needYield", "saveState", "restoreState"] {
                shown.push(name, 0);
            }
            shown.push("isEOF", 1);
        }
        for (name, value) in self.members.iter().filter(|(name, _)| *name != "filter") {
            shown.push(name.clone(), value.clone());
        }
        if executed {
            for (name, value) in self.done.iter() {
                shown.push(name.clone(), value.clone());
            }
        }
        match self.inputs.as_slice() {
            [] => {}
            [one] => shown.push("inputStage", Value::Object(one.shown(executed))),
            several => {
                let all = several.iter().map(|one| Value::Object(one.shown(executed)));
                shown.push("inputStages", Value::Array(all.collect()));
            }
        }
        shown
    }
}

/// How documents are found: the stages below all that is done with them.
pub(super) fn access(access: &Access, filter: &Object, took: Took) -> Stage {
    let asks = |stage: Stage| match filter.is_empty() {
        true => stage,
        false => stage.with("filter", Value::Object(parsed(filter))),
    };
    match access {
        Access::Nothing => Stage::new("EOF", 0),
        Access::Everything { reverse } => asks(Stage::new("COLLSCAN", took.matched))
            .with("direction", direction(*reverse))
            .did("docsExamined", took.documents),
        Access::Ids(1) if filter.len() == 1 => Stage::new("IDHACK", took.matched)
            .did("keysExamined", took.keys)
            .did("docsExamined", took.documents),
        Access::Ids(_) => {
            let scan = Stage::new("IXSCAN", took.documents)
                .with("keyPattern", Value::Object(id_pattern()))
                .with("indexName", "_id_")
                .with("isMultiKey", false)
                .with("isUnique", true)
                .with("direction", "forward")
                .did("keysExamined", took.keys);
            asks(Stage::new("FETCH", took.matched))
                .did("docsExamined", took.documents)
                .did("alreadyHasObj", 0)
                .over(scan)
        }
        Access::Index(index) => {
            let fetch = Stage::new("FETCH", took.matched)
                .did("docsExamined", took.documents)
                .did("alreadyHasObj", 0);
            let fetch = if index.exact { fetch } else { asks(fetch) };
            fetch.over(scan(index, "IXSCAN", took))
        }
    }
}

/// An index that is read.
pub(super) fn scan(index: &IndexAccess, name: &'static str, took: Took) -> Stage {
    let stage = Stage::new(name, took.documents.max(took.matched))
        .with("keyPattern", Value::Object(index.pattern.clone()))
        .with("indexName", Value::String(index.name.clone()));
    let stage = match &index.collation {
        Some(collation) => stage.with("collation", Value::Object(collation.clone())),
        None => stage,
    };
    let stage = stage
        .with("isMultiKey", index.multikey)
        .with("multiKeyPaths", Value::Object(index.multikey_paths.clone()))
        .with("isUnique", index.unique)
        .with("isSparse", index.sparse)
        .with("isPartial", index.partial)
        .with("indexVersion", 2)
        .with("direction", direction(index.reverse))
        .with("indexBounds", Value::Object(index.bounds.clone()))
        .did("keysExamined", took.keys)
        .did("seeks", 1)
        .did("dupsTested", if index.multikey { took.keys } else { 0 })
        .did("dupsDropped", took.keys.saturating_sub(took.documents));
    match index.merged {
        0 | 1 => stage,
        several => Stage::new("SORT_MERGE", took.documents)
            .with("branches", number(several as u64))
            .over(stage),
    }
}

/// A filter in the form in which plans show it: every condition with its operator.
pub(super) fn parsed(filter: &Object) -> Object {
    let mut conditions = Vec::new();
    for (path, value) in filter.iter() {
        let operators = value
            .as_object()
            .filter(|inner| inner.keys().next().is_some_and(|key| key.starts_with('$')));
        match operators {
            _ if path.starts_with('$') => conditions.push(one(path, value.clone())),
            Some(operators) => {
                for (operator, operand) in operators.iter() {
                    let inner = Value::Object(one(operator, operand.clone()));
                    conditions.push(one(path, inner));
                }
            }
            None => {
                let operator = match value {
                    Value::Regex { .. } => "$regex",
                    _ => "$eq",
                };
                conditions.push(one(path, Value::Object(one(operator, value.clone()))));
            }
        }
    }
    match conditions.len() {
        1 => conditions.pop().unwrap_or_default(),
        0 => Object::new(),
        _ => {
            let all = conditions.into_iter().map(Value::Object).collect();
            one("$and", Value::Array(all))
        }
    }
}

fn one(name: &str, value: Value) -> Object {
    let mut object = Object::with_capacity(1);
    object.push(name, value);
    object
}

fn id_pattern() -> Object {
    one("_id", Value::Int32(1))
}

const fn direction(reverse: bool) -> &'static str {
    if reverse { "backward" } else { "forward" }
}

/// A count as clients expect it: an integer of 32 bits where it fits.
pub(super) fn number(n: u64) -> Value {
    match i32::try_from(n) {
        Ok(n) => Value::Int32(n),
        Err(_) => Value::Int64(i64::try_from(n).unwrap_or(i64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use lapsedb_value::order::equal_bson;

    use super::*;

    fn object(text: &str) -> Object {
        let limits = &lapsedb_value::json::Limits::DEFAULT;
        let value = lapsedb_value::json::parse(text.as_bytes(), limits).unwrap();
        value.into_object().unwrap()
    }

    #[test]
    fn a_filter_is_shown_condition_by_condition() {
        for (filter, shown) in [
            ("{}", "{}"),
            (r#"{"a":1}"#, r#"{"a":{"$eq":1}}"#),
            (r#"{"a":{"$gt":1}}"#, r#"{"a":{"$gt":1}}"#),
            (
                r#"{"a":{"$gt":1,"$lt":5},"b":2}"#,
                r#"{"$and":[{"a":{"$gt":1}},{"a":{"$lt":5}},{"b":{"$eq":2}}]}"#,
            ),
            (r#"{"$or":[{"a":1}]}"#, r#"{"$or":[{"a":1}]}"#),
            (r#"{"a":{"b":1}}"#, r#"{"a":{"$eq":{"b":1}}}"#),
        ] {
            let (parsed, shown) = (parsed(&object(filter)), object(shown));
            assert!(equal_bson(&Value::Object(parsed), &Value::Object(shown)));
        }
    }

    #[test]
    fn what_was_done_is_shown_only_of_what_was_executed() {
        let took = Took {
            keys: 7,
            documents: 5,
            matched: 3,
            returned: 3,
        };
        let stage = access(
            &Access::Everything { reverse: true },
            &object(r#"{"a":1}"#),
            took,
        );
        let planned = stage.shown(false);
        let direction = planned.get("direction").and_then(Value::as_str);
        assert_eq!(direction, Some("backward"));
        assert!(planned.get("nReturned").is_none() && planned.get("docsExamined").is_none());
        let executed = stage.shown(true);
        let number = |name: &str| executed.get(name).and_then(Value::as_i64);
        assert_eq!(number("nReturned"), Some(3));
        assert_eq!(number("docsExamined"), Some(5));
    }
}
