//! `$regex` and `$options`: text that contains a pattern.

use lapsedb_value::{Str, Value};

use crate::pattern::Pattern;
use crate::{MqlError, Result};

/// A pattern, and what it was made of.
#[derive(Clone, Debug)]
pub(crate) struct RegexTest {
    pub(crate) source: Str,
    pub(crate) options: Str,
    pattern: Pattern,
}

impl RegexTest {
    pub(crate) fn parse(source: &str, options: &str) -> Result<RegexTest> {
        Ok(RegexTest {
            source: Str::new(source),
            options: Str::new(options),
            pattern: Pattern::new(source, options)?,
        })
    }

    /// Reads the members `$regex` and `$options`, which may stand in any order.
    pub(crate) fn parse_members(
        regex: Option<&Value>,
        options: Option<&Value>,
    ) -> Result<RegexTest> {
        let options = match options {
            None => None,
            Some(Value::String(options)) => Some(options.as_str()),
            Some(_) => return Err(MqlError::bad_value("$options has to be a string")),
        };
        match regex {
            Some(Value::String(source)) => RegexTest::parse(source, options.unwrap_or_default()),
            Some(Value::Regex {
                pattern,
                options: own,
            }) => match options {
                Some(_) if !own.is_empty() => Err(MqlError::new(
                    51075,
                    "options set in both $regex and $options",
                )),
                Some(options) => RegexTest::parse(pattern, options),
                None => RegexTest::parse(pattern, own),
            },
            Some(_) => Err(MqlError::bad_value("$regex has to be a string")),
            None => Err(MqlError::bad_value("$options needs a $regex")),
        }
    }

    /// Text that contains the pattern, or the same pattern as a value.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        match value {
            Value::String(text) | Value::Symbol(text) => self.pattern.is_match(text),
            Value::Regex { pattern, options } => {
                **pattern == self.source && **options == self.options
            }
            _ => false,
        }
    }
}
