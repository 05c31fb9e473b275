//! `$regexFindAll`: every match of a regular expression in a text.

use regex::Regex;

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    pattern::parse(operator, spec, names, search, Value::Array(Vec::new()))
}

/// An empty match behind the last sign is not looked for.
fn search(regex: &Regex, text: &str) -> Value {
    let all = regex.captures_iter(text);
    let inside = all.filter(|captures| {
        let start = captures.get(0).map_or(0, |whole| whole.start());
        start < text.len() || text.is_empty()
    });
    Value::Array(
        inside
            .map(|captures| pattern::describe(text, &captures))
            .collect(),
    )
}
