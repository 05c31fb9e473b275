//! Dates: their parts, their text, and counting with them. Time zones are those of the bundled Olson database.

use lapsedb_value::{Object, Value};

use super::Expr;
use super::form::{Fields, Form, NamedArgs, OPTIONAL, Operator, RunNamed, is_nullish};
use super::numeric::Num;
use super::scope::{Names, Scope};
use super::values::type_name;
use crate::{MqlError, Result};

mod civil;
pub(crate) mod date_add;
pub(crate) mod date_diff;
pub(crate) mod date_from_parts;
pub(crate) mod date_from_string;
pub(crate) mod date_subtract;
pub(crate) mod date_to_parts;
pub(crate) mod date_to_string;
pub(crate) mod date_trunc;
pub(crate) mod day_of_month;
pub(crate) mod day_of_week;
pub(crate) mod day_of_year;
mod format;
pub(crate) mod hour;
pub(crate) mod iso_day_of_week;
pub(crate) mod iso_week;
pub(crate) mod iso_week_year;
pub(crate) mod millisecond;
pub(crate) mod minute;
pub(crate) mod month;
mod part;
mod read;
pub(crate) mod second;
mod unit;
pub(crate) mod week;
pub(crate) mod year;
mod zone;

pub(crate) use civil::Civil;
pub(crate) use read::parse_text;
pub(crate) use unit::{Unit, add as add_units};
pub(crate) use zone::Zone;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A date as text in the form `2020-01-15T10:20:30.456Z`.
pub(crate) fn iso_text(millis: i64) -> String {
    let time = Civil::from_millis(millis);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        time.year, time.month, time.day, time.hour, time.minute, time.second, time.millisecond
    )
}

/// The time in a value that holds one: a date, a time stamp, or the birth of an object id.
pub(crate) fn instant(value: &Value) -> Option<i64> {
    match value {
        Value::Date(millis) => Some(*millis),
        Value::Timestamp(stamp) => Some((stamp >> 32) as i64 * SECOND),
        Value::ObjectId([a, b, c, d, ..]) => {
            let seconds = u32::from_be_bytes([*a, *b, *c, *d]);
            Some(i64::from(seconds) * SECOND)
        }
        _ => None,
    }
}

/// The time in a value, or code 16006.
fn read_instant(value: &Value) -> Result<i64> {
    instant(value).ok_or_else(|| {
        let found = type_name(value);
        let message = format!("can't convert from BSON type {found} to Date");
        MqlError::new(16006, message)
    })
}

/// A named argument; the absence of a value if it was not given.
fn named<'a>(args: &'a NamedArgs<'_>, at: usize) -> &'a Value {
    let given = args.get(at).and_then(Option::as_deref);
    given.unwrap_or(Value::undefined())
}

/// The zone in a named argument: UTC if it was not given, nothing if it is null or missing.
fn named_zone(args: &NamedArgs<'_>, at: usize) -> Result<Option<Zone>> {
    match args.get(at).and_then(Option::as_deref) {
        None => Ok(Some(Zone::Utc)),
        Some(value) if is_nullish(value) => Ok(None),
        Some(Value::String(name)) => Zone::parse(name).map(Some),
        Some(other) => {
            let found = type_name(other);
            let message = format!("timezone must evaluate to a string, found {found}");
            Err(MqlError::new(40517, message))
        }
    }
}
