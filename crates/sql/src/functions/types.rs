//! Questions about the type of a value. They have an answer for everything, also for what is undefined.

use lapsedb_value::Value;

use crate::functions::args::{self, Args};

/// `IS_ARRAY`: whether the value is an array.
pub(crate) fn is_array(args: &Args<'_>) -> Option<Value> {
    answer(args, |value| matches!(value, Value::Array(_)))
}

/// `IS_BOOL`: whether the value is a boolean.
pub(crate) fn is_bool(args: &Args<'_>) -> Option<Value> {
    answer(args, |value| matches!(value, Value::Bool(_)))
}

/// `IS_DEFINED`: whether there is a value.
pub(crate) fn is_defined(args: &Args<'_>) -> Option<Value> {
    answer(args, |value| !value.is_undefined())
}

/// `IS_FINITE_NUMBER`: whether the value is a number, but not NaN or an infinity.
pub(crate) fn is_finite_number(args: &Args<'_>) -> Option<Value> {
    answer(args, |value| value.as_f64().is_some_and(f64::is_finite))
}

/// `IS_INTEGER`: whether the value is a whole number of 64 bits, also one written with a fraction of zero.
pub(crate) fn is_integer(args: &Args<'_>) -> Option<Value> {
    answer(args, |value| value.as_i64().is_some())
}

/// `IS_NULL`: whether the value is null.
pub(crate) fn is_null(args: &Args<'_>) -> Option<Value> {
    answer(args, Value::is_null)
}

/// `IS_NUMBER`: whether the value is a number, NaN and the infinities included.
pub(crate) fn is_number(args: &Args<'_>) -> Option<Value> {
    answer(args, Value::is_number)
}

/// `IS_OBJECT`: whether the value is an object. What only BSON knows is shown as an object, and so counts as one.
pub(crate) fn is_object(args: &Args<'_>) -> Option<Value> {
    answer(args, |value| {
        !primitive(value) && !matches!(value, Value::Undefined | Value::Array(_))
    })
}

/// `IS_PRIMITIVE`: whether the value is null, a boolean, a number or a string.
pub(crate) fn is_primitive(args: &Args<'_>) -> Option<Value> {
    answer(args, primitive)
}

/// `IS_STRING`: whether the value is a string.
pub(crate) fn is_string(args: &Args<'_>) -> Option<Value> {
    answer(args, |value| matches!(value, Value::String(_)))
}

fn primitive(value: &Value) -> bool {
    value.is_number() || matches!(value, Value::Null | Value::Bool(_) | Value::String(_))
}

fn answer(args: &Args<'_>, test: fn(&Value) -> bool) -> Option<Value> {
    Some(Value::Bool(test(args::any(args, 0))))
}
