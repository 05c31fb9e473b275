//! `$currentDate`: the time of the command.

use lapsedb_value::Value;
use lapsedb_value::bson::type_name;

use super::Outcome;
use crate::expressions::Env;
use crate::{MqlError, Result};

/// The kind of time that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CurrentDate {
    Date,
    Timestamp,
}

impl CurrentDate {
    pub(crate) fn parse(argument: &Value) -> Result<CurrentDate> {
        let object = match argument {
            Value::Bool(_) => return Ok(CurrentDate::Date),
            Value::Object(object) => object,
            other => {
                return Err(MqlError::bad_value(format!(
                    "{} is not valid type for $currentDate. Please use a boolean ('true') or a $type expression \
                     ({{$type: 'timestamp/date'}}).",
                    type_name(other)
                )));
            }
        };
        if let Some(name) = object.keys().find(|name| *name != "$type") {
            return Err(MqlError::bad_value(format!(
                "Unrecognized $currentDate option: {name}"
            )));
        }
        match object.get("$type").and_then(Value::as_str) {
            Some("date") => Ok(CurrentDate::Date),
            Some("timestamp") => Ok(CurrentDate::Timestamp),
            _ => Err(MqlError::bad_value(
                "The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}",
            )),
        }
    }

    pub(crate) fn value(self, env: &Env) -> Value {
        match self {
            CurrentDate::Date => Value::Date(env.now()),
            CurrentDate::Timestamp => Value::Timestamp(crate::update::stamp(env)),
        }
    }

    /// Setting the time is a change even if it stands still.
    pub(crate) fn existing(self, value: &mut Value, env: &Env) -> Outcome {
        *value = self.value(env);
        Outcome::Changed
    }
}
