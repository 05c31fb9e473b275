//! `$regexFindAll`: every match of a regular expression in a text.

use crate::pattern::Pattern as Regex;

use super::*;

pub(crate) const FORM: Form = Form::Custom(parse);

fn parse(operator: &'static str, spec: &Value, names: &Names) -> Result<Expr> {
    pattern::parse(operator, spec, names, search, Value::Array(Vec::new()))
}

/// An empty match moves the search on by one sign; behind the last one nothing is looked for.
fn search(regex: &Regex, text: &str, budget: &Budget) -> Result<Value> {
    let (mut all, mut at, mut known) = (Vec::new(), 0, (0, 0));
    while at < text.len() || (text.is_empty() && all.is_empty()) {
        let Some(found) = regex.find_at(text, at, budget)? else {
            break;
        };
        if found.range.start >= text.len() && !text.is_empty() {
            break;
        }
        at = match found.range.is_empty() {
            true => {
                let next = text
                    .get(found.range.end..)
                    .and_then(|rest| rest.chars().next());
                found.range.end + next.map_or(1, char::len_utf8)
            }
            false => found.range.end,
        };
        let (place, shown) = pattern::describe(text, &found, known, budget)?;
        known = (found.range.start, place);
        all.push(shown);
    }
    Ok(Value::Array(all))
}
