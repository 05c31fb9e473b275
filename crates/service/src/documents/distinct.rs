//! The different values at a path.

use lapsedb_value::order::{compare_bson, equal_bson};
use lapsedb_value::{Object, Value};

use crate::charge::{self, QueryWork};
use crate::documents::DOCUMENT_BYTES_MAX;
use crate::documents::fault::{Fault, Result};
use crate::documents::language::Terms;
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::walk::Walk;
use crate::documents::work::Work;

/// Documents looked at between two looks at the clock.
const STEP_ROWS: usize = 256;
/// Code of an answer that is too large for one document.
const TOO_BIG: i32 = 17_217;

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Distinct {
    /// The path.
    pub key: String,
    /// In which documents.
    pub filter: Object,
    /// How texts compare and which variables there are.
    pub terms: Terms,
}

/// The different values, in order; arrays count by their elements.
///
/// # Errors
/// When the filter is wrong, its time is up, there are too many, or the engine fails.
pub async fn distinct(
    work: &mut Work,
    namespace: &Namespace,
    distinct: &Distinct,
) -> Result<Vec<Value>> {
    let language = distinct.terms.language(work, namespace).await?;
    let filter = language.filter(&distinct.filter)?;
    let look = Look::fresh(work, namespace).await?;
    let mut walk = Walk::new(language.source(&filter));
    let mut found: Vec<Value> = Vec::new();
    let mut loaded = QueryWork::default();
    let mut bytes = 0;
    let path: Vec<&str> = distinct.key.split('.').collect();
    let folded = |value: &Value| match &language.options.collation {
        Some(collation) => collation.fold(value),
        None => value.clone(),
    };
    while !walk.ended() {
        work.in_time()?;
        for row in walk.next(&look, STEP_ROWS).await? {
            loaded.loaded_bytes += row.body.len();
            let document = row.document()?;
            if !filter.matches(&document)? {
                continue;
            }
            let mut values = Vec::new();
            collect(&Value::Object(document), &path, &mut values);
            for value in values {
                let place =
                    found.binary_search_by(|other| compare_bson(&folded(other), &folded(&value)));
                if let Err(at) = place {
                    bytes += crate::cursors::encoded(&one(&value)).len();
                    found.insert(at, value);
                }
            }
            if bytes > DOCUMENT_BYTES_MAX {
                return Err(Fault::new(TOO_BIG, "distinct too big, 16mb cap"));
            }
        }
    }
    look.spend(&work.ctx, charge::query(loaded));
    debug_assert!(found.is_sorted_by(|a, b| !equal_bson(a, b)));
    Ok(found)
}

fn one(value: &Value) -> Object {
    let mut object = Object::with_capacity(1);
    object.push("", value.clone());
    object
}

/// The values at a path: through arrays of objects, by index, and the elements of an array at its end.
fn collect(value: &Value, path: &[&str], out: &mut Vec<Value>) {
    let Some((name, rest)) = path.split_first() else {
        match value {
            Value::Array(elements) => out.extend(elements.iter().cloned()),
            Value::Undefined => {}
            other => out.push(other.clone()),
        }
        return;
    };
    match value {
        Value::Object(object) => {
            if let Some(member) = object.get(name) {
                collect(member, rest, out);
            }
        }
        Value::Array(elements) => {
            if let Some(element) = name.parse::<usize>().ok().and_then(|at| elements.get(at)) {
                collect(element, rest, out);
            }
            for element in elements {
                if matches!(element, Value::Object(_)) {
                    collect(element, path, out);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn paths_lead_through_arrays() {
        let text = br#"{"a":[{"b":1},{"b":[2,3]},4,{"c":5}],"n":{"b":6},"e":[]}"#;
        let limits = lapsedb_value::json::Limits::DEFAULT;
        let document = lapsedb_value::json::parse(text, &limits).unwrap();
        let at = |path: &str| {
            let mut out = Vec::new();
            collect(&document, &path.split('.').collect::<Vec<_>>(), &mut out);
            out.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(at("a.b"), "1 2 3");
        assert_eq!(at("a.2"), "4");
        assert_eq!(at("n.b"), "6");
        assert_eq!(at("e"), "");
        assert_eq!(at("x.y"), "");
    }
}
