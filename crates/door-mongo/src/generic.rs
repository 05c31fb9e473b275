//! The members that every command may have.

use std::time::Duration;

use lapsedb_service::documents::Fault;
use lapsedb_service::sessions::Asked;
use lapsedb_value::{Object, Str, Value};

use crate::codes;
use crate::fields::{number, whole};
use crate::lsid::{self, Owner};
use crate::read_concern::ReadConcern;
use crate::write_concern;

/// Members that change nothing on one server whose writes are durable and whose reads are up to date.
const WITHOUT_EFFECT: [&str; 9] = [
    "$readPreference",
    "$clusterTime",
    "$audit",
    "$client",
    "$configServerState",
    "comment",
    "mayBypassWriteBlocking",
    "databaseVersion",
    "shardVersion",
];

/// What every command may say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Generic {
    /// How long it may take.
    pub(crate) max_time: Option<Duration>,
    /// Whether it says how long it may take, be it for ever.
    pub(crate) is_timed: bool,
    /// Its session.
    pub(crate) session: Asked,
    /// Its write concern, as given.
    pub(crate) write_concern: Option<Object>,
    /// Its read concern.
    pub(crate) read_concern: Option<ReadConcern>,
    /// Whether an API version was asked for, and strictly.
    pub(crate) api_strict: bool,
}

impl Generic {
    /// Takes them out of a command.
    pub(crate) fn take(command: &mut Object, owner: Owner) -> Result<Generic, Fault> {
        let mut own = Object::with_capacity(4);
        let apart = |(name, value): (Str, Value)| match name.as_str() {
            "maxTimeMS"
            | "lsid"
            | "txnNumber"
            | "startTransaction"
            | "autocommit"
            | "stmtId"
            | "stmtIds"
            | "readConcern"
            | "writeConcern"
            | "apiVersion"
            | "apiStrict"
            | "apiDeprecationErrors" => {
                own.push(name, value);
                None
            }
            other if WITHOUT_EFFECT.contains(&other) => None,
            _ => Some((name, value)),
        };
        *command = std::mem::take(command)
            .into_iter()
            .filter_map(apart)
            .collect();
        let body = &mut own;
        let mut generic = Generic {
            is_timed: body.contains_key("maxTimeMS"),
            max_time: max_time(body.remove("maxTimeMS"))?,
            session: lsid::take(body, owner)?,
            read_concern: ReadConcern::take(body)?,
            api_strict: false,
            write_concern: write_concern::take(body)?,
        };
        take_api(body, &mut generic)?;
        // What came twice is nobody's.
        for (name, value) in own {
            command.push(name, value);
        }
        Ok(generic)
    }
}

fn max_time(value: Option<Value>) -> Result<Option<Duration>, Fault> {
    let Some(value) = value else {
        return Ok(None);
    };
    let refused = |why: &str| Err(Fault::new(codes::BAD_VALUE, format!("maxTimeMS {why}")));
    if number(&value).is_none() {
        return refused("must be a number");
    }
    // The fraction of a decimal is passed over, as in MongoDB; a negative number is out of range with any fraction.
    if let Value::Double(millis) = value
        && (millis.is_nan() || millis > 0.0 && millis.fract() != 0.0)
    {
        return refused("has non-integral value");
    }
    let millis = whole(&value);
    match u64::try_from(millis) {
        Ok(0) => Ok(None),
        Ok(millis) if millis <= i32::MAX as u64 => Ok(Some(Duration::from_millis(millis))),
        Ok(_) | Err(_) => Err(Fault::new(
            codes::BAD_VALUE,
            format!("{millis} value for maxTimeMS is out of range"),
        )),
    }
}

fn take_api(body: &mut Object, generic: &mut Generic) -> Result<(), Fault> {
    let version = body.remove("apiVersion");
    let strict = body.remove("apiStrict");
    let deprecation = body.remove("apiDeprecationErrors");
    match &version {
        Some(Value::String(version)) if version == "1" => {}
        Some(Value::String(version)) => {
            return Err(Fault::new(
                322,
                format!("API version must be \"1\", not \"{version}\""),
            ));
        }
        Some(_) => {
            return Err(Fault::new(
                codes::TYPE_MISMATCH,
                "apiVersion must be a string",
            ));
        }
        None if strict.is_some() || deprecation.is_some() => {
            return Err(Fault::new(
                322,
                "Provided apiStrict and/or apiDeprecationErrors without passing apiVersion",
            ));
        }
        None => {}
    }
    generic.api_strict = matches!(strict, Some(Value::Bool(true)));
    Ok(())
}
