//! What the three operators of regular expressions share. Matching takes time linear in the text.

use crate::pattern::{Found, Pattern as Regex};

use super::*;

const FIELDS: Fields = Fields {
    names: &[("input", 31022), ("regex", 31023), ("options", OPTIONAL)],
    not_object: 51103,
    unknown: 31024,
};

/// What to do with the text and the expression.
pub(super) type Search = fn(&Regex, &str, &Budget) -> Result<Value>;

/// A search for an expression that is compiled at once if it is constant.
#[derive(Debug)]
struct Pattern {
    operator: &'static str,
    input: Expr,
    regex: Expr,
    options: Option<Expr>,
    compiled: Option<Regex>,
    search: Search,
    absent: Value,
}

/// Reads the arguments; `absent` is the answer when there is no text or no expression.
pub(super) fn parse(
    operator: &'static str,
    spec: &Value,
    names: &Names,
    search: Search,
    absent: Value,
) -> Result<Expr> {
    let mut parts = FIELDS.parse(operator, spec, names)?.into_iter();
    let mut part = || parts.next().flatten();
    let literal = |part: Option<Expr>| part.unwrap_or(Expr::Literal(Value::Undefined));
    let (input, regex, options) = (literal(part()), literal(part()), part());
    let flags = match &options {
        Some(options) => options.constant(),
        None => Some(Value::undefined()),
    };
    let compiled = match (regex.constant(), flags) {
        (Some(regex), Some(flags)) => compile(operator, regex, flags, &names.budget())?,
        _ => None,
    };
    Ok(Expr::lazy(Pattern {
        operator,
        input,
        regex,
        options,
        compiled,
        search,
        absent,
    }))
}

impl Operator for Pattern {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value> {
        let budget = scope.budget();
        let input = self.input.get(scope)?;
        let text = match &*input {
            Value::String(text) => Some(text.as_str()),
            other if is_nullish(other) => None,
            _ => {
                let message = format!("{} needs 'input' to be of type string", self.operator);
                return Err(MqlError::new(51104, message));
            }
        };
        // A wrong expression is told also where there is no text. One that comes from a document is gone with it.
        let kept = budget.kept();
        let made = match &self.compiled {
            Some(_) => None,
            None => {
                let options = match &self.options {
                    Some(options) => options.eval(scope)?,
                    None => Value::Undefined,
                };
                compile(self.operator, &*self.regex.get(scope)?, &options, budget)?
            }
        };
        budget.set_kept(kept);
        match self.compiled.as_ref().or(made.as_ref()).zip(text) {
            Some((regex, text)) => (self.search)(regex, text, budget),
            None => Ok(self.absent.clone()),
        }
    }
}

/// The compiled expression; nothing if it is null or missing.
fn compile(
    operator: &str,
    regex: &Value,
    options: &Value,
    budget: &Budget,
) -> Result<Option<Regex>> {
    let refused = |code, what: String| Err(MqlError::new(code, format!("{operator}{what}")));
    let (pattern, own) = match regex {
        Value::String(pattern) => (pattern.as_str(), ""),
        Value::Regex { pattern, options } => (pattern.as_str(), options.as_str()),
        other if is_nullish(other) => ("", ""),
        _ => return refused(51105, " needs 'regex' to be of type string or regex".into()),
    };
    let given = match options {
        Value::String(_) if !own.is_empty() => {
            return refused(
                51107,
                ": found regex option(s) specified in both 'regex' and 'option' fields".into(),
            );
        }
        Value::String(options) => options.as_str(),
        other if is_nullish(other) => "",
        _ => return refused(51106, " needs 'options' to be of type string".into()),
    };
    if pattern.contains('\0') {
        return refused(
            51109,
            ": regular expression cannot contain an embedded null byte".into(),
        );
    }
    if given.contains('\0') {
        return refused(
            51110,
            ": regular expression options cannot contain an embedded null byte".into(),
        );
    }
    if let Some(flag) = own
        .chars()
        .chain(given.chars())
        .find(|flag| !"imsxu".contains(*flag))
    {
        return refused(51108, format!(" invalid flag in regex options: {flag}"));
    }
    if is_nullish(regex) {
        return Ok(None);
    }
    match Regex::new(pattern, if own.is_empty() { given } else { own }, budget) {
        Ok(regex) => Ok(Some(regex)),
        Err(error) if error.code != 51091 => Err(error),
        Err(error) => Err(MqlError::new(
            51111,
            format!("Invalid Regex in {operator}: {}", error.message),
        )),
    }
}

/// Bytes of a match as it is shown, without what its texts take.
const MATCH_BYTES: usize = VALUE_BYTES + 3 * MEMBER_BYTES;

/// What a match looks like: its text, its place in code points, and its groups.
///
/// The place is counted from one that is known: that of a byte before the match.
pub(super) fn describe(
    text: &str,
    found: &Found,
    (byte, sign): (usize, usize),
    budget: &Budget,
) -> Result<(usize, Value)> {
    let groups = found.groups.iter().flatten().map(ExactSizeIterator::len);
    let texts = found.range.len() + groups.sum::<usize>();
    budget.charge(MATCH_BYTES + VALUE_BYTES * found.groups.len() + texts)?;
    budget.work(found.range.start.saturating_sub(byte))?;
    let part = |range: &std::ops::Range<usize>| text.get(range.clone()).unwrap_or_default();
    let mut shown = Object::with_capacity(3);
    shown.push("match", part(&found.range));
    let before = part(&(byte..found.range.start));
    let place = sign + before.chars().count();
    shown.push("idx", place as i32);
    let group = |group: &Option<std::ops::Range<usize>>| match group {
        Some(range) => Value::from(part(range)),
        None => Value::Null,
    };
    shown.push(
        "captures",
        Value::Array(found.groups.iter().map(group).collect()),
    );
    Ok((place, Value::Object(shown)))
}
