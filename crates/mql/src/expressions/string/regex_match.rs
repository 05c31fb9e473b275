//! `$regexMatch`: whether a regular expression matches a text.

use crate::pattern::Pattern as Regex;

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    pattern::parse(operator, spec, names, search, Value::Bool(false))
}

fn search(regex: &Regex, text: &str, budget: &Budget) -> Result<Value> {
    Ok(Value::Bool(regex.is_match(text, budget)?))
}
