//! The members of a command, each asked for by name and type. What nobody asked for is refused, never ignored.

use lapsedb_service::documents::{Fault, Namespace};
use lapsedb_value::decimal128::Decimal128;
use lapsedb_value::{Object, Value};

use crate::call::Call;
use crate::codes;
use crate::types;

/// The members of a command or of a statement in it.
pub(crate) struct Fields {
    /// What the command is called in error texts.
    context: String,
    members: Object,
}

impl Fields {
    /// The members of a command.
    pub(crate) fn of(call: &mut Call<'_>) -> Fields {
        Fields {
            context: call.command.name.to_owned(),
            members: std::mem::take(&mut call.body),
        }
    }

    /// The members of a statement.
    pub(crate) fn new(context: &str, members: Object) -> Fields {
        Fields {
            context: context.to_owned(),
            members,
        }
    }

    /// Takes a member out as it is; null counts as none.
    pub(crate) fn any(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name).filter(|value| !value.is_null())
    }

    /// Takes a member out as it is, null too.
    pub(crate) fn raw(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name)
    }

    /// Takes out members whose value changes nothing here.
    pub(crate) fn ignore(&mut self, names: &[&str]) {
        for name in names {
            self.members.remove(name);
        }
    }

    /// A document; empty, if there is none.
    pub(crate) fn document(&mut self, name: &str) -> Result<Object, Fault> {
        Ok(self.document_if(name)?.unwrap_or_default())
    }

    /// A document, if there is one.
    pub(crate) fn document_if(&mut self, name: &str) -> Result<Option<Object>, Fault> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => Err(self.wrong(name, &other, "object")),
        }
    }

    /// A text, if there is one.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Fault> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.to_string())),
            Some(other) => Err(self.wrong(name, &other, "string")),
        }
    }

    /// A truth: a boolean, or a number.
    pub(crate) fn truth(&mut self, name: &str, default: bool) -> Result<bool, Fault> {
        match self.any(name) {
            None => Ok(default),
            Some(value) => truth(&value).ok_or_else(|| self.wrong(name, &value, "bool")),
        }
    }

    /// A whole number, if there is one.
    pub(crate) fn integer(&mut self, name: &str) -> Result<Option<i64>, Fault> {
        match self.any(name) {
            None => Ok(None),
            Some(value) if number(&value).is_some() => Ok(Some(whole(&value))),
            Some(other) => Err(self.wrong(name, &other, "long")),
        }
    }

    /// A number that is whole and no larger than a long, if there is one.
    pub(crate) fn exact_integer(&mut self, name: &str) -> Result<Option<i64>, Fault> {
        let Some(value) = self.any(name) else {
            return Ok(None);
        };
        match number(&value) {
            None => Err(Fault::new(
                codes::BAD_VALUE,
                format!("{name} value is not a valid number"),
            )),
            Some(given) if value.as_i64().is_none() && !is_long(given) => Err(Fault::new(
                codes::FAILED_TO_PARSE,
                format!("Cannot represent as a 64-bit integer: {name}: {given}"),
            )),
            Some(_) => Ok(Some(whole(&value))),
        }
    }

    /// A number with its fraction, if there is one.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<f64>, Fault> {
        match self.any(name) {
            None => Ok(None),
            Some(value) => match number(&value) {
                Some(number) => Ok(Some(number)),
                None => Err(self.wrong(name, &value, "long")),
            },
        }
    }

    /// A whole number that is not negative, if there is one.
    pub(crate) fn size(&mut self, name: &str) -> Result<Option<u64>, Fault> {
        match self.integer(name)? {
            None => Ok(None),
            Some(number) => match u64::try_from(number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(Fault::new(
                    codes::NEGATIVE,
                    format!("BSON field '{name}' value must be >= 0, actual value '{number}'"),
                )),
            },
        }
    }

    /// A list, if there is one.
    pub(crate) fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, Fault> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Array(elements)) => Ok(Some(elements)),
            Some(other) => Err(self.wrong(name, &other, "array")),
        }
    }

    /// A list of documents, which must be there.
    pub(crate) fn documents(&mut self, name: &str) -> Result<Vec<Object>, Fault> {
        let Some(list) = self.list(name)? else {
            return Err(self.missing(name));
        };
        list.into_iter()
            .map(|element| match element {
                Value::Object(object) => Ok(object),
                other => Err(self.wrong(name, &other, "object")),
            })
            .collect()
    }

    /// The collection that the command names by its own name.
    pub(crate) fn namespace(&mut self, call: &Call<'_>) -> Result<Namespace, Fault> {
        match self.members.remove(&call.name) {
            Some(Value::String(name)) => Namespace::new(&call.database, &name),
            Some(other) => Err(Fault::new(
                73,
                format!("collection name has invalid type {}", types::name(&other)),
            )),
            None => Err(self.missing(&call.name)),
        }
    }

    /// Takes the command's own member out.
    pub(crate) fn own(&mut self, call: &Call<'_>) -> Value {
        self.members.remove(&call.name).unwrap_or_default()
    }

    /// All that is left.
    pub(crate) fn rest(self) -> Object {
        self.members
    }

    /// Refuses what nobody has asked for.
    pub(crate) fn end(self) -> Result<(), Fault> {
        match self.members.keys().next() {
            None => Ok(()),
            Some(name) => Err(Fault::new(
                codes::UNKNOWN_FIELD,
                format!("BSON field '{}.{name}' is an unknown field.", self.context),
            )),
        }
    }

    /// What a missing member is answered.
    pub(crate) fn missing(&self, name: &str) -> Fault {
        Fault::new(
            codes::MISSING_FIELD,
            format!(
                "BSON field '{}.{name}' is missing but a required field",
                self.context
            ),
        )
    }

    /// What a member of another type is answered.
    pub(crate) fn wrong(&self, name: &str, value: &Value, wanted: &str) -> Fault {
        Fault::new(
            codes::TYPE_MISMATCH,
            format!(
                "BSON field '{}.{name}' is the wrong type '{}', expected type '{wanted}'",
                self.context,
                types::name(value)
            ),
        )
    }
}

/// What a boolean or a number says; nothing, if the value is neither.
pub(crate) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        number if number.is_number() => Some(number.as_f64() != Some(0.0)),
        _ => None,
    }
}

/// A number of any kind; a decimal as the nearest double.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Decimal128(bytes) => Some(Decimal128::from_bytes(bytes).to_f64()),
        value => value.as_f64(),
    }
}

/// Whether a number is whole and fits 64 bits.
fn is_long(number: f64) -> bool {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    number.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(&number)
}

/// A number without its fraction; a decimal is rounded, as MongoDB does.
pub(crate) fn whole(value: &Value) -> i64 {
    let number = match value {
        Value::Decimal128(bytes) => Decimal128::from_bytes(bytes).round_to(0).to_f64(),
        value => match value.as_i64() {
            Some(whole) => return whole,
            None => value.as_f64().unwrap_or(0.0),
        },
    };
    #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
    let whole = number as i64;
    whole
}
