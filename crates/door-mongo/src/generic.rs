//! The members that every command may have.

use std::time::Duration;

use lapsedb_service::documents::Fault;
use lapsedb_service::sessions::Asked;
use lapsedb_value::{Object, Str, Value};

use crate::codes;
use crate::fields::whole;

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
    /// Its session.
    pub(crate) session: Asked,
    /// Its write concern, as given.
    pub(crate) write_concern: Option<Object>,
    /// Its read concern's level.
    pub(crate) read_concern: Option<String>,
    /// Whether an API version was asked for, and strictly.
    pub(crate) api_strict: bool,
}

impl Generic {
    /// Takes them out of a command.
    pub(crate) fn take(command: &mut Object) -> Result<Generic, Fault> {
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
            max_time: max_time(body.remove("maxTimeMS"))?,
            session: session(body)?,
            read_concern: read_concern(body.remove("readConcern"))?,
            api_strict: false,
            write_concern: None,
        };
        generic.write_concern = match body.remove("writeConcern") {
            None | Some(Value::Null) => None,
            Some(Value::Object(concern)) => Some(concern),
            Some(_) => {
                return Err(Fault::new(
                    codes::TYPE_MISMATCH,
                    "writeConcern must be an object",
                ));
            }
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
    let Some(millis) = value.as_i64() else {
        return Err(Fault::new(
            codes::TYPE_MISMATCH,
            "maxTimeMS must be a number without a fraction",
        ));
    };
    match u64::try_from(millis) {
        Ok(0) => Ok(None),
        Ok(millis) if millis <= i32::MAX as u64 => Ok(Some(Duration::from_millis(millis))),
        Ok(_) | Err(_) => Err(Fault::new(
            codes::BAD_VALUE,
            format!("{millis} value for maxTimeMS is out of range"),
        )),
    }
}

fn session(body: &mut Object) -> Result<Asked, Fault> {
    let invalid = |text: &str| Fault::new(codes::INVALID_OPTIONS, text);
    let id = match body.remove("lsid") {
        None => None,
        Some(lsid) => match lsid.get("id") {
            Value::Binary { bytes, .. } if bytes.len() == 16 => Some(bytes.clone()),
            _ => return Err(invalid("lsid.id must be a UUID")),
        },
    };
    let number = match body.remove("txnNumber") {
        None => None,
        Some(Value::Int64(number)) => Some(number),
        Some(_) => return Err(Fault::new(codes::TYPE_MISMATCH, "txnNumber must be a long")),
    };
    if number.is_some() && id.is_none() {
        return Err(invalid(
            "Transaction number requires a session ID to also be specified",
        ));
    }
    let start = match body.remove("startTransaction") {
        None => false,
        Some(Value::Bool(true)) => true,
        Some(_) => return Err(invalid("startTransaction may only be set to true")),
    };
    let in_transaction = match body.remove("autocommit") {
        None => false,
        Some(Value::Bool(false)) => true,
        Some(_) => return Err(invalid("autocommit may only be set to false")),
    };
    if start && !in_transaction {
        return Err(invalid(
            "'startTransaction' requires 'autocommit' to be set to false",
        ));
    }
    if in_transaction && number.is_none() {
        return Err(invalid(
            "'autocommit' field requires a transaction number to also be specified",
        ));
    }
    let small = |value: &Value| i32::try_from(whole(value)).unwrap_or(0);
    Ok(Asked {
        session: id,
        number,
        start,
        in_transaction,
        first_statement: body.remove("stmtId").map_or(0, |value| small(&value)),
        statements: body
            .remove("stmtIds")
            .and_then(|value| Some(value.as_array()?.iter().map(small).collect())),
    })
}

fn read_concern(value: Option<Value>) -> Result<Option<String>, Fault> {
    let Some(concern) = value else {
        return Ok(None);
    };
    match concern.get("level") {
        Value::Undefined => Ok(None),
        Value::String(level)
            if ["local", "available", "majority", "linearizable", "snapshot"]
                .contains(&level.as_str()) =>
        {
            Ok(Some(level.to_string()))
        }
        Value::String(level) => Err(Fault::new(
            codes::FAILED_TO_PARSE,
            format!(
                "Enumeration value '{level}' for field 'readConcern.level' is not a valid value."
            ),
        )),
        _ => Err(Fault::new(
            codes::TYPE_MISMATCH,
            "\"readConcern.level\" had the wrong type. Expected string",
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
