//! Members of an options document, each asked for by name and type; failures are in the words clients know.

use lapsedb_value::bson::type_name;
use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};

/// Code of a number that is out of its range.
const OUT_OF_RANGE: i32 = 51_024;
/// Code of a member that must be there.
const MISSING_FIELD: i32 = 40_414;
/// Code of a member that nobody knows.
const UNKNOWN_FIELD: i32 = 40_415;

/// A decimal as the nearest double; any other value as it is.
pub(crate) fn plain_number(value: &Value) -> Value {
    match value {
        Value::Decimal128(bytes) => Value::Double(Decimal128::from_bytes(bytes).to_f64()),
        other => other.clone(),
    }
}

/// The members of a document.
pub(crate) struct Members<'a> {
    /// What the document is called in error texts.
    pub(crate) context: &'a str,
    pub(crate) of: &'a Object,
}

impl Members<'_> {
    pub(crate) fn any(&self, name: &str) -> Option<&Value> {
        self.of.get(name).filter(|value| !value.is_null())
    }

    /// A truth: a boolean, or a number.
    pub(crate) fn truth(&self, name: &str) -> Result<bool> {
        match self.any(name) {
            None => Ok(false),
            Some(Value::Bool(truth)) => Ok(*truth),
            Some(value) => match plain_number(value).as_f64() {
                Some(number) => Ok(number != 0.0),
                None => Err(self.wrong(name, value, "bool")),
            },
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, other, "string")),
        }
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<&Object>> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => Err(self.wrong(name, other, "object")),
        }
    }

    /// A list of objects.
    pub(crate) fn objects(&self, name: &str) -> Result<Option<&[Value]>> {
        let Some(value) = self.any(name) else {
            return Ok(None);
        };
        let Value::Array(elements) = value else {
            return Err(self.wrong(name, value, "array"));
        };
        for (at, element) in elements.iter().enumerate() {
            if element.as_object().is_none() {
                return Err(self.wrong(&format!("{name}.{at}"), element, "object"));
            }
        }
        Ok(Some(elements))
    }

    /// One of some words.
    pub(crate) fn word(&self, name: &str, words: &[&str]) -> Result<Option<&str>> {
        match self.text(name)? {
            Some(word) if !words.contains(&word) => Err(Fault::new(
                code::BAD_VALUE,
                format!(
                    "Enumeration value '{word}' for field '{}.{name}' is not a valid value.",
                    self.context
                ),
            )),
            word => Ok(word),
        }
    }

    /// A number without its fraction, of a least and a greatest value.
    pub(crate) fn number(&self, name: &str, min: i64, max: i64) -> Result<Option<i64>> {
        let Some(value) = self.any(name) else {
            return Ok(None);
        };
        let value = &plain_number(value);
        if !value.is_number() {
            return Err(Fault::new(
                code::TYPE_MISMATCH,
                format!(
                    "BSON field '{}.{name}' is the wrong type '{}', expected types '[long, int, decimal, double']",
                    self.context,
                    type_name(value)
                ),
            ));
        }
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
        let number = value
            .as_i64()
            .unwrap_or_else(|| value.as_f64().unwrap_or(0.0) as i64);
        let bound = match () {
            () if number < min => format!(">= {min}"),
            () if number > max => format!("<= {max}"),
            () => return Ok(Some(number)),
        };
        Err(Fault::new(
            OUT_OF_RANGE,
            format!("BSON field '{name}' value must be {bound}, actual value '{number}'"),
        ))
    }

    /// Refuses members that are not in a list.
    pub(crate) fn only(&self, known: &[&str]) -> Result<()> {
        match self.of.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(Fault::new(
                UNKNOWN_FIELD,
                format!("BSON field '{}.{name}' is an unknown field.", self.context),
            )),
        }
    }

    pub(crate) fn missing(&self, name: &str) -> Fault {
        Fault::new(
            MISSING_FIELD,
            format!(
                "BSON field '{}.{name}' is missing but a required field",
                self.context
            ),
        )
    }

    pub(crate) fn wrong(&self, name: &str, value: &Value, wanted: &str) -> Fault {
        Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "BSON field '{}.{name}' is the wrong type '{}', expected type '{wanted}'",
                self.context,
                type_name(value)
            ),
        )
    }
}

/// A refusal of options.
pub(crate) fn invalid(message: impl Into<String>) -> Fault {
    Fault::new(code::INVALID_OPTIONS, message)
}
