//! `$regexFind`: the first match of a regular expression in a text.

use crate::pattern::Pattern as Regex;

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    pattern::parse(operator, spec, names, search, Value::Null)
}

fn search(regex: &Regex, text: &str) -> Value {
    match regex.find_at(text, 0) {
        Some(found) => pattern::describe(text, &found),
        None => Value::Null,
    }
}
