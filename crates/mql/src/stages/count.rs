//! `$count`: one document that says how many there were.

use super::*;

pub(super) fn parse(_: &'static str, spec: &Value, context: &Context<'_>) -> Result<Vec<Stage>> {
    let refused = |code, what: &str| Err(MqlError::new(code, format!("the count field {what}")));
    let name = match spec {
        Value::String(name) => name,
        _ => return refused(40156, "must be a non-empty string"),
    };
    match name.as_str() {
        "" => return refused(40157, "must be a non-empty string"),
        "_id" => {
            return Err(MqlError::new(
                15948,
                "a group's _id may only be specified once",
            ));
        }
        name if name.starts_with('$') => return refused(40158, "cannot be a $-prefixed path"),
        name if name.contains('\0') => return refused(40159, "cannot contain a null byte"),
        name if name.contains('.') => return refused(40160, "cannot contain '.'"),
        _ => {}
    }
    let mut ones = Object::new();
    ones.push("$sum", 1);
    let gather = group::parse_field(name, &Value::Object(ones), &context.names)?;
    Ok(vec![
        Stage::Group(Arc::new(group::Group {
            id: group::Id::Value(Expr::Literal(Value::Null)),
            fields: vec![(name.clone(), gather)],
        })),
        Stage::Shape(Arc::new(Shape::unset(["_id"].into_iter())?)),
    ])
}
