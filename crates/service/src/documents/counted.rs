//! Pipelines that only count: `countDocuments` of every driver is one.

use lapsedb_value::{Object, Value};

use crate::documents::count::count_in;
use crate::documents::fault::Result;
use crate::documents::language::Language;
use crate::documents::look::Look;
use crate::documents::work::Work;

/// A pipeline of `$match`, `$skip` and `$limit`, each at most once, and a `$group` or `$count` of all.
struct Counts {
    filter: Object,
    skip: u64,
    limit: u64,
    /// The outcome, but for the number.
    shown: Object,
    field: String,
}

impl Counts {
    fn of(pipeline: &[Value]) -> Option<Counts> {
        let (last, first) = pipeline.split_last()?;
        let mut counts = Counts::by(last)?;
        let mut place = 0;
        for stage in first {
            let (name, spec) = only(stage)?;
            // Once each, and in this order.
            let own = match name {
                "$match" => 1,
                "$skip" => 2,
                "$limit" => 3,
                _ => return None,
            };
            if own <= place {
                return None;
            }
            place = own;
            match (name, spec) {
                ("$match", Value::Object(filter)) => counts.filter = filter.clone(),
                ("$skip", number) => counts.skip = u64::try_from(number.as_i64()?).ok()?,
                ("$limit", number) => {
                    counts.limit = u64::try_from(number.as_i64()?).ok().filter(|n| *n > 0)?;
                }
                _ => return None,
            }
        }
        Some(counts)
    }

    /// What the last stage makes of a number.
    fn by(stage: &Value) -> Option<Counts> {
        let (name, spec) = only(stage)?;
        let (mut shown, mut field) = (Object::new(), String::new());
        match (name, spec) {
            ("$count", Value::String(name)) if !name.is_empty() && !name.contains(['.', '$']) => {
                field = name.to_string();
            }
            ("$group", Value::Object(group)) if group.len() == 2 => {
                for (name, value) in group.iter() {
                    match (name.as_str(), value) {
                        ("_id", id) if id.is_number() || matches!(id, Value::Null) => {
                            shown.push("_id", id.clone());
                        }
                        ("_id", _) => return None,
                        (name, sum) => {
                            let (operator, operand) = only(sum)?;
                            let one = matches!(operand, Value::Int32(1));
                            if operator != "$sum" || !one || name.contains(['.', '$']) {
                                return None;
                            }
                            field = name.to_owned();
                        }
                    }
                }
                if !shown.contains_key("_id") {
                    return None;
                }
            }
            _ => return None,
        }
        Some(Counts {
            filter: Object::new(),
            skip: 0,
            limit: 0,
            shown,
            field,
        })
    }
}

fn only(stage: &Value) -> Option<(&str, &Value)> {
    match stage.as_object()?.as_slice() {
        [(name, spec)] => Some((name.as_str(), spec)),
        _ => None,
    }
}

/// What a pipeline that only counts makes: one document, or none if there is nothing to count; nothing is said of others.
pub(crate) async fn counted(
    work: &Work,
    look: &Look<'_>,
    language: &Language,
    pipeline: &[Value],
) -> Result<Option<Vec<Object>>> {
    let Some(counts) = Counts::of(pipeline) else {
        return Ok(None);
    };
    let filter = language.filter(&counts.filter)?;
    let asked = (&filter, counts.skip, counts.limit);
    let n = count_in(work, look, language, asked).await?;
    if n == 0 {
        return Ok(Some(Vec::new()));
    }
    let mut shown = counts.shown;
    let n = match i32::try_from(n) {
        Ok(n) => Value::Int32(n),
        Err(_) => Value::Int64(i64::try_from(n).unwrap_or(i64::MAX)),
    };
    shown.push(counts.field.as_str(), n);
    Ok(Some(vec![shown]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn read(text: &str) -> Option<Counts> {
        let limits = &lapsedb_value::json::Limits::DEFAULT;
        let value = lapsedb_value::json::parse(text.as_bytes(), limits).unwrap();
        Counts::of(value.as_array().unwrap())
    }

    #[test]
    fn only_pipelines_that_count_are_taken_for_such() {
        let driver =
            r#"[{"$match":{"a":1}},{"$skip":2},{"$limit":3},{"$group":{"_id":1,"n":{"$sum":1}}}]"#;
        let counts = read(driver).unwrap();
        assert_eq!(
            (counts.skip, counts.limit, counts.field.as_str()),
            (2, 3, "n")
        );
        assert!(counts.filter.contains_key("a"));
        assert!(read(r#"[{"$count":"n"}]"#).is_some());
        for other in [
            "[]",
            r#"[{"$match":{}}]"#,
            r#"[{"$limit":3},{"$match":{}},{"$count":"n"}]"#,
            r#"[{"$limit":3},{"$skip":3},{"$count":"n"}]"#,
            r#"[{"$group":{"_id":"$a","n":{"$sum":1}}}]"#,
            r#"[{"$group":{"_id":1,"n":{"$sum":2}}}]"#,
            r#"[{"$group":{"_id":1,"n":{"$sum":"$a"}}}]"#,
            r#"[{"$unwind":"$a"},{"$count":"n"}]"#,
            r#"[{"$count":"n"},{"$limit":1}]"#,
        ] {
            assert!(read(other).is_none(), "{other}");
        }
    }
}
