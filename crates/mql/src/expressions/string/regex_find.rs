//! `$regexFind`: the first match of a regular expression in a text.

use crate::pattern::Pattern as Regex;

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    pattern::parse(operator, spec, names, search, Value::Null)
}

fn search(regex: &Regex, text: &str, budget: &Budget) -> Result<Value> {
    match regex.find_at(text, 0, budget)? {
        Some(found) => Ok(pattern::describe(text, &found, (0, 0), budget)?.1),
        None => Ok(Value::Null),
    }
}
