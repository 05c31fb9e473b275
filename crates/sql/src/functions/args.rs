//! Arguments by place and type. What is missing or of another type makes a function undefined.

use lapsedb_value::{Object, Value};

use crate::eval::Found;

/// The arguments of a call.
pub(crate) type Args<'a> = [Found<'a>];

pub(crate) fn any<'a>(args: &'a Args<'_>, at: usize) -> &'a Value {
    args.get(at).map_or(Value::undefined(), |value| &**value)
}

/// The argument, unless it is undefined.
pub(crate) fn defined<'a>(args: &'a Args<'_>, at: usize) -> Option<&'a Value> {
    Some(any(args, at)).filter(|value| !value.is_undefined())
}

pub(crate) fn number(args: &Args<'_>, at: usize) -> Option<f64> {
    any(args, at).as_f64()
}

/// A number without a fraction.
pub(crate) fn integer(args: &Args<'_>, at: usize) -> Option<i64> {
    any(args, at).as_i64()
}

pub(crate) fn text<'a>(args: &'a Args<'_>, at: usize) -> Option<&'a str> {
    any(args, at).as_str()
}

pub(crate) fn array<'a>(args: &'a Args<'_>, at: usize) -> Option<&'a [Value]> {
    any(args, at).as_array()
}

pub(crate) fn object<'a>(args: &'a Args<'_>, at: usize) -> Option<&'a Object> {
    any(args, at).as_object()
}

/// A boolean that may be left out and is false then.
pub(crate) fn flag(args: &Args<'_>, at: usize) -> Option<bool> {
    if at < args.len() {
        any(args, at).as_bool()
    } else {
        Some(false)
    }
}

/// A text that may be left out and is the given one then.
pub(crate) fn text_or<'a>(args: &'a Args<'_>, at: usize, otherwise: &'a str) -> Option<&'a str> {
    if at < args.len() {
        text(args, at)
    } else {
        Some(otherwise)
    }
}

/// A function of the first argument, if it is a number. The result need not be finite.
pub(crate) fn map_number(args: &Args<'_>, function: fn(f64) -> f64) -> Option<Value> {
    number(args, 0).map(|x| Value::Double(function(x)))
}

/// A number, unless it is not finite: measures are undefined then.
pub(crate) fn finite(n: f64) -> Option<Value> {
    n.is_finite().then(|| Value::number(n))
}
