//! `$sortByCount`: how often each value comes, the most frequent first.

use super::*;

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    const WHAT: &str = "the sortByCount field must be defined as a $-prefixed path or an expression inside an object";
    match spec {
        Value::String(path) if path.starts_with('$') => {}
        Value::String(_) => return Err(MqlError::new(40148, WHAT)),
        Value::Object(object) => {
            if !object.keys().next().is_some_and(|key| key.starts_with('$')) {
                return Err(MqlError::new(40147, WHAT));
            }
        }
        _ => {
            return Err(MqlError::new(
                40149,
                "the sortByCount field must be specified as a string or as an object",
            ));
        }
    }
    let mut ones = Object::new();
    ones.push("$sum", 1);
    let gather = group::parse_field("count", &Value::Object(ones), &context.names)?;
    let mut order = Object::new();
    order.push("count", -1);
    Ok(vec![
        Stage::Group(Arc::new(group::Group {
            id: group::Id::Value(Expr::parse(spec, &context.names)?),
            fields: vec![(Str::const_new("count"), gather)],
        })),
        sort::by(Sort::parse(&order)?),
    ])
}
