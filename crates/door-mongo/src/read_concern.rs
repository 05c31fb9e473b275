//! How current what is read must be. On one server every read is of the newest state; what is left to decide is which
//! commands may ask for what, and whether several commands are to read the same state.

use lapsedb_service::documents::Fault;
use lapsedb_service::sessions::ReadAt;
use lapsedb_value::{Object, Value};

use crate::codes;
use crate::generic::Generic;
use crate::registry::Command;
use crate::types;

/// A read concern as given.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadConcern {
    pub(crate) level: Option<String>,
    after: Option<u64>,
    at: Option<u64>,
}

const LEVELS: [&str; 5] = ["local", "majority", "linearizable", "available", "snapshot"];
/// Commands that take every level.
const READERS: [&str; 3] = ["aggregate", "distinct", "find"];

impl ReadConcern {
    /// Takes it out of a command.
    pub(crate) fn take(body: &mut Object) -> Result<Option<ReadConcern>, Fault> {
        let members = match body.remove("readConcern") {
            None => return Ok(None),
            Some(Value::Object(members)) => members,
            Some(_) => {
                return Err(Fault::new(
                    codes::FAILED_TO_PARSE,
                    "readConcern field should be an object",
                ));
            }
        };
        let mut concern = ReadConcern::default();
        for (name, value) in members.iter() {
            match name.as_str() {
                "level" => concern.level = Some(level(value)?),
                "afterClusterTime" => concern.after = Some(time(name, value)?),
                "atClusterTime" => concern.at = Some(time(name, value)?),
                "provenance" => {}
                unknown => {
                    return Err(invalid(format!(
                        "Unrecognized option in readConcern: {unknown}"
                    )));
                }
            }
        }
        concern.check()?;
        Ok(Some(concern))
    }

    fn is(&self, level: &str) -> bool {
        self.level.as_deref() == Some(level)
    }

    fn check(&self) -> Result<(), Fault> {
        if self.after.is_some() && (self.is("available") || self.is("linearizable")) {
            return Err(invalid(
                "afterClusterTime field can be set only if level is equal to majority, local, or snapshot",
            ));
        }
        if self.at.is_some() && !self.is("snapshot") {
            return Err(invalid(
                "atClusterTime field can be set only if level is equal to snapshot",
            ));
        }
        if self.at.is_some() && self.after.is_some() {
            return Err(invalid(
                "Specifying a timestamp for readConcern snapshot in a causally consistent session is not allowed.",
            ));
        }
        Ok(())
    }

    /// Which kept state is to be read, if any.
    fn read_at(&self, in_transaction: bool) -> Option<ReadAt> {
        match self.at {
            Some(stamp) => Some(ReadAt::Time(stamp)),
            None if self.is("snapshot") && !in_transaction => Some(ReadAt::Newest),
            None => None,
        }
    }
}

/// Refuses a read concern that a command does not take, and says which state it is to read.
pub(crate) fn apply(command: &Command, generic: &mut Generic, now: u64) -> Result<(), Fault> {
    let Some(concern) = &generic.read_concern else {
        return Ok(());
    };
    if command.name == "getMore" {
        // A cursor goes on reading what it was opened for.
        return Ok(());
    }
    let in_transaction = generic.session.in_transaction;
    if in_transaction {
        if concern.is("linearizable") || concern.is("available") {
            return Err(invalid(
                "The readConcern level must be either 'local' (default), 'majority' or 'snapshot' in order to run in a transaction",
            ));
        }
    } else if let Some(level) = &concern.level {
        let refused = match command.name {
            name if READERS.contains(&name) => None,
            "count" if level == "snapshot" => Some("read concern snapshot not supported"),
            "count" => None,
            _ if level == "local" => None,
            _ => Some("read concern not supported"),
        };
        if let Some(why) = refused {
            return Err(invalid(format!(
                "Command {} does not support {{ readConcern: {{ level: \"{level}\", provenance: \"clientSupplied\" }} }} :: caused by :: {why}",
                command.name
            )));
        }
    }
    if let Some(after) = concern.after.filter(|after| *after > now) {
        return Err(invalid(format!(
            "readConcern afterClusterTime value must not be greater than the current clusterTime. Requested clusterTime: {{ ts: {} }}; current clusterTime: {{ ts: {} }}",
            shown(after),
            shown(now)
        )));
    }
    generic.session.read_at = concern.read_at(in_transaction);
    Ok(())
}

fn shown(stamp: u64) -> String {
    format!("Timestamp({}, {})", stamp >> 32, stamp & 0xFFFF_FFFF)
}

fn level(value: &Value) -> Result<String, Fault> {
    match value {
        Value::String(level) if LEVELS.contains(&level.as_str()) => Ok(level.to_string()),
        Value::String(_) => Err(Fault::new(
            codes::FAILED_TO_PARSE,
            "readConcern.level must be either 'local', 'majority', 'linearizable', 'available', or 'snapshot'",
        )),
        other => Err(wrong("level", other, "string")),
    }
}

fn time(name: &str, value: &Value) -> Result<u64, Fault> {
    match value {
        Value::Timestamp(0) => Err(invalid(format!("{name} cannot be a null timestamp"))),
        Value::Timestamp(stamp) => Ok(*stamp),
        other => Err(wrong(name, other, "timestamp")),
    }
}

fn wrong(name: &str, found: &Value, expected: &str) -> Fault {
    Fault::new(
        codes::TYPE_MISMATCH,
        format!(
            "\"{name}\" had the wrong type. Expected {expected}, found {}",
            types::name(found)
        ),
    )
}

fn invalid(text: impl Into<String>) -> Fault {
    Fault::new(codes::INVALID_OPTIONS, text.into())
}
