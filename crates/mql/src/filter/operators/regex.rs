//! `$regex` and `$options`: text that contains a pattern.

use lapsedb_value::{Budget, Str, Value};

use crate::filter::node::Run;
use crate::pattern::{MATCH_LIMIT_EXCEEDED, Pattern};
use crate::{MqlError, Result};

/// A pattern, and what it was made of.
#[derive(Clone, Debug)]
pub(crate) struct RegexTest {
    pub(crate) source: Str,
    pub(crate) options: Str,
    pattern: Pattern,
}

impl RegexTest {
    pub(crate) fn parse(source: &str, options: &str, budget: &Budget) -> Result<RegexTest> {
        Ok(RegexTest {
            source: Str::new(source),
            options: Str::new(options),
            pattern: Pattern::new(source, options, budget)?,
        })
    }

    /// Reads the members `$regex` and `$options`, which may stand in any order.
    pub(crate) fn parse_members(
        regex: Option<&Value>,
        options: Option<&Value>,
        budget: &Budget,
    ) -> Result<RegexTest> {
        let options = match options {
            None => None,
            Some(Value::String(options)) => Some(options.as_str()),
            Some(_) => return Err(MqlError::bad_value("$options has to be a string")),
        };
        match regex {
            Some(Value::String(source)) => {
                RegexTest::parse(source, options.unwrap_or_default(), budget)
            }
            Some(Value::Regex {
                pattern,
                options: own,
            }) => match options {
                Some(_) if !own.is_empty() => Err(MqlError::new(
                    51075,
                    "options set in both $regex and $options",
                )),
                Some(options) => RegexTest::parse(pattern, options, budget),
                None => RegexTest::parse(pattern, own, budget),
            },
            Some(_) => Err(MqlError::bad_value("$regex has to be a string")),
            None => Err(MqlError::bad_value("$options needs a $regex")),
        }
    }

    /// Text that contains the pattern, or the same pattern as a value.
    pub(crate) fn matches(&self, value: &Value, run: &mut Run<'_>) -> bool {
        match value {
            Value::String(text) | Value::Symbol(text) => {
                match self.pattern.is_match(text, run.env.budget()) {
                    // As mongod does: only expressions report a search that exceeds the limit.
                    Err(error) if error.code == MATCH_LIMIT_EXCEEDED => false,
                    found => run.answer(found),
                }
            }
            Value::Regex { pattern, options } => {
                **pattern == self.source && **options == self.options
            }
            _ => false,
        }
    }
}
