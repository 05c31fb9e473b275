//! `$size`: arrays of a certain length.

use lapsedb_value::Value;

use super::integer::non_negative;
use crate::Result;

/// A length.
#[derive(Clone, Debug)]
pub(crate) struct Size(i64);

impl Size {
    pub(crate) fn parse(argument: &Value) -> Result<Size> {
        non_negative("$size", argument, "Failed to parse $size. ", 2).map(Size)
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        let length = value.as_array().map(|elements| elements.len() as i64);
        length == Some(self.0)
    }
}
